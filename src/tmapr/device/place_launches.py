"""U, G and H by Triton's kernels: what `places` does by torch elsewhere, in three launches each.

The statistics are those of `DeviceVariation` and `DeviceMixtures`, changed where they lie; here is only scratch.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tmapr.device import block_sums, condition_kernels, lesson_kernels, place_kernels
from tmapr.device.blocks import BLOCK, Blocks
from tmapr.device.mixtures import DeviceMixtures
from tmapr.device.projecting import DeviceProjection
from tmapr.device.triangle import power_of_two
from tmapr.device.variation import POINTS, DevicePoints, DeviceVariation
from tmapr.places.attenuation import Attenuation
from tmapr.places.mixture import LOG_TAU, Mixture

_SUMS, _TURNED = 4, 3
_PART = 64
"""Lines of the reducer's axes that are loaded together."""
_TOGETHER = 2
"""Places that one program weighs."""
_WIDEST, _MOST = 64, 16
"""Reduced dimension and components that a program holds in registers."""


def fits(mixtures: DeviceMixtures | None) -> bool:
    """Whether the kernels can hold a place's Gaussians."""
    return mixtures is None or (mixtures.dim <= _WIDEST and mixtures.settings.components <= _MOST)


class PlaceKernels:
    """Scores and learns views; owns scratch alone, whose size depends on no capacity."""

    def __init__(
        self,
        variation: DeviceVariation,
        mixtures: DeviceMixtures | None,
        reduce: DeviceProjection,
        points: DevicePoints,
        attenuation: Attenuation | None,
    ) -> None:
        self._variation, self._mixtures, self._reduce, self._points = variation, mixtures, reduce, points
        self._attenuates = attenuation is not None and attenuation.mode == "weight"
        self._width, self._blocks, self._blocks_up = Blocks.of(variation.width)
        self._dim = mixtures.dim if mixtures else 0
        self._components = mixtures.settings.components if mixtures else 1
        numbers = _list_constants(mixtures.settings if mixtures else Mixture(), self._dim, attenuation or Attenuation())
        self._constants = variation.step.new_tensor(numbers)
        self._sums, self._shares = self._empty(_SUMS, self._blocks), self._empty(self._blocks, power_of_two(self._dim))
        self._aside = self._empty(2)
        self.measure()

    def _empty(self, *shape: int) -> Tensor:
        return self._variation.step.new_empty(shape)

    def spread(self, view: Float[Tensor, " dim"], step: Float[Tensor, " dim"]) -> Float[Tensor, "3 dim"]:
        """The points around a view."""
        points = self._empty(POINTS, self._blocks)
        condition_kernels.measure_points[(self._blocks,)](
            *(view, step, self._points.coefficients, points, self._width, self._blocks), BLOCK=BLOCK, num_warps=1
        )
        return self.lay(view, step, points)

    def lay(
        self, view: Float[Tensor, " dim"], step: Float[Tensor, " dim"], points: Float[Tensor, "3 blocks"]
    ) -> Float[Tensor, "3 dim"]:
        """The points around a view, of which the squares were left by blocks."""
        rows = self._empty(POINTS, self._width)
        condition_kernels.lay_points[(self._blocks,)](
            *(view, step, self._points.coefficients, points, rows, self._width, self._blocks),
            ON_SPHERE=self._points.on_sphere,
            BLOCK=BLOCK,
            BLOCKS_UP=self._blocks_up,
            num_warps=1,
        )
        return rows

    def weigh(self, view: Float[Tensor, " dim"]) -> Float[Tensor, " capacity"] | None:
        """The log-likelihood of a view under what was learned of each place; None without G."""
        if self._mixtures is None:
            return None
        self._survey(view, None)
        totals = self._empty(len(self._variation.counts))
        place_kernels.weigh_places[(len(totals) // _TOGETHER,)](
            *(self._shares, self._reduce.offset, self._mixtures.terms, self._mixtures.biases, totals, self._blocks),
            M=self._components,
            M_UP=power_of_two(self._components),
            DIM=self._dim,
            DIM_UP=power_of_two(self._dim),
            PLACES=_TOGETHER,
            BLOCKS_UP=self._blocks_up,
        )
        return totals

    def conclude(
        self, logits: Float[Tensor, "3 classes"], totals: Float[Tensor, " capacity"] | None
    ) -> tuple[Float[Tensor, " capacity"], Float[Tensor, " capacity"] | None]:
        """The scores of all places, and their log-likelihoods where they were weighed."""
        capacity = len(self._variation.counts)
        scores = self._empty(capacity)
        likelihoods = None if totals is None else torch.empty_like(totals)
        learned = self._mixtures.learned if self._mixtures else scores
        place_kernels.conclude_places[(1,)](
            *(logits, self._points.mean_weights, scores if totals is None else totals, learned, scores),
            *(scores if likelihoods is None else likelihoods, logits.shape[1], logits.stride(0)),
            WEIGHS=totals is not None,
            CAPACITY=capacity,
        )
        return scores, likelihoods

    def learn(
        self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"], logits: Float[Tensor, "3 classes"] | None
    ) -> Float[Tensor, "3"]:
        """Teach U and G a view of a place; what its rows weigh, if what the ridge said of them is given."""
        self._survey(view, place)
        attenuates = logits is not None and self._attenuates
        weights = self._empty(POINTS) if attenuates else self._points.update_weights
        said = self._sums if logits is None else logits
        variation, mixtures = self._variation, self._mixtures
        lesson_kernels.absorb_view[(self._blocks + 2,)](
            *(view, place, variation.means, variation.counts, variation.samples, variation.direction),
            *(self._sums, self._aside, self._shares, self._reduce.offset, *self._list_gaussians()),
            *((mixtures.shared_count if mixtures else self._aside), said, self._points.update_weights, weights),
            *(self._constants, self._width, self._blocks, said.shape[1]),
            ATTENUATES=attenuates,
            M=self._components,
            M_UP=power_of_two(self._components),
            DIM=self._dim,
            DIM_UP=power_of_two(self._dim),
            CAPACITY=len(variation.counts),
            BLOCK=BLOCK,
            BLOCKS_UP=self._blocks_up,
        )
        self._renew()
        return weights

    def measure(self) -> None:
        """What frames need of statistics that were loaded, with the bits it would have had they been learned here."""
        block_sums.square_blocks[(self._blocks,)](
            *(self._variation.direction, self._sums[_TURNED], self._width, self._blocks), BLOCK=BLOCK
        )
        self._renew()

    def _survey(self, view: Float[Tensor, " dim"], place: Int[Tensor, "1"] | None) -> None:
        variation = self._variation
        axes = self._reduce.axes if self._dim else self._sums
        place_kernels.survey[(self._blocks,)](
            *(view, axes, self._shares, self._aside if place is None else place, variation.means, variation.counts),
            *(variation.samples, variation.direction, self._sums, self._aside, self._width, self._blocks),
            DIM=self._dim,
            DIM_UP=power_of_two(self._dim),
            FOLLOWS=place is not None,
            BLOCK=BLOCK,
            PART=_PART,
        )

    def _list_gaussians(self) -> tuple[Tensor, ...]:
        """Counts, means, variances and the shared variance; scratch that nothing touches without G."""
        if self._mixtures is None:
            return (self._shares,) * 4
        return (*self._mixtures.gaussians, self._mixtures.shared)

    def _renew(self) -> None:
        variation, mixtures = self._variation, self._mixtures
        kept = (mixtures.terms, mixtures.biases, mixtures.learned) if mixtures else (self._shares,) * 3
        places = len(mixtures.learned) if mixtures else 0
        lesson_kernels.renew[(self._blocks + places,)](
            *(variation.direction, self._sums, variation.step, *self._list_gaussians(), self._constants, *kept),
            *(self._width, self._blocks),
            M=self._components,
            M_UP=power_of_two(self._components),
            DIM=self._dim,
            DIM_UP=power_of_two(self._dim),
            BLOCK=BLOCK,
            BLOCKS_UP=self._blocks_up,
        )


def _list_constants(settings: Mixture, dim: int, attenuation: Attenuation) -> list[float]:
    gaussians = [settings.prior_count, settings.floor / max(dim, 1), settings.novelty, settings.max_count]
    return [*gaussians, dim * LOG_TAU, attenuation.bound, attenuation.gain, attenuation.floor]
