"""The recipe of the shipped descriptor head, which `tmapr weights train` follows.

The head is trained on rendered worlds of one range of seeds, watched on worlds of another and, if their folder is
given, on real sets, since a head that masters rendered worlds forgets real ones. All of it is kept in its card over the
course of training. Results are reported on none of them: benchmarks/descriptor.py has worlds of its own.

Worlds of many styles, pictures in disguise and drives of another spectrum made no better head
(docs/results/descriptor.md).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import JsonValue

from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Descriptor, SaladShape
from tmapr.perception.network import Network, assemble, choose_device
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.perception.recipes import Contrast
from tmapr.perception.salad import Salad
from tmapr.perception.settings import DEFAULT, Perception
from tmapr.perception.weights import save_checkpoint
from tmapr.simulation.camera import CAMERAS
from tmapr.simulation.streets import FAMILIES
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather, sample_weather
from tmapr.training.encoder import encode_in_batches
from tmapr.training.metric import TraversesInMemory, compute_descriptors, train_head
from tmapr.training.real import RealSet, Recall, open_real_sets
from tmapr.training.rendered import Encode, Site, encode_sites
from tmapr.types import Watch

TRAINING, TUNING = range(1000, 1014), range(500, 502)
"""Seeds of worlds, of each family. Those below 500 are for reporting."""

WEATHERS = 5
FRAMES = {"campus": 250, "city": 210, "valley": 250}
MAPPED, ASKED = "noon", ("night", "dawn", "rain")
CORRECT = 10.0
"""Metres."""

SHAPE = SaladShape(channels=112, clusters=16, cluster_dim=64, token_dim=64, hidden=256)
WEIGHT = 0.5
"""Of the head beside the pooling, where it is used; it is trained with more, so that it learns more."""

RECIPE = Contrast(weight=1.0)
PLAIN = Descriptor(parts=("pooling",), weights=(1.0,))
_BATCH = {"cuda": 256, "cpu": 4}
"""Pictures that are encoded at once; the maps of many leave a CPU's cache."""
_LOOK = 250  # steps


def make_training_sites() -> list[Site]:
    """Worlds with any share of copies and any lens, each driven through in weathers at random."""
    return [_make_training_site(family, seed) for seed in TRAINING for family in FAMILIES]


def make_tuning_sites() -> list[Site]:
    """Worlds as they are by default; the first traverse of each is the map."""
    return [Site(family, seed, 0.3, CAMERAS[family], _plan_drives(family)) for seed in TUNING for family in FAMILIES]


def _make_training_site(family: str, seed: int) -> Site:
    rng = np.random.default_rng(seed)
    # Half the pixels, and any field of view from 60° to 95°: a head must not learn one lens.
    update = {"width": 240, "height": 192, "focal": float(rng.uniform(110, 205)), "nuc_every": 0.0}
    camera = changed(CAMERAS[family], update)
    drives = [Traverse(f"{n}", sample_weather(rng), n, frames=FRAMES[family]) for n in range(WEATHERS)]
    return Site(family, seed, float(rng.uniform(0, 0.6)), camera, tuple(drives))


def _plan_drives(family: str) -> tuple[Traverse, ...]:
    weathers = enumerate((MAPPED, *ASKED))
    return tuple(Traverse(name, find_weather(name), n, frames=FRAMES[family]) for n, name in weathers)


def build_encoder(network: Network, device: str) -> Encode:
    """A network's frozen encoder, on a device; it encodes any number of pictures in batches."""
    network, where = network.to(device), torch.device(device)
    return lambda pictures: encode_in_batches(network, torch.from_numpy(pictures), _BATCH[where.type], where)


@dataclass(frozen=True, slots=True)
class TuningStep:
    """How good the descriptor is after so many steps."""

    step: int
    loss: float | None
    tuning_recall: dict[str, float]
    """R@1 of each family."""
    real_recall: dict[str, Recall]
    """R@1 of each real set; none where no folder of them was given."""


def measure_recall(frames: TraversesInMemory, descriptor: Joined) -> dict[str, float]:
    """R@1 of each family: queries of all weathers but the map's, on the tuning sites."""
    vectors = compute_descriptors(frames, descriptor)
    laps = 1 + len(ASKED)
    found: dict[str, list[float]] = {family: [] for family in FAMILIES}
    for site in range(len(TUNING) * len(FAMILIES)):
        mapped = np.flatnonzero(frames.traverses == site * laps)
        asked = np.flatnonzero((frames.sites == site) & (frames.traverses != site * laps))
        best = mapped[(vectors[asked] @ vectors[mapped].T).argmax(dim=1).cpu().numpy()]
        near = np.linalg.norm(frames.positions[best] - frames.positions[asked], axis=1) < CORRECT
        found[FAMILIES[site % len(FAMILIES)]].append(float(near.mean()))
    return {family: round(float(np.mean(shares)), 3) for family, shares in found.items()}


@dataclass(frozen=True, slots=True)
class Watched:
    """What a head is looked at with while it learns."""

    tuning: TraversesInMemory
    real: dict[str, RealSet]

    def look(self, step: int, loss: float | None, descriptor: Joined) -> TuningStep:
        """How good a descriptor is after so many steps."""
        real = {name: each.measure(descriptor) for name, each in self.real.items()}
        return TuningStep(step, loss, measure_recall(self.tuning, descriptor), real)


def make_head(
    out: Path, real: Path | None = None, encoder: str = DEFAULT, device: str = "auto", watch: Watch = iter
) -> Iterator[TuningStep]:
    """Train the head and write it with its card; yields how far it has come, from the plain pooling on."""
    device = choose_device(device)
    network, card = assemble(Perception(encoder=encoder, descriptor=PLAIN))
    if card.encoder and card.encoder.channels != SHAPE.channels:
        raise InputError(
            f"{encoder}: gives {card.encoder.channels} channels, the head takes {SHAPE.channels}; name an"
            " EfficientNet-Lite0 file with --encoder"
        )
    encode, size = build_encoder(network, device), card.input.size if card.input else (224, 224)
    sets = open_real_sets(real, encode, size) if real else {}
    watched = Watched(encode_sites(make_tuning_sites(), encode, size, device, watch), sets)
    frames = encode_sites(make_training_sites(), encode, size, device, watch)
    torch.manual_seed(RECIPE.seed)
    plain, head = GridPooling(SHAPE.channels), Salad(**SHAPE.model_dump()).to(device)
    looks = [watched.look(0, None, Joined([plain], [1.0]))]
    yield looks[0]
    for step, loss in train_head(head, plain, frames, RECIPE):
        if step % _LOOK == 0:
            looks.append(watched.look(step, loss, Joined([plain, head.eval()], [1.0, WEIGHT])))
            yield looks[-1]
    made = _describe_recipe(len(frames.positions)) | {"course": [asdict(each) for each in looks]}
    save_checkpoint(out, Card(salad=SHAPE, sources=card.sources, made=made), {"salad": head})


def _describe_recipe(frames: int) -> dict[str, JsonValue]:
    worlds = f"{len(TRAINING)} worlds each of {', '.join(FAMILIES)}"
    return {
        "data": f"{frames} rendered frames: {worlds}, each in {WEATHERS} weathers",
        "training_seeds": f"{TRAINING.start} to {TRAINING.stop - 1}",
        "tuning_seeds": f"{TUNING.start} to {TUNING.stop - 1}",
        "command": "tmapr weights train HEAD.safetensors --real FOLDER",
        "recipe": RECIPE.model_dump(mode="json"),
        "used_with_weight": WEIGHT,
    }
