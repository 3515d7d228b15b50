"""What happens to a recorded drive in a study: each disturbance makes another recording of it, to be recognised anew.

A stretch is a share of the drive, the middle fifth if a plan says nothing else. What another place shows stands far
from every map, so that every frame of it that is `localized` is wrong.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.percepts import Recording
from tmapr.types import NANOSECONDS, Fault, Percept

DisturbanceName = Literal[
    "pose head constant", "pose head random", "pose head mirrored", "pose head 100 m off", "pose head frozen",
    "pose head of another place", "no pose head", "stamps × 0.25", "stamps × 4", "every tenth frame", "bursts",
    "no frames", "frozen", "duplicates", "late", "clock forward", "clock back", "stop", "teleport", "reversing",
    "start in the middle", "descriptors of noise", "descriptors of another place", "frames of another place",
]  # fmt: skip

STOP = 60.0
"""Seconds."""
BURST, PERIOD = 6, 60
"""Frames that come, of so many."""
ASIDE = 100.0
HOUR = 3600 * NANOSECONDS
FAR = 1e5
"""Metres east and north of anything."""
SHOWN = 30
"""Frames of another place."""
_NEAR = 10
"""Frames between two whose pictures still share something."""


@dataclass(frozen=True, slots=True)
class Disturbed:
    """The drive as it was met, and the row at which the disturbance had ended."""

    recording: Recording
    since: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What a disturbance may use beside the drive: the map, another place's drive, its stretch, and chance."""

    mapped: Float[np.ndarray, "refs 2"]
    other: Recording | None
    rows: tuple[int, int]
    seed: int

    @property
    def stretch(self) -> range:
        """The rows that are disturbed."""
        return range(*self.rows)

    @property
    def rng(self) -> np.random.Generator:
        """The same for every disturbance, whatever came before it."""
        return np.random.default_rng(self.seed)

    def show(self, count: int) -> list[Percept]:
        """Usable frames of the other place, from its beginning again where they do not suffice."""
        if self.other is None:
            raise ValueError("no other place was given")
        usable = [percept for percept in self.other.percepts if not percept.fault]
        return [usable[row % len(usable)] for row in range(count)]


Disturbance = Callable[[Recording, Setting], Disturbed]


def disturb(name: DisturbanceName, recording: Recording, setting: Setting) -> Disturbed:
    """The drive with a disturbance."""
    return DISTURBANCES[name](recording, setting)


def needs_another_place(name: DisturbanceName) -> bool:
    """Whether it shows something of elsewhere."""
    return name.endswith("another place")


def pick_rows(recording: Recording, rows: Iterable[int], stamps: Sequence[int] | None = None) -> Recording:
    """Frames of a drive in some order, at their own times or at others; how far the picture moved is added up.

    Between frames that are far apart, and across one of which it is unknown, nobody knows.
    """
    picked = np.fromiter(rows, dtype=np.int64)
    told = np.array([np.nan if percept.shift is None else percept.shift for percept in recording.percepts])
    unknown, moved = np.isnan(told).cumsum(), np.nan_to_num(told).cumsum()
    steps, known = np.diff(moved[picked]), (np.diff(unknown[picked]) == 0) & (np.abs(np.diff(picked)) <= _NEAR)
    shifts = [
        None,
        *(float(step) if sure and abs(step) <= 1 else None for step, sure in zip(steps, known, strict=True)),
    ]
    times = recording.stamps[picked] if stamps is None else stamps
    percepts = tuple(
        replace(recording.percepts[row], stamp=int(stamp), shift=shift)
        for row, stamp, shift in zip(picked, times, shifts, strict=True)
    )
    headings = None if recording.headings is None else recording.headings[picked]
    truth, known_truth = recording.truth[picked], recording.known[picked]
    return replace(recording, percepts=percepts, truth=truth, known=known_truth, headings=headings, sources=None)


def thin_recording(recording: Recording, spacing: float) -> Recording:
    """The frames nearest to every multiple of `spacing` metres driven; none twice, so stops go."""
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(recording.truth, axis=0).T))])
    return pick_rows(recording, np.unique([np.argmin(np.abs(way - mark)) for mark in np.arange(0.0, way[-1], spacing)]))


