"""The loops of `gyroscope`, compiled: NumPy and OpenCV go over an image once for each of their steps."""

import numpy as np

from tmapr.compiled import compiled


@compiled()
def average_bins(counts, bins):
    """Means of squares of so many whole pixels; what is left over at the edges is less than a bin."""
    height, width = counts.shape[0] // bins, counts.shape[1] // bins
    sums, means = np.empty(width * bins, np.uint32), np.empty((height, width), np.float32)
    # A sum of counts is exact, so that it does not matter in which order they come: down first, many columns at once.
    share = np.float32(1.0 / (bins * bins))
    for row in range(height):
        first = counts[row * bins]
        for column in range(len(sums)):
            sums[column] = np.uint32(first[column])
        for number in range(row * bins + 1, (row + 1) * bins):
            line = counts[number]
            for column in range(len(sums)):
                sums[column] = np.uint32(sums[column] + np.uint32(line[column]))
        at = 0
        for column in range(width):
            total = np.uint32(0)
            for _ in range(bins):
                total = np.uint32(total + sums[at])
                at += 1
            means[row, column] = np.float32(total) * share
    return means


@compiled(fastmath=True)
def match_sketches(before, after, right, down):
    """Normalized cross-correlation of what both show, when one is moved, and how many pixels that is."""
    height, width = before.shape
    top, left = max(-down, 0), max(-right, 0)
    rows, columns = height - abs(down), width - abs(right)
    if rows <= 0 or columns <= 0:
        return 0.0, 0
    was_mean, now_mean = 0.0, 0.0
    for row in range(top, top + rows):
        for column in range(left, left + columns):
            was_mean += before[row, column]
            now_mean += after[row + down, column + right]
    was_mean, now_mean = was_mean / (rows * columns), now_mean / (rows * columns)
    both, first, second = 0.0, 0.0, 0.0
    for row in range(top, top + rows):
        for column in range(left, left + columns):
            was, now = before[row, column] - was_mean, after[row + down, column + right] - now_mean
            both += was * now
            first += was * was
            second += now * now
    energy = np.sqrt(first * second)
    return both / energy if energy > 0 else 0.0, rows * columns
