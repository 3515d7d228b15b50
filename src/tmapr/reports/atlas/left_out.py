"""Which frames of the mapped traverses are no references, and why, as far as anybody knows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.retrieval.memory import Memory

_UNKNOWN = "no position, or no usable image"
_UNPLACED = "no position"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Frames of one traverse that were left out for one reason; the first few of them by number."""

    traverse: str
    reason: str
    count: int
    frames: tuple[int, ...]


_NAMED = 8


def list_left_out(memory: Memory, folder: RunFolder | None) -> list[LeftOut]:
    """From percepts where they are kept; else from the numbers that are missing between references."""
    found = []
    for drive in memory.drives():
        name, frames = str(memory.sequences[drive[0]]), memory.frames[drive]
        reasons = _read_reasons(folder, name) if folder else None
        if reasons is None:
            missing = np.setdiff1d(np.arange(frames.min(), frames.max() + 1), frames)
            reasons = dict.fromkeys(missing.tolist(), _UNKNOWN)
        found += list(_group(name, reasons))
    return found


def _read_reasons(folder: RunFolder, name: str) -> dict[int, str] | None:
    """By frame; None where there are no percepts to ask."""
    try:
        recording = Recording.load(folder.percepts(name))
    except (InputError, OSError):
        return None
    reasons = {}
    for row, (percept, placed) in enumerate(zip(recording.percepts, recording.known.tolist(), strict=True)):
        if percept.fault:
            reasons[row] = percept.fault.value
        elif not placed:
            reasons[row] = _UNPLACED
    return reasons


def _group(name: str, reasons: dict[int, str]) -> Iterator[LeftOut]:
    for reason, count in Counter(reasons.values()).most_common():
        frames = [row for row, why in reasons.items() if why == reason]
        yield LeftOut(name, reason, count, tuple(frames[:_NAMED]))
