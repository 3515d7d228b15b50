"""The belief over the route on the page: what the script needs to show it, and the parts of the page that it fills.

Most frames share the belief of the last new view, and most references are never likely: each belief and each reference
is written once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.beliefs import RouteBeliefs
from tmapr.artifacts.trajectory import Column
from tmapr.reports.drawing.markup import element
from tmapr.reports.drawing.svg import layer_keys
from tmapr.reports.figures.certainty import CURSOR, draw_certainty, list_certainty_keys
from tmapr.reports.figures.route_belief import MASS_KEY, SPAN, TRUTH_KEY, RouteAxes, draw_belief
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.page.figure import render_figure
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.reports.tables.table import NOTHING
from tmapr.retrieval.memory import Memory

_SHARES = {"place": "this place", "off": "off the map"}


@dataclass(frozen=True, slots=True)
class ShownBelief:
    """A frame as the script knows it: the number of its belief, where the truth is on the strip, and two shares."""

    view: int
    truth: Sequence[float]
    told: Sequence[str]


def list_beliefs(run: ReportedRun, sequence: ReportedSequence, rows: Sequence[int]) -> dict[str, Any]:
    """What the script needs to show the belief of these frames; nothing where the run has none.

    `references` are pixels on the strip and on the map, `views` references and the heights of their bars in turns.
    """
    beliefs = sequence.trial.beliefs
    if beliefs is None:
        return {}
    route, view = RouteAxes.of(run.memory), MapAxes.of(sequence, run.references)
    numbers: dict[int, int] = {}
    views: dict[tuple[int, ...], int] = {}
    shown = [views.setdefault(_list_bars(beliefs, row, numbers), len(views)) for row in rows]
    likely = np.array(list(numbers), dtype=np.int64)
    pixels = np.column_stack([route.x(route.along[likely]), view(run.memory.positions[likely])])
    truth = _find_truth(sequence, run.memory, route, rows)
    shares = [sequence.table.p_place, sequence.table.p_off_map]
    frames = [
        ShownBelief(number, marks, [_format_share(share, row) for share in shares])
        for row, number, marks in zip(rows, shown, truth, strict=True)
    ]
    return {
        "references": pixels.round(1).tolist(),
        "views": list(views),
        "frames": [asdict(frame) for frame in frames],
        "span": SPAN,
        "cursor": CURSOR,
    }


def render_strip(run: ReportedRun, sequence: ReportedSequence, level: int) -> str:
    """The strip that the script fills, hidden until it does; nothing where the run has no belief."""
    if sequence.trial.beliefs is None:
        return ""
    # An empty child: HTML takes what follows an unclosed meter for its content.
    meter = element("meter", {"min": "0", "max": "100", "value": "0"}, "")
    meters = (element("label", {"class": kind}, words, meter, _EMPTY) for kind, words in _SHARES.items())
    drawn = [MASS_KEY, TRUTH_KEY] if sequence.truth.known.any() else [MASS_KEY]
    keys = layer_keys(drawn) + element("div", {"class": "shares"}, *meters)
    heading = element(f"h{level}", {}, "Where on the route the frame may be")
    figure = render_figure(draw_belief(sequence.name, run.memory), _BELIEF, "route", keys, heading)
    return element("div", {"class": "belief", "hidden": "hidden"}, figure)


def render_certainty(run: ReportedRun, sequence: ReportedSequence, level: int) -> str:
    """The two shares over time; nothing where the run has no belief."""
    if sequence.trial.beliefs is None:
        return ""
    certainty = run.experiment.system.tracking.certainty
    keys = layer_keys(list_certainty_keys(certainty))
    heading = element(f"h{level}", {}, "Certainty over time")
    return render_figure(draw_certainty(sequence, certainty), _CERTAINTY, "strip certainty", keys, heading)


def _list_bars(beliefs: RouteBeliefs, row: int, numbers: dict[int, int]) -> tuple[int, ...]:
    """References by their numbers on the page, each followed by its height in pixels."""
    references, masses = beliefs.after(row)
    top, bottom = SPAN
    heights = np.round(np.sqrt(masses) * (bottom - top)).astype(int).tolist()
    counted = [numbers.setdefault(reference, len(numbers)) for reference in references.tolist()]
    return tuple(chain.from_iterable(zip(counted, heights, strict=True)))


def _find_truth(sequence: ReportedSequence, memory: Memory, route: RouteAxes, rows: Sequence[int]) -> list[list[float]]:
    """Where each frame truly was: at the nearest reference of every traverse that went by there."""
    within, drives, truth = sequence.tolerance, memory.drives(), sequence.truth

    def marks(here: Float[np.ndarray, "2"]) -> list[float]:
        found = []
        for drive in drives:
            away = np.hypot(*(memory.positions[drive] - here).T)
            if away.min() <= within:
                found.append(route.along[drive[away.argmin()]])
        return route.x(np.array(found)).round(1).tolist()

    return [marks(truth.values[row]) if truth.known[row] else [] for row in rows]


def _format_share(share: Column, row: int) -> str:
    return f"{100 * share.values[row]:.1f} %" if share.known[row] else NOTHING


_EMPTY = element("output", {}, NOTHING)
_BELIEF = (
    "Every reference of more than a thousandth at the frame that is looked at, in heights that are roots of"
    " probabilities, and as dots on the map. The rest of the probability is spread thinly or off the map."
)
_CERTAINTY = (
    "Probability over time that the camera is at the place that the estimate names, and that it is off the map. Both"
    " are low where it may be at several places."
)
