"""Triton kernels of a Transformer for one image: a layer in seven launches.

Products are of half precision and summed in float32; the residual, statistics and softmax are float32. A product that
is wanted by a sum over all its columns next (a norm) is cut along its depth into `SPLITS` shares, which `add_normalise`
adds in their order: one image has too few tokens to keep a GPU busy otherwise, and equal inputs give equal bits.

With `CHAINED` a kernel starts while the one before it ends (programmatic dependent launch): until `follow` returns it
touches nothing but weights, which nobody writes.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

LINE = tl.constexpr(64)
"""Numbers of half precision in a line of the cache."""


@triton.jit
def follow(CHAINED: tl.constexpr):
    """Wait until the kernel before has written all that this one reads."""
    if CHAINED:
        gdc_wait()


@triton.jit
def lead(CHAINED: tl.constexpr):
    """Let the next kernel start: what is left here takes less than its start."""
    if CHAINED:
        gdc_launch_dependents()


@triton.jit
def _fetch_early(rows, DEPTH: tl.constexpr):
    """Bring the first so many numbers of these rows into the cache."""
    for start in range(0, DEPTH, LINE):
        tl.inline_asm_elementwise(
            "prefetch.global.L2 [$1]; // $0", "=r,l", [rows + start], dtype=tl.int32, is_pure=False, pack=1
        )


@triton.jit
def apply_gelu(given):
    """Return x Φ(x), where Φ − ½ is x times a polynomial of x² fitted up to 4.5: 8e-6 off up to 3, 7e-5 at most.

    That is far below what half precision rounds; the error function itself takes three times as long.
    """
    inner = tl.minimum(tl.maximum(given, -4.5), 4.5)
    square = inner * inner
    total = -1.4000248443196694e-12 * square + 1.6972644123480762e-10
    total = total * square - 9.193596106626956e-09
    total = total * square + 2.9588659344881307e-07
    total = total * square - 6.365215085679665e-06
    total = total * square + 9.787105227587745e-05
    total = total * square - 0.0011226771166548133
    total = total * square + 0.009833181276917458
    total = total * square - 0.06633705645799637
    total = total * square + 0.39888378977775574
    return given * (inner * total + 0.5)


@triton.jit
def embed(
    picture,
    weight,
    base,
    found,
    rows,
    across,
    LEAD: tl.constexpr,
    SIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Tokens of a picture: each patch, less 128, times one matrix, plus its `base`; before them `LEAD` bare bases."""
    PIXELS: tl.constexpr = SIDE * SIDE
    token, column = tl.program_id(0) * TALL + tl.arange(0, TALL), tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    known, patch = (column < WIDTH)[None, :], token - LEAD
    corner = (patch // across * SIDE * across + patch % across) * SIDE
    shown = (patch >= 0) & (token < rows)
    follow(CHAINED)
    total = tl.zeros([TALL, WIDE], tl.float32)
    for start in range(0, PIXELS, DEEP):
        pixel = start + tl.arange(0, DEEP)
        at = corner[:, None] + (pixel // SIDE * SIDE * across + pixel % SIDE)[None, :]
        inside = shown[:, None] & (pixel < PIXELS)[None, :]
        gray = tl.where(inside, tl.load(picture + at, mask=inside, other=0).to(tl.float32) - 128.0, 0.0)
        rows_of_weight = weight + column[None, :] * PIXELS + pixel[:, None]
        factor = tl.load(rows_of_weight, mask=(pixel < PIXELS)[:, None] & known, other=0.0)
        total = tl.dot(gray.to(factor.dtype), factor, total)
    lead(CHAINED)
    at = token[:, None] * WIDTH + column[None, :]
    inside = (token < rows)[:, None] & known
    tl.store(found + at, total + tl.load(base + at, mask=inside, other=0.0), mask=inside)


@triton.jit
def multiply(
    given,
    weight,
    rows_of_weight,
    bias,
    found,
    rows,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    SHARE: tl.constexpr,
    ACTIVATION: tl.constexpr,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
    DEEP: tl.constexpr,
    STAGES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """A tile of given · weightᵀ over one `SHARE` of the depth; with a bias and an activation if that is all of it.

    Both come as tensor descriptors, whose numbers beyond an edge are 0.
    """
    top, left, first = tl.program_id(0) * TALL, tl.program_id(1) * WIDE, tl.program_id(2) * SHARE
    line, column = top + tl.arange(0, TALL), left + tl.arange(0, WIDE)
    known = column < WIDTH
    if CHAINED and top == 0:
        _fetch_early(rows_of_weight + tl.minimum(column, WIDTH - 1) * DEPTH + first, SHARE)
    follow(CHAINED)
    total = tl.zeros([TALL, WIDE], tl.float32)
    for start in tl.range(first, first + SHARE, DEEP, num_stages=STAGES):
        total = tl.dot(given.load([top, start]), weight.load([left, start]).T, total)
    lead(CHAINED)
    if bias is not None:
        total += tl.load(bias + column, mask=known, other=0.0).to(tl.float32)[None, :]
    if ACTIVATION == "gelu":
        total = apply_gelu(total)
    if ACTIVATION == "relu":
        total = tl.maximum(total, 0.0)
    at = (tl.program_id(2) * rows + line)[:, None] * WIDTH + column[None, :]
    tl.store(found + at, total.to(found.dtype.element_ty), mask=(line < rows)[:, None] & known[None, :])


@triton.jit
def add_normalise(
    given,
    shares,
    bias,
    summed,
    gain,
    shift,
    normal,
    rows,
    least,
    WIDTH: tl.constexpr,
    WIDTH_UP: tl.constexpr,
    SPLITS: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """One token: what came in plus the shares of a branch, and the sum normalised for the next branch."""
    column = tl.arange(0, WIDTH_UP)
    inside = column < WIDTH
    at = tl.program_id(0) * WIDTH + column
    gains = tl.load(gain + column, mask=inside, other=0.0).to(tl.float32)
    shifts = tl.load(shift + column, mask=inside, other=0.0).to(tl.float32)
    if SPLITS:
        biases = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    follow(CHAINED)
    total = tl.load(given + at, mask=inside, other=0.0).to(tl.float32)
    if SPLITS:
        total += biases
        for split in tl.static_range(SPLITS):
            total += tl.load(shares + split * rows * WIDTH + at, mask=inside, other=0.0)
        tl.store(summed + at, total, mask=inside)
    lead(CHAINED)
    centered = tl.where(inside, total - tl.sum(total, axis=0) / WIDTH, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, axis=0) / WIDTH + least)
    tl.store(normal + at, (centered * scale * gains + shifts).to(normal.dtype.element_ty), mask=inside)


@triton.jit
def _attend_block(
    query, keys, values, start, tokens, scale, total, weight, most,
    WIDTH: tl.constexpr, HEAD: tl.constexpr, HEAD_UP: tl.constexpr, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    token, channel = start + tl.arange(0, BLOCK), tl.arange(0, HEAD_UP)
    at = token[:, None] * (3 * WIDTH) + channel[None, :]
    inside = (token < tokens)[:, None] & (channel < HEAD)[None, :]
    if MASKED or HEAD != HEAD_UP:
        key, value = tl.load(keys + at, mask=inside, other=0.0), tl.load(values + at, mask=inside, other=0.0)
    else:
        key, value = tl.load(keys + at), tl.load(values + at)
    score = tl.dot(query, key.T) * scale
    if MASKED:
        score = tl.where((token < tokens)[None, :], score, float("-inf"))
    higher = tl.maximum(most, tl.max(score, axis=1))
    share = tl.exp2(score - higher[:, None])
    fade = tl.exp2(most - higher)
    weight = weight * fade + tl.sum(share, axis=1)
    total = tl.dot(share.to(value.dtype), value, total * fade[:, None])
    return total, weight, higher


@triton.jit
def attend(
    packed,
    found,
    tokens,
    scale,
    WIDTH: tl.constexpr,
    HEAD: tl.constexpr,
    HEAD_UP: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    FULL: tl.constexpr,
    REST: tl.constexpr,
    LONE: tl.constexpr,
    STAGES: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Some queries of one head: `FULL` blocks of keys, and what is left in a block of `REST`, or one `LONE` key.

    `scale` is that of the scores and of exponentials to the base of two.
    """
    token, channel = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES), tl.arange(0, HEAD_UP)
    head = tl.program_id(1) * HEAD
    inside = (token < tokens)[:, None] & (channel < HEAD)[None, :]
    follow(CHAINED)
    query = tl.load(packed + head + token[:, None] * (3 * WIDTH) + channel[None, :], mask=inside, other=0.0)
    keys, values = packed + WIDTH + head, packed + 2 * WIDTH + head
    if LONE:
        # A softmax may begin with any key: it needs no product of matrices, and no exponential.
        known, at = channel < HEAD, FULL * KEYS * (3 * WIDTH) + channel
        key = tl.load(keys + at, mask=known, other=0.0).to(tl.float32)
        value = tl.load(values + at, mask=known, other=0.0).to(tl.float32)
        most = tl.sum(query.to(tl.float32) * key[None, :], axis=1) * scale
        weight = tl.full([QUERIES], 1.0, tl.float32)
        total = tl.zeros([QUERIES, HEAD_UP], tl.float32) + value[None, :]
    else:
        most = tl.full([QUERIES], float("-inf"), tl.float32)
        weight = tl.zeros([QUERIES], tl.float32)
        total = tl.zeros([QUERIES, HEAD_UP], tl.float32)
    if REST:
        total, weight, most = _attend_block(
            query, keys, values, FULL * KEYS, tokens, scale, total, weight, most, WIDTH, HEAD, HEAD_UP, REST, True
        )
    for block in tl.range(FULL, num_stages=STAGES):
        total, weight, most = _attend_block(
            query, keys, values, block * KEYS, tokens, scale, total, weight, most, WIDTH, HEAD, HEAD_UP, KEYS, False
        )
    lead(CHAINED)
    at = token[:, None] * WIDTH + head + channel[None, :]
    tl.store(found + at, (total / weight[:, None]).to(found.dtype.element_ty), mask=inside)
