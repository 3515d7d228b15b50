"""Triton kernels that prepare images: six launches instead of ninety, with the same integers and the same roundings.

Launch them without fused multiply-adds (`enable_fp_fusion=False`): each product is rounded before it is added. Rounding
to the nearest, halves to even, is by adding and taking off 1.5 · 2²³, above which float32 has no fractions; what is
rounded lies between 0 and 255.
"""

import triton
import triton.language as tl

GROUP = tl.constexpr(256)
"""Counts that are summed together, so that a level is found in two steps; and gray levels."""
_MAGIC = tl.constexpr(12582912.0)


@triton.jit
def _round(value):
    """The nearest whole number of what lies between 0 and 255; more becomes 255."""
    return (tl.minimum(value, 255.0) + _MAGIC) - _MAGIC


@triton.jit
def _read_grays(counts, at, inside, black, gain, MASK: tl.constexpr):
    """Counts, stretched to gray levels."""
    above = tl.maximum((tl.load(counts + at, mask=inside, other=0).to(tl.int32) & MASK) - black, 0)
    return _round(above.to(tl.float32) * gain)


@triton.jit
def count_counts(counts, histograms, pixels, MASK: tl.constexpr, COPIES: tl.constexpr, BLOCK: tl.constexpr):
    """How often each count occurs; integers, so the order of the additions is no matter.

    A scene has few counts, and who adds to one waits for all others who do: so there are several histograms.
    """
    image = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < pixels
    value = tl.load(counts + image * pixels + at, mask=inside, other=0).to(tl.int32) & MASK
    mine = histograms + (image * COPIES + tl.program_id(0) % COPIES) * (MASK + 1)
    tl.atomic_add(mine + value, 1, mask=inside, sem="relaxed")


