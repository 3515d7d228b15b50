"""A symmetric matrix kept as its lower triangle, and the passes over it that a rank-3 update needs.

The triangle is cut into 64×64 tiles, row panel by row panel, one after the other in memory; a diagonal tile is
kept whole. A pass therefore streams memory once, in order.

Why one fused pass: an update must read K (for K Xᵀ) and later rewrite it (K − VᵀV). Done apart, that is two
trips through memory. Here the downdate of the *previous* update is applied on the way while K Xᵀ of the new one is
computed. The matrix is thus always `tiles − sign · pendingᵀ pending`.

Two rows of a tile are settled and then multiplied, from the first-level cache. Whether there was anything to settle is
a loop's length and no other code: the product has the same bits whether the downdate was applied now or by an earlier
pass. A pass that only reads, for those who observe and do not learn, costs 0.7 of one that settles.

Why it looks unlike NumPy, with the cost of the pass at d = 2048 in units of reading the triangle once and rewriting
it once: indices are unsigned so that numba drops its wrap-around test, and a tile's vectors are copied into one small
buffer so that LLVM need not test eleven slices for overlap (without either, 2.3 and more); explicit prefetch, into
the second-level cache (1.0; into the first, whose few fill buffers it blocks, 1.6; none, 2.3). Two separate
passes with all of that: 2.1. A rank of three is fixed because U has three sigma points; other row counts go
through in blocks of three.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tmapr.compiled import compiled

RANK = 3
TILE = 64

_u = np.uint64
_ZERO, _ONE, _TWO = _u(0), _u(1), _u(2)
_T = _u(TILE)
_T2, _T3, _T4, _T5, _T6, _T7, _T8 = (_u(k * TILE) for k in range(2, 9))
CACHE_LINE = _u(8)
_AHEAD = _u(1024)
_BOUNDARY = 64

# Sums may be reordered (that is what vectorises a dot product) and contracted to fused multiply-adds, but NaN and
# infinity keep their meaning: the health checks depend on it.
_LIBERTIES: Mapping[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
kernel: Any = compiled(**_LIBERTIES)
# Parts of a kernel become its own code. As functions of their own they exist twice, optimised once and, inside the
# kernel, twice; which of the two is called would depend on whether the kernel was compiled now or read from the cache,
# and with it the last bits of K and W. So no kernel calls another one.
part: Any = compiled(**_LIBERTIES, inline="always")


def round_up(size: int, multiple: int = TILE) -> int:
    """A size in whole multiples. In tiles, the surplus rows stay zero or unit and never mix with the rest."""
    return -(-size // multiple) * multiple


def allocate_tiles(panels: int) -> Float[np.ndarray, " size"]:
    """Zeros that start on a cache line: vector loads across two lines cost a twentieth of a pass."""
    size = panels * (panels + 1) // 2 * TILE**2
    room = np.zeros(size + _BOUNDARY // 8)
    skip = -room.ctypes.data % _BOUNDARY // 8
    return room[skip : skip + size]


def identity_tiles(dim: int, scale: float) -> Float[np.ndarray, " size"]:
    """The tiles of scale · I."""
    panels = round_up(dim) // TILE
    tiles = allocate_tiles(panels)
    for panel in range(panels):
        np.fill_diagonal(tiles.reshape(-1, TILE, TILE)[panel * (panel + 1) // 2 + panel], scale)
    return tiles


def from_dense(matrix: Float[np.ndarray, "dim dim"], scale: float) -> Float[np.ndarray, " size"]:
    """The tiles of a symmetric matrix; `scale` fills the diagonal of the padding."""
    dim = len(matrix)
    full = scale * np.eye(round_up(dim))
    full[:dim, :dim] = matrix
    panels = len(full) // TILE
    blocks = full.reshape(panels, TILE, panels, TILE)
    tiles = allocate_tiles(panels)
    tiles[:] = np.concatenate([blocks[i, :, j].ravel() for i in range(panels) for j in range(i + 1)])
    return tiles


def to_dense(tiles: Float[np.ndarray, " size"], dim: int) -> Float[np.ndarray, "dim dim"]:
    """The full symmetric matrix."""
    panels = round_up(dim) // TILE
    full = np.zeros((panels, TILE, panels, TILE))
    count = 0
    for i in range(panels):
        for j in range(i + 1):
            tile = tiles[count * TILE**2 : (count + 1) * TILE**2].reshape(TILE, TILE)
            full[i, :, j] = tile
            full[j, :, i] = tile.T
            count += 1
    return full.reshape(panels * TILE, panels * TILE)[:dim, :dim].copy()


def _prefetching(_typing: Any, array: Any, index: Any) -> Any:
    """Ask the processor to bring `array[index]` nearer; past the end it does nothing."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [args[1]]), pointer)
        for_reading, second_level, as_data = (number(value) for value in (0, 2, 1))
        builder.call(function, [address, for_reading, second_level, as_data])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetching)


