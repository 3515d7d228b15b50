"""Walks through the Huffman codes of a JPEG's scan and counts bits: only so is it known that none are missing.

No coefficient is decoded, so that it takes less time than decoding. `codes` has a row for each Huffman table, in it for
every 16 bits that may come next 256 · length + symbol of the code they begin with, or 0. Data have no stuffed bytes and
two more zeros at their end. All walks return the place of the next bit, or -1 for a code that does not exist.
"""

import numba

_BLOCK = 64
_LONGEST_RUN = 15


@numba.njit(cache=True, nogil=True, inline="always")
def _look_up(codes, data, at):
    byte = at >> 3
    window = (numba.int64(data[byte]) << 16) | (numba.int64(data[byte + 1]) << 8) | numba.int64(data[byte + 2])
    return numba.int64(codes[(window >> (8 - (at & 7))) & 0xFFFF])


@numba.njit(cache=True, nogil=True, inline="always")
def _take_bits(data, at, count):
    value = 0
    for bit in range(at, at + count):
        value = 2 * value + ((data[bit >> 3] >> (7 - (bit & 7))) & 1)
    return value


@numba.njit(cache=True, nogil=True)
def walk_blocks(codes, data, dc, ac, units, last):
    """Whole blocks, or with `last` 0 their first coefficients; `dc` and `ac` are the tables of a unit's blocks."""
    end, at = 8 * (len(data) - 3), 0
    for _ in range(units):
        for block in range(len(dc)):
            if at >= end:
                return end + 1
            found = _look_up(codes[dc[block]], data, at)
            if not found:
                return -1
            at += (found >> 8) + (found & 255)
            index = 1
            while index <= last:
                if at >= end:
                    return end + 1
                found = _look_up(codes[ac[block]], data, at)
                if not found:
                    return -1
                run, size = (found >> 4) & 15, found & 15
                at += (found >> 8) + size
                if size == 0 and run < _LONGEST_RUN:
                    break
                index += run + 1
            if index > _BLOCK:
                return -1
    return at


@numba.njit(cache=True, nogil=True)
def walk_band(codes, data, nonzero, first, last, again):
    """Coefficients `first` to `last` of blocks, for the first time or with one more bit; notes which are not zero."""
    end, at, rest = 8 * (len(data) - 3), 0, 0
    for block in range(len(nonzero)):
        index = first
        while rest == 0 and index <= last:
            if at >= end:
                return end + 1
            found = _look_up(codes, data, at)
            if not found:
                return -1
            at += found >> 8
            run, size = (found >> 4) & 15, found & 15
            if size == 0 and run < _LONGEST_RUN:
                if at + run > end:
                    return end + 1
                rest = (1 << run) + _take_bits(data, at, run)
                at += run
                break
            at += size
            while again and index <= last and (nonzero[block, index] or run):
                if nonzero[block, index]:
                    at += 1
                else:
                    run -= 1
                index += 1
            index += 0 if again else run
            if index > last and size:
                return -1
            if size:
                nonzero[block, index] = True
            index += 1
        if rest:
            while again and index <= last:
                at += nonzero[block, index]
                index += 1
            rest -= 1
    return at
