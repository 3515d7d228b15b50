"""Where faults are put along a drive, and what they did: held against the drive without them, frame by frame."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from fault_drives import Driven
from injections import FULL, KINDS, Fault
from tmapr.artifacts.documents import Document
from tmapr.live.events import Health
from tmapr.types import NANOSECONDS, Frame, Reason, Status

ROOM, SOON = 60.0, 50.0
"""Metres after a fault that are its own, and within which the drive is back."""
STACKED = "on top of one another"
_TOO_LATE = (Reason.OLDER_STAMP, Reason.REPEATED_STAMP)


class Tally(Document):
    """What faults of one kind did."""

    faults: int = 0
    frames: int = 0
    """Answered from their beginnings to 60 m after their ends."""
    lost: int = 0
    """Of these `localized` in the drive without faults and not here."""
    wrong: int = 0
    late: int = 0
    """Faults after which it was not back within 50 m."""
    back: tuple[float, ...] = ()
    """Metres until it was back, of those after which it was not at once but soon enough."""
    stretches: int = 0
    """Of the road that they had to themselves."""

    def add(self, other: "Tally") -> "Tally":
        """Both."""
        return Tally.model_validate({name: getattr(self, name) + getattr(other, name) for name in Tally.model_fields})


class Outcome(Document):
    """What came of drives with faults."""

    taken: int
    """Frames that came."""
    answered: int
    dropped: int
    not_finite: int
    clocks: int
    """How often the camera's clock was found to be set."""
    tallies: dict[str, Tally]
    """By the kind of fault."""
    violations: tuple[str, ...]
    """What must not be."""

    @property
    def whole(self) -> Tally:
        """Of all kinds."""
        return reduce(Tally.add, self.tallies.values(), Tally())

    def named(self, drive: str) -> "Outcome":
        """With the drive's name at each violation."""
        return self.model_copy(update={"violations": tuple(f"{drive}: {each}" for each in self.violations)})

    def add(self, other: "Outcome") -> "Outcome":
        """Both."""
        kinds = dict.fromkeys([*self.tallies, *other.tallies])
        return Outcome(
            taken=self.taken + other.taken,
            answered=self.answered + other.answered,
            dropped=self.dropped + other.dropped,
            not_finite=self.not_finite + other.not_finite,
            clocks=self.clocks + other.clocks,
            tallies={kind: self.tallies.get(kind, Tally()).add(other.tallies.get(kind, Tally())) for kind in kinds},
            violations=self.violations + other.violations,
        )