def move_away(recording: Recording) -> Recording:
    """As it is on a map of somewhere else: nothing of it is there."""
    return replace(recording, truth=np.full_like(recording.truth, FAR), known=np.ones(len(recording), dtype=bool))


def _measure_interval(recording: Recording) -> int:
    return int(np.median(np.diff(recording.stamps)))


def _continue(recording: Recording, rows: Sequence[int], since: int) -> Disturbed:
    """Frames in another order, one after the other at the drive's own rate."""
    times = recording.stamps[rows[0]] + _measure_interval(recording) * np.arange(len(rows))
    return Disturbed(pick_rows(recording, rows, times.tolist()), since)


def _change(recording: Recording, rows: Iterable[int], change: Callable[[Percept, int], Percept]) -> Recording:
    """Some percepts otherwise; `change` is given the place among them, too."""
    percepts = list(recording.percepts)
    for place, row in enumerate(rows):
        percepts[row] = change(percepts[row], place)
    return replace(recording, percepts=tuple(percepts))


Poses = Callable[[Recording, Setting], Float[np.ndarray, "frames 2"]]


def _say_poses(poses: Poses) -> Disturbance:
    """A pose head that says this, whether or not one was trained."""

    def apply(recording: Recording, setting: Setting) -> Disturbed:
        said = poses(recording, setting)
        return Disturbed(_change(recording, range(len(said)), lambda each, row: replace(each, position=said[row])))

    return apply


def _borrow_poses(recording: Recording, setting: Setting) -> Float[np.ndarray, "frames 2"]:
    """A smooth way through streets that are not here."""
    if setting.other is None:
        raise ValueError("no other place was given")
    return setting.other.truth[np.arange(len(recording)) % len(setting.other)]


def _draw_poses(recording: Recording, setting: Setting) -> Float[np.ndarray, "frames 2"]:
    return setting.rng.uniform(setting.mapped.min(axis=0), setting.mapped.max(axis=0), (len(recording), 2))


def _remove_poses(recording: Recording, _: Setting) -> Disturbed:
    return Disturbed(_change(recording, range(len(recording)), lambda each, _: replace(each, position=None)))


def _scale_stamps(factor: float) -> Disturbance:
    def apply(recording: Recording, _: Setting) -> Disturbed:
        since = recording.stamps - recording.stamps[0]
        stamps = recording.stamps[0] + np.rint(since * factor).astype(np.int64)
        return Disturbed(pick_rows(recording, range(len(recording)), stamps.tolist()))

    return apply


def _keep_rows(rows: Callable[[int, Setting], Sequence[int]]) -> Disturbance:
    """Some of the frames, at their own times."""

    def apply(recording: Recording, setting: Setting) -> Disturbed:
        kept = rows(len(recording), setting)
        return Disturbed(pick_rows(recording, kept), int(np.searchsorted(kept, setting.stretch.stop)))

    return apply


def _freeze(recording: Recording, setting: Setting) -> Disturbed:
    """The camera gives the same picture again and again, and the detector sees it."""
    frozen = _change(recording, setting.stretch[1:], lambda each, _: replace(each, fault=Fault.FROZEN, shift=None))
    return Disturbed(frozen, setting.stretch.stop)


def _duplicate(recording: Recording, setting: Setting) -> Disturbed:
    rows = sorted([*range(len(recording)), *setting.stretch])
    return Disturbed(pick_rows(recording, rows), setting.stretch.stop + len(setting.stretch))


def _deliver_late(recording: Recording, setting: Setting) -> Disturbed:
    """Two frames of five come after the next three."""
    places = np.arange(len(recording), dtype=float)
    places[[row for row in setting.stretch if row % 5 < 2]] += 3.5
    return Disturbed(pick_rows(recording, np.argsort(places, kind="stable")), setting.stretch.stop)


def _set_clock(by: int) -> Disturbance:
    """From the stretch's beginning on the camera's clock says something else."""

    def apply(recording: Recording, setting: Setting) -> Disturbed:
        later = range(setting.stretch.start, len(recording))
        return Disturbed(_change(recording, later, lambda each, _: replace(each, stamp=each.stamp + by)), later.start)

    return apply


