"""The product of a few rows with a large matrix of random bytes, compiled: what a lift costs is reading that matrix.

The entries are the 256 values −127.5, −126.5, …, 127.5, kept as signed bytes v for v + ½. Random features do not need
finer ones, and a byte is an eighth of a float64: for three rows of 768 and a lift to 2048 this is 3 × faster than
BLAS on float64, which also packs its own copy of the matrix in every call.
"""

import numpy as np

from tmapr.places.triangle import RANK, kernel

VARIANCE = (256**2 - 1) / 12
"""Variance of an entry."""

_u = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR = (_u(k) for k in range(5))
_BLOCK = 512  # columns whose sums for three rows fit into the first-level cache beside the bytes


@kernel
def times_bytes(rows, matrix, product):
    """For three rows: product ← rows · (matrix + ½).

    The matrix is flat: block of columns after block of columns, row after row in each, so that it is read in order.
    Its height is a multiple of 4.
    """
    height, width = _u(rows.shape[1]), _u(product.shape[1])
    sums = np.empty(RANK * _BLOCK)
    block, twice = _u(_BLOCK), _u(2 * _BLOCK)
    start = _ZERO
    while start < width:
        columns = min(block, width - start)
        for c in range(columns):
            sums[c] = sums[block + c] = sums[twice + c] = 0.0
        # Four rows of the matrix at a time: the sums are loaded and stored a quarter as often.
        for i in range(_ZERO, height, _FOUR):
            first = start * height + i * columns
            second, third, fourth = first + columns, first + _TWO * columns, first + _THREE * columns
            p0, q0, r0, s0 = rows[0, i], rows[0, i + _ONE], rows[0, i + _TWO], rows[0, i + _THREE]
            p1, q1, r1, s1 = rows[1, i], rows[1, i + _ONE], rows[1, i + _TWO], rows[1, i + _THREE]
            p2, q2, r2, s2 = rows[2, i], rows[2, i + _ONE], rows[2, i + _TWO], rows[2, i + _THREE]
            for c in range(columns):
                w, x = float(matrix[first + c]), float(matrix[second + c])
                y, z = float(matrix[third + c]), float(matrix[fourth + c])
                sums[c] += p0 * w + q0 * x + r0 * y + s0 * z
                sums[block + c] += p1 * w + q1 * x + r1 * y + s1 * z
                sums[twice + c] += p2 * w + q2 * x + r2 * y + s2 * z
        for rank in range(RANK):
            offset = 0.5 * rows[rank].sum()
            for c in range(columns):
                product[rank, start + c] = sums[_u(rank * _BLOCK) + c] + offset
        start += block