class Stretch:
    """One fault, or several on top of one another, with the road to itself."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        self.begin, self.end = min(each.begin for each in faults), max(each.end for each in faults)
        self.kind = faults[0].kind if len(faults) == 1 else STACKED

    def __str__(self) -> str:
        return f"{' + '.join(each.kind for each in self.faults)} at {self.begin} to {self.end}"


@dataclass(frozen=True, slots=True)
class Way:
    """What is true of a drive: where it was at each of its frames."""

    frames: Sequence[Frame]
    positions: np.ndarray
    metres: np.ndarray
    seconds: np.ndarray
    tolerance: float

    @classmethod
    def along(cls, frames: Sequence[Frame], tolerance: float) -> "Way":
        """Of frames that say where they were taken."""
        positions = np.array([frame.position for frame in frames])
        driven = np.concatenate([[0.0], np.hypot(*np.diff(positions, axis=0).T).cumsum()])
        stamps = np.array([frame.stamp for frame in frames])
        return cls(frames, positions, driven, (stamps - stamps[0]) / NANOSECONDS, tolerance)


def plan_faults(way: Way, kinds: Iterator[str], rng: np.random.Generator, most: int) -> list[Stretch]:
    """Faults along a drive, up to so many on top of one another."""
    stretches = list[Stretch]()
    metres = rng.uniform(30.0, 60.0)
    while True:
        begin = int(np.searchsorted(way.metres, metres))
        count = int(rng.integers(2, most + 1)) if most > 1 else 1
        faults = [_place_fault(way, next(kinds), begin, rng, spread=3.0 * (count > 1)) for _ in range(count)]
        stretch = Stretch(faults)
        if stretch.end >= len(way.metres) or way.metres[-1] - way.metres[stretch.end] < ROOM:
            return stretches
        stretches.append(stretch)
        metres = way.metres[stretch.end] + ROOM + rng.uniform(0.0, 15.0)


def _place_fault(way: Way, kind: str, begin: int, rng: np.random.Generator, spread: float) -> Fault:
    last = len(way.seconds) - 1
    begin = min(last, int(np.searchsorted(way.seconds, way.seconds[min(begin, last)] + rng.uniform(0.0, spread))))
    seconds = rng.uniform(KINDS[kind].shortest, KINDS[kind].longest)
    end = int(np.searchsorted(way.seconds, way.seconds[begin] + seconds))
    return Fault(kind, begin, max(begin + 1, end), int(rng.integers(2**32)))


def deal_kinds(rng: np.random.Generator) -> Iterator[str]:
    """All kinds in turn, each turn in another order."""
    while True:
        yield from rng.permutation(list(KINDS)).tolist()


@dataclass(frozen=True, slots=True)
class Said:
    """What a drive said, answer by answer, and what was counted."""

    numbers: np.ndarray
    positions: np.ndarray
    now: np.ndarray
    new: np.ndarray
    """Whether it was said of this frame; one that comes too late is told what was said before, and of which moment."""
    localized: np.ndarray
    wrong: np.ndarray
    finite: np.ndarray
    came: int
    health: Health
    clocks: int
    written: Sequence[int]
    """Numbers of the answers that the disk took."""

    @classmethod
    def of(cls, driven: Driven, way: Way) -> "Said":
        """Held against where the robot was at the moment that each estimate is of."""
        estimates = [answer.estimate for answer in driven.answers]
        now = np.array([driven.drive[answer.number].now for answer in driven.answers])
        new = np.array([estimate.verdict.reason not in _TOO_LATE for estimate in estimates])
        held = np.maximum.accumulate(np.where(new, now, 0))
        localized = np.array([estimate.status is Status.LOCALIZED for estimate in estimates])
        positions = np.array([estimate.position for estimate in estimates])
        far = np.hypot(*(positions - way.positions[held]).T) > way.tolerance
        beliefs = [estimate.belief for estimate in estimates]
        finite = [bool(np.isfinite(each.mean).all() and np.isfinite(each.covariance).all()) for each in beliefs]
        numbers = np.array([answer.number for answer in driven.answers])
        wrong, counted = localized & far, (len(driven.drive), driven.health, driven.steps, driven.written)
        return cls(numbers, positions, now, new, localized, wrong, np.array(finite), *counted)


@dataclass(frozen=True, slots=True)
class Judge:
    """Holds drives with faults against the one without."""

    way: Way
    without: Said

    def judge(self, said: Said, stretches: Sequence[Stretch]) -> Outcome:
        """What came of a drive with faults."""
        found, tallies = self._check_whole(said, stretches), dict[str, Tally]()
        ends = [*(stretch.begin for stretch in stretches[1:]), len(self.way.metres)]
        for stretch, until in zip(stretches, ends, strict=True):
            tally = self._judge_stretch(said, stretch, until)
            if tally.wrong:
                found.append(f"{stretch}: {tally.wrong} frames localized and wrong")
            if tally.late:
                found.append(f"{stretch}: not back within {SOON:g} m")
            tallies[stretch.kind] = tallies.get(stretch.kind, Tally()).add(tally)
        return Outcome(
            taken=said.health.taken,
            answered=said.health.answered,
            dropped=said.health.dropped,
            not_finite=int((~said.finite).sum()),
            clocks=said.clocks,
            tallies=tallies,
            violations=tuple(found),
        )

    def _check_whole(self, said: Said, stretches: Sequence[Stretch]) -> list[str]:
        """Every frame answered or dropped, all numbers finite, nothing changed before the first fault, files whole."""
        found, health = list[str](), said.health
        if health.taken != said.came or health.answered + health.dropped != health.taken:
            found.append(f"{said.came} frames, {health.answered} answered and {health.dropped} dropped")
        if len(said.numbers) != health.answered or (np.diff(said.numbers) <= 0).any():
            found.append("answers are missing or repeated")
        if not said.finite.all():
            found.append(f"{int((~said.finite).sum())} estimates are not finite")
        before = min((stretch.begin for stretch in stretches), default=0)
        if not np.array_equal(said.positions[:before], self.without.positions[:before]):
            found.append("estimates before the first fault differ")
        full = [fault for stretch in stretches for fault in stretch.faults if fault.kind == FULL]
        room = [not any(each.covers(now) for each in full) for now in said.now]
        if list(said.written) != said.numbers[room].tolist():
            found.append("a file lacks answers that there was room for")
        return found

    def _judge_stretch(self, said: Said, stretch: Stretch, until: int) -> Tally:
        own = (said.now >= stretch.begin) & (said.now < until)
        wrong = own & said.wrong & ~self.without.wrong[said.now]
        lost = own & self.without.localized[said.now] & ~said.localized
        back = self._find_back(said, stretch.end, until)
        return Tally(
            faults=len(stretch.faults),
            frames=int(own.sum()),
            lost=int(lost.sum()),
            wrong=int(wrong.sum()),
            late=int(back > SOON),
            back=(round(back, 1),) if 0 < back <= SOON else (),
            stretches=1,
        )

    def _find_back(self, said: Said, end: int, until: int) -> float:
        """Metres from a fault's end on which the drive without faults is localized and right, and this is not yet."""
        metres, before = 0.0, self.way.metres[end]
        right = said.new & said.localized & ~said.wrong
        for now, found in zip(said.now, right, strict=True):
            if not end <= now < until:
                continue
            able = self.without.localized[now] and not self.without.wrong[now]
            metres += (self.way.metres[now] - before) if able else 0.0
            before = self.way.metres[now]
            if found:
                return metres
        return metres
