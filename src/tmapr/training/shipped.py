"""The recipe of the shipped descriptor head, which `tmapr weights train` follows.

The head is trained on rendered worlds of one range of seeds, watched on worlds of another and, if their folder is
given, on real images (METU-VisTIR, sunny among cloudy and indoor ones), since a head that masters rendered worlds
forgets real ones. Both are kept in its card over the course of training. Results are reported on neither:
benchmarks/descriptor.py has worlds of its own.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import JsonValue

from tmapr.artifacts.images import read_image
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Descriptor, SaladShape
from tmapr.perception.image import Image
from tmapr.perception.network import Network, assemble, choose_device
from tmapr.perception.perceiver import GrayPicture
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
from tmapr.training.rendered import Encode, Site, encode_sites
from tmapr.types import Fault, Watch

TRAINING, TUNING = range(1000, 1014), range(500, 502)
"""Seeds of worlds, of each family. Those below 500 are for reporting."""

WEATHERS = 5
FRAMES = {"campus": 250, "city": 210, "valley": 250}
MAPPED, ASKED = "noon", ("night", "dawn", "rain")
CORRECT = 10.0
"""Metres."""

SHAPE = SaladShape(channels=112, clusters=16, cluster_dim=64, token_dim=64, hidden=256)
WEIGHT = 0.7
"""Of the head beside the pooling, where it is used; it is trained with more, so that it learns more."""

RECIPE = Contrast(weight=1.0)
PLAIN = Descriptor(parts=("pooling",), weights=(1.0,))
_BATCH = 256
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
    return lambda pictures: encode_in_batches(network, torch.from_numpy(pictures), _BATCH, where)


@dataclass(frozen=True, slots=True)
class TuningStep:
    """How good the descriptor is after so many steps."""

    step: int
    loss: float | None
    tuning_recall: dict[str, float]
    """R@1 of each family."""
    metu_right: int | None
    """Of 29 real queries."""


class RealImages:
    """METU-VisTIR: sunny queries among cloudy and indoor references; a scene's folder is its place."""

    def __init__(self, folder: Path, encode: Encode, size: tuple[int, int]) -> None:
        paths = {name: sorted(folder.glob(f"{name}/*/*.jpg")) for name in ("sunny", "cloudy", "indoor")}
        asked, mapped = paths["sunny"], [*paths["cloudy"], *paths["indoor"]]
        if not asked or not mapped:
            raise InputError(
                f"{folder}: needs images sunny/PLACE/*.jpg and cloudy/PLACE/*.jpg; name another with --metu"
            )
        self._places = [[path.parent.name for path in side] for side in (asked, mapped)]
        self._features = [encode(np.stack([_read_picture(path, size) for path in side])) for side in (asked, mapped)]

    def count_right(self, descriptor: Joined) -> int:
        """How many sunny images have their own place as the nearest; of 29."""
        with torch.inference_mode():
            asked, mapped = (descriptor(features) for features in self._features)
        best = (asked @ mapped.T).argmax(dim=1).tolist()
        return sum(place == self._places[1][row] for place, row in zip(self._places[0], best, strict=True))


def _read_picture(path: Path, size: tuple[int, int]) -> GrayPicture:
    picture = Image().prepare(read_image(path), size, "area")
    if isinstance(picture, Fault):
        raise ValueError(f"{path}: {picture}")
    return picture


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


def make_head(
    out: Path, metu: Path | None = None, encoder: str = DEFAULT, device: str = "auto", watch: Watch = iter
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
    real = RealImages(metu, encode, size) if metu else None
    tuning = encode_sites(make_tuning_sites(), encode, size, device, watch)
    frames = encode_sites(make_training_sites(), encode, size, device, watch)
    torch.manual_seed(RECIPE.seed)
    plain, head = GridPooling(SHAPE.channels), Salad(**SHAPE.model_dump()).to(device)

    def look(step: int, loss: float | None, descriptor: Joined) -> TuningStep:
        return TuningStep(
            step, loss, measure_recall(tuning, descriptor), real.count_right(descriptor) if real else None
        )

    looks = [look(0, None, Joined([plain], [1.0]))]
    yield looks[0]
    for step, loss in train_head(head, plain, frames, RECIPE):
        if step % _LOOK == 0:
            looks.append(look(step, loss, Joined([plain, head.eval()], [1.0, WEIGHT])))
            yield looks[-1]
    made = _describe_recipe(len(frames.positions)) | {"course": [asdict(each) for each in looks]}
    save_checkpoint(out, Card(salad=SHAPE, sources=card.sources, made=made), {"salad": head})


def _describe_recipe(frames: int) -> dict[str, JsonValue]:
    worlds = f"{len(TRAINING)} worlds each of {', '.join(FAMILIES)}"
    return {
        "data": f"{frames} rendered frames: {worlds}, each in {WEATHERS} weathers",
        "training_seeds": f"{TRAINING.start} to {TRAINING.stop - 1}",
        "tuning_seeds": f"{TUNING.start} to {TUNING.stop - 1}",
        "command": "tmapr weights train HEAD.safetensors --metu FOLDER",
        "recipe": RECIPE.model_dump(mode="json"),
        "used_with_weight": WEIGHT,
    }
