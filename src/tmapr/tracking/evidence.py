"""What a frame says of every reference, on a scale that the frame itself sets.

With z the standardised similarity of a reference and t the term of its place, and u its share of the way,

    log e = log( ε + (1 − ε) exp(a z + b t) / Σ u exp(a z + b t) )

The sum is what all references reach in this very frame: no absolute similarity enters, and the mean of e over the route
is 1. ε is what a view that shows nothing of its place leaves to the others. Where local features were matched, what
they have more than wrong references in the same frame adds to z.
"""

import numpy as np
from jaxtyping import Float

from tmapr.tracking.model import RouteModel
from tmapr.tracking.route import Route
from tmapr.types import Comparison


def weigh(compared: Comparison, route: Route, model: RouteModel, reach: float) -> Float[np.ndarray, " refs"]:
    """The log-evidence of every reference, in the order of the route."""
    looks, place = compared.similarity[route.rows], compared.place[route.rows]
    if compared.local is not None:
        looks = looks + _spread(compared.local[route.rows], route, reach)
    total = model.similarity_weight * looks + model.place_weight * place
    likely = np.exp(total - total.max())
    evidence: Float[np.ndarray, " refs"] = np.log(
        model.blind + (1.0 - model.blind) / float(likely @ route.share) * likely
    )
    return evidence


def _spread(local: Float[np.ndarray, " refs"], route: Route, reach: float) -> Float[np.ndarray, " refs"]:
    """Local matches with a reference speak for its neighbours too, which nobody looked at, the nearer the more."""
    seen = np.flatnonzero(~np.isnan(local))
    spread = np.zeros(len(local))
    for row, near in zip(seen, route.references.query_ball_point(route.positions[seen], reach), strict=True):
        away = np.hypot(*(route.positions[near] - route.positions[row]).T)
        spread[near] = np.maximum(spread[near], local[row] * (1.0 - away / reach))
    spread[seen] = local[seen]
    return spread
