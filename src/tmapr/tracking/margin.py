"""How a reference stands among all others in one frame: one pass over the map, compiled."""

import numpy as np

from tmapr.compiled import compiled


@compiled()
def stand_out(similarity, place, row, around, count):
    """The share of the so many best that are `around` a reference, and its lead over the best one elsewhere."""
    size = len(similarity)
    inside = np.zeros(size, np.bool_)
    for each in around:
        inside[each] = True
    best, held, least = np.full(count, -np.inf), np.zeros(count, np.bool_), 0
    elsewhere, lowest = -np.inf, np.inf
    for each in range(size):
        total = similarity[each] + place[each]
        lowest = min(lowest, total)
        if not inside[each]:
            elsewhere = max(elsewhere, total)
        if total > best[least]:
            best[least], held[least] = total, inside[each]
            least = int(np.argmin(best))
    score = similarity[row] + place[row]
    return score, held.sum() / min(count, size), score - max(elsewhere, lowest)
