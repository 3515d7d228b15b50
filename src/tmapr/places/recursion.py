"""The rank-3 update of K and W, in compiled calls that leave the GIL alone.

With G = XK from a pass over the triangle, `read` has the rest that an update needs of what is known, `absorb` changes
it. Whoever wants scores and leverage needs no more than the first two, and an update that follows with the same rows
nothing but the last. So rows are read without their weights, which nobody knows yet when a frame is observed;
`find_update` puts them in afterwards, in 3×3 and in 3×places numbers, wherever K and W are.
"""

import numpy as np

from tmapr.places.triangle import CACHE_LINE, RANK, kernel, part, prefetch

_u = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR = (_u(k) for k in range(5))


@kernel
def read(X, G, W, classes):
    """X Gᵀ and X W."""
    return _dots(X, G), _respond(X, W, classes)


@kernel
def find_update(products, residual, roots, sign, information):
    """How to absorb a block of rows that was read: a correction C and a factor F, and whether there are any.

    The residual is Y − XW. With D = diag(roots), the roots of the weights, in front of X and Y, and so of G:
    S = sign·I + XGᵀ, W += GᵀC with C = S⁻¹ (Y − XW), K −= sign · VᵀV with V = F G and VᵀV = Gᵀ (sign·S)⁻¹ G.
    Unlearning is the same with sign = −1. Nothing is to be learned if the innovation is not positive.
    """
    D = roots.reshape(-1, 1)
    weighted = D * products * roots
    L = _cholesky(weighted, sign, 1.0)
    narrow = _cholesky(weighted, sign, information)
    residual = D * residual
    if not (L[0, 0] > 0.0 and narrow[0, 0] > 0.0 and np.isfinite(residual.sum())):
        return residual, weighted, False
    correction = D * (sign * _solve_transpose(L, _solve(L, residual)))
    return correction, np.sqrt(information) * _solve(narrow, np.diag(roots)), True


@kernel
def absorb(pending, G, W, correction, factor):
    """W += Gᵀ C, and V = F G is left pending."""
    _add_outer(W, G, correction)
    _combine(factor, G, pending)


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
def _respond(X, W, classes):
    """X W in one pass over W, four of its rows at a time: the sums are loaded and stored a quarter as often.

    All three rows of sums are one array, and W is flat, so that LLVM need not test them for overlap.
    """
    dim, width, count = _u(W.shape[0]), _u(W.shape[1]), _u(classes)
    flat, twice = W.reshape(-1), _TWO * count
    sums = np.zeros(RANK * classes)
    whole = dim - dim % _FOUR
    for i in range(_ZERO, whole, _FOUR):
        first = i * width
        second, third, fourth = first + width, first + _TWO * width, first + _THREE * width
        for offset in range(_ZERO, _FOUR * width, CACHE_LINE):
            prefetch(flat, fourth + width + offset)
        p0, q0, r0, s0 = X[0, i], X[0, i + _ONE], X[0, i + _TWO], X[0, i + _THREE]
        p1, q1, r1, s1 = X[1, i], X[1, i + _ONE], X[1, i + _TWO], X[1, i + _THREE]
        p2, q2, r2, s2 = X[2, i], X[2, i + _ONE], X[2, i + _TWO], X[2, i + _THREE]
        for c in range(count):
            w, x, y, z = flat[first + c], flat[second + c], flat[third + c], flat[fourth + c]
            sums[c] += p0 * w + q0 * x + r0 * y + s0 * z
            sums[count + c] += p1 * w + q1 * x + r1 * y + s1 * z
            sums[twice + c] += p2 * w + q2 * x + r2 * y + s2 * z
    for i in range(whole, dim):
        for c in range(count):
            w = flat[i * width + c]
            sums[c] += X[0, i] * w
            sums[count + c] += X[1, i] * w
            sums[twice + c] += X[2, i] * w
    return sums.reshape(RANK, classes)


@part
def _add_outer(W, G, correction):
    """W += Gᵀ · correction."""
    dim, width, count = _u(W.shape[0]), _u(W.shape[1]), _u(correction.shape[1])
    flat, twice = W.reshape(-1), _TWO * count
    factors = correction.reshape(-1)
    for i in range(dim):
        first = i * width
        g0, g1, g2 = G[0, i], G[1, i], G[2, i]
        for offset in range(_ZERO, width, CACHE_LINE):
            prefetch(flat, first + _FOUR * width + offset)
        for c in range(count):
            flat[first + c] += g0 * factors[c] + g1 * factors[count + c] + g2 * factors[twice + c]


@part
def _combine(factor, G, combined):
    """Factor · G, for a factor of 3×3."""
    for a in range(RANK):
        f0, f1, f2 = factor[a, 0], factor[a, 1], factor[a, 2]
        for i in range(G.shape[1]):
            combined[a, i] = f0 * G[0, i] + f1 * G[1, i] + f2 * G[2, i]


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
