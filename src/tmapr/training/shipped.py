"""The recipe of the shipped descriptor head, which `tmapr weights train` follows.

The head is trained on rendered worlds of many even styles, in disguise, and watched on worlds of other seeds and styles
and, if their folder is given, on real sets, since a head that masters rendered worlds forgets real ones. All of it is
kept in its card over the course of training. Results are reported on none of them: benchmarks/descriptor.py has worlds
of its own, and `benchmarks/styles.py` odd styles.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import JsonValue

from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Descriptor, SaladShape
from tmapr.perception.network import Network, assemble, choose_device, move_network
from tmapr.perception.pooling import GridPooling, Joined
from tmapr.perception.recipes import Augmentation, Contrast, Disguise
from tmapr.perception.salad import Salad
from tmapr.perception.settings import DEFAULT, Perception
from tmapr.perception.weights import save_checkpoint
from tmapr.simulation.camera import CAMERAS, Camera
from tmapr.simulation.streets import FAMILIES
from tmapr.simulation.style import sample_style
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather, sample_weather
from tmapr.training.encoder import encode_in_batches
from tmapr.training.metric import TraversesInMemory, compute_descriptors, train_head
from tmapr.training.real import RealSet, Recall, open_real_sets
from tmapr.training.rendered import DisguisedTraverses, Drive, Encode, Site, draw_sites, encode_in_disguise
from tmapr.types import Watch

TRAINING, TUNING = range(1000, 1018), range(505, 507)
"""Seeds of worlds, of each family. Those below 500 are for reporting."""

STYLES, TUNING_STYLES = (0, *range(100, 100 + 2 * len(TRAINING), 2)), (0, 60)
"""Of the worlds in the order of their seeds, a quarter of those for training being plain; all of them even."""

WEATHERS = 4
FRAMES = {"campus": 150, "city": 130, "valley": 150}
MAPPED, ASKED = "noon", ("night", "dawn", "rain")
CORRECT = 10.0
"""Metres."""

SHAPE = SaladShape(channels=112, clusters=16, cluster_dim=64, token_dim=64, hidden=256)
WEIGHT = 0.5
"""Of the head beside the pooling, where it is used; it is trained with more, so that it learns more."""

RECIPE = Contrast(weight=1.0, steps=1500)
DISGUISE = Disguise(
    share=0.3,
    copies=2,
    remapped=0.6,
    inverted=0.3,
    mixed=0.25,
    zoom=0.2,
    shift=0.08,
    turn=0.06,
    tilt=0.1,
    blur=1.2,
    hidden=0.4,
    sensor=Augmentation(gain=0.3, offset=0.1, gamma=0.3, columns=0.02, noise=0.03),
)
PLAIN = Descriptor(parts=("pooling",), weights=(1.0,))
_BATCH = 256
_LOOK = 250  # steps
_PIXELS = 240
"""Columns of a training picture, at most: the encoder sees 224."""


def make_training_sites() -> list[Site]:
    """Worlds of many styles with any share of copies, each driven through in weathers and with lenses at random."""
    return [_make_training_site(family, seed) for seed in TRAINING for family in FAMILIES]


def make_tuning_sites() -> list[Site]:
    """Worlds with the usual share of copies; the first traverse of each is the map."""
    return [
        Site(family, seed, style, 0.3, _plan_drives(family, style))
        for seed, style in zip(TUNING, TUNING_STYLES, strict=True)
        for family in FAMILIES
    ]


def _make_training_site(family: str, seed: int) -> Site:
    rng = np.random.default_rng(seed)
    number = seed - TRAINING.start
    style = 0 if number % 4 == 0 else STYLES[1 + number]
    camera = _choose_camera(family, style, rng)
    drives = [
        Drive(
            Traverse(f"{n}", sample_weather(rng), n, frames=FRAMES[family]),
            # Every second drive is another vehicle's.
            _change_mount(camera, rng) if n % 2 else camera,
            # The last is of another spectrum.
            spectrum=seed if n == WEATHERS else None,
        )
        for n in range(WEATHERS + 1)
    ]
    return Site(family, seed, style, float(rng.uniform(0, 0.8)), tuple(drives))


def _choose_camera(family: str, style: int, rng: np.random.Generator) -> Camera:
    """The style's with no more pixels than needed; in the plain style any field of view from 60° to 95°."""
    if style == 0:
        update = {"width": 240, "height": 192, "focal": float(rng.uniform(110, 205)), "nuc_every": 0.0}
        return changed(CAMERAS[family], update)
    camera = sample_style(style, family).camera
    share = min(1.0, _PIXELS / camera.width)
    sides = {"width": round(share * camera.width), "height": round(share * camera.height)}
    return changed(camera, sides | {"focal": share * camera.focal, "blur": share * camera.blur, "nuc_every": 0.0})


