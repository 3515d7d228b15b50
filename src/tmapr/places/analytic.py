"""Recursive ridge regression: the analytic classifier of eq. (2).

After any sequence of updates with rows X, targets Y and weights w the state equals the batch solution

    K = (λI + Xᵀ diag(w) X)⁻¹,    W = K Xᵀ diag(w) Y,

which is what the tests check. One update of three rows costs one pass over the triangle of K and two over W,
however long the stream is, and runs without the GIL.

Observing rows reads of K and W what learning them needs: XK, whose first row gives the leverage, and XW, the scores.
The last observation is kept until K or W changes; if just its rows are learned next, neither is read again.

Observed or not, everything has the same bits, because learning observes by itself what nobody has: by the same
functions, of the same numbers, in the same order. All that an observation changes is when a downdate that waits reaches
the tiles (triangle.py): with the next pass, and that may be an observation's. It is the same arithmetic then, so all
that can be asked afterwards is the same; and what is saved or merged is the settled matrix, whoever called last. To
leave the tiles alone, by K x = tiles · x − sign · pendingᵀ (pending · x), would need a second pass for what waits, at
twice the cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.layout import Array
from tmapr.exceptions import StateError
from tmapr.places.matrices import LEARN, MakeMatrices, TiledMatrices, pack
from tmapr.places.recursion import find_update
from tmapr.places.triangle import RANK

_UNLEARN = -1.0
_ROUNDING = 1e-6

LAYOUT = {
    "tiles": Array("f", "tiles"),
    "pending": Array("f", f"{RANK} padded"),
    "sign": Array("f", "", _UNLEARN, LEARN),
    "weights": Array("f", "features places"),
    "ridge": Array("f", "", 0),
}


@dataclass(frozen=True, slots=True)
class Observation:
    """What K and W say about up to three rows."""

    rows: Float[np.ndarray, "3 dim"]
    """X; zeros where there are fewer rows."""
    products: Float[np.ndarray, "3 3"]
    """X K Xᵀ."""
    responses: Float[np.ndarray, "3 classes"]
    """X W: the score of every class."""
    leverage: float
    """λ zᵀKz / zᵀz of the first row z: 1 for a direction never learned, towards 0 for one learned often."""


class Ridge:
    """K and W. Only `learn`, `unlearn` and `grow` change them.

    `observe` and `arrays` may settle what is pending, so they are not for two threads at once, either.
    """

    def __init__(self, dim: int, ridge: float, classes: int = 0, make_matrices: MakeMatrices = TiledMatrices) -> None:
        if not ridge > 0:
            raise ValueError(f"ridge must be positive, got {ridge}")
        self.dim = dim
        self.ridge = ridge
        self.classes = classes
        self._matrices = make_matrices(np.zeros((dim, classes)), ridge, None)
        self._observed: Observation | None = None
        """The last one, of K and W as they are."""

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """K as a full matrix."""
        return self._matrices.covariance

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W, read-only."""
        return self._matrices.weights

    def observe(self, rows: Float[np.ndarray, "k dim"]) -> Observation:
        """What is known about one to three rows; kept, so that they can be learned with half of the work."""
        X = np.zeros((RANK, self.dim))
        X[: len(rows)] = rows
        if self._observed is None or not _have_same_bits(self._observed.rows, X):
            products, responses = self._matrices.read(X)
            energy = float(X[0] @ X[0])
            leverage = min(self.ridge * float(products[0, 0]) / energy, 1.0) if energy else 1.0
            self._observed = Observation(X, products, responses, leverage)
        return self._observed

    def scores(self, rows: Float[np.ndarray, "k dim"]) -> Float[np.ndarray, "k classes"]:
        """X W: the response of every class."""
        blocks = [rows[start : start + RANK] for start in range(0, len(rows), RANK)]
        return np.concatenate([np.zeros((0, self.classes)), *(self.observe(b).responses[: len(b)] for b in blocks)])

    def leverage(self, row: Float[np.ndarray, " dim"]) -> float:
        """How far a row lies from all that was learned (see `Observation`)."""
        return self.observe(row[None]).leverage

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        if classes > self.classes:
            self._matrices.grow(classes)
            self.classes = classes
            self._observed = None

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
        self._absorb(rows, targets, weights, LEARN, information)

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
        for start in range(0, len(rows), RANK):
            block = slice(start, min(start + RANK, len(rows)))
            count = block.stop - block.start
            seen = self.observe(rows[block])
            self._observed = None
            roots, Y = np.zeros(RANK), np.zeros((RANK, self.classes))
            roots[:count] = np.sqrt(weights[block])
            Y[:count] = targets[block]
            correction, factor, found = find_update(seen.products, Y - seen.responses, roots, sign, information)
            if not found:
                raise StateError(explain_refusal(sign, self.ridge))
            self._matrices.absorb(correction, factor, sign)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit; the same, whatever was observed last."""
        return self._matrices.arrays() | {"ridge": np.array(self.ridge)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, make_matrices: MakeMatrices = TiledMatrices) -> "Ridge":
        """The state that `arrays` described."""
        dim, classes = arrays["weights"].shape
        ridge = float(arrays["ridge"])
        return cls(dim, ridge, classes, lambda *_: make_matrices(arrays["weights"], ridge, arrays))


def _have_same_bits(one: Float[np.ndarray, "rows dim"], other: Float[np.ndarray, "rows dim"]) -> bool:
    """Unlike equality, it tells the two zeros apart and finds that what is no number is itself."""
    return np.array_equal(one.view(np.int64), other.view(np.int64))


def merge(
    states: Sequence[Ridge],
    columns: Sequence[Int[np.ndarray, " _"]],
    base: Ridge,
    classes: int,
    held: Sequence[tuple[Ridge, Int[np.ndarray, " _"]] | None] = (),
) -> Ridge:
    """Join states with a base: A = A_base + Σ(Aᵢ − A_held,ᵢ) and Q likewise, where A = K⁻¹ and Q = A W.

    `columns[i]` says which class of the result each class of state i is; the base's classes keep their numbers. `held`
    is what the base has of each state already, with columns of its own; None, and by default, all of the base.
    """
    parts = list(zip(states, columns, held or [None] * len(states), strict=True))
    origin, origin_cross = find_information(base, np.arange(base.classes), classes)
    share = 1 - sum(known is None for _, _, known in parts)
    A, Q = share * origin, share * origin_cross
    for state, target, known in parts:
        information, cross = find_information(state, target, classes)
        if known is None:
            _refuse_stranger(information - origin)
        else:
            gone, gone_cross = find_information(*known, classes)
            A -= gone
            Q -= gone_cross
        A += information
        Q += cross
    return solve(A, Q, base.ridge)


def solve(A: Float[np.ndarray, "dim dim"], Q: Float[np.ndarray, "dim classes"], ridge: float) -> Ridge:
    """The state whose K⁻¹ is A, the ridge included, and whose K⁻¹W is Q."""
    factor = _factor(A, "the merged state")
    K = scipy.linalg.cho_solve(factor, np.eye(len(A)))
    return Ridge.from_arrays(pack(K, scipy.linalg.cho_solve(factor, Q), ridge))


def _refuse_stranger(gained: Float[np.ndarray, "dim dim"]) -> None:
    """What a state learned since the base is a sum of squares; otherwise it never had the base's lessons."""
    (smallest,) = scipy.linalg.eigvalsh(gained, subset_by_index=[0, 0])
    if smallest < -_ROUNDING * float(np.trace(gained)) / len(gained) - _ROUNDING:
        raise StateError("a state lacks lessons of the base; only states grown from this base can be merged with it")


def find_information(
    state: Ridge, columns: Int[np.ndarray, " classes"], classes: int
) -> tuple[Float[np.ndarray, "dim dim"], Float[np.ndarray, "dim wide"]]:
    """A = K⁻¹ and Q = A W, to which others' can be added; `columns` says which of so many classes its own are."""
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


def explain_refusal(sign: float, ridge: float) -> str:
    """Why a lesson cannot be learned or unlearned, in a line."""
    if sign == _UNLEARN:
        return "unlearning these rows leaves no positive state; were they learned here, and only unlearned once?"
    return (
        f"the update's innovation is not positive and finite, so the state is exhausted at ridge {ridge:g};"
        " go back to a saved state or map again with a larger places.ridge"
    )
