"""What happens to a recorded drive in a study: each disturbance makes another recording of it, to be recognised anew.

What another place shows stands far from every map, so that every frame of it that is `localized` is wrong.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.percepts import Recording
from tmapr.types import NANOSECONDS, Fault, Percept

STOP = 60
"""Seconds."""
ASIDE = 100.0
FAR = 1e5
"""Metres east and north of anything."""
SHOWN = 30
"""Frames of another place."""
_HOUR = 3600 * NANOSECONDS
_NEAR = 10
"""Frames between two whose pictures still share something."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A drive, the map, another place's drive, the rows from `start` to `stop` that are disturbed, and chance."""

    drive: Recording
    mapped: Float[np.ndarray, "refs 2"]
    other: Recording
    start: int
    stop: int
    seed: int

    @property
    def interval(self) -> int:
        """Nanoseconds from frame to frame."""
        return int(np.median(np.diff(self.drive.stamps)))

    def show_other(self, count: int) -> list[Percept]:
        """Usable frames of the other place, from its beginning again where they do not suffice."""
        usable = [percept for percept in self.other.percepts if not percept.fault]
        return [usable[row % len(usable)] for row in range(count)]


Disturbed = tuple[Recording, int]
"""The drive as it was met, and the row at which the disturbance had ended."""
Disturbance = Callable[[Scene], Disturbed]


def needs_another_place(name: str) -> bool:
    """Whether a disturbance shows something of elsewhere."""
    return name.endswith("another place")


def pick_rows(recording: Recording, rows: Iterable[int], stamps: Iterable[int] | None = None) -> Recording:
    """Frames of a drive in some order, at their own times or at others; how far the picture moved is added up.

    Between frames that are far apart, and across one of which it is unknown, nobody knows.
    """
    picked = np.fromiter(rows, dtype=np.int64)
    told = np.array([np.nan if percept.shift is None else percept.shift for percept in recording.percepts])
    unknown, moved = np.isnan(told).cumsum()[picked], np.nan_to_num(told).cumsum()[picked]
    known = (np.diff(unknown) == 0) & (np.abs(np.diff(picked)) <= _NEAR) & (np.abs(np.diff(moved)) <= 1)
    shifts = [None, *(step if sure else None for step, sure in zip(np.diff(moved).tolist(), known, strict=True))]
    times = recording.stamps[picked] if stamps is None else stamps
    return replace(
        recording,
        percepts=tuple(
            replace(recording.percepts[row], stamp=int(stamp), shift=shift)
            for row, stamp, shift in zip(picked, times, shifts, strict=True)
        ),
        truth=recording.truth[picked],
        known=recording.known[picked],
        headings=None if recording.headings is None else recording.headings[picked],
        sources=None,
    )


def thin_recording(recording: Recording, spacing: float) -> Recording:
    """The frames nearest to every multiple of `spacing` metres driven; none twice, so stops go."""
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(recording.truth, axis=0).T))])
    return pick_rows(recording, np.unique([np.abs(way - mark).argmin() for mark in np.arange(0, way[-1], spacing)]))


def move_away(recording: Recording) -> Recording:
    """As it is on a map of somewhere else: nothing of it is there."""
    return replace(recording, truth=np.full_like(recording.truth, FAR), known=np.ones(len(recording), dtype=bool))


def _change(scene: Scene, rows: Sequence[int], change: Callable[[Percept, int], Percept], since: int = 0) -> Disturbed:
    """Some percepts otherwise; `change` is given the place among them, too."""
    percepts = list(scene.drive.percepts)
    for place, row in enumerate(rows):
        percepts[row] = change(percepts[row], place)
    return replace(scene.drive, percepts=tuple(percepts)), since


def _say_poses(poses: Callable[[Scene], Float[np.ndarray, "frames 2"]]) -> Disturbance:
    """A pose head that says this, whether or not one was trained."""

    def apply(scene: Scene) -> Disturbed:
        said = poses(scene)
        return _change(scene, range(len(said)), lambda percept, row: replace(percept, position=said[row]))

    return apply


def _draw_poses(scene: Scene) -> Float[np.ndarray, "frames 2"]:
    low, high = scene.mapped.min(axis=0), scene.mapped.max(axis=0)
    return np.random.default_rng(scene.seed).uniform(low, high, (len(scene.drive), 2))


def _order(rows: Callable[[int, Scene], Sequence[int]], *, timed: bool = True, whole: bool = False) -> Disturbance:
    """Frames in another order, at their own times or at the drive's rate; it ends where they come in their own."""

    def apply(scene: Scene) -> Disturbed:
        order = np.array(rows(len(scene.drive), scene))
        stamps = None if timed else scene.drive.stamps[order[0]] + scene.interval * np.arange(len(order))
        breaks = np.flatnonzero(np.diff(order) != 1)
        return pick_rows(scene.drive, order, stamps), int(breaks[-1]) + 1 if len(breaks) and not whole else 0

    return apply


def _scale_stamps(factor: float) -> Disturbance:
    def apply(scene: Scene) -> Disturbed:
        stamps = scene.drive.stamps
        scaled = stamps[0] + np.rint((stamps - stamps[0]) * factor).astype(np.int64)
        return pick_rows(scene.drive, range(len(stamps)), scaled), 0

    return apply


