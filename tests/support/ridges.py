"""Lessons for a ridge regression, on the CPU or a device, and the batch solutions that it must equal."""

import numpy as np
from sklearn import linear_model

DIM, CLASSES = 100, 5


def stream(rng, count, dim=DIM, classes=CLASSES):
    """Rows of about unit length, one-hot targets and weights in [0.5, 2)."""
    X = rng.normal(size=(count, dim)) / np.sqrt(dim)
    return X, np.eye(classes)[rng.integers(classes, size=count)], rng.uniform(0.5, 2.0, size=count)


def learned(kind, X, Y, w, ridge=0.01, block=3):
    state = kind(X.shape[1], ridge, Y.shape[1])
    for start in range(0, len(X), block):
        part = slice(start, start + block)
        state.learn(X[part], Y[part], w[part])
    return state


def batch_weights(X, Y, w, ridge=0.01):
    model = linear_model.Ridge(alpha=ridge, fit_intercept=False, solver="cholesky")
    return np.atleast_2d(model.fit(X, Y, sample_weight=w).coef_).T


def batch_covariance(X, w, ridge=0.01):
    return np.linalg.inv(ridge * np.eye(X.shape[1]) + X.T @ (w[:, None] * X))


def relative(found, expected):
    """Frobenius norm of the error as a share of what is expected."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def snapshot(state):
    return {name: np.array(array) for name, array in state.arrays().items()}


def assert_same_bits(left, right):
    for name, array in snapshot(left).items():
        np.testing.assert_array_equal(array, snapshot(right)[name], err_msg=name)
