"""Eq. (10) in Joseph form, compiled: matrices are so small that calling a library takes ten times what it does."""

import numpy as np

from tmapr.compiled import compiled


@compiled()
def multiply(a, b):
    """A B, without what BLAS costs to call."""
    product = np.zeros((a.shape[0], b.shape[1]))
    for row in range(a.shape[0]):
        for k in range(a.shape[1]):
            for column in range(b.shape[1]):
                product[row, column] += a[row, k] * b[k, column]
    return product


@compiled()
def symmetrise(matrix):
    """The same matrix without the last-bit asymmetry that matrix products leave."""
    return (matrix + matrix.T) / 2


@compiled()
def solve(innovation, right):
    """innovation⁻¹ right by its Cholesky factor; LinAlgError where it has none."""
    size = len(innovation)
    factor, solved = np.zeros((size, size)), right.copy()
    for row in range(size):
        for column in range(row + 1):
            rest = innovation[row, column]
            for k in range(column):
                rest -= factor[row, k] * factor[column, k]
            if row != column:
                factor[row, column] = rest / factor[column, column]
            elif rest > 0:
                factor[row, row] = np.sqrt(rest)
            else:
                raise np.linalg.LinAlgError("the innovation's covariance is not positive definite")
    for column in range(solved.shape[1]):
        for row in range(size):
            for k in range(row):
                solved[row, column] -= factor[row, k] * solved[k, column]
            solved[row, column] /= factor[row, row]
        for row in range(size - 1, -1, -1):
            for k in range(row + 1, size):
                solved[row, column] -= factor[k, row] * solved[k, column]
            solved[row, column] /= factor[row, row]
    return solved


@compiled()
def predict(mean, covariance, transition, noise):
    """Mean and covariance after one step of the motion model."""
    moved = multiply(transition, mean.reshape(-1, 1))[:, 0].copy()
    return moved, symmetrise(multiply(multiply(transition, covariance), transition.T) + noise)


@compiled()
def correct(mean, P, measurement, H, R):
    """Mean and covariance after a measurement, eq. (10)."""
    HP = multiply(H, P)
    L = solve(multiply(HP, H.T) + R, HP).T
    # Joseph form: (I − LH)P alone cancels to zero once P exceeds R by sixteen digits, as after a long gap.
    kept = np.eye(len(mean)) - multiply(L, H)
    missing = (measurement - multiply(H, mean.reshape(-1, 1))[:, 0]).reshape(-1, 1)
    spread = multiply(multiply(kept, P), kept.T) + multiply(multiply(L, R), L.T)
    return mean + multiply(L, missing)[:, 0], symmetrise(spread)


@compiled()
def measure_nis(surprise, spread):
    """νᵀS⁻¹ν."""
    column = surprise.reshape(-1, 1)
    return multiply(column.T, solve(spread, column))[0, 0]
