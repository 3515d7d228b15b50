"""The analytic classifier of eq. (2) on a device: what `tmapr.places.analytic.Ridge` is on the CPU, and its files.

A frame reads K once. `observe` keeps X K and X W where they were made; scores and leverage come from them, and so does
the lesson that `absorb` learns, if it is learned at all. K is rewritten every sixteenth update.

`observe`, `absorb`, `absorb_place` and `flush` take and leave tensors on the device and never wait for it, so that a
CUDA graph can hold them; `grow` past `capacity` makes new tensors, and such a graph must then be captured again. A
lesson that is refused there changes nothing and is counted: `check` raises for it when the host next asks.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.artifacts.arrays import Arrays
from tmapr.device.triangle import SLOTS, SUMS, UPDATES, Response, Triangle, Tuning, load_tiles, power_of_two
from tmapr.exceptions import StateError
from tmapr.places.analytic import explain_refusal
from tmapr.places.triangle import RANK, TILE, to_dense

_LEARN, _UNLEARN = 1.0, -1.0
_FIRST_CAPACITY = 64
_WIDEST_BLOCK = 128
_SLOT, _WAITING, _REFUSED = range(3)
_IDENTITY = torch.eye(RANK, dtype=torch.float64)


class DeviceRidge:
    """K and W on a device. Only `learn`, `unlearn`, `absorb`, `absorb_place` and `grow` change them."""

    def __init__(
        self,
        dim: int,
        ridge: float,
        classes: int = 0,
        device: torch.device | str = "cpu",
        tuning: Tuning | None = None,
    ) -> None:
        if not ridge > 0:
            raise ValueError(f"ridge must be positive, got {ridge}")
        self.dim = dim
        self.ridge = ridge
        self.classes = classes
        self.device = torch.device(device)
        self._triangle = Triangle(dim, self.device, tuning)
        width = self._triangle.width
        self._tiles = load_tiles(dim, 1.0 / ridge, self.device)
        self._pending = self._zeros(SLOTS, width)
        self._signs = self._zeros(SLOTS)
        self._counters = torch.zeros(3, dtype=torch.int32, device=self.device)
        self._rows = self._zeros(RANK, width)
        self._gain = self._zeros(RANK, width)
        self._products = self._zeros(RANK, SUMS)
        self._leverage = self._zeros(1)
        self._ridge = torch.full((1,), ridge, dtype=torch.float64, device=self.device)
        self._learning, self._unlearning = self.terms(), self.terms(_UNLEARN)
        self._make_room(power_of_two(max(_FIRST_CAPACITY, classes)))

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def _send(self, array: Float[np.ndarray, "..."]) -> Tensor:
        # A copy: of an array that cannot be written, or lies on disk, torch would take no view.
        return torch.tensor(array, dtype=torch.float64, device=self.device)

    def _make_room(self, capacity: int) -> None:
        width = self._triangle.width
        self._W = self._zeros(width, capacity)
        self._scores = self._zeros(RANK, capacity)
        self._targets = self._zeros(RANK, capacity)
        self._response = Response(
            self._W,
            self._zeros(width // TILE, RANK, capacity),
            self._scores,
            self._ridge,
            self._products,
            self._leverage,
            self._counters,
        )

    @property
    def capacity(self) -> int:
        """The classes that there is room for."""
        return self._W.shape[1]

    @property
    def nbytes(self) -> int:
        """Of K's triangle, which an observation reads."""
        return self._tiles.nbytes

    @property
    def covariance(self) -> Float[np.ndarray, "dim dim"]:
        """K as a full matrix, on the host."""
        pending = self._pending[:, : self.dim]
        return to_dense(self._tiles.cpu().numpy(), self.dim) - (self._signs * pending.T @ pending).cpu().numpy()

    @property
    def weights(self) -> Float[np.ndarray, "dim classes"]:
        """W on the host, read-only."""
        copy = self._W[: self.dim, : self.classes].cpu().numpy().copy()
        copy.flags.writeable = False
        return copy

    @property
    def responses(self) -> Float[Tensor, "3 capacity"]:
        """X W of the rows last observed, for all classes that there is room for: 0 for those that are not in use."""
        return self._scores

    def scores(self, rows: Float[np.ndarray, "k dim"]) -> Float[np.ndarray, "k classes"]:
        """X W: the response of every class."""
        return (self._send(rows) @ self._W[: self.dim, : self.classes]).cpu().numpy()

    def leverage(self, row: Float[np.ndarray, " dim"]) -> float:
        """λ zᵀKz / zᵀz: 1 for a direction never learned, towards 0 for one learned often."""
        energy = float(row @ row)
        if energy == 0:
            return 1.0
        # Not through `observe`: what that keeps for a lesson stays.
        rows, gain = torch.zeros_like(self._rows), torch.empty_like(self._gain)
        rows[0, : self.dim] = self._send(row)
        self._triangle.multiply(self._tiles, self._pending, self._signs, rows, gain)
        return min(self.ridge * float(rows[0] @ gain[0]) / energy, 1.0)

    def grow(self, classes: int) -> None:
        """Make room for more classes; capacity doubles, so growth costs nothing in the long run."""
        if classes > self.capacity:
            W, scores = self._W, self._scores
            self._make_room(power_of_two(classes))
            self._W[:, : W.shape[1]] = W
            # A place first seen in this frame may need the room after the frame was observed.
            self._scores[:, : W.shape[1]] = scores
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
        self._absorb_blocks(rows, targets, weights, self.terms(_LEARN, information), _LEARN)

    def unlearn(
        self,
        rows: Float[np.ndarray, "k dim"],
        targets: Float[np.ndarray, "k classes"],
        weights: Float[np.ndarray, " k"],
    ) -> None:
        """Remove rows that were learned, as if they never had been."""
        self._absorb_blocks(rows, targets, weights, self._unlearning, _UNLEARN)

    def _absorb_blocks(
        self,
        rows: Float[np.ndarray, "k dim"],
        targets: Float[np.ndarray, "k classes"],
        weights: Float[np.ndarray, " k"],
        terms: Float[Tensor, "2"],
        sign: float,
    ) -> None:
        for start in range(0, len(rows), RANK):
            block = slice(start, min(start + RANK, len(rows)))
            X, Y, w = self._zeros(RANK, self.dim), self._zeros(RANK, self.classes), self._zeros(RANK)
            for whole, part in ((X, rows), (Y, targets), (w, weights)):
                whole[: block.stop - start] = self._send(part[block])
            self.observe(X)
            self.absorb(Y, w, terms)
            self.flush(UPDATES)
            self.check(sign)

    def terms(self, sign: float = _LEARN, information: float = 1.0) -> Float[Tensor, "2"]:
        """How `absorb` is to take rows: 1 to learn them or −1 to unlearn, and their share that becomes information."""
        return torch.tensor([sign, information], dtype=torch.float64, device=self.device)

    def observe(self, rows: Float[Tensor, "3 dim"]) -> tuple[Float[Tensor, "3 capacity"], Float[Tensor, ""]]:
        """X W, and the leverage of the first row; both until the next time. The one read of K.

        There is a column for every class that there is room for; those of classes that are not there yet are zero.
        """
        given = (self._tiles, self._pending, self._signs, self._take(rows), self._gain)
        self._triangle.multiply(*given, self._response)
        return self._scores, self._leverage[0]

    def _take(self, rows: Float[Tensor, "3 dim"]) -> Float[Tensor, "3 width"]:
        """The rows in whole tiles; as they are, if that is how they are."""
        if rows.shape[1] == self._rows.shape[1] and rows.dtype is torch.float64 and rows.is_contiguous():
            return rows
        self._rows[:, : self.dim].copy_(rows)
        return self._rows

    def absorb(
        self, targets: Float[Tensor, "3 classes"], weights: Float[Tensor, "3"], terms: Float[Tensor, "2"] | None = None
    ) -> None:
        """Learn the rows last observed, once, from the products that were kept: K is neither read nor written.

        Sixteen lessons wait at most; one more without a `flush` is refused.
        """
        self._targets[:, : targets.shape[1]].copy_(targets)
        self._absorb(self._targets, weights, self._learning if terms is None else terms)

    def absorb_place(
        self, place: Int[Tensor, ""], weights: Float[Tensor, "3"], terms: Float[Tensor, "2"] | None = None
    ) -> None:
        """The same for rows that all show one place."""
        self._absorb(place, weights, self._learning if terms is None else terms)

    def flush(self, least: int = 1) -> None:
        """Rewrite K if at least so many updates wait: `UPDATES` after every lesson, 1 before K is looked at."""
        self._triangle.flush(self._tiles, self._pending, self._signs, self._counters, least)

    @property
    def refused(self) -> Int[Tensor, "1"]:
        """How many lessons were, since `check` last asked; on the device."""
        return self._counters[_REFUSED:]

    def check(self, sign: float = _LEARN) -> None:
        """Wait for the device, and raise if a lesson was refused since the last time."""
        refused = int(self._counters[_REFUSED])
        if refused:
            self._counters[_REFUSED] = 0
            raise StateError(explain_refusal(sign, self.ridge))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that `from_arrays` needs to continue bit for bit, here or on the CPU; K is rewritten for it."""
        self.flush()
        return {
            "tiles": self._tiles.cpu().numpy(),
            "pending": np.zeros((RANK, self._triangle.width)),
            "sign": np.array(_LEARN),
            "weights": self._W[: self.dim, : self.classes].cpu().numpy(),
            "ridge": np.array(self.ridge),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, device: torch.device | str = "cpu") -> "DeviceRidge":
        """The state that `arrays` described; the CPU's pending downdate becomes the first that waits."""
        dim, classes = arrays["weights"].shape
        state = cls(dim, float(arrays["ridge"]), classes, device)
        for name, mine in (("tiles", state._tiles), ("pending", state._pending[:RANK])):
            if arrays[name].shape != tuple(mine.shape):
                raise ValueError(f"{name} has the shape {arrays[name].shape}, it must be {tuple(mine.shape)}")
            mine.copy_(state._send(arrays[name]))
        state._signs[:RANK] = float(arrays["sign"])
        state._counters[: _WAITING + 1] = 1
        state._W[:dim, :classes] = state._send(arrays["weights"])
        return state

    def _absorb(self, targets: Tensor, weights: Float[Tensor, "3"], terms: Float[Tensor, "2"]) -> None:
        """Targets are those of each row and class, or the number of the place that all rows show."""
        if not self._triangle.compiled:
            self._absorb_plainly(targets, weights, terms)
            return
        from tmapr.device import updates

        width, capacity, block = self._triangle.width, self.capacity, min(self.capacity, _WIDEST_BLOCK)
        updates.absorb[(width // TILE, capacity // block)](
            *(self._gain, self._products, self._scores, targets, weights, terms),
            *(self._W, self._pending, self._signs, self._counters, width),
            PLACES=UPDATES,
            CLASSES=capacity,
            BLOCK=block,
            LINES=TILE,
            PLACE=not targets.is_floating_point(),
            num_warps=8,
        )

    def _absorb_plainly(self, targets: Tensor, weights: Float[Tensor, "3"], terms: Float[Tensor, "2"]) -> None:
        sign, information = terms
        roots = weights.sqrt()[:, None]
        if not targets.is_floating_point():
            targets = (torch.arange(self.capacity) == targets).expand(RANK, -1)
        products = sign * roots * self._products[:, :RANK].T * roots.T
        L, failed = torch.linalg.cholesky_ex(_IDENTITY + products)
        narrow, also_failed = torch.linalg.cholesky_ex(_IDENTITY + information * products)
        residual = roots * (targets.double() - self._scores)
        slot = int(self._counters[_SLOT])
        finite = torch.isfinite(residual.sum() + L.sum() + narrow.sum())
        if failed or also_failed or not finite or slot >= UPDATES:
            self._counters[_REFUSED] += 1
            return
        gain = roots * self._gain
        self._W += gain.T @ (sign * torch.cholesky_solve(residual, L))
        here = slice(slot * RANK, (slot + 1) * RANK)
        self._pending[here] = information.sqrt() * torch.linalg.solve_triangular(narrow, gain, upper=False)
        self._signs[here] = sign
        self._counters[_WAITING] = slot + 1
