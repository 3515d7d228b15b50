"""Where between references a frame was taken: its likelihood along the mapped line, at nodes finer than the map.

Between two neighbours a and b the view is taken for the chord of their descriptors, at unit length. So what a frame
reaches at the share t of the way is what it reaches at both, mixed, and lifted by what the chord is too short,

    z(t) = ((1 − t) z_a + t z_b) / √(1 − 2 t (1 − t) (1 − ρ)),

with ρ the likeness of a and b, 1 for the same view and 0 for unrelated ones: the map itself tells how sharp the peak
between them is. Every reference owns the nodes nearer to it than to its neighbours, itself among them; on a map denser
than the nodes that is all, and the reading is the one at references.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.tracking.profile import read_profile
from tmapr.tracking.route import Route
from tmapr.types import Comparison

_SHARPER = 3.0
"""By which a frame is read more sharply for its position than for its place, where errors of neighbours add up."""
_NODES = 10.0
"""Nodes in a radius of what `localized` promises: denser ones change nothing, since their mean is taken."""
_MIDDLE = 0.5
_BRIDGED = 3.0
"""Spacings up to which the way between two neighbours is taken for straight; views are not mixed across a gap."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a frame alone says of the position, as a Gaussian."""

    position: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]

    def join(self, other: "Reading") -> "Reading":
        """Both readings of one frame as one, if their errors are independent: information adds up."""
        gain = self.covariance @ np.linalg.inv(self.covariance + other.covariance)
        position = self.position + gain @ (other.position - self.position)
        # As a sum of two, it stays positive definite where one reading is much sharper than the other.
        keep = np.eye(2) - gain
        return Reading(position, keep @ self.covariance @ keep.T + gain @ other.covariance @ gain.T)


@dataclass(frozen=True, slots=True)
class Between:
    """Nodes along the route, in the order of the references that own them; each a share of the way to the next."""

    before: Int[np.ndarray, " nodes"]
    after: Int[np.ndarray, " nodes"]
    share: Float[np.ndarray, " nodes"]
    lift: Float[np.ndarray, " nodes"]
    positions: Float[np.ndarray, "nodes 2"]
    metres: Float[np.ndarray, " nodes"]
    """Of the way that each node stands for."""
    first: Int[np.ndarray, " bounds"]
    """The first node of each reference, and how many there are."""
    floor: float
    """Variance of a reading that no similarity tells: what lies between references was not seen."""

    def read(self, near: Int[np.ndarray, " near"], ordered: Comparison, weights: tuple[float, float]) -> Reading:
        """Mean and covariance of the frame's likelihood over what some references own."""
        nodes = self.first, self.before, self.after, self.share, self.lift, self.positions, self.metres
        x, y, xx, xy, yy = read_profile(near, *nodes, ordered.similarity, ordered.place, *weights, _SHARPER).tolist()
        return Reading(np.array([x, y]), np.array([[xx + self.floor, xy], [xy, yy + self.floor]]))


def lay_between(route: Route, radius: float) -> Between:
    """Nodes along every traverse, for a place of this radius."""
    following = _list_next(route)
    metres = np.hypot(*(route.positions[following] - route.positions).T)
    count = np.maximum(np.ceil(metres * _NODES / radius), 1.0).astype(np.int64)
    count[metres > _BRIDGED * route.spacing] = 1
    before = np.repeat(np.arange(len(route)), count)
    share = (np.arange(len(before)) - np.repeat(np.cumsum(count) - count, count)) / count[before]
    after = np.where(count > 1, following, np.arange(len(route)))[before]
    width = (metres / count)[before]
    width[share == 0] = _measure_own(route, following, np.where(count > 1, metres / count, np.inf))
    owner = np.where(share <= _MIDDLE, before, after)
    order = np.argsort(owner, kind="stable")
    before, after, share = before[order], after[order], share[order]
    chord = 1.0 - 2.0 * share * (1.0 - share) * (1.0 - route.likeness[before])
    return Between(
        before=before,
        after=after,
        share=share,
        lift=1.0 / np.sqrt(chord),
        positions=route.positions[before] + share[:, None] * (route.positions[after] - route.positions[before]),
        metres=width[order],
        first=np.searchsorted(owner[order], np.arange(len(route) + 1)),
        floor=route.spacing**2 / 12.0,
    )


def _list_next(route: Route) -> Int[np.ndarray, " refs"]:
    """The reference after each one, around a loop that closes; at an open end itself."""
    after = np.arange(1, len(route) + 1)
    after[route.last] = np.where(route.closed, route.first, route.last)
    return after


def _measure_own(
    route: Route, following: Int[np.ndarray, " refs"], pieces: Float[np.ndarray, " refs"]
) -> Float[np.ndarray, " refs"]:
    """Metres of the node at each reference: all that it owns, or what is left beside the nodes on either side."""
    left = np.full(len(route), np.inf)
    goes_on = following != np.arange(len(route))
    left[following[goes_on]] = pieces[goes_on]
    return np.minimum(np.minimum(route.widths, pieces), left)
