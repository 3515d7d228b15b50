"""Sums over a whole descriptor in Triton: each program leaves those of its block, and whoever needs them adds all up.

A descriptor has some dozens of blocks: to add their sums in every program of the next kernel costs less than a kernel
that does nothing else, and the order is the same each time. What is saved does not hold such sums, so the functions
here are all that ever makes them: whatever is continued from a file has the bits of what never stopped.
"""

import triton
import triton.language as tl


@triton.jit
def add_up(sums, which, blocks, BLOCKS_UP: tl.constexpr):
    """One of the sums over all blocks."""
    block = tl.arange(0, BLOCKS_UP)
    return tl.sum(tl.load(sums + which * blocks + block, mask=block < blocks, other=0.0), axis=0)


@triton.jit
def leave_square(values, sums, which, blocks):
    """Leave the sum of squares of this block."""
    tl.store(sums + which * blocks + tl.program_id(0), tl.sum(values * values, axis=0))


@triton.jit
def square_blocks(values, sums, width, blocks, BLOCK: tl.constexpr):
    """The squares of a descriptor that is there already."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    leave_square(tl.load(values + at, mask=at < width, other=0.0), sums, 0, blocks)
