"""Recursive ridge regression: the analytic classifier of eq. (2).

After any sequence of updates with rows X, targets Y and weights w the state equals the batch solution

    K = (λI + Xᵀ diag(w) X)⁻¹,    W = K Xᵀ diag(w) Y,

which is what the tests check. One update of three rows costs one pass over the triangle of K and two over W,
however long the stream is, and runs without the GIL.
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.exceptions import StateError
from tmapr.places.recursion import update
from tmapr.places.triangle import RANK, from_dense, identity_tiles, quadratic_form, round_up, to_dense

_LEARN, _UNLEARN = 1.0, -1.0
_FIRST_CAPACITY = 64
_ROUNDING = 1e-6

LAYOUT = {
    "tiles": Array("f", "tiles"),
    "pending": Array("f", f"{RANK} padded"),
    "sign": Array("f", "", _UNLEARN, _LEARN),
    "weights": Array("f", "features places"),
    "ridge": Array("f", "", 0),
}


class Ridge:
    """K and W. Only `learn`, `unlearn` and `grow` change them."""

    def __init__(self, dim: int, ridge: float, classes: int = 0) -> None:
        if not ridge > 0:
            raise ValueError(f"ridge must be positive, got {ridge}")
        self.dim = dim
        self.ridge = ridge
        self.classes = classes
        self._tiles = identity_tiles(dim, 1.0 / ridge)
        # K is `tiles − sign · pendingᵀ pending`: the newest downdate waits for the next pass (see triangle.py).
        self._pending = np.zeros((RANK, round_up(dim)))
        self._sign = _LEARN
        self._W = np.zeros((dim, max(_FIRST_CAPACITY, classes)))

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """K as a full matrix."""
        pending = self._pending[:, : self.dim]
        return to_dense(self._tiles, self.dim) - self._sign * pending.T @ pending

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W, read-only."""
        view = self._W[:, : self.classes]
        view.flags.writeable = False
        return view

    def scores(self, rows: Float[np.ndarray, "k dim"]) -> Float[np.ndarray, "k classes"]:
        """X W: the response of every class."""
        return rows @ self._W[:, : self.classes]

    def leverage(self, row: Float[np.ndarray, " dim"]) -> float:
        """λ zᵀKz / zᵀz: 1 for a direction never learned, towards 0 for one learned often."""
        energy = float(row @ row)
        if energy == 0:
            return 1.0
        wide = np.zeros(self._pending.shape[1])
        wide[: self.dim] = row
        share = float(self.ridge * quadratic_form(self._tiles, self._pending, self._sign, wide) / energy)
        return min(share, 1.0)

    def grow(self, classes: int) -> None:
        """Make room for more classes; capacity doubles, so growth costs nothing in the long run."""
        if classes > self._W.shape[1]:
            wider = np.zeros((self.dim, max(classes, 2 * self._W.shape[1])))
            wider[:, : self.classes] = self._W[:, : self.classes]
            self._W = wider
        self.classes = max(self.classes, classes)

    def learn(
        self,
        rows: Float[np.ndarray, "k dim"],
        targets: Float[np.ndarray, "k classes"],
        weights: Float[np.ndarray, " k"],
        information: float = 1.0,
    ) -> None:
        """Absorb weighted rows. `information` < 1 adds only that share of them to K⁻¹ (the minimax recursion).

        More than three rows go in blocks of three; if one block is refused, those before it stay learned.
        """
        self._absorb(rows, targets, weights, _LEARN, information)

    def unlearn(
        self,
        rows: Float[np.ndarray, "k dim"],
        targets: Float[np.ndarray, "k classes"],
        weights: Float[np.ndarray, " k"],
    ) -> None:
        """Remove rows that were learned, as if they never had been."""
        self._absorb(rows, targets, weights, _UNLEARN, 1.0)

    def _absorb(
        self,
        rows: Float[np.ndarray, "k dim"],
        targets: Float[np.ndarray, "k classes"],
        weights: Float[np.ndarray, " k"],
        sign: float,
        information: float,
    ) -> None:
        roots = np.sqrt(weights)[:, None]
        for start in range(0, len(rows), RANK):
            block = slice(start, min(start + RANK, len(rows)))
            count = block.stop - block.start
            X = np.zeros(self._pending.shape)
            X[:count, : self.dim] = roots[block] * rows[block]
            Y = np.zeros((RANK, self.classes))
            Y[:count] = roots[block] * targets[block]
            sound = update(self._tiles, self._pending, self._sign, X, Y, self._W, sign, information)
            self._sign = sign
            if not sound:
                raise StateError(_explain_refusal(sign, self.ridge))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit."""
        return {
            "tiles": self._tiles,
            "pending": self._pending,
            "sign": np.array(self._sign),
            "weights": self._W[:, : self.classes],
            "ridge": np.array(self.ridge),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Ridge":
        """The state that `arrays` described."""
        dim, classes = arrays["weights"].shape
        state = cls(dim, float(arrays["ridge"]), classes)
        for name, mine in (("tiles", state._tiles), ("pending", state._pending)):
            if arrays[name].shape != mine.shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, it must be {mine.shape}")
        state._tiles[:] = arrays["tiles"]
        state._pending[:] = arrays["pending"]
        state._sign = float(arrays["sign"])
        state._W[:, :classes] = arrays["weights"]
        return state


def merge(states: Sequence[Ridge], columns: Sequence[Int[np.ndarray, " _"]], base: Ridge, classes: int) -> Ridge:
    """Join states grown from one base: A = ΣAᵢ − (n−1) A_base and Q likewise, where A = K⁻¹ and Q = A W.

    `columns[i]` says which class of the result each class of state i is; the base's classes keep their numbers.
    """
    origin, origin_cross = _information(base, np.arange(base.classes), classes)
    A, Q = (1 - len(states)) * origin, (1 - len(states)) * origin_cross
    for state, target in zip(states, columns, strict=True):
        information, cross = _information(state, target, classes)
        _refuse_stranger(information - origin)
        A += information
        Q += cross
    factor = _factor(A, "the merged state")
    K = scipy.linalg.cho_solve(factor, np.eye(base.dim))
    merged = Ridge(base.dim, base.ridge, classes)
    merged._tiles[:] = from_dense((K + K.T) / 2, 1.0 / base.ridge)
    merged._W[:, :classes] = scipy.linalg.cho_solve(factor, Q)
    return merged


def _refuse_stranger(gained: Float[np.ndarray, "dim dim"]) -> None:
    """What a state learned since the base is a sum of squares; otherwise it never had the base's lessons."""
    (smallest,) = scipy.linalg.eigvalsh(gained, subset_by_index=[0, 0])
    if smallest < -_ROUNDING * float(np.trace(gained)) / len(gained) - _ROUNDING:
        raise StateError("a state lacks lessons of the base; only states grown from this base can be merged with it")


def _information(
    state: Ridge, columns: Int[np.ndarray, " classes"], classes: int
) -> tuple[Float[np.ndarray, "dim dim"], Float[np.ndarray, "dim wide"]]:
    factor = _factor(state.covariance, "a state to be merged")
    W = np.zeros((state.dim, classes))
    W[:, columns] = state.weights
    return scipy.linalg.cho_solve(factor, np.eye(state.dim)), scipy.linalg.cho_solve(factor, W)


def _factor(matrix: Float[np.ndarray, "dim dim"], what: str) -> tuple[np.ndarray, bool]:
    try:
        factor: tuple[np.ndarray, bool] = scipy.linalg.cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError:
        raise StateError(f"{what} is not positive definite; were all states grown from this base?") from None
    return factor


def _explain_refusal(sign: float, ridge: float) -> str:
    if sign == _UNLEARN:
        return "unlearning these rows leaves no positive state; were they learned here, and only unlearned once?"
    return (
        f"the update's innovation is not positive and finite, so the state is exhausted at ridge {ridge:g};"
        " go back to a saved state or map again with a larger places.ridge"
    )
