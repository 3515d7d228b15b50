"""How long one frame takes to perceive: torch, ONNX Runtime in float32 and int8, the default encoder and a ViT-B/14.

`python benchmarks/perception.py` builds all of them, times them in turn within each round, on the clock, since they use
all cores, and prints a table and, as its last line, JSON. A ViT-B/14 here has random weights: its time does not depend
on them. Each pass is one prepared picture of 224×224 to a descriptor; a real frame's preparation has a row of its own.
"""

import argparse
import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import onnxruntime
import torch

from measure import Metric, Seconds, conclude, milliseconds, ratio, show
from tmapr.artifacts.images import Counts, read_image
from tmapr.bench.random_vit import make_random_vit
from tmapr.perception.export import export
from tmapr.perception.eyes import Outputs
from tmapr.perception.image import Image
from tmapr.perception.network import TorchEngine, assemble
from tmapr.perception.onnx import SHIPPED, load_onnx
from tmapr.perception.settings import Perception
from tmapr.types import Fault

DATA = Path(__file__).parents[2] / "shared/data"
SIZE = (224, 224)
Engines = dict[str, Callable[[np.ndarray], Outputs]]


def vit_file(path: Path) -> Path:
    """A ViT-B/14 file in the hub's layout."""
    torch.save(make_random_vit().state_dict(), path)
    return path


def contenders(folder: Path) -> Engines:
    settings = {"default": Perception(), "ViT-B/14": Perception(encoder=str(vit_file(folder / "vitb14.pth")))}
    ways: Engines = {}
    for name, asked in settings.items():
        network, card = assemble(asked)
        exported = SHIPPED if name == "default" else folder / "vitb14.onnx"
        if name != "default":
            export(network, card, exported)
            export(network, card, folder / "vitb14_int8.onnx", int8=True)
            ways[f"{name}, ONNX int8"] = load_onnx(folder / "vitb14_int8.onnx", "cpu")[1]
        ways[f"{name}, ONNX float32"] = load_onnx(exported, "cpu")[1]
        ways[f"{name}, torch"] = TorchEngine(network, "cpu")
    return ways


def timed(ways: Mapping[str, Callable[[np.ndarray], object]], rounds: int, warm_up: int) -> Seconds:
    """Seconds on the clock; the order is drawn anew each round."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, size=(rounds + warm_up, 1, *SIZE), dtype=np.uint8)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for picture in pictures:
        for name in rng.permutation(list(ways)).tolist():
            start = perf_counter()
            ways[name](picture)
            seconds[name].append(perf_counter() - start)
    return {name: np.array(taken[warm_up:]) for name, taken in seconds.items()}


def recorded() -> list[Counts]:
    """Real frames of three cameras where they are at hand, else made-up ones."""
    patterns = ("fieldscale_14bit/00*.png", "ms2_sample/*.png", "metu_vistir/sunny/*/*.jpg")
    files = [file for pattern in patterns for file in sorted(DATA.glob(pattern))[:4]]
    made_up = np.random.default_rng(0).integers(2800, 4200, (4, 512, 640)).astype(np.uint16)
    return [read_image(file) for file in files] or list(made_up)


def agreement(ways: Engines, frames: list[Counts]) -> list[Metric]:
    """How far what runs without torch is from torch, on the same frames."""
    prepared = [Image().prepare(counts, SIZE, "area") for counts in frames]
    pictures = np.stack([picture for picture in prepared if not isinstance(picture, Fault)])
    metrics = []
    for name in sorted(name for name in ways if "ONNX" in name):
        found, wanted = (ways[way](pictures).descriptors for way in (name, f"{name.split(',')[0]}, torch"))
        cosine = float((found * wanted).sum(axis=1).min())
        if "int8" in name:
            metrics.append(Metric(f"{name}: smallest cosine to torch", cosine, "", "higher", 0.99))
        else:
            metrics.append(
                Metric(f"{name}: largest difference to torch", float(np.abs(found - wanted).max()), "", bound=1e-4)
            )
    return metrics


def main() -> None:
    parser = argparse.ArgumentParser(description="Time perception on this machine's processor.")
    parser.add_argument("--rounds", type=int, default=30, help="rounds after the warm-up")
    parser.add_argument("--warm-up", type=int, default=5, help="rounds that are not counted")
    given = parser.parse_args()
    frames, image = recorded(), Image()
    with TemporaryDirectory() as folder:
        engines = contenders(Path(folder))
        metrics = show(f"descriptors of {len(frames)} frames", agreement(engines, frames))
        ways = engines | {"prepare 640×512 at 16 bit": lambda _: image.prepare(frames[0], SIZE, "area")}
        seconds = timed(ways, given.rounds, given.warm_up)
    rows = []
    for name in sorted(ways):
        rows.append(Metric(name, milliseconds(seconds, name), "ms"))
        rows.append(Metric(f"{name}, 95th percentile", milliseconds(seconds, name, 95), "ms"))
    metrics += show("one frame, median over rounds in turn", rows)
    against = [(name, name.split(",")[0] + ", torch") for name in sorted(ways) if "ONNX" in name]
    metrics += show("against torch", [Metric(name, ratio(seconds, name, other), "×") for name, other in against])
    versions = {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__}
    conclude("perception", metrics, {"cores": os.cpu_count(), "processor": platform.machine(), **versions})


if __name__ == "__main__":
    main()
