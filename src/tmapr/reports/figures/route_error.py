"""The error along the way: metres driven to the right, so that one sees where on the route it is bad."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from tmapr.evaluation.decisions import Mapped
from tmapr.evaluation.loops import opportunities
from tmapr.evaluation.off_map import list_stretches, measure_way
from tmapr.reports.drawing.lines import keep_distinct, keep_extremes, split_at_silences
from tmapr.reports.drawing.scale import LinearScale
from tmapr.reports.drawing.svg import WIDTH, Key, axes, dots, drawing, label, layer, lines, strips
from tmapr.reports.figures.error_curve import fit_decades
from tmapr.reports.reported import ReportedSequence

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, WIDTH - 12.0, 46.0, 286.0
_NUMBERS_AT = 20.0
_LEAST = 1.0

ROUTE_KEYS = (
    Key("line", "fused localized", "fused track"),
    Key("dot", "wrong", "localized and wrong"),
    Key("area", "outside", "off the map"),
)
"""What is drawn, each key of one layer."""


def draw_route_errors(sequence: ReportedSequence, sampled: Sequence[int] = ()) -> str | None:
    """The fused track's error over the metres driven, with the numbers that the sampled frames have on the map.

    None where no true position is known.
    """
    errors, memory = sequence.errors(sequence.fused), sequence.trial.memory
    rows = np.flatnonzero(errors.known)
    if not len(rows):
        return None
    truth: Float[np.ndarray, "n 2"] = sequence.truth.values[rows]
    way, metres = measure_way(truth), errors.values[rows]
    mapped = Mapped(memory.positions[memory.order])
    x = LinearScale(0.0, max(float(way[-1]), _LEAST), (_LEFT, _RIGHT), 10)
    y = fit_decades(metres, (_BOTTOM, _TOP))
    points = np.column_stack([x(way), y(metres)])
    wrong = sequence.trial.localized[rows] & (metres > mapped.tolerance)
    curve = [keep_extremes(points[part]) for part in split_at_silences(sequence.seconds[rows])]
    parts = [
        layer(
            "outside", strips(_span(points[:, 0], ~opportunities(truth, memory.positions)), (_TOP, _BOTTOM), "outside")
        ),
        axes(x, y, ("metres driven", "position error, m")),
        layer("fused localized", lines(curve, "fused localized")),
        layer("wrong", dots(keep_distinct(points[wrong]), "wrong")),
        *_draw_numbers(points[:, 0], rows.tolist(), sampled),
    ]
    described = "Position error of the fused track over the metres driven, logarithmic; shaded where no map is near."
    return drawing(_BOTTOM + 46.0, f"Error along the route of {sequence.name}", described, parts)


def _span(across: Float[np.ndarray, " n"], chosen: Bool[np.ndarray, " n"]) -> list[tuple[float, float]]:
    """From the first chosen frame of each stretch to the frame after it."""
    last = len(across) - 1
    return [(float(across[start]), float(across[min(stop, last)])) for start, stop in list_stretches(chosen)]


def _draw_numbers(across: Float[np.ndarray, " n"], rows: Sequence[int], sampled: Sequence[int]) -> list[str]:
    """Of the sampled frames whose place is known, above the axis."""
    places = {number: across[rows.index(row)] for number, row in enumerate(sampled, start=1) if row in rows}
    spots = np.array([[place, _NUMBERS_AT] for place in places.values()]).reshape(-1, 2)
    words = (label(float(place), _NUMBERS_AT + 4, str(number), "middle", "number") for number, place in places.items())
    return [dots(spots, "sampled"), *words]
