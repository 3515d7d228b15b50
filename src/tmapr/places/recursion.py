"""The rank-3 update of K and W compiled into one call that leaves the GIL alone throughout.

One call, because every return to Python would have to wait for the GIL again.
"""

import numpy as np

from tmapr.places.triangle import RANK, kernel, part, settle_and_multiply


@kernel
def update(tiles, pending, pending_sign, X, Y, W, sign, information):
    """One block of rows, W recursively; False, and nothing learned, if the innovation is not positive.

    G = XK, S = sign·I + XGᵀ, W += Gᵀ S⁻¹ (Y − XW), K −= sign · VᵀV with VᵀV = Gᵀ (sign·S)⁻¹ G.
    Unlearning is the same with sign = −1.
    """
    G = np.empty_like(X)
    settle_and_multiply(tiles, pending, pending_sign, X, G)
    pending[:] = 0.0
    products = _dots(X, G)
    L = _cholesky(products, sign, 1.0)
    narrow = _cholesky(products, sign, information)
    residual = _residual(X, Y, W)
    if not (L[0, 0] > 0.0 and narrow[0, 0] > 0.0 and np.isfinite(residual.sum())):
        return False
    correction = sign * _solve_transpose(L, _solve(L, residual))
    # W before the new downdate: both use the gain of the old K.
    _add_outer(W, G, correction)
    pending[:] = np.sqrt(information) * _solve(narrow, G)
    return True


@part
def _dots(X, G):
    """X Gᵀ = X K Xᵀ, symmetric, in one pass."""
    p00 = p10 = p11 = p20 = p21 = p22 = 0.0
    for i in range(X.shape[1]):
        x0, x1, x2 = X[0, i], X[1, i], X[2, i]
        g0, g1, g2 = G[0, i], G[1, i], G[2, i]
        p00 += x0 * g0
        p10 += x1 * g0
        p11 += x1 * g1
        p20 += x2 * g0
        p21 += x2 * g1
        p22 += x2 * g2
    return np.array([[p00, p10, p20], [p10, p11, p21], [p20, p21, p22]])


@part
def _residual(X, Y, W):
    """Y − XW in one pass over W, two of its rows at a time to halve the trips through the residual."""
    dim = W.shape[0]
    r0, r1, r2 = Y[0].copy(), Y[1].copy(), Y[2].copy()
    for i in range(0, dim - 1, 2):
        x0, x1, x2 = X[0, i], X[1, i], X[2, i]
        y0, y1, y2 = X[0, i + 1], X[1, i + 1], X[2, i + 1]
        for c in range(r0.size):
            a, b = W[i, c], W[i + 1, c]
            r0[c] -= x0 * a + y0 * b
            r1[c] -= x1 * a + y1 * b
            r2[c] -= x2 * a + y2 * b
    residual = np.stack((r0, r1, r2))
    if dim % 2:
        for rank in range(RANK):
            residual[rank] -= X[rank, dim - 1] * W[dim - 1, : r0.size]
    return residual


@part
def _add_outer(W, G, correction):
    c0, c1, c2 = correction[0], correction[1], correction[2]
    for i in range(W.shape[0]):
        g0, g1, g2 = G[0, i], G[1, i], G[2, i]
        for c in range(c0.size):
            W[i, c] += g0 * c0[c] + g1 * c1[c] + g2 * c2[c]


@part
def _cholesky(products, sign, information):
    """Lower factor of I + sign · information · products; a zero in the corner says that there is none."""
    L = np.zeros((RANK, RANK))
    for a in range(RANK):
        for b in range(a + 1):
            entry = sign * information * products[a, b] + (1.0 if a == b else 0.0)
            for r in range(b):
                entry -= L[a, r] * L[b, r]
            if a > b:
                L[a, b] = entry / L[b, b]
            elif 0.0 < entry < np.inf:
                L[a, a] = np.sqrt(entry)
            else:
                L[0, 0] = 0.0
                return L
    return L


@part
def _solve(L, right):
    """L⁻¹ · right, by forward substitution over whole rows."""
    solution = right.copy()
    for a in range(RANK):
        for b in range(a):
            solution[a] -= L[a, b] * solution[b]
        solution[a] /= L[a, a]
    return solution


@part
def _solve_transpose(L, right):
    """L⁻ᵀ · right, by back substitution."""
    solution = right.copy()
    for a in range(RANK - 1, -1, -1):
        for b in range(a + 1, RANK):
            solution[a] -= L[b, a] * solution[b]
        solution[a] /= L[a, a]
    return solution
