"""Triton kernels of the two heads for one image: what of them is not a product of matrices.

Sums, the optimal transport and lengths are float32. Like the kernels of `vit_kernels`, one starts while the one before
it ends.
"""

import triton
import triton.language as tl

from tmapr.device.vit_kernels import apply_gelu, follow, lead


@triton.jit
def aggregate(
    scores,
    local,
    sums,
    patches,
    CLUSTERS: tl.constexpr,
    CHANNELS: tl.constexpr,
    ITERATIONS: tl.constexpr,
    PATCHES_UP: tl.constexpr,
    CLUSTERS_UP: tl.constexpr,
    WIDE: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Some channels of the transported sums [channels, clusters]; every program solves the transport for itself.

    Not in logarithms: a cluster's largest share is 1 once its scores are scaled, a patch's dustbin never falls below
    a small part of its mass, and so no sum vanishes. The dustbin's score is the same for every patch, and scaling its
    row leaves nothing of it.
    """
    patch, cluster = tl.arange(0, PATCHES_UP), tl.arange(0, CLUSTERS_UP)
    channel = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    there, known = patch < patches, channel < CHANNELS
    inside = there[:, None] & (cluster < CLUSTERS)[None, :]
    follow(CHAINED)
    score = tl.load(scores + patch[:, None] * CLUSTERS + cluster[None, :], mask=inside, other=float("-inf"))
    features = tl.load(
        local + patch[:, None] * CHANNELS + channel[None, :], mask=there[:, None] & known[None, :], other=0.0
    )
    most = tl.where(cluster < CLUSTERS, tl.max(score, axis=0), 0.0)
    plan = tl.exp(score - most[None, :])
    dustbin = tl.where(there, 1.0, 0.0)
    for _ in tl.static_range(ITERATIONS):
        plan /= tl.where(cluster < CLUSTERS, tl.sum(plan, axis=0), 1.0)[None, :]
        dustbin *= (patches - CLUSTERS) / tl.sum(dustbin, axis=0)
        mass = tl.where(there, tl.sum(plan, axis=1) + dustbin, 1.0)
        plan /= mass[:, None]
        dustbin /= mass
    lead(CHAINED)
    # Two halves of a share hold nearly all its bits, and the features have no more than one.
    high = plan.to(features.dtype)
    low = (plan - high.to(tl.float32)).to(features.dtype)
    total = tl.dot(features.T, low, tl.dot(features.T, high))
    at = channel[:, None] * CLUSTERS + cluster[None, :]
    tl.store(sums + at, total, mask=known[:, None] & (cluster < CLUSTERS)[None, :])


@triton.jit
def normalise_parts(
    summary,
    sums,
    descriptor,
    least,
    TOKEN: tl.constexpr,
    TOKEN_UP: tl.constexpr,
    CLUSTERS: tl.constexpr,
    CHANNELS: tl.constexpr,
    CLUSTERS_UP: tl.constexpr,
    CHANNELS_UP: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """The summary and each cluster's sum to length 1, then the whole."""
    place, channel, cluster = tl.arange(0, TOKEN_UP), tl.arange(0, CHANNELS_UP), tl.arange(0, CLUSTERS_UP)
    at = channel[:, None] * CLUSTERS + cluster[None, :]
    inside = (channel < CHANNELS)[:, None] & (cluster < CLUSTERS)[None, :]
    follow(CHAINED)
    first = tl.load(summary + place, mask=place < TOKEN, other=0.0)
    rest = tl.load(sums + at, mask=inside, other=0.0)
    lead(CHAINED)
    first /= tl.maximum(tl.sqrt(tl.sum(first * first, axis=0)), least)
    rest /= tl.maximum(tl.sqrt(tl.sum(rest * rest, axis=0)), least)[None, :]
    squares = tl.sum(first * first, axis=0) + tl.sum(tl.sum(rest * rest, axis=0), axis=0)
    length = tl.maximum(tl.sqrt(squares), least)
    tl.store(descriptor + place, first / length, mask=place < TOKEN)
    tl.store(descriptor + TOKEN + at, rest / length, mask=inside)


@triton.jit
def average(given, found, rows, WIDTH: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, CHAINED: tl.constexpr):
    """Some columns' means over all rows."""
    line, column = tl.arange(0, TALL), tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    known = column < WIDTH
    follow(CHAINED)
    at = line[:, None] * WIDTH + column[None, :]
    total = tl.load(given + at, mask=(line < rows)[:, None] & known[None, :], other=0.0).to(tl.float32)
    lead(CHAINED)
    tl.store(found + column, tl.sum(total, axis=0) / rows, mask=known)


@triton.jit
def multiply_vector(
    given,
    weight,
    bias,
    added,
    found,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    ACTIVATION: tl.constexpr,
    TALL: tl.constexpr,
    DEEP: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Some numbers of weight · given + bias, plus what is `added`."""
    line, column = tl.program_id(0) * TALL + tl.arange(0, TALL), tl.arange(0, DEEP)
    known = line < WIDTH
    follow(CHAINED)
    total = tl.zeros([TALL, DEEP], tl.float32)
    for start in tl.static_range(0, DEPTH, DEEP):
        inside = start + column < DEPTH
        at = line[:, None] * DEPTH + (start + column)[None, :]
        factor = tl.load(weight + at, mask=known[:, None] & inside[None, :], other=0.0).to(tl.float32)
        total += factor * tl.load(given + start + column, mask=inside, other=0.0).to(tl.float32)[None, :]
    lead(CHAINED)
    result = tl.sum(total, axis=1) + tl.load(bias + line, mask=known, other=0.0).to(tl.float32)
    if added is not None:
        result += tl.load(added + line, mask=known, other=0.0)
    if ACTIVATION == "gelu":
        result = apply_gelu(result)
    if ACTIVATION == "relu":
        result = tl.maximum(result, 0.0)
    tl.store(found + line, result, mask=known)


@triton.jit
def tell_pose(
    given,
    position_weight,
    position_bias,
    heading_weight,
    heading_bias,
    pose,
    least,
    DEPTH: tl.constexpr,
    DEPTH_UP: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Position, and heading of length 1."""
    column, axis = tl.arange(0, DEPTH_UP), tl.arange(0, 2)
    inside = (column < DEPTH)[None, :]
    at = axis[:, None] * DEPTH + column[None, :]
    follow(CHAINED)
    shared = tl.load(given + column, mask=column < DEPTH, other=0.0)[None, :]
    position = tl.sum(tl.load(position_weight + at, mask=inside, other=0.0) * shared, axis=1)
    heading = tl.sum(tl.load(heading_weight + at, mask=inside, other=0.0) * shared, axis=1)
    heading += tl.load(heading_bias + axis)
    length = tl.maximum(tl.sqrt(tl.sum(heading * heading, axis=0)), least)
    tl.store(pose + axis, position + tl.load(position_bias + axis))
    tl.store(pose + 2 + axis, heading / length)


@triton.jit
def scale_row(given, found, least, WIDTH: tl.constexpr, WIDTH_UP: tl.constexpr, CHAINED: tl.constexpr):
    """One row to length 1 in float64, then the nearest float32."""
    column = tl.arange(0, WIDTH_UP)
    inside, at = column < WIDTH, tl.program_id(0) * WIDTH + column
    follow(CHAINED)
    wide = tl.load(given + at, mask=inside, other=0.0).to(tl.float64)
    lead(CHAINED)
    length = tl.sqrt(tl.sum(wide * wide, axis=0))
    tl.store(found + at, (wide / tl.maximum(length, least)).to(tl.float32), mask=inside)
