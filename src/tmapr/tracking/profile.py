"""What is told of a place, compiled: for a few dozen nodes, NumPy takes ten times as long to call as to compute."""

import numpy as np

from tmapr.compiled import compiled


@compiled()
def weigh_node(node, before, after, share, lift, similarity, place, first, second):
    """Similarity and place at a node, weighed; what is worse than usual is not lifted."""
    a, b, t = before[node], after[node], share[node]
    seen = (1.0 - t) * similarity[a] + t * similarity[b]
    if seen > 0:
        seen *= lift[node]
    return first * seen + second * ((1.0 - t) * place[a] + t * place[b])


@compiled()
def read_profile(
    near, bounds, before, after, share, lift, positions, metres, similarity, place, first, second, sharper
):
    """Mean and covariance of the likelihood over the nodes of some references: [x, y, xx, xy, yy]."""
    highest = -np.inf
    for each in near:
        for node in range(bounds[each], bounds[each + 1]):
            at = sharper * weigh_node(node, before, after, share, lift, similarity, place, first, second)
            highest = max(highest, at)
    total, x, y = 0.0, 0.0, 0.0
    for each in near:
        for node in range(bounds[each], bounds[each + 1]):
            at = sharper * weigh_node(node, before, after, share, lift, similarity, place, first, second)
            likely = np.exp(at - highest) * metres[node]
            total += likely
            x += likely * positions[node, 0]
            y += likely * positions[node, 1]
    x, y = x / total, y / total
    found = np.zeros(5)
    found[0], found[1] = x, y
    for each in near:
        for node in range(bounds[each], bounds[each + 1]):
            at = sharper * weigh_node(node, before, after, share, lift, similarity, place, first, second)
            likely = np.exp(at - highest) * metres[node] / total
            along, across = positions[node, 0] - x, positions[node, 1] - y
            found[2] += likely * along * along
            found[3] += likely * along * across
            found[4] += likely * across * across
    return found


@compiled()
def list_possible(where, around, lengths, possible, likely):
    """Of those around the peak the ones that are possible, all that are likely, and the first ones' median length."""
    highest = 0.0
    for each in around:
        highest = max(highest, where[each])
    near, found = np.empty(len(around), np.int64), 0
    for each in around:
        if where[each] >= possible * highest:
            near[found] = each
            found += 1
    count = 0
    for each in range(len(where)):
        count += where[each] > likely
    some, at = np.empty(count, np.int64), 0
    for each in range(len(where)):
        if where[each] > likely:
            some[at] = each
            at += 1
    return near[:found], some, np.median(lengths[near[:found]])