@kernel
def settle_and_multiply(tiles, pending, sign, rows, product):
    """K ← tiles − sign · pendingᵀ pending, and product ← rows · K, in one pass; with nothing pending it only reads.

    Nothing is pending afterwards. Not a part of `read`: within that it takes a fifth longer.
    """
    dim = _u(rows.shape[1])
    settled = _T if pending.any() else _ZERO
    product[:] = 0.0
    # Rows of the tile's columns [0, 3T), their share of the product [3T, 6T), the pending downdate [6T, 9T).
    near = np.empty(9 * TILE)
    at = top = _ZERO
    while top < dim:
        left = _ZERO
        while left <= top:
            for j in range(_T):
                column = left + j
                near[j], near[_T + j], near[_T2 + j] = rows[0, column], rows[1, column], rows[2, column]
                near[_T3 + j] = near[_T4 + j] = near[_T5 + j] = 0.0
                near[_T6 + j] = pending[0, column]
                near[_T7 + j] = pending[1, column]
                near[_T8 + j] = pending[2, column]
            # A diagonal tile is whole, so its mirrored share must not be added again.
            mirrored = 0.0 if left == top else 1.0
            for i in range(top, top + _T, _TWO):
                for offset in range(_ZERO, _T2, CACHE_LINE):
                    prefetch(tiles, at + _AHEAD + offset)
                k = i + _ONE
                g0, g1, g2 = sign * pending[0, i], sign * pending[1, i], sign * pending[2, i]
                h0, h1, h2 = sign * pending[0, k], sign * pending[1, k], sign * pending[2, k]
                for j in range(settled):
                    v0, v1, v2 = near[_T6 + j], near[_T7 + j], near[_T8 + j]
                    tiles[at + j] -= g0 * v0 + g1 * v1 + g2 * v2
                    tiles[at + _T + j] -= h0 * v0 + h1 * v1 + h2 * v2
                p0, p1, p2 = mirrored * rows[0, i], mirrored * rows[1, i], mirrored * rows[2, i]
                q0, q1, q2 = mirrored * rows[0, k], mirrored * rows[1, k], mirrored * rows[2, k]
                a0 = a1 = a2 = b0 = b1 = b2 = 0.0
                for j in range(_T):
                    a, b = tiles[at + j], tiles[at + _T + j]
                    x0, x1, x2 = near[j], near[_T + j], near[_T2 + j]
                    a0 += a * x0
                    a1 += a * x1
                    a2 += a * x2
                    b0 += b * x0
                    b1 += b * x1
                    b2 += b * x2
                    near[_T3 + j] += a * p0 + b * q0
                    near[_T4 + j] += a * p1 + b * q1
                    near[_T5 + j] += a * p2 + b * q2
                product[0, i] += a0
                product[1, i] += a1
                product[2, i] += a2
                product[0, k] += b0
                product[1, k] += b1
                product[2, k] += b2
                at += _T2
            for j in range(_T):
                product[0, left + j] += near[_T3 + j]
                product[1, left + j] += near[_T4 + j]
                product[2, left + j] += near[_T5 + j]
            left += _T
        top += _T
    pending[:] = 0.0
