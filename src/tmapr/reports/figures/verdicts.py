"""Why the gates said what they said, and whether the similarity could have known."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from tmapr.evaluation.loops import RADIUS, correct_candidates
from tmapr.reports.drawing.scale import LinearScale, format_number
from tmapr.reports.drawing.svg import HALF, Anchor, drawing, label, line, place_ticks, rectangle
from tmapr.reports.reported import ReportedSequence
from tmapr.types import Reason

_LEFT, _RIGHT = 124.0, HALF - 90.0
_BAR, _GAP = 16.0, 8.0
_BINS = 40
_AXIS, _CEILING, _FLOOR = 78.0, 24.0, 250.0
_RIGHTWARD: tuple[float, Anchor] = (6.0, "start")
_LEFTWARD: tuple[float, Anchor] = (-6.0, "end")
_BELIEVED = (Reason.ACCEPTED.value, Reason.RELOCALIZED.value)


def draw_reasons(name: str, reasons: Mapping[str, int]) -> str:
    """One bar per reason, the most frequent first."""
    total, most = sum(reasons.values()), max(reasons.values())
    parts = []
    for row, (reason, count) in enumerate(reasons.items()):
        y = 4 + row * (_BAR + _GAP)
        end = _LEFT + max(count / most * (_RIGHT - _LEFT), 1.0)
        role = "localized" if reason in _BELIEVED else "refused"
        parts += [
            label(_LEFT - 10, y + 12, reason, "end", "key"),
            rectangle((_LEFT, end), (y, y + _BAR), role),
            label(end + 8, y + 12, f"{count} ({100 * count / total:.1f} %)", role="tick"),
        ]
    height = 4 + len(reasons) * (_BAR + _GAP)
    return drawing(height, f"Verdicts on {name}", "Frames by the reason of the gates' verdict.", parts, HALF)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Right and wrong candidates in common bins."""

    edges: Float[np.ndarray, " bounds"]
    right: Int[np.ndarray, " bins"]
    wrong: Int[np.ndarray, " bins"]

    @property
    def reach(self) -> tuple[int, int]:
        """The highest bar upward and downward; a direction with few still gets a fifth of the room."""
        up, down = int(self.right.max()), int(self.wrong.max())
        least = -(-max(up, down) // 4)
        return max(up, least), max(down, least)


def draw_similarities(sequence: ReportedSequence) -> str | None:
    """Right candidates upward, wrong ones downward, on one scale; None where there is no candidate to judge."""
    first, truth = sequence.table.first, sequence.truth
    judged = first.similarities.known & truth.known
    if not judged.any():
        return None
    right = correct_candidates(first.positions.values, truth.values)[judged]
    values = first.similarities.values[judged]
    low, high = min(float(values.min()), sequence.trial.threshold), max(float(values.max()), sequence.trial.threshold)
    margin = max(0.03 * (high - low), 1e-3)
    x = LinearScale(low - margin, high + margin, (_AXIS, HALF - 12.0), 6)
    edges = np.linspace(x.low, x.high, _BINS + 1)
    bars = Histogram(edges, np.histogram(values[right], edges)[0], np.histogram(values[~right], edges)[0])
    up, down = bars.reach
    y = LinearScale(-float(down), float(up), (_FLOOR, _CEILING), min(6, up + down))
    parts = [
        *_draw_grid(x, y),
        *_draw_bars(x, y, bars.edges, bars.right, "localized"),
        *_draw_bars(x, y, bars.edges, -bars.wrong, "wrong"),
        *_draw_threshold(x, sequence.trial.threshold),
        label(_AXIS + 6, _CEILING + 8, f"↑ right: {int(right.sum())}", role="halo"),
        label(_AXIS + 6, _FLOOR - 1, f"↓ wrong: {int((~right).sum())}", role="halo"),
    ]
    described = f"Histogram of the best match's cosine: within {RADIUS:g} m of the truth, and farther."
    return drawing(_FLOOR + 52, f"Similarity on {sequence.name}", described, parts, HALF)


def _draw_bars(
    x: LinearScale, y: LinearScale, edges: Float[np.ndarray, " bounds"], counts: Int[np.ndarray, " bins"], role: str
) -> list[str]:
    """Bars from zero, upward for positive counts; half a pixel of air on both sides."""
    zero, *ends = y(np.array([0, *counts], dtype=float)).tolist()
    return [
        rectangle((left + 0.5, right - 0.5), (min(zero, end), max(zero, end)), role)
        for (left, right), end in zip(pairwise(x(edges).tolist()), ends, strict=True)
        if end != zero
    ]


def _draw_grid(x: LinearScale, y: LinearScale) -> list[str]:
    """Counts on both sides of zero, without a sign."""
    left, right = x.pixels
    parts = []
    for words, place in place_ticks(y):
        parts.append(line(np.array([[left, place], [right, place]]), "axis" if words == "0" else "grid"))
        parts.append(label(left - 8, place + 4, words.removeprefix("\N{MINUS SIGN}"), "end", "tick"))
    bottom = _FLOOR + 8
    for words, place in place_ticks(x):
        parts.append(line(np.array([[place, bottom], [place, bottom + 4]]), "axis"))
        parts.append(label(place, bottom + 19, words, "middle", "tick"))
    middle = (left + right) / 2
    return [*parts, label(middle, bottom + 38, "similarity of the best match (cosine)", "middle", "title")]


def _draw_threshold(x: LinearScale, threshold: float) -> list[str]:
    place = float(x(np.array([threshold]))[0])
    # On the side with more room.
    offset, anchor = _RIGHTWARD if place < sum(x.pixels) / 2 else _LEFTWARD
    words = label(place + offset, 14.0, f"threshold {format_number(threshold)}", anchor, "halo")
    return [line(np.array([[place, 6.0], [place, _FLOOR + 8]]), "threshold"), words]
