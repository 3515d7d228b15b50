"""What is done to a recorded night: each sabotage gives the drive as a robot would have met it, recognised.

What does not change a descriptor is not recognised again. A stretch that is disturbed is the middle fifth of the drive.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from proving import ReadyGround
from tmapr.artifacts.percepts import Recording
from tmapr.localizer import Localizer
from tmapr.retrieval.memory import Memory
from tmapr.running.progressive import RecognisedDrive, recognise_drive
from tmapr.system import make_map
from tmapr.types import NANOSECONDS

SPARSE = 5.0
"""Metres between the references of a thinned map."""
STOP = 60.0
"""Seconds."""
EVERY = 10
BURST, PAUSE = 6, 54
"""Frames that come, and frames that are lost after them."""
ASIDE = 100.0


@dataclass(frozen=True, slots=True)
class Sabotaged:
    """A drive after the sabotage, and the row at which the disturbance had ended."""

    drive: RecognisedDrive
    since: int = 0
    memory: Memory | None = None
    """Another map than the world's."""


@dataclass(frozen=True)
class Scene:
    """A world's night, ready to be sabotaged, another world's pose head, and another world of the same kind."""

    ready: ReadyGround
    other: ReadyGround
    alike: ReadyGround

    @cached_property
    def night(self) -> RecognisedDrive:
        """As it was driven."""
        return self.ready.recognise("night")

    @cached_property
    def localizer(self) -> Localizer:
        """Recognises what was changed."""
        return self.ready.localizer()

    @property
    def poses(self) -> list[np.ndarray | None]:
        """What the pose head says."""
        return [percept.position for percept in self.night.recording.percepts]

    @property
    def rng(self) -> np.random.Generator:
        """The same for every sabotage, whatever came before it."""
        return np.random.default_rng(self.ready.ground.seed)

    @property
    def stretch(self) -> tuple[int, int]:
        """The middle fifth."""
        frames = len(self.night.recording)
        return 2 * frames // 5, 3 * frames // 5

    @property
    def interval(self) -> int:
        """Nanoseconds from frame to frame."""
        return int(np.median(np.diff(self.night.recording.stamps)))

    def with_poses(self, poses: Sequence[np.ndarray | None]) -> Sabotaged:
        """The night with a pose head that says this."""
        percepts = tuple(
            replace(percept, position=pose) for percept, pose in zip(self.night.recording.percepts, poses, strict=True)
        )
        return Sabotaged(replace(self.night, recording=replace(self.night.recording, percepts=percepts)))

    def replayed(self, rows: Sequence[int], stamps: Sequence[int], since: int = 0) -> Sabotaged:
        """Frames of the night in another order or at other times."""
        recording = self.night.recording
        shifts = _measure_shifts(recording, rows)
        percepts = tuple(
            replace(recording.percepts[row], stamp=int(stamp), shift=shift)
            for row, stamp, shift in zip(rows, stamps, shifts, strict=True)
        )
        picked = np.asarray(rows)
        moved = replace(recording, percepts=percepts, truth=recording.truth[picked], known=recording.known[picked])
        seen = tuple(self.night.recognitions[row] for row in rows)
        return Sabotaged(replace(self.night, recording=moved, recognitions=seen), since)

    def continued(self, rows: Sequence[int], since: int = 0) -> Sabotaged:
        """Frames in another order, one after the other at the drive's own rate."""
        first = self.night.recording.stamps[rows[0]]
        return self.replayed(rows, first + self.interval * np.arange(len(rows)), since)

    def with_descriptors(self, descriptors: Sequence[np.ndarray]) -> Sabotaged:
        """The stretch with other descriptors, as if something else were before the lens."""
        start, stop = self.stretch
        percepts, seen = list(self.night.recording.percepts), list(self.night.recognitions)
        for row, descriptor in zip(range(start, stop), descriptors, strict=True):
            percepts[row] = replace(percepts[row], descriptor=descriptor, fault=None, shift=None)
            seen[row] = self.localizer.recognise(percepts[row])
        recording = replace(self.night.recording, percepts=tuple(percepts))
        return Sabotaged(replace(self.night, recording=recording, recognitions=tuple(seen)), stop)


def _measure_shifts(recording: Recording, rows: Sequence[int]) -> list[float | None]:
    """How far pictures move in another order: as recorded, back again, not at all, or nobody knows."""
    shifts: list[float | None] = [None]
    for before, row in pairwise(rows):
        back = recording.percepts[before].shift
        known = {before + 1: recording.percepts[row].shift, before: 0.0, before - 1: None if back is None else -back}
        shifts.append(known.get(row))
    return shifts


Sabotage = Callable[[Scene], Sabotaged]


def _leave_alone(scene: Scene) -> Sabotaged:
    return Sabotaged(scene.night)


def _remove_pose_head(scene: Scene) -> Sabotaged:
    return scene.with_poses([None] * len(scene.night.recording))


def _hold_centre(scene: Scene) -> Sabotaged:
    return scene.with_poses([scene.night.mapped.mean(axis=0)] * len(scene.night.recording))


def _draw_poses(scene: Scene) -> Sabotaged:
    low, high = scene.night.mapped.min(axis=0), scene.night.mapped.max(axis=0)
    return scene.with_poses(list(scene.rng.uniform(low, high, (len(scene.night.recording), 2))))


