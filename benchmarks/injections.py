"""What goes wrong with a stream of frames, done to a recorded drive: each fault has a beginning, an end and a seed.

A drive is a list of deliveries, a frame each, in the order in which they come. Faults change it one after the other, so
that several may lie on top of one another. What a clock was set by, and what a shutter left on the counts, stays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tmapr.artifacts.images import Counts
from tmapr.exceptions import InputError
from tmapr.types import NANOSECONDS, Frame

DAY = 86_400.0
LATEST_PLACES = 5
"""By how many places a frame may come too late."""
_MS = NANOSECONDS // 1000
_BEGAN = 10**12
"""What our own clock says when a drive begins."""
ABSURD_STAMPS = (0, -1, 1, 1_700_000_000, -(2**62), 2**62, 2**63 - 1, 2**64 - 1, 10**30)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A frame as it comes, and `now`: the drive's frame that is taken at that moment, so where the robot is by then."""

    frame: Frame
    arrived: int
    now: int


class Fault(NamedTuple):
    """From the frame `begin` to before the frame `end` of the drive without faults."""

    kind: str
    begin: int
    end: int
    seed: int

    def covers(self, now: int) -> bool:
        """Whether it is there at a frame."""
        return self.begin <= now < self.end


Drive = list[Delivery]
Inject = Callable[[Drive, Fault, np.random.Generator], Drive]


class Kind(NamedTuple):
    """A kind of fault: how it is done, and for how many seconds at least and at most; 0: for one frame."""

    inject: Inject
    shortest: float = 0.0
    longest: float = 0.0


def deliver(frames: Sequence[Frame], seed: int) -> Drive:
    """A drive without faults: every frame comes 20 to 60 ms after it was taken, by our clock."""
    delays = np.random.default_rng(seed).integers(20 * _MS, 60 * _MS, len(frames)).tolist()
    first = frames[0].stamp
    came = [_BEGAN + frame.stamp - first + delay for frame, delay in zip(frames, delays, strict=True)]
    return [
        Delivery(frame, arrived, now)
        for now, (frame, arrived) in enumerate(zip(frames, np.maximum.accumulate(came).tolist(), strict=True))
    ]


def inject(drive: Drive, faults: Sequence[Fault]) -> Drive:
    """The drive with faults."""
    for fault in faults:
        drive = KINDS[fault.kind].inject(drive, fault, np.random.default_rng(fault.seed))
    return drive


def _change(drive: Drive, covers: Callable[[int], bool], change: Callable[[Frame], Frame]) -> Drive:
    return [replace(each, frame=change(each.frame)) if covers(each.now) else each for each in drive]


def _redraw(frame: Frame, draw: Callable[[Counts], Counts]) -> Frame:
    """The frame with what is made of its picture, when it is asked for."""
    image = frame.image
    return replace(frame, image=lambda: draw(image()))


def fall_silent(drive: Drive, fault: Fault, _: np.random.Generator) -> Drive:
    """No frame comes."""
    return [each for each in drive if not fault.covers(each.now)]


