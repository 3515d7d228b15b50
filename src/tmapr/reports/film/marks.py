"""What a moment looks like on a map of any scale: where the camera may be, where it is said to be, how it got there."""

import numpy as np
from jaxtyping import Float

from tmapr.reports.figures.trajectory_map import MapAxes
from tmapr.reports.film.canvas import Canvas, Points
from tmapr.reports.film.colours import ALIKE, BELIEF, GROUND, INK, PANEL, STATUSES, TRUTH, mix
from tmapr.reports.film.moments import Moment
from tmapr.types import CHI2_95, Reason, Status

_CORNERS = 120
_LARGEST, _SMALLEST = 17.0, 2.5
"""Points of radius of a place that has all the probability, and of one that has a thousandth."""
_SLOWEST = 0.3
"""m/s from which on a direction is drawn: slower, it is noise."""


def draw_way(canvas: Canvas, view: MapAxes, before: Moment, moment: Moment) -> None:
    """The way between two moments, in the colour of the second.

    While lost, and where the filter started again elsewhere, nothing was driven from the one to the other.
    """
    if before.truth is not None and moment.truth is not None:
        canvas.line(view(np.stack([before.truth, moment.truth])), mix(TRUTH, PANEL, 0.75), 1.5)
    colour, way = STATUSES[moment.status], view(np.stack([before.position, moment.position]))
    if moment.status is Status.LOST or moment.reason is Reason.RELOCALIZED:
        canvas.dot(way[1], 2.6, mix(colour, PANEL, 0.8))
    else:
        canvas.line(way, colour, 4.0 if moment.status is Status.LOCALIZED else 2.5)


def draw_belief(canvas: Canvas, view: MapAxes, references: Points, moment: Moment) -> None:
    """A disc on every reference where it may be; its area is the probability."""
    places = view(references[moment.likely])
    radii = np.maximum(_LARGEST * np.sqrt(moment.masses), _SMALLEST)
    with canvas.glaze(0.6) as over:
        for place, radius in zip(places, radii.tolist(), strict=True):
            over.dot(place, radius, BELIEF)


def draw_estimate(canvas: Canvas, view: MapAxes, moment: Moment) -> None:
    """The estimate with its direction in its 95 % ellipse, and a thin line to the match that was believed.

    Beneath are the truth, and the reference that looks most alike, wherever that is.
    """
    here, colour = view(moment.position[None])[0], STATUSES[moment.status]
    if moment.truth is not None:
        canvas.dot(view(moment.truth[None])[0], 4.5, TRUTH)
    ring = view(trace_ellipse(moment.position, moment.covariance))
    with canvas.glaze(0.12) as over:
        over.area(ring, colour)
    canvas.line(np.vstack([ring, ring[:1]]), colour, 2.0)
    if moment.alike is not None:
        canvas.ring(view(moment.alike[None])[0], 9.0, ALIKE, 2.5)
    if moment.match is not None and moment.match.believed:
        there = view(moment.match.position[None])[0]
        canvas.line(np.stack([here, there]), INK, 1.5)
        canvas.ring(there, 7.0, INK, 2.0)
    speed = float(np.hypot(*moment.velocity))
    if speed > _SLOWEST and moment.status is not Status.LOST:
        ahead = moment.velocity / speed * (1.0, -1.0)
        aside = np.array([-ahead[1], ahead[0]])
        canvas.area(here + np.stack([21 * ahead, 8 * ahead + 8 * aside, 8 * ahead - 8 * aside]), colour)
    canvas.dot(here, 10.5, GROUND)
    canvas.dot(here, 8.0, colour)
    canvas.dot(here, 3.0, INK)


def trace_ellipse(center: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]) -> Points:
    """Corners on the edge of the region that holds 95 % of a Gaussian."""
    angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return center + np.sqrt(CHI2_95) * circle @ np.linalg.cholesky(covariance).T