def _set_clock(by: int) -> Disturbance:
    """From the stretch's beginning on the camera's clock says something else."""

    def apply(scene: Scene) -> Disturbed:
        later = range(scene.start, len(scene.drive))
        return _change(scene, later, lambda percept, _: replace(percept, stamp=percept.stamp + by), scene.start)

    return apply


def _freeze(scene: Scene) -> Disturbed:
    """The camera gives the same picture again and again, and the detector sees it."""
    rows = range(scene.start + 1, scene.stop)
    return _change(scene, rows, lambda percept, _: replace(percept, fault=Fault.FROZEN, shift=None), scene.stop)


def _show(draw: Callable[[Scene, int], Sequence[Float[np.ndarray, " dim"]]]) -> Disturbance:
    """The stretch with other descriptors, as if something else were before the lens."""

    def apply(scene: Scene) -> Disturbed:
        rows = range(scene.start, scene.stop)
        descriptors = draw(scene, len(rows))

        def change(percept: Percept, place: int) -> Percept:
            return replace(percept, descriptor=descriptors[place], fault=None, shift=None, keypoints=None)

        return _change(scene, rows, change, scene.stop)

    return apply


def _draw_noise(scene: Scene, count: int) -> list[Float[np.ndarray, " dim"]]:
    noise = np.random.default_rng(scene.seed).normal(size=(count, len(scene.drive.percepts[0].descriptor)))
    return list(noise / np.linalg.norm(noise, axis=1, keepdims=True))


def _insert(scene: Scene) -> Disturbed:
    """Frames of another place from the stretch's beginning on, in the drive's own time step; then it goes on."""
    drive, at, step = scene.drive, scene.start, scene.interval
    begins = drive.percepts[at - 1].stamp + step
    shown = scene.show_other(SHOWN)
    foreign = [replace(each, stamp=begins + row * step, position=None) for row, each in enumerate(shown)]
    rest = [replace(each, stamp=each.stamp + SHOWN * step) for each in drive.percepts[at:]]
    foreign[0], rest[0] = replace(foreign[0], shift=None), replace(rest[0], shift=None)
    truth = np.insert(drive.truth, [at] * SHOWN, FAR, axis=0)
    known = np.insert(drive.known, [at] * SHOWN, values=True)
    percepts = (*drive.percepts[:at], *foreign, *rest)
    return replace(drive, percepts=percepts, truth=truth, known=known, headings=None, sources=None), at + SHOWN


def _deliver_late(frames: int, scene: Scene) -> Sequence[int]:
    """Two frames of five come after the next three."""
    return sorted(range(frames), key=lambda row: row + 3.5 * (scene.start <= row < scene.stop and row % 5 < 2))


def _stand(frames: int, scene: Scene) -> Sequence[int]:
    again = STOP * NANOSECONDS // scene.interval
    return [*range(scene.start), *[scene.start] * again, *range(scene.start, frames)]


def _leave_out(frames: int, scene: Scene) -> Sequence[int]:
    return [*range(scene.start), *range(scene.stop, frames)]


def _roll_back(frames: int, scene: Scene) -> Sequence[int]:
    """Back over the stretch, the camera still looking ahead, and on."""
    return [*range(scene.stop), *range(scene.stop - 2, scene.start, -1), *range(scene.start, frames)]


DISTURBANCES: Mapping[str, Disturbance] = MappingProxyType(
    {
        "no pose head": lambda by: _change(by, range(len(by.drive)), lambda each, _: replace(each, position=None)),
        "pose head constant": _say_poses(lambda by: np.tile(by.mapped.mean(axis=0), (len(by.drive), 1))),
        "pose head random": _say_poses(_draw_poses),
        "pose head mirrored": _say_poses(lambda by: 2 * by.mapped.mean(axis=0) - by.drive.truth),
        "pose head 100 m off": _say_poses(lambda by: by.drive.truth + np.array([ASIDE, 0.0])),
        "pose head frozen": _say_poses(lambda by: np.tile(by.drive.truth[0], (len(by.drive), 1))),
        "pose head of another place": _say_poses(lambda by: by.other.truth[np.arange(len(by.drive)) % len(by.other)]),
        "stamps × 0.25": _scale_stamps(0.25),
        "stamps × 4": _scale_stamps(4.0),
        "every tenth frame": _order(lambda frames, _: range(0, frames, 10), whole=True),
        "bursts": _order(lambda frames, _: [row for row in range(frames) if row % 60 < 6], whole=True),
        "start in the middle": _order(lambda frames, _: range(frames // 2, frames)),
        "no frames": _order(_leave_out),
        "duplicates": _order(lambda frames, by: sorted([*range(frames), *range(by.start, by.stop)])),
        "late": _order(_deliver_late),
        "stop": _order(_stand, timed=False),
        "teleport": _order(_leave_out, timed=False),
        "reversing": _order(_roll_back, timed=False),
        "clock forward": _set_clock(_HOUR),
        "clock back": _set_clock(-_HOUR),
        "frozen": _freeze,
        "descriptors of noise": _show(_draw_noise),
        "descriptors of another place": _show(lambda by, count: [each.descriptor for each in by.show_other(count)]),
        "frames of another place": _insert,
    }
)