def _mirror_poses(scene: Scene) -> Sabotaged:
    middle = scene.night.mapped.mean(axis=0)
    return scene.with_poses([None if pose is None else 2 * middle - pose for pose in scene.poses])


def _shift_poses(scene: Scene) -> Sabotaged:
    aside = np.array([ASIDE, 0.0])
    return scene.with_poses([None if pose is None else pose + aside for pose in scene.poses])


def _borrow_poses(scene: Scene) -> Sabotaged:
    """What another world's pose head says on its own drive: a smooth way through streets that are not here."""
    said = [percept.position for percept in scene.other.recording("night").percepts]
    return scene.with_poses([said[row % len(said)] for row in range(len(scene.night.recording))])


def _freeze_pose(scene: Scene) -> Sabotaged:
    said = next(pose for pose in scene.poses if pose is not None)
    return scene.with_poses([said] * len(scene.poses))


def _scale_stamps(factor: float) -> Sabotage:
    def apply(scene: Scene) -> Sabotaged:
        stamps = scene.night.recording.stamps
        scaled = stamps[0] + np.rint((stamps - stamps[0]) * factor).astype(np.int64)
        return scene.replayed(range(len(stamps)), scaled)

    return apply


def _pick(rows: Callable[[int], Sequence[int]]) -> Sabotage:
    """Some of the frames, at their own times."""

    def apply(scene: Scene) -> Sabotaged:
        picked = rows(len(scene.night.recording))
        return scene.replayed(picked, scene.night.recording.stamps[np.asarray(picked)])

    return apply


def _stop(scene: Scene) -> Sabotaged:
    frames, (start, _) = len(scene.night.recording), scene.stretch
    again = round(STOP * NANOSECONDS / scene.interval)
    return scene.continued([*range(start), *[start] * again, *range(start, frames)], start + again)


def _teleport(scene: Scene) -> Sabotaged:
    start, stop = scene.stretch
    return scene.continued([*range(start), *range(stop, len(scene.night.recording))], start)


def _reverse(scene: Scene) -> Sabotaged:
    """Rolls back over the stretch, the camera still looking ahead, and drives on."""
    start, stop = scene.stretch
    frames = len(scene.night.recording)
    return scene.continued([*range(stop), *range(stop - 2, start, -1), *range(start, frames)], 2 * stop - start - 2)


def _add_noise(scene: Scene) -> Sabotaged:
    start, stop = scene.stretch
    noise = scene.rng.normal(size=(stop - start, len(scene.night.recording.percepts[0].descriptor)))
    return scene.with_descriptors(list(noise / np.linalg.norm(noise, axis=1, keepdims=True)))


def _show_unmapped(scene: Scene) -> Sabotaged:
    start, stop = scene.stretch
    usable = [percept for percept in scene.alike.recording("night").percepts if not percept.fault]
    return scene.with_descriptors([usable[row % len(usable)].descriptor for row in range(stop - start)])


def _drive(name: str) -> Sabotage:
    def apply(scene: Scene) -> Sabotaged:
        drive = scene.ready.recognise(name)
        return Sabotaged(drive, scene.ready.mapped.return_row(drive.recording.truth))

    return apply


def _thin_map(scene: Scene) -> Sabotaged:
    reference = scene.ready.recording("day")
    kept, last = [], None
    for row in np.flatnonzero(reference.known):
        if last is None or np.hypot(*(reference.truth[row] - last)) >= SPARSE:
            kept.append(int(row))
            last = reference.truth[row]
    thinned = replace(
        reference,
        percepts=tuple(replace(reference.percepts[row], shift=None) for row in kept),
        truth=reference.truth[kept],
        known=reference.known[kept],
    )
    localizer = scene.ready.adapt(make_map(scene.ready.system, thinned))
    return Sabotaged(recognise_drive(localizer, scene.night.recording), memory=localizer.memory)


SABOTAGES: Mapping[str, Sabotage] = {
    "nothing": _leave_alone,
    "no pose head": _remove_pose_head,
    "pose head constant": _hold_centre,
    "pose head random": _draw_poses,
    "pose head mirrored": _mirror_poses,
    "pose head 100 m off": _shift_poses,
    "pose head of another world": _borrow_poses,
    "pose head frozen": _freeze_pose,
    "stamps × 0.25": _scale_stamps(0.25),
    "stamps × 4": _scale_stamps(4.0),
    "every tenth frame": _pick(lambda frames: range(0, frames, EVERY)),
    "bursts": _pick(lambda frames: [row for row in range(frames) if row % (BURST + PAUSE) < BURST]),
    "descriptors of noise": _add_noise,
    "descriptors of an unmapped world": _show_unmapped,
    "start in the middle": _pick(lambda frames: range(frames // 2, frames)),
    "a minute's stop": _stop,
    "teleport": _teleport,
    "reversing": _reverse,
    "u-turn": _drive("turn"),
    "detour": _drive("away"),
    "map thinned to 5 m": _thin_map,
}
POSE_HEADS = {name for name in SABOTAGES if "pose head" in name}
"""What is done to a pose head alone."""