def close_shutter(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """A correction of the sensor: its shutter is what it sees, and afterwards all counts are others."""
    offset, noise = int(rng.integers(-400, 400)), int(rng.integers(0, 3))

    def see_shutter(counts: Counts) -> Counts:
        grain = np.random.default_rng(fault.seed).integers(-noise, noise + 1, counts.shape)
        return np.clip(int(np.median(counts)) + grain, 0, np.iinfo(counts.dtype).max).astype(counts.dtype)

    def add_offset(counts: Counts) -> Counts:
        room = np.iinfo(counts.dtype).max
        return np.clip(counts.astype(np.int64) + (offset if room > 255 else offset // 64), 0, room).astype(counts.dtype)

    closed = _change(drive, fault.covers, lambda frame: _redraw(frame, see_shutter))
    return _change(closed, lambda now: now >= fault.end, lambda frame: _redraw(frame, add_offset))


def freeze(drive: Drive, fault: Fault, _: np.random.Generator) -> Drive:
    """The same picture again and again, with stamps that go on."""
    held = next((each.frame.image for each in drive if fault.covers(each.now)), None)
    return _change(drive, fault.covers, lambda frame: replace(frame, image=held)) if held else drive


def duplicate(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """Frames come twice to four times."""

    def repeat(each: Delivery) -> Iterator[Delivery]:
        for time in range(int(rng.integers(2, 5)) if fault.covers(each.now) else 1):
            yield replace(each, arrived=each.arrived + time)

    return [again for each in drive for again in repeat(each)]


def delay(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """Some frames come after up to five later ones."""
    places = np.arange(len(drive), dtype=float)
    for place, each in enumerate(drive):
        if fault.covers(each.now) and rng.random() < 0.4:
            places[place] += int(rng.integers(1, LATEST_PLACES + 1)) + 0.5
    coming = [drive[place] for place in np.argsort(places, kind="stable")]
    arrived = np.maximum.accumulate([each.arrived for each in coming]).tolist()
    now = np.maximum.accumulate([each.now for each in coming]).tolist()
    return [Delivery(each.frame, *at) for each, *at in zip(coming, arrived, now, strict=True)]


def _set_clock(drive: Drive, fault: Fault, seconds: float) -> Drive:
    """From now on the camera's clock says something else."""
    by = round(seconds * NANOSECONDS)
    return _change(drive, lambda now: now >= fault.begin, lambda frame: replace(frame, stamp=frame.stamp + by))


def set_forward(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """By two seconds to a day."""
    return _set_clock(drive, fault, float(np.exp(rng.uniform(np.log(2.0), np.log(DAY)))))


def set_back(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """By two seconds to a day."""
    return _set_clock(drive, fault, -float(np.exp(rng.uniform(np.log(2.0), np.log(DAY)))))


def adjust_clock(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """As NTP does at its beginning: by 0.1 to 0.9 seconds, either way."""
    return _set_clock(drive, fault, float(rng.uniform(0.1, 0.9) * rng.choice([-1, 1])))


def shrink(drive: Drive, fault: Fault, _: np.random.Generator) -> Drive:
    """The camera gives pictures of half the size."""

    def halve(counts: Counts) -> Counts:
        height, width = (2 * (side // 2) for side in counts.shape)
        blocks = counts[:height, :width].reshape(height // 2, 2, width // 2, 2)
        return blocks.mean(axis=(1, 3)).astype(counts.dtype) if counts.size > 4 else counts

    return _change(drive, fault.covers, lambda frame: _redraw(frame, halve))


def lose_depth(drive: Drive, fault: Fault, _: np.random.Generator) -> Drive:
    """The camera gives 8 bits between the darkest and the brightest count."""

    def stretch(counts: Counts) -> Counts:
        low, high = int(counts.min()), int(counts.max())
        return ((counts.astype(np.float64) - low) * (255 / max(high - low, 1))).astype(np.uint8)

    return _change(drive, fault.covers, lambda frame: _redraw(frame, stretch))


def damage(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """Pictures that are none, that cannot be read, or that show nothing of the world."""

    def spoil(frame: Frame) -> Frame:
        how = _DAMAGES[int(rng.integers(len(_DAMAGES)))]
        image, seed = frame.image, int(rng.integers(2**32))
        return replace(frame, image=lambda: how(image, seed))

    return _change(drive, fault.covers, spoil)


def _refuse(error: Exception) -> Counts:
    raise error


def _tear(counts: Counts) -> Counts:
    """Its lower part did not come."""
    return np.where(np.arange(len(counts))[:, None] < len(counts) // 3, counts, 0).astype(counts.dtype)


_DAMAGES: tuple[Callable[[Callable[[], Counts], int], object], ...] = (
    lambda _, __: _refuse(InputError("the picture is damaged")),
    lambda _, __: _refuse(OSError(5, "Input/output error")),
    lambda _, __: _refuse(MemoryError("no room for a picture")),
    lambda _, __: None,
    lambda image, _: image().astype(np.float32) * np.float32(np.nan),
    lambda image, _: np.stack([image()] * 3, axis=-1),
    lambda _, __: np.zeros((0, 0), np.uint16),
    lambda _, __: np.zeros((1, 1), np.uint16),
    lambda image, _: np.zeros_like(image()),
    lambda image, _: np.full_like(image(), np.iinfo(image().dtype).max),
    lambda image, seed: np.random.default_rng(seed).integers(0, 2**16, image().shape).astype(np.uint16),
    lambda image, _: _tear(image()),
)


def confuse_stamps(drive: Drive, fault: Fault, rng: np.random.Generator) -> Drive:
    """Stamps that no clock says, in every second frame or so."""

    def restamp(frame: Frame) -> Frame:
        said = ABSURD_STAMPS[int(rng.integers(len(ABSURD_STAMPS)))]
        return replace(frame, stamp=said) if rng.random() < 0.6 else frame

    return _change(drive, fault.covers, restamp)


def leave(drive: Drive, _: Fault, __: np.random.Generator) -> Drive:
    """What goes wrong is elsewhere: the frames come as they were."""
    return drive


HANGS, FULL, REPLACED = "viewer hangs", "disk full", "map replaced"
KINDS: Mapping[str, Kind] = {
    "silence": Kind(fall_silent, 1.0, 10.0),
    "shutter": Kind(close_shutter, 0.5, 1.0),
    "frozen": Kind(freeze, 0.5, 5.0),
    "duplicates": Kind(duplicate, 0.5, 5.0),
    "late": Kind(delay, 1.0, 5.0),
    "clock forward": Kind(set_forward),
    "clock back": Kind(set_back),
    "NTP": Kind(adjust_clock),
    "half size": Kind(shrink, 1.0, 10.0),
    "8 bits": Kind(lose_depth, 1.0, 10.0),
    "damaged": Kind(damage, 0.0, 3.0),
    "absurd stamps": Kind(confuse_stamps, 0.0, 2.0),
    HANGS: Kind(leave, 1.0, 10.0),
    FULL: Kind(leave, 1.0, 10.0),
    REPLACED: Kind(leave, 1.0, 10.0),
}