@triton.jit
def sum_groups(histograms, histogram, totals, MASK: tl.constexpr, COPIES: tl.constexpr, ROWS: tl.constexpr):
    """All histograms of an image as one, and the pixels in each group of its counts."""
    groups = (MASK + 1) // GROUP
    group = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = (group % groups)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    first = (group // groups)[:, None] * COPIES
    bins = tl.zeros((ROWS, GROUP), tl.int32)
    for copy in range(COPIES):
        bins += tl.load(histograms + (first + copy) * (MASK + 1) + at)
    tl.store(histogram + group[:, None] * GROUP + tl.arange(0, GROUP)[None, :], bins)
    tl.store(totals + group, tl.sum(bins, axis=1))


@triton.jit
def _find_level(histogram, totals, rank, GROUPS: tl.constexpr):
    """The count at a rank of the sorted counts: as many as have no more than `rank` pixels up to them."""
    groups = tl.arange(0, GROUPS)
    sums = tl.load(totals + groups)
    group = tl.sum((tl.cumsum(sums, axis=0) <= rank).to(tl.int32), axis=0)
    before = tl.sum(tl.where(groups < group, sums, 0), axis=0)
    bins = tl.load(histogram + group * GROUP + tl.arange(0, GROUP))
    return group * GROUP + tl.sum((tl.cumsum(bins, axis=0) + before <= rank).to(tl.int32), axis=0)


@triton.jit
def find_levels(
    histogram,
    totals,
    blacks,
    gains,
    faults,
    low,
    high,
    pixels,
    MASK: tl.constexpr,
    GROUPS: tl.constexpr,
    HIGHEST: tl.constexpr,
    OTHER_HIGHEST: tl.constexpr,
):
    """The count that becomes black, the gain that makes another white, or the code of why there are none."""
    image = tl.program_id(0)
    histogram += image * (MASK + 1)
    totals += image * GROUPS
    lowest = _find_level(histogram, totals, 0, GROUPS)
    black = _find_level(histogram, totals, low, GROUPS)
    white = _find_level(histogram, totals, high, GROUPS)
    highest = _find_level(histogram, totals, pixels - 1, GROUPS)
    same = black == white
    saturated = same & ((white == HIGHEST) | (white == OTHER_HIGHEST))
    black = tl.where(same, lowest, black)
    white = tl.where(same, highest, white)
    tl.store(blacks + image, black)
    tl.store(gains + image, (255.0 / tl.maximum(white - black, 1).to(tl.float64)).to(tl.float32))
    tl.store(faults + image, tl.where(saturated, 2, tl.where(black == white, 1, 0)))


@triton.jit
def make_tables(
    counts,
    blacks,
    gains,
    below,
    beside,
    tables,
    height,
    width,
    tile_height,
    tile_width,
    limit,
    scale,
    TILES: tl.constexpr,
    MASK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The gray that each gray becomes in one tile: its histogram, clipped, its excess spread, and summed up."""
    tile, image = tl.program_id(0), tl.program_id(1)
    black, gain = tl.load(blacks + image), tl.load(gains + image)
    top, left = tile // TILES * tile_height, tile % TILES * tile_width
    area = tile_height * tile_width
    gray = tl.arange(0, GROUP)
    values = tl.zeros([GROUP], tl.int32)
    for start in range(0, area, BLOCK):
        place = start + tl.arange(0, BLOCK)
        inside = place < area
        row = tl.load(below + top + place // tile_width, mask=inside, other=0)
        column = tl.load(beside + left + place % tile_width, mask=inside, other=0)
        grays = _read_grays(counts + image * height * width, row * width + column, inside, black, gain, MASK)
        values += tl.histogram(grays.to(tl.int32), GROUP, mask=inside)
    clipped = tl.minimum(values, limit)
    excess = tl.sum(values - clipped, axis=0)
    rest = excess % GROUP
    step = tl.maximum(GROUP // tl.maximum(rest, 1), 1)
    spread = clipped + excess // GROUP + ((gray % step == 0) & (gray // step < rest)).to(tl.int32)
    table = _round(tl.cumsum(spread, axis=0).to(tl.float32) * scale)
    tl.store(tables + (image * TILES * TILES + tile) * GROUP + gray, table.to(tl.uint8))


@triton.jit
def _equalise(tables, gray, inside, upper, left, first_down, down, first_across, across, TILES: tl.constexpr):
    """The mixture of what a gray becomes in the four tiles around its pixel."""
    above, under = tl.maximum(upper - 1, 0) * TILES, tl.minimum(upper, TILES - 1) * TILES
    before, after = tl.maximum(left - 1, 0), tl.minimum(left, TILES - 1)
    one = tl.load(tables + (above + before) * GROUP + gray, mask=inside, other=0).to(tl.float32)
    two = tl.load(tables + (above + after) * GROUP + gray, mask=inside, other=0).to(tl.float32)
    three = tl.load(tables + (under + before) * GROUP + gray, mask=inside, other=0).to(tl.float32)
    four = tl.load(tables + (under + after) * GROUP + gray, mask=inside, other=0).to(tl.float32)
    return _round((one * first_across + two * across) * first_down + (three * first_across + four * across) * down)


@triton.jit
def resize_areas(
    counts,
    blacks,
    gains,
    tables,
    uppers,
    downs,
    lefts,
    acrosses,
    rows,
    row_shares,
    columns,
    column_shares,
    pictures,
    height,
    width,
    top,
    beside,
    tall,
    wide,
    TILES: tl.constexpr,
    DOWN: tl.constexpr,
    ACROSS: tl.constexpr,
    MASK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row of a picture: means over what its pixels cover, of counts that are stretched and equalised on the way."""
    line, image = tl.program_id(0), tl.program_id(1)
    black, gain = tl.load(blacks + image), tl.load(gains + image)
    counts += image * height * width
    tables += image * TILES * TILES * GROUP
    at = tl.arange(0, BLOCK)
    inside = at < wide
    total = tl.zeros([BLOCK], tl.float32)
    for tap in range(DOWN):
        row = tl.load(rows + tap * tall + line)
        upper = tl.load(uppers + row)
        first_down, down = tl.load(downs + 2 * row), tl.load(downs + 2 * row + 1)
        narrow = tl.zeros([BLOCK], tl.float32)
        for side in tl.static_range(ACROSS):
            column = tl.load(columns + side * wide + at, mask=inside, other=0)
            gray = _read_grays(counts, (top + row) * width + beside + column, inside, black, gain, MASK)
            if TILES > 0:
                left = tl.load(lefts + column, mask=inside, other=0)
                first_across = tl.load(acrosses + 2 * column, mask=inside, other=0.0)
                across = tl.load(acrosses + 2 * column + 1, mask=inside, other=0.0)
                gray = _equalise(
                    tables, gray.to(tl.int32), inside, upper, left, first_down, down, first_across, across, TILES
                )
            narrow += gray * tl.load(column_shares + side * wide + at, mask=inside, other=0.0)
        total += narrow * tl.load(row_shares + tap * tall + line)
    tl.store(pictures + (image * tall + line) * wide + at, _round(total).to(tl.uint8), mask=inside)
