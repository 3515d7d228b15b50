"""What a recording holds and what is wrong with its stamps, poses, files and pixels, each with its row."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, groupby
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.images import Counts
from tmapr.artifacts.probe import ImageHeader, probe
from tmapr.clock import list_late
from tmapr.data.dead_lines import Lines
from tmapr.data.health import Detector, Health
from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.reference import find_jumps, suspect_top_speed
from tmapr.types import NANOSECONDS, Fault, Frame, Watch

_AROUND = 3  # frames on each side of a jump in level that say what is usual there


class DefectKind(StrEnum):
    """What can be wrong with a recording."""

    UNREADABLE = "unreadable"
    MIXED = "mixed"
    FROZEN = "frozen"
    EMPTY = "empty"
    SATURATED = "saturated"
    FLASH = "flash"
    DEAD = "dead line"
    PAUSE = "pause"
    OLDER = "older stamp"
    REPEATED = "repeated stamp"
    UNLOCATED = "no position"
    JUMP = "jump"


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong: the frame it begins at, that frame's file if it has one, and the numbers."""

    row: int
    kind: DefectKind
    detail: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Examination:
    """What a recording holds, and what is wrong with it in the order of its rows.

    `rate` is that of the median interval in Hz, `length` in metres is without jumps, and `top_speed` what these were
    measured by, if anything was. `usable` and `counts`, the lowest and the highest, are of the images that were `read`;
    `headers` are all sizes and depths, most frequent first, `suffixes` those of all files.
    """

    placed: Bool[np.ndarray, " frames"]
    late: Bool[np.ndarray, " frames"]
    """Which frames are not newer than all before them."""
    faults: Mapping[int, Fault | None]
    """Of the frames whose image is known, by row: why it cannot be used, or that it can."""
    refusals: tuple[str, ...]
    """What an encoding stops at."""
    read: int
    usable: int
    rate: float | None
    length: float
    top_speed: float | None
    counts: tuple[int, int] | None
    headers: Mapping[ImageHeader, int]
    suffixes: Mapping[str, int]
    defects: tuple[Defect, ...]

    @property
    def frames(self) -> int:
        """How many there are."""
        return len(self.placed)

    @property
    def located(self) -> int:
        """How many have a position."""
        return int(self.placed.sum())


@runtime_checkable
class Preparation(Protocol):
    """How an encoder's picture is made of an image; both raise InputError at what stops an encoding."""

    def find_fault(self, counts: Counts) -> Fault | None:
        """Why there is none, if so."""
        ...

    def size_after_crop(self, height: int, width: int) -> tuple[int, int]:
        """Of an image of that size."""
        ...


def examine(
    sequence: Sequence,
    health: Health | None = None,
    *,
    preparation: Preparation | None = None,
    top_speed: float | None = None,
    sample: int | None = 200,
    watch: Watch = iter,
) -> Examination:
    """Every stamp, pose and both ends of every file; the pixels of `sample` frames, or of all if that is None.

    The sample is of evenly spaced pairs of neighbours: alone, no image can be seen to be frozen. `preparation` is asked
    of each image that the detector lets pass; `top_speed` is the reference's, by default that of the sequence itself.
    """
    record = _Record(len(sequence), health or Health(), preparation)
    chosen = _choose_rows(len(sequence), sample)
    for row, frame in zip(watch(range(len(sequence))), sequence, strict=True):
        try:
            header = record.note(row, frame)
            counts = frame.image() if chosen[row] else None
        except InputError as error:
            record.miss(row, str(error).removeprefix(f"{frame.file}: "))
            continue
        if counts is not None:
            record.see(row, counts)
        elif header is not None:
            record.measure(header)
    return record.conclude(top_speed)


