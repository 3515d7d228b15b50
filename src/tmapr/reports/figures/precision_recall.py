"""Precision over recall as the similarity threshold falls: a line for each way of retrieving, named beneath."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tmapr.evaluation.curves import Curve
from tmapr.evaluation.loops import RADIUS
from tmapr.reports.drawing.lines import keep_bends
from tmapr.reports.drawing.scale import LinearScale, format_number
from tmapr.reports.drawing.svg import HALF, axes, dots, drawing, label, line

_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, HALF - 12.0, 16.0, 286.0
_NAMES_BELOW, _SWATCH, _WORDS_AT = 62.0, 16.0, _LEFT + 24.0
_LINE, _APART = 16.0, 38.0
_LONGEST = 48
_TENTHS = 10
_ROLES = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class _NamedCurve:
    """A curve, its role and its point at the chosen threshold, which is an empty slice if nothing is accepted there."""

    name: str
    role: str
    curve: Curve
    point: slice


def draw_precision_recall(name: str, curves: Mapping[str, Curve], chosen: float | None) -> str | None:
    """A line for each curve, marked where the threshold `chosen`, common to all, puts it; None without a curve."""
    named = _name_curves(curves, chosen)
    if not named:
        return None
    x = LinearScale(0.0, 1.0, (_LEFT, _RIGHT), 5)
    y = LinearScale(_find_lowest(named), 1.0, (_BOTTOM, _TOP), 6)
    routes = [np.column_stack([x(each.curve.recall), y(each.curve.precision)]) for each in named]
    heights = [_BOTTOM + _NAMES_BELOW + _APART * number for number in range(len(named))]
    # The first is drawn last, over the others: it is the one that the figure is about.
    both = list(zip(named, routes, strict=True))[::-1]
    titles = ("recall: places found, of all that can be", "precision: right, of all over the threshold")
    parts = [axes(x, y, titles), *(line(keep_bends(route), each.role) for each, route in both)]
    for each, route in both:
        parts += [dots(route[each.point], "under"), dots(route[each.point], f"point {each.role}")]
    parts += [_draw_name(each, height, chosen) for each, height in zip(named, heights, strict=True)]
    below = heights[-1] + _LINE
    if chosen is not None:
        below += _APART - _LINE
        parts.append(_draw_key(chosen, below))
    described = (
        f"Precision over recall for every similarity threshold: a match is right within {RADIUS:g} m of the truth,"
        " and recall is over the frames with a reference so near."
    )
    return drawing(below + _LINE, f"Precision and recall on {name}", described, parts, HALF)


def _name_curves(curves: Mapping[str, Curve], chosen: float | None) -> list[_NamedCurve]:
    """The curves that have a point at all."""
    named: list[_NamedCurve] = []
    for name, curve in curves.items():
        # Thresholds fall, and a match is accepted at or above one: the last that `chosen` admits is its point.
        admitted = 0 if chosen is None else int(np.count_nonzero(curve.thresholds >= chosen))
        if len(curve.thresholds):
            role = _ROLES[len(named) % len(_ROLES)]
            named.append(_NamedCurve(name, role, curve, slice(max(admitted - 1, 0), admitted)))
    return named


def _find_lowest(named: Sequence[_NamedCurve]) -> float:
    """The tenth below all precisions: curves that are nearly perfect would else share one pixel."""
    least = min(float(each.curve.precision.min()) for each in named)
    return min(float(np.floor(least * _TENTHS)), _TENTHS - 1) / _TENTHS


def _draw_name(each: _NamedCurve, height: float, chosen: float | None) -> str:
    name = each.name if len(each.name) <= _LONGEST else f"{each.name[: _LONGEST - 1]}…"
    swatch = line(np.array([[_LEFT, height], [_LEFT + _SWATCH, height]]), each.role)
    named = swatch + label(_WORDS_AT, height + 4, name, role="key")
    if chosen is None:
        return named
    found = zip(each.curve.precision[each.point], each.curve.recall[each.point], strict=True)
    words = next((f"precision {precision:.3f}, recall {recall:.3f}" for precision, recall in found), "accepts nothing")
    return named + label(_WORDS_AT, height + 4 + _LINE, words, role="tick")


def _draw_key(chosen: float, at: float) -> str:
    words = label(_WORDS_AT, at + 4, f"at threshold {format_number(chosen)}", role="key")
    return dots(np.array([[_LEFT + _SWATCH / 2, at]]), "point") + words
