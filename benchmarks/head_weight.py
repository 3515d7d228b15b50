"""What the shipped head does to real sets, by its weight beside the pooling.

    python benchmarks/head_weight.py [--real FOLDER] [--head FILE]

R@1 of every set that `tmapr weights train --real` watches, by the plain cosine and with the condition's mean removed.
The last line is JSON: the entry `real` of the head's card. The weight was chosen by looking at this table, so nothing
in it is a held-out result.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tmapr.perception.card import SaladShape
from tmapr.perception.network import assemble
from tmapr.perception.pooling import Aggregator, GridPooling, Joined
from tmapr.perception.settings import SHIPPED_HEAD, Perception
from tmapr.perception.weights import build_module, read_checkpoint
from tmapr.training.real import RealSet, Recall, open_real_sets
from tmapr.training.shipped import PLAIN, WEIGHT, build_encoder

DATA = Path(__file__).parents[2] / "shared/data"
WEIGHTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
"""Of the head; 0 is the pooling alone."""


def open_sets(folder: Path) -> dict[str, RealSet]:
    """As the default encoder sees them."""
    network, card = assemble(Perception(descriptor=PLAIN))
    return open_real_sets(folder, build_encoder(network, "cpu"), card.input.size if card.input else (224, 224))


def join(head: Aggregator, channels: int, weight: float) -> Joined:
    """The pooling with so much of the head; none of it is the pooling as it is."""
    plain = GridPooling(channels)
    return Joined([plain, head], [1.0, weight]) if weight else Joined([plain], [1.0])


def show_table(found: dict[float, dict[str, Recall]]) -> None:
    """Plain and centred, a row for each weight."""
    sheet = Table("weight", *(name.replace("_", " ") for name in found[0.0]), title="R@1, plain / centred")
    for weight, sets in found.items():
        sheet.add_row(f"{weight}", *(f"{each.plain:.3f}/{each.centred:.3f}" for each in sets.values()))
    Console().print(sheet)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, default=DATA, help="folder with metu_vistir/, gardens/ and kaist/")
    parser.add_argument("--head", type=Path, default=SHIPPED_HEAD, help="a SALAD head")
    given = parser.parse_args()
    checkpoint = read_checkpoint(given.head)
    shape = checkpoint.card.salad
    if not isinstance(shape, SaladShape):
        parser.error(f"--head {given.head}: is no SALAD head")
    head, sets = build_module(shape, checkpoint.tensors["salad"]), open_sets(given.real)
    found = {
        weight: {name: each.measure(join(head, shape.channels, weight)) for name, each in sets.items()}
        for weight in WEIGHTS
    }
    show_table(found)
    entry = {"pooling": found[0.0], "head": found[WEIGHT]}
    told = {part: {name: asdict(each) for name, each in of.items()} for part, of in entry.items()}
    print(json.dumps({"weight": WEIGHT, **told}))


if __name__ == "__main__":
    main()
