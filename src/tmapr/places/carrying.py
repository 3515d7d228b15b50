"""What was learned on a map, on the map that came of it: A_t + (A₀ of the new map − A₀ of the old).

K⁻¹ and K⁻¹W are sums over lessons, so K and W are exactly those of a robot that had learned the same lessons, with the
weights they had, on the new map. U's direction and G's Gaussians are pooled by moments, which is an approximation.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.arrays import Arrays, put, take
from tmapr.places import mixture, unscented
from tmapr.places.analytic import Ridge, find_information, solve
from tmapr.places.classifier import Classifier, refuse_minimax
from tmapr.places.grid import Grid
from tmapr.places.lessons import Ledger
from tmapr.places.mixture import Mixtures
from tmapr.places.settings import Places
from tmapr.places.unscented import Variation

_SHARES = (1.0, 1.0, -1.0)


def carry(settings: Places, fitted: Arrays, learned: Arrays, old: Arrays, new: Arrays) -> Classifier:
    """A classifier of the new map that knows what `learned` has beyond the old one; the projections are both maps'."""
    refuse_minimax(settings, "taking what was learned along")
    grid = Grid.from_arrays(take(new, "grid."))
    parts = (new, learned, old)
    columns = [_find_columns(grid, take(part, "grid.")) for part in parts]
    sums = [
        find_information(Ridge.from_arrays(take(part, "ridge.")), column, len(grid))
        for part, column in zip(parts, columns, strict=True)
    ]
    information = sum(share * each for share, (each, _) in zip(_SHARES, sums, strict=True))
    cross = sum(share * each for share, (_, each) in zip(_SHARES, sums, strict=True))
    ridge = solve(np.asarray(information), np.asarray(cross), settings.ridge)
    known = put("grid.", grid.arrays()) | put("ridge.", ridge.arrays()) | _pool(settings, parts, columns, len(grid))
    ledger = Ledger.from_arrays(take(learned, "ledger."))
    ledger.turn(ledger.last)  # what is learned next is not named as it would be on the old map
    return Classifier.from_arrays(settings, fitted, known | put("ledger.", ledger.arrays()))


def _find_columns(grid: Grid, cells: Arrays) -> Int[np.ndarray, " places"]:
    """The places of another grid in this one, which gets those it does not have."""
    return np.array([grid.enter_cell((column, row)) for column, row in cells["cells"].tolist()], dtype=np.int64)


def _pool(
    settings: Places, parts: Sequence[Arrays], columns: Sequence[Int[np.ndarray, " _"]], classes: int
) -> dict[str, np.ndarray]:
    variations = [Variation.from_arrays(take(part, "variation.")) for part in parts]
    known = put("variation.", unscented.pool(variations, columns, _SHARES, classes).arrays())
    if "mixture" in settings.use:
        mixtures = [Mixtures.from_arrays(settings.mixture, take(part, "mixtures.")) for part in parts]
        known |= put("mixtures.", mixture.pool(mixtures, columns, _SHARES, classes).arrays())
    return known
