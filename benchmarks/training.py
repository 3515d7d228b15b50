"""What an epoch of the pose head costs from the token cache, from tokens in memory, and with encoding on the way.

`python benchmarks/training.py` prints a table and, as its last line, the same as JSON. All contenders take the same
steps with the same frames, in turn, on one thread. The ViT has random weights, which cost what trained ones do, and
the paper's head; the default encoder has the default head.
"""

import os

os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP", "BLIS")})

import argparse
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from measure import Metric, Seconds, conclude, in_turn, ratio, show
from perception import vit_file
from tmapr.baselines.regressor import Inputs
from tmapr.perception.card import Card
from tmapr.perception.encoder import Features
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Augmentation, Training
from tmapr.perception.settings import DEFAULT, Perception
from tmapr.training.cache import TokenExtractor
from tmapr.training.encoder import FrozenEncoder
from tmapr.training.examples import Examples
from tmapr.training.feeds import EncoderFeed, Feed, TokenFeed
from tmapr.training.fit import Learner
from tmapr.training.models import AprModel
from tmapr.training.store import Store, read_shards, write_shards

SIZE = 224
BOUND = 1.15
CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Effort:
    """Frames of an epoch and of a step, and epochs of each contender; encoding on the way gets fewer."""

    frames: int
    batch: int
    rounds: int
    encoded_rounds: int


EFFORTS = {
    "default": {"EfficientNet-Lite0": Effort(512, 32, 12, 3), "ViT-B/14": Effort(16, 4, 6, 2)},
    "quick": {"EfficientNet-Lite0": Effort(128, 32, 4, 2), "ViT-B/14": Effort(4, 2, 2, 2)},
}


@dataclass(frozen=True, slots=True)
class InMemory:
    """Tokens as one tensor: what the cache is compared with."""

    tokens: Tensor
    grid: tuple[int, int]

    def __call__(self, examples: Examples, frames: Int[np.ndarray, " n"], _: torch.Generator | None = None) -> Inputs:
        """Features of some rows."""
        tokens = self.tokens[torch.from_numpy(examples.rows[frames])].float()
        return Features(tokens, tokens.mean(dim=1), *self.grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", choices=EFFORTS, default="default")
    effort = EFFORTS[parser.parse_args().effort]
    torch.set_num_threads(1)
    metrics: list[Metric] = []
    with TemporaryDirectory() as folder:
        vit = vit_file(Path(folder) / "vitb14.pth")
        for name, perception in {
            "EfficientNet-Lite0": Perception(encoder=DEFAULT),
            "ViT-B/14": Perception(encoder=str(vit)),
        }.items():
            metrics += show(name, measured(perception, effort[name], Path(folder) / name.replace("/", "-")))
    conclude("training", metrics, {"torch": torch.__version__, "machine": platform.machine(), "threads": 1})


def measured(perception: Perception, effort: Effort, folder: Path) -> Iterator[Metric]:
    training = Training(batch=effort.batch, learning_rate=1e-4)
    encoder = FrozenEncoder(perception, training)
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (effort.frames, SIZE, SIZE), dtype=np.uint8)
    keep = TokenExtractor(encoder)
    shards = write_shards(folder, (keep(pictures[at : at + 8]) for at in range(0, effort.frames, 8)), "benchmark")
    kept = examples(read_shards(folder, shards), rng)
    seen = examples(Store([pictures]), rng)
    everything = torch.from_numpy(kept.store.take(kept.rows))
    shape = training.head_for(encoder.shape, Normaliser((0.0, 0.0), 50.0))
    model = AprModel(Card(apr=shape), training)

    def learner(feed: Feed) -> Learner:
        return Learner(model, training, feed)

    cached, memory = learner(TokenFeed(encoder.grid, 1, CPU)), learner(InMemory(everything, encoder.grid))
    encoded = learner(EncoderFeed(encoder, Augmentation()))
    quick: Seconds = in_turn(
        {"cache": lambda epoch: cached.learn(kept, epoch), "memory": lambda epoch: memory.learn(kept, epoch)},
        range(1, effort.rounds + 1),
        warm_up=1,
    )
    slow: Seconds = in_turn(
        {"cache": lambda epoch: cached.learn(kept, epoch), "encoded": lambda epoch: encoded.learn(seen, epoch)},
        range(1, effort.encoded_rounds + 1),
        warm_up=1,
    )
    milliseconds = 1000 * float(np.median(quick["cache"])) / effort.frames
    yield Metric(
        "an epoch from the cache, of the same steps on tokens in memory",
        ratio(quick, "cache", "memory"),
        "×",
        bound=BOUND,
    )
    yield Metric("an epoch with encoding on the way, of one from the cache", ratio(slow, "encoded", "cache"), "×")
    yield Metric("a frame from the cache", milliseconds, "ms")
    yield Metric("a frame's tokens on disk", everything[0].numel() * everything.element_size() / 1024, "KiB")


def examples(store: Store, rng: np.random.Generator) -> Examples:
    count = len(store)
    numbers = np.arange(count)
    positions, headings = rng.uniform(-50, 50, (count, 2)), rng.uniform(-np.pi, np.pi, count)
    return Examples(store, numbers, numbers, np.zeros(count, dtype=np.int64), positions, headings)


if __name__ == "__main__":
    main()
