"""Figure 1 of the paper: an input that jumps against the fused track, seen from above, with the jumps marked."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from tmapr.reports.drawing.lines import keep_bends, split_at_silences
from tmapr.reports.drawing.svg import HALF, Key, axes, drawing, legend, lines, window
from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.reported import TimedPath

_LEGEND_BELOW, _LINE = 60.0, 18.0


@dataclass(frozen=True, slots=True)
class SteppedPath:
    """A named track, and which of its steps from one frame to the next are farther than a camera could move."""

    name: str
    track: TimedPath
    jumps: Bool[np.ndarray, " steps"]

    def __post_init__(self) -> None:
        if len(self.jumps) != max(len(self.track.positions) - 1, 0):
            raise ValueError(f"{len(self.track.positions)} positions have one step less, got {len(self.jumps)} steps")


def draw_jumps(name: str, given: SteppedPath, fused: SteppedPath, *, truth: TimedPath, names: tuple[str, str]) -> str:
    """What went into the filter and what came out; every jump of either is drawn in the warning colour and counted."""
    view = MapAxes.around(truth.positions, fused.track.positions, HALF)
    marks = [
        lines(_find_calm(view, given), "apr"),
        lines(_find_jumps(view, given), "jump"),
        lines([keep_bends(view(truth.positions[part])) for part in split_at_silences(truth.seconds)], "truth"),
        lines(_find_calm(view, fused), "fused localized"),
        lines(_find_jumps(view, fused), "fused jump"),
    ]
    keys = [
        Key("line", "truth", "truth"),
        Key("line", "apr", _describe_jumps(view, given)),
        Key("line", "fused localized", _describe_jumps(view, fused)),
        Key("line", "fused jump", "jump"),
    ]
    bottom, top = view.y.pixels
    parts = [
        axes(view.x, view.y, (f"{names[0]}, m", f"{names[1]}, m")),
        window(view.x.pixels, (top, bottom), marks),
        *(legend([key], view.x.pixels[0], bottom + _LEGEND_BELOW + _LINE * n) for n, key in enumerate(keys)),
    ]
    described = f"Map in metres with equal axes: {_describe_jumps(view, given)}; {_describe_jumps(view, fused)}."
    return drawing(bottom + _LEGEND_BELOW + _LINE * len(keys), f"Jumps on {name}", described, parts, HALF)


def _describe_jumps(view: MapAxes, stepped: SteppedPath) -> str:
    count, steps = int(stepped.jumps.sum()), len(stepped.jumps)
    outside = len(stepped.track.positions) - len(view.keep_inside(stepped.track.positions))
    strayed = f" (outside the view: {outside})" if outside else ""
    return f"{stepped.name}: jumps in {count} of {steps} steps{strayed}"


def _find_calm(view: MapAxes, stepped: SteppedPath) -> list[Float[np.ndarray, "_ 2"]]:
    """Between jumps and between silences."""
    pixels, routes = view(stepped.track.positions), []
    for part in split_at_silences(stepped.track.seconds):
        breaks = np.flatnonzero(stepped.jumps[part.start : part.stop - 1]) + 1
        routes += [keep_bends(route) for route in np.split(pixels[part], breaks)]
    return routes


def _find_jumps(view: MapAxes, stepped: SteppedPath) -> list[Float[np.ndarray, "2 2"]]:
    """Each jump as a line of its own, and of those from one pixel to another only the first."""
    pixels = view(stepped.track.positions)
    pairs = np.stack([pixels[:-1], pixels[1:]], axis=1)[stepped.jumps]
    _, first = np.unique(np.round(pairs).reshape(-1, 4), axis=0, return_index=True)
    return list(pairs[np.sort(first)])
