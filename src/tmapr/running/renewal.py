"""What kept percepts are still good for, once the recording they were made from is looked at again.

A frame's percept follows from its image, and its fault and its shift also from the image before it: equal ones are
frozen, and others show a turn. So a kept row stands for every frame with that image after that other one, wherever in
the recording and under whatever name.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.sources import UNREADABLE, Sources
from tmapr.data.sequence import Sequence
from tmapr.data.survey import Survey
from tmapr.types import Fault

_NONE = -1


@dataclass(frozen=True, slots=True)
class Renewal:
    """For each frame of a recording the kept row that stands for it, −1 where it has to be encoded; what changed."""

    rows: Int[np.ndarray, " frames"]
    readable: tuple[bool, ...]
    """Whether a frame's image is known to be one."""
    changes: tuple[str, ...] = ()
    remembered: bool = True
    """Whether names, sizes and time stamps are those that are kept."""

    @property
    def encoded(self) -> int:
        """How many frames have to be."""
        return int((self.rows == _NONE).sum())

    @property
    def kept(self) -> int:
        """How many have not."""
        return len(self.rows) - self.encoded

    @property
    def current(self) -> bool:
        """Whether everything is as it was."""
        return not self.changes and not self.encoded

    def describe(self) -> str:
        """What changed, and what it costs."""
        return f"{', '.join(self.changes)}; {self.encoded} of {len(self.rows)} images are encoded again"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A recording as it is now, and what of the percepts in a file stands for it."""

    source: Path | None
    now: Survey
    renewal: Renewal

    @property
    def is_current(self) -> bool:
        """Whether nothing has to be written."""
        return self.renewal.current and self.renewal.remembered


def is_unchanged_whole(kept: Recording, sequence: Sequence) -> bool:
    """Whether a recording in one piece is as it was, so that there is no need to go through it."""
    same = kept.sources is not None and kept.sources.whole == sequence.whole
    return same and bool(sequence.whole) and kept.frame == sequence.frame


def renew_all(now: Survey) -> Renewal:
    """Of a recording of which nothing is kept."""
    return Renewal(np.full(len(now), _NONE), (False,) * len(now))


def compare(kept: Recording, sources: Sources, now: Survey) -> Renewal:
    """Which rows of kept percepts, made from these sources, stand for the frames of a recording as it is now."""
    broken = {
        content
        for content, percept in zip(sources.contents, kept.percepts, strict=True)
        if percept.fault is Fault.INVALID
    }
    rows = _match(_pair_up(sources.contents, broken), _pair_up(now.sources.contents, broken))
    known = set(sources.contents) - broken - {UNREADABLE}
    changes = (*list_changed_images(sources, now.sources), *_list_changed_poses(kept, now, rows))
    return Renewal(
        rows, tuple(content in known for content in now.sources.contents), changes, is_same(sources, now.sources)
    )


def _match(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> Int[np.ndarray, " frames"]:
    """The row of `before` that stands for each of `after`.

    Images that a shutter repeats are pairs that occur several times: the first stands for the first, and so on, so that
    stamps and positions of a recording that nobody touched are compared with their own.
    """
    found: dict[tuple[str, str], list[int]] = {}
    for row, pair in enumerate(before):
        if UNREADABLE not in pair:
            found.setdefault(pair, []).append(row)
    times, rows = Counter[tuple[str, str]](), np.full(len(after), _NONE)
    for place, pair in enumerate(after):
        if pair in found:
            rows[place] = found[pair][min(times[pair], len(found[pair]) - 1)]
            times[pair] += 1
    return rows


def _pair_up(contents: tuple[str, ...], broken: set[str]) -> list[tuple[str, str]]:
    """Each image with the last one before it that could be read."""
    pairs, last = [], ""
    for content in contents:
        pairs.append((content, last))
        last = last if content in broken else content
    return pairs


def list_changed_images(before: Sources, after: Sources) -> list[str]:
    """In words: how many images are others than before, are new, or are gone."""
    gained = Counter(after.contents) - Counter(before.contents)
    lost = (Counter(before.contents) - Counter(after.contents)).total()
    gained_count = gained.total()
    replaced = min(gained_count, lost)
    told = {
        f"{replaced} of {len(before)} images changed": replaced,
        f"{gained_count - replaced} images added": gained_count - replaced,
        f"{lost - replaced} images removed": lost - replaced,
        "images in another order": sorted(before.contents) == sorted(after.contents)
        and before.contents != after.contents,
    }
    return [words for words, happened in told.items() if happened]


def _list_changed_poses(kept: Recording, now: Survey, rows: Int[np.ndarray, " frames"]) -> list[str]:
    """In words: what else was recorded otherwise for the frames that are still there."""
    same = rows != _NONE
    was = rows[same]
    headings = np.full(len(kept), np.nan) if kept.headings is None else kept.headings
    motion = np.array([(np.nan, np.nan) if p.motion is None else p.motion.numbers for p in kept.percepts])
    told = {
        "positions changed": kept.frame != now.frame or differ(kept.truth[was], now.truth[same]),
        "headings changed": differ(headings[was], now.headings[same]),
        "stamps changed": differ(kept.stamps[was], now.stamps[same]),
        "speeds changed": differ(motion[was], now.motion[same]),
    }
    return [words for words, happened in told.items() if happened]


def differ(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether two arrays do, where NaN is as good as NaN."""
    return not np.array_equal(before, after, equal_nan=before.dtype.kind == "f")


def is_same(before: Sources, after: Sources) -> bool:
    """Whether names, sizes and time stamps are the same, so that contents need not be looked at next time."""
    return (before.files, before.whole) == (after.files, after.whole) and not (
        differ(before.sizes, after.sizes) or differ(before.modified, after.modified)
    )