def _choose_rows(count: int, sample: int | None) -> Bool[np.ndarray, " {count}"]:
    """Which frames are read: all, or evenly spaced pairs from the first two to the last two."""
    if sample is None or sample >= count:
        return np.ones(count, bool)
    chosen = np.zeros(count, bool)
    firsts = np.linspace(0, count - 2, max(sample // 2, 1)).astype(int)
    chosen[firsts] = chosen[firsts + 1] = True
    return chosen


class _Record:
    """A line for every frame of one pass, from which the defects are read at its end."""

    def __init__(self, count: int, health: Health, preparation: Preparation | None) -> None:
        self._unreadable: list[Defect] = []
        self._refusals: dict[str, None] = {}
        self._health, self._detector, self._preparation = health, Detector(health), preparation
        self._lines = {"column": Lines(0, health.dead), "row": Lines(1, health.dead)}
        self._files: list[Path | None] = []
        self._indices, self._stamps = np.zeros((2, count), np.int64)
        self._positions, self._extremes = np.full((2, count, 2), np.nan)
        self._levels = np.full((count, 3), np.nan)  # 5th, 50th and 95th percentile
        self._faults: dict[int, Fault | None] = {}
        self._headers: defaultdict[ImageHeader, list[int]] = defaultdict(list)

    def note(self, row: int, frame: Frame) -> ImageHeader | None:
        """Keep what is known without the pixels; the size of a file."""
        self._files.append(frame.file)
        self._indices[row], self._stamps[row] = frame.index, frame.stamp
        if frame.position is not None:
            self._positions[row] = frame.position
        if frame.file is None:
            return None
        header = probe(frame.file)
        self._headers[header].append(row)
        return header

    def miss(self, row: int, why: str) -> None:
        """Keep that there is no image."""
        self._unreadable.append(Defect(row, DefectKind.UNREADABLE, why))

    def measure(self, header: ImageHeader) -> None:
        """Keep what the size alone says of an image that is not read."""
        try:
            if self._preparation:
                self._preparation.size_after_crop(header.height, header.width)
        except InputError as error:
            self._refusals[str(error)] = None

    def see(self, row: int, counts: Counts) -> None:
        """Keep what the pixels say."""
        if self._files[row] is None:
            self._headers[ImageHeader.of(counts)].append(row)
        fault = self._detector.inspect(counts)
        try:
            if fault is None and self._preparation:  # in the perceiver's order
                fault = self._preparation.find_fault(counts)
        except InputError as error:
            self._refusals[str(error)] = None
        self._faults[row] = fault
        self._extremes[row] = counts.min(), counts.max()
        if fault is None or fault is Fault.FROZEN:
            self._levels[row] = np.percentile(counts[::4, ::4], (5, 50, 95))
            for lines in self._lines.values():
                lines.look(row, counts)

    def conclude(self, top_speed: float | None) -> Examination:
        """Everything that was found, by row."""
        intervals = np.diff(self._stamps)
        usual = float(np.median(intervals[intervals > 0])) if (intervals > 0).any() else 0.0
        pauses = intervals > self._health.pause * usual
        placed = ~np.isnan(self._positions).any(axis=1)
        known = np.flatnonzero(placed)
        steps = np.hypot(*np.diff(self._positions[known], axis=0).T)
        top_speed = top_speed or suspect_top_speed(self._stamps[known], self._positions[known])
        jumps = self._judge_steps(known, top_speed)
        headers = sorted(self._headers, key=lambda header: -len(self._headers[header]))
        metadata = chain(self._unreadable, self._check_times(intervals, pauses), self._check_positions(known))
        moved = self._list_jumps(known, steps, jumps)
        found = chain(metadata, moved, self._find_faults(), self._find_flashes(pauses), self._check_uniformity(headers))
        return Examination(
            placed=placed,
            late=list_late(self._stamps),
            faults=self._faults | {defect.row: Fault.INVALID for defect in self._unreadable},
            refusals=tuple(self._refusals),
            read=len(self._faults),
            usable=sum(fault is None for fault in self._faults.values()),
            rate=NANOSECONDS / usual if usual else None,
            length=float(steps[~jumps].sum()),
            top_speed=top_speed,
            counts=(int(np.nanmin(self._extremes)), int(np.nanmax(self._extremes))) if self._faults else None,
            headers={header: len(self._headers[header]) for header in headers},
            suffixes=Counter(file.suffix for file in self._files if file is not None),
            defects=tuple(map(self._attach_file, sorted(found, key=lambda defect: defect.row))),
        )

    def _judge_steps(self, known: Int[np.ndarray, " known"], top_speed: float | None) -> Bool[np.ndarray, " steps"]:
        """Which are jumps; none where nobody knows how fast it was."""
        if top_speed is None:
            return np.zeros(max(len(known) - 1, 0), bool)
        return find_jumps(self._stamps[known], self._positions[known], top_speed)

    def _list_jumps(
        self, known: Int[np.ndarray, " known"], steps: Float[np.ndarray, " steps"], jumps: Bool[np.ndarray, " steps"]
    ) -> Iterator[Defect]:
        seconds = np.diff(self._stamps[known]) / NANOSECONDS
        for at in np.flatnonzero(jumps).tolist():
            yield Defect(int(known[at + 1]), DefectKind.JUMP, f"{steps[at]:.1f} m in {seconds[at]:.3f} s")

    def _attach_file(self, defect: Defect) -> Defect:
        return replace(defect, row=int(self._indices[defect.row]), file=self._files[defect.row])

    def _check_times(self, intervals: Int[np.ndarray, " n"], pauses: Bool[np.ndarray, " n"]) -> Iterator[Defect]:
        for at in np.flatnonzero((intervals <= 0) | pauses).tolist():
            kind = DefectKind.PAUSE if pauses[at] else DefectKind.OLDER if intervals[at] < 0 else DefectKind.REPEATED
            yield Defect(at + 1, kind, f"{intervals[at] / NANOSECONDS:+.3f} s from the frame before it")

    def _check_positions(self, known: Int[np.ndarray, " known"]) -> Iterator[Defect]:
        missing = np.setdiff1d(np.arange(len(self._stamps)), known)
        if len(missing):
            yield Defect(
                int(missing[0]), DefectKind.UNLOCATED, f"{len(missing)} of {len(self._stamps)} frames; the first"
            )

    def _find_faults(self) -> Iterator[Defect]:
        """Runs of images that cannot be used; a frozen one has been there since the frame before."""
        before = 0
        for fault, run in groupby(self._faults, key=lambda row: self._faults[row]):
            rows = list(run)
            if fault is not None:
                since = before if fault is Fault.FROZEN else rows[0]
                lasted = (self._stamps[rows[-1]] - self._stamps[since]) / NANOSECONDS
                yield Defect(rows[0], DefectKind(fault), f"{len(rows)} images, {lasted:.1f} s")
            before = rows[-1]

    def _find_flashes(self, pauses: Bool[np.ndarray, " n"]) -> Iterator[Defect]:
        """Jumps of the level that are large against the image's contrast and against the jumps around them."""
        lows, levels, highs = self._levels.T
        jumps = np.where(pauses, np.nan, np.diff(levels))
        contrasts = np.maximum(highs - lows, 1)
        large = np.abs(jumps) > self._health.flash * np.maximum(contrasts[1:], contrasts[:-1])
        for at in np.flatnonzero(large).tolist():
            around = np.abs(jumps[max(at - _AROUND, 0) : at + _AROUND + 1])
            if abs(jumps[at]) > self._health.sudden * np.nanmedian(around):
                yield Defect(at + 1, DefectKind.FLASH, f"the level jumps from {levels[at]:.0f} to {levels[at + 1]:.0f}")

    def _check_uniformity(self, headers: list[ImageHeader]) -> Iterator[Defect]:
        """Images unlike most, and lines of pixels that show nothing."""
        for header in headers[1:]:
            rows = self._headers[header]
            yield Defect(rows[0], DefectKind.MIXED, f"{len(rows)} images are {header}; the first")
        for name, lines in self._lines.items():
            for row, dead in lines.dead.items():
                yield Defect(row, DefectKind.DEAD, f"{name} {', '.join(map(str, dead))}: nothing new since this frame")
