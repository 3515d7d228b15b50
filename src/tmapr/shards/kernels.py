"""Products of one descriptor with rows that stay as they are on disk, compiled: float16 numbers, and codes of bits.

NumPy widens float16 in software, one number at a time; here the processor's own instruction does it, eight at a time,
on the way to the product, and nothing is copied.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tmapr.compiled import compiled

# Sums may be reordered, which is what vectorises them; two machines may then differ in the last bit of a cosine.
kernel: Any = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})

_u = np.uint64


def _widening(_typing: Any, bits: Any) -> Any:
    """The float16 that 16 bits are, as float32."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return types.float32(bits), generate


def _counting(_typing: Any, bits: Any) -> Any:
    """How many of 64 bits are set."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(bits), generate


widen: Any = intrinsic(_widening)
count_bits: Any = intrinsic(_counting)


@kernel
def times_halves(rows, some, query, product):
    """For each number in `some`: product ← rows[number] · query."""
    width = _u(rows.shape[1])
    for k in range(len(some)):
        row = some[k]
        total = np.float32(0.0)
        for i in range(width):
            total += widen(rows[row, i]) * query[i]
        product[k] = total


@kernel
def add_halves(rows, total):
    """Add every row to the total."""
    width = _u(rows.shape[1])
    for row in range(_u(rows.shape[0])):
        for i in range(width):
            total[i] += widen(rows[row, i])


@kernel
def code_halves(rows, mean, codes):
    """A bit for each number: whether it is above the mean. What is left of the last word stays 0."""
    width = _u(rows.shape[1])
    for row in range(_u(rows.shape[0])):
        for word in range(_u(codes.shape[1])):
            first = word * _u(64)
            bits = _u(0)
            for i in range(min(_u(64), width - first)):
                bits |= _u(widen(rows[row, first + i]) > mean[first + i]) << i
            codes[row, word] = bits


@kernel
def count_differences(codes, query, begin, end, differences):
    """How many bits of each code from `begin` to before `end` are not the query's."""
    words = _u(codes.shape[1])
    for row in range(_u(begin), _u(end)):
        total = _u(0)
        for word in range(words):
            total += count_bits(codes[row, word] ^ query[word])
        differences[row] = total
