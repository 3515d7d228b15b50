"""The rows of a PNG restored from what its filters left, compiled and without the GIL."""

import numpy as np

from tmapr.compiled import compiled


@compiled()
def restore_rows(filtered, rows, step):
    """Undo the filters of lines that begin with a filter's number, with `step` bytes a pixel, 1 or 2.

    False for a filter that does not exist.
    """
    above = np.zeros(rows.shape[1], np.uint8)
    for number in range(len(rows)):
        kind, given, line = filtered[number, 0], filtered[number, 1:], rows[number]
        if kind == 4:
            _undo_paeth(given, line, above, step)
        elif kind == 3:
            for at in range(len(line)):
                left = np.int64(line[at - step]) if at >= step else 0
                line[at] = given[at] + np.uint8((left + np.int64(above[at])) >> 1)
        elif kind == 2:
            for at in range(len(line)):
                line[at] = given[at] + above[at]
        elif kind == 1:
            line[:step] = given[:step]
            for at in range(step, len(line)):
                line[at] = given[at] + line[at - step]
        elif kind == 0:
            line[:] = given
        else:
            return False
        above = line
    return True


@compiled()
def _undo_paeth(given, line, above, step):
    """One pixel's bytes side by side: each waits only for the same byte of the pixel to its left."""
    left, corner = np.int32(0), np.int32(0)
    lower_left, lower_corner = np.int32(0), np.int32(0)
    for at in range(0, len(line), step):
        up = np.int32(above[at])
        left = (np.int32(given[at]) + _choose_nearest(left, up, corner)) & 255
        corner, line[at] = up, np.uint8(left)
        if step == 2:
            up = np.int32(above[at + 1])
            lower_left = (np.int32(given[at + 1]) + _choose_nearest(lower_left, up, lower_corner)) & 255
            lower_corner, line[at + 1] = up, np.uint8(lower_left)


@compiled(inline="always")
def _choose_nearest(left, up, corner):
    """Paeth's predictor without a branch: in noise, every other one would be guessed wrong."""
    by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - corner - corner)
    nearest = np.int32(up) if by_up <= by_corner else np.int32(corner)
    return np.int32(left) if (by_left <= by_up) & (by_left <= by_corner) else nearest
