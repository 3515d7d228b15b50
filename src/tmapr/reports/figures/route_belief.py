"""The belief over the route at one frame: the mapped way to the right, probabilities upward; a script draws the bars.

Heights are roots of probabilities: one per cent, which is where another place begins to matter, is a tenth of all.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.reports.drawing.scale import LinearScale, RootScale
from tmapr.reports.drawing.svg import WIDTH, Key, axes, drawing, label, layer, line, marker
from tmapr.retrieval.memory import Memory

_LEFT, _RIGHT, _TOP, _BOTTOM = 138.0, WIDTH - 12.0, 24.0, 204.0
_HEIGHT = _BOTTOM + 46.0
_SHORTEST = 1.0

SPAN = (_TOP, _BOTTOM)
"""Where a bar of all the probability ends, and where every bar begins, in pixels."""

MASS_KEY = Key("line", "mass", "probability of a reference")
TRUTH_KEY = Key("line", "true", "truth, if on the map")


@dataclass(frozen=True, slots=True)
class RouteAxes:
    """Metres along the traverses, one after another, to the right; the share of all probability upward.

    `along` has the metres of each row of the map, `starts` those at which each traverse begins.
    """

    x: LinearScale
    y: RootScale
    along: Float[np.ndarray, " refs"]
    starts: tuple[float, ...]

    @classmethod
    def of(cls, memory: Memory) -> "RouteAxes":
        """The axes of a map."""
        along, starts, end = np.zeros(len(memory)), [], 0.0
        for rows in memory.drives():
            steps = np.hypot(*np.diff(memory.positions[rows], axis=0).T)
            along[rows] = end + np.concatenate([[0.0], np.cumsum(steps)])
            starts.append(end)
            end = float(along[rows[-1]])
        return cls(
            LinearScale(0.0, max(end, _SHORTEST), (_LEFT, _RIGHT), 10),
            RootScale((_BOTTOM, _TOP), (0.01, 0.1, 0.5, 1.0)),
            along,
            tuple(starts),
        )


def draw_belief(name: str, memory: Memory) -> str:
    """The axes, the names of several traverses where they begin, and marks that a script fills."""
    route = RouteAxes.of(memory)
    several = len(route.starts) > 1
    titles = (f"metres along the mapped traverse{'s, one after another' if several else ''}", "probability")
    parts = [axes(route.x, route.y, titles)]
    if several:
        for start, rows in zip(route.x(np.array(route.starts)).tolist(), memory.drives(), strict=True):
            parts.append(line(np.array([[start, _TOP - 14], [start, _BOTTOM]]), "axis"))
            parts.append(label(start + 5, _TOP - 6, str(memory.sequences[rows[0]]), role="tick"))
    parts += [layer("mass", marker("mass")), layer("true", marker("true"))]
    described = "The probability of every reference along the mapped way, at the frame that is looked at."
    return drawing(_HEIGHT, f"Belief over the route of {name}", described, parts)
