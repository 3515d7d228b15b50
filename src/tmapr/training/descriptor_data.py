"""What a descriptor's head learns from and what it is watched on: one's own traverses, as the frozen encoder sees them.

Their positions lie in the map's frame, so all of them are one site. The head is watched on frames that it does not
learn from: those of data.validation, or, without any, of a stretch of the streets that no training frame comes near.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from scipy.spatial import cKDTree

from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.card import Size
from tmapr.perception.encoder import Features
from tmapr.perception.pooling import Joined
from tmapr.training.cache import ExampleCache, Preparation
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.examples import Examples, join_examples
from tmapr.training.metric import Partners, compute_descriptors
from tmapr.types import Watch

_BATCH = 256


class FeatureExtractor:
    """Keeps of a picture, for a descriptor, the encoder's summary and then all its tokens, in float16."""

    kind, rows = "descriptor-tokens", 1
    preparation = Preparation()

    def __init__(self, encoder: FrozenEncoder) -> None:
        self._encoder = encoder

    def __call__(self, pictures: Shaped[np.ndarray, "images height width"]) -> Shaped[np.ndarray, "rows ..."]:
        """One row for each picture."""
        seen = self._encoder.features(torch.from_numpy(pictures))
        return torch.cat([seen.summary[:, None], seen.tokens], dim=1).half().cpu().numpy()


@dataclass(frozen=True, slots=True)
class TraversesOnDisk:
    """Traverses of one site whose features are read from their store when they are asked for."""

    examples: Examples
    grid: Size
    device: torch.device

    @property
    def positions(self) -> Float[np.ndarray, "frames 2"]:
        """Metres."""
        return self.examples.positions

    @property
    def headings(self) -> Float[np.ndarray, " frames"]:
        """Radians, or NaN."""
        return self.examples.headings

    @property
    def traverses(self) -> Int[np.ndarray, " frames"]:
        """The number of each frame's sequence."""
        return self.examples.sequences

    @property
    def sites(self) -> Int[np.ndarray, " frames"]:
        """All zero: there is one site, that of the map."""
        return np.zeros(len(self.examples), dtype=np.int64)

    def features(self, rows: Int[np.ndarray, " n"]) -> Features:
        """What the encoder said of these frames, in float32."""
        kept = torch.from_numpy(self.examples.store.take(self.examples.rows[rows])).to(self.device).float()
        return Features(kept[:, 1:], kept[:, 0], *self.grid)


@dataclass(frozen=True, slots=True)
class DescriptorData:
    """The frames to learn from, those asked for, and those of the map; `source` and `watched` say so in words."""

    train: TraversesOnDisk
    partners: Partners
    asked: TraversesOnDisk
    mapped: TraversesOnDisk
    source: str
    watched: str
    remarks: tuple[str, ...] = ()

    def measure_recall(self, descriptor: Joined, correct: float) -> float:
        """R@1: the share of the frames asked for whose best match in the map is as near as that."""
        asked, mapped = compute_descriptors(self.asked, descriptor), compute_descriptors(self.mapped, descriptor)
        batches = (asked[at : at + _BATCH] for at in range(0, len(asked), _BATCH))
        best = torch.cat([(batch @ mapped.T).argmax(dim=1) for batch in batches]).cpu().numpy()
        away = np.linalg.norm(self.mapped.positions[best] - self.asked.positions, axis=1)
        return float((away <= correct).mean())


def load_descriptor_data(
    experiment: Experiment, folder: RunFolder, device: str = "cpu", watch: Watch = iter
) -> DescriptorData:
    """Encode what is not encoded yet and divide it; traverses that never meet are refused."""
    metric, names = experiment.metric, tuple(dict.fromkeys(experiment.data.train))
    encoder = FrozenEncoder(experiment.perception, None, device)
    kept = ExampleCache(experiment, folder, encoder, FeatureExtractor(encoder), watch)
    split = _split(experiment, names, cache(kept.load))
    train, asked, mapped = (TraversesOnDisk(part, encoder.grid, encoder.device) for part in split[:3])
    try:
        partners = Partners(train, metric.near)
    except ValueError as error:
        raise InputError(f"data.train: {error}; name traverses of the same streets, or raise metric.near") from None
    return DescriptorData(
        train,
        partners,
        asked,
        mapped,
        source=f"{len(split.train)} frames of {', '.join(names)}",
        watched=f"{len(split.asked)} frames of {split.queries} among {len(split.mapped)} of {split.reference}",
        remarks=(*kept.remarks, *split.remarks),
    )


class _Split(NamedTuple):
    train: Examples
    asked: Examples
    mapped: Examples
    reference: str
    queries: str
    remarks: tuple[str, ...]


def _split(experiment: Experiment, names: tuple[str, ...], load: Callable[[str], Examples]) -> _Split:
    """Which frames train and which are asked for; what has no frame of the map nearby has no right answer."""
    data, metric, share = experiment.data, experiment.metric, experiment.training.held_out
    references = data.references or names[:1]
    mapped = join_examples([load(name) for name in references])
    train, remarks = _choose_headings(join_examples([load(name) for name in names]), metric.near)
    if data.validation:
        asked, queries = join_examples([load(name) for name in data.validation]), ", ".join(data.validation)
    else:
        driven = load(references[0]).positions
        away = _nearest_distances(train.positions, driven[-max(round(share * len(driven)), 1) :])
        other = np.array([name not in references for name in names])[train.sequences]
        asked, queries = train.take((away <= metric.correct) & other), f"the last {share:.0%} of the way, held out,"
        train = train.take(away > max(metric.apart, metric.correct))
        remarks += (
            "data.validation is empty; a traverse in another condition would tell more than a stretch held out",
        )
    asked = asked.take(_nearest_distances(asked.positions, mapped.positions) <= metric.correct)
    if not len(asked):
        role, where = ("data.validation", "") if data.validation else ("data.train", "the end of ")
        raise InputError(
            f"{role}: no frame to watch the training on lies within {metric.correct:g} m of"
            f" {where}{', '.join(references)!r}; name data.validation that comes there"
        )
    return _Split(train, asked, mapped, ", ".join(references), queries, remarks)


def _nearest_distances(points: Float[np.ndarray, "n 2"], others: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, " n"]:
    """How far the nearest of the others is."""
    return np.asarray(cKDTree(others).query(points)[0])


def _choose_headings(examples: Examples, step: float) -> tuple[Examples, tuple[str, ...]]:
    """Keep the recorded headings or, where any is missing, take everyone's direction of travel, and say so.

    Not with a mixture: the heading of a camera that looks sideways is not the way it goes.
    """
    missing = int(np.isnan(examples.headings).sum())
    if not missing:
        return examples, ()
    ways = [
        infer_headings(examples.positions[examples.sequences == one], step) for one in np.unique(examples.sequences)
    ]
    told = f"{missing} of {len(examples)} training frames have no heading; pairs are found by the direction of travel"
    return replace(examples, headings=np.concatenate(ways)), (told,)


def infer_headings(positions: Float[np.ndarray, "frames 2"], step: float) -> Float[np.ndarray, " frames"]:
    """The direction from each frame to a later one at least that far; at the end, the last one known, or NaN."""
    headings = np.full(len(positions), np.nan)
    ahead, last = 0, np.nan
    for row, here in enumerate(positions):
        while ahead < len(positions) and np.hypot(*(positions[ahead] - here)) < step:
            ahead += 1
        if ahead < len(positions):
            x, y = positions[ahead] - here
            last = np.arctan2(y, x)
        headings[row] = last
    return headings