def _stop(recording: Recording, setting: Setting) -> Disturbed:
    start, again = setting.stretch.start, round(STOP * NANOSECONDS / _measure_interval(recording))
    return _continue(recording, [*range(start), *[start] * again, *range(start, len(recording))], start + again)


def _teleport(recording: Recording, setting: Setting) -> Disturbed:
    start, stop = setting.rows
    return _continue(recording, [*range(start), *range(stop, len(recording))], start)


def _reverse(recording: Recording, setting: Setting) -> Disturbed:
    """Rolls back over the stretch, the camera still looking ahead, and drives on."""
    start, stop = setting.rows
    rows = [*range(stop), *range(stop - 2, start, -1), *range(start, len(recording))]
    return _continue(recording, rows, 2 * stop - start - 2)


def _show(descriptors: Sequence[Float[np.ndarray, " dim"]], recording: Recording, setting: Setting) -> Disturbed:
    """The stretch with other descriptors, as if something else were before the lens."""

    def change(percept: Percept, place: int) -> Percept:
        return replace(percept, descriptor=descriptors[place], fault=None, shift=None, keypoints=None)

    return Disturbed(_change(recording, setting.stretch, change), setting.stretch.stop)


def _show_noise(recording: Recording, setting: Setting) -> Disturbed:
    noise = setting.rng.normal(size=(len(setting.stretch), len(recording.percepts[0].descriptor)))
    return _show(list(noise / np.linalg.norm(noise, axis=1, keepdims=True)), recording, setting)


def _show_other(recording: Recording, setting: Setting) -> Disturbed:
    return _show([each.descriptor for each in setting.show(len(setting.stretch))], recording, setting)


def _insert(recording: Recording, setting: Setting) -> Disturbed:
    """Frames of another place from the stretch's beginning on, in the drive's own time step; then it goes on."""
    at, step, shown = setting.stretch.start, _measure_interval(recording), setting.show(SHOWN)
    begins = recording.percepts[at - 1].stamp + step
    foreign = [replace(each, stamp=begins + row * step, position=None) for row, each in enumerate(shown)]
    rest = [replace(each, stamp=each.stamp + SHOWN * step) for each in recording.percepts[at:]]
    foreign[0], rest[0] = replace(foreign[0], shift=None), replace(rest[0], shift=None)
    longer = replace(
        recording,
        percepts=(*recording.percepts[:at], *foreign, *rest),
        truth=np.insert(recording.truth, [at] * SHOWN, FAR, axis=0),
        known=np.insert(recording.known, [at] * SHOWN, values=True),
        headings=None,
        sources=None,
    )
    return Disturbed(longer, at + SHOWN)


DISTURBANCES: Mapping[DisturbanceName, Disturbance] = MappingProxyType(
    {
        "no pose head": _remove_poses,
        "pose head constant": _say_poses(lambda drive, by: np.tile(by.mapped.mean(axis=0), (len(drive), 1))),
        "pose head random": _say_poses(_draw_poses),
        "pose head mirrored": _say_poses(lambda drive, by: 2 * by.mapped.mean(axis=0) - drive.truth),
        "pose head 100 m off": _say_poses(lambda drive, _: drive.truth + np.array([ASIDE, 0.0])),
        "pose head frozen": _say_poses(lambda drive, _: np.tile(drive.truth[0], (len(drive), 1))),
        "pose head of another place": _say_poses(_borrow_poses),
        "stamps × 0.25": _scale_stamps(0.25),
        "stamps × 4": _scale_stamps(4.0),
        "every tenth frame": _keep_rows(lambda frames, _: range(0, frames, 10)),
        "bursts": _keep_rows(lambda frames, _: [row for row in range(frames) if row % PERIOD < BURST]),
        "no frames": _keep_rows(lambda frames, by: [*range(by.stretch.start), *range(by.stretch.stop, frames)]),
        "start in the middle": _keep_rows(lambda frames, _: range(frames // 2, frames)),
        "frozen": _freeze,
        "duplicates": _duplicate,
        "late": _deliver_late,
        "clock forward": _set_clock(HOUR),
        "clock back": _set_clock(-HOUR),
        "stop": _stop,
        "teleport": _teleport,
        "reversing": _reverse,
        "descriptors of noise": _show_noise,
        "descriptors of another place": _show_other,
        "frames of another place": _insert,
    }
)