def _change_mount(camera: Camera, rng: np.random.Generator) -> Camera:
    """Another lens, higher or lower and looking up or down a little."""
    update = {
        "focal": camera.focal * float(rng.uniform(0.85, 1.18)),
        "mount": camera.mount * float(rng.uniform(0.85, 1.18)),
        "tilt": camera.tilt + math.radians(float(rng.uniform(-3, 3))),
    }
    return changed(camera, update)


def _plan_drives(family: str, style: int) -> tuple[Drive, ...]:
    camera = sample_style(style, family).camera
    weathers = enumerate((MAPPED, *ASKED))
    return tuple(Drive(Traverse(name, find_weather(name), n, frames=FRAMES[family]), camera) for n, name in weathers)


def build_encoder(network: Network, device: str) -> Encode:
    """A network's frozen encoder, on a device; it encodes any number of pictures in batches."""
    where = torch.device(device)
    network = move_network(network, where)
    return lambda pictures: encode_in_batches(network, pictures, _BATCH if where.type == "cuda" else 4, where)


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
    watched = Watched(draw_sites(make_tuning_sites(), size, device, watch).encode(encode), sets)
    drawn = draw_sites(make_training_sites(), size, device, watch)
    frames = encode_in_disguise(drawn, encode, DISGUISE, RECIPE.seed, device)
    looks: list[TuningStep] = []
    torch.manual_seed(RECIPE.seed)
    head = Salad(**SHAPE.model_dump()).to(device)
    for look in learn(head, frames, watched):
        looks.append(look)
        yield look
    made = _describe_recipe(len(frames.positions)) | {"course": [asdict(each) for each in looks]}
    save_checkpoint(out, Card(salad=SHAPE, sources=card.sources, made=made), {"salad": head})


def learn(head: Salad, frames: DisguisedTraverses, watched: Watched, recipe: Contrast = RECIPE) -> Iterator[TuningStep]:
    """Train the head in place; yields how far it has come, from the plain pooling on."""
    plain = GridPooling(SHAPE.channels)
    yield watched.look(0, None, Joined([plain], [1.0]))
    for step, loss in train_head(head, plain, frames, recipe):
        if step % _LOOK == 0:
            yield watched.look(step, loss, Joined([plain, head.eval()], [1.0, WEIGHT]))


def _describe_recipe(frames: int) -> dict[str, JsonValue]:
    worlds = f"{len(TRAINING)} worlds each of {', '.join(FAMILIES)}"
    return {
        "data": f"{frames} rendered frames: {worlds}, each in {WEATHERS} weathers and one other spectrum",
        "training_seeds": f"{TRAINING.start} to {TRAINING.stop - 1}",
        "tuning_seeds": f"{TUNING.start} to {TUNING.stop - 1}",
        "command": "tmapr weights train HEAD.safetensors --real FOLDER",
        "recipe": RECIPE.model_dump(mode="json"),
        "disguise": DISGUISE.model_dump(mode="json"),
        "used_with_weight": WEIGHT,
    }
