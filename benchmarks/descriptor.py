"""The shipped descriptor against the plain pooling it is joined to, on worlds that nothing was trained or chosen on.

    python benchmarks/descriptor.py [--worlds 5] [--frames N] [--metu FOLDER] [--head FILE] [--out results.json]

Worlds and queries are those of worlds.py; right is within 10 m. A figure is the mean of the worlds' own R@1. Intervals
are 95 % bootstraps over worlds; with five of them they are rather too narrow than too wide.

One encoding serves both: the plain descriptor is the first part of the joined one, at unit length. Real images
(METU-VisTIR, see real_images.py) stand beside the rendered ones, which say little about transfer. The last line is
JSON, and a missed bound is a non-zero exit code.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64
from rich.console import Console
from rich.progress import track
from rich.table import Table

from measure import Metric, conclude, show, wilson
from real_images import DATA, described, shots
from tmapr.artifacts.atomic import write_text
from tmapr.evaluation.bootstrap import Interval, Statistic, block_resamples, interval, paired_difference
from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Descriptor
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import Perception
from tmapr.training.shipped import ASKED, MAPPED, SHAPE, TRAINING, TUNING, WEIGHT
from worlds import FRAMES, SETTINGS, Described, Descriptors, Recalls, look_up, traverse_seed

PLAIN, SHIPPED = "plain pooling", "shipped"
EVERY = "mean"
"""Over the weathers."""

REPORTED = range(1, 500)
"""Seeds of worlds that the table may show, from the first on."""

RESAMPLES = 2000
METU_RIGHT, METU_LOST = 25, 1
LEAST_GAIN = 0.001


def described_by(card: Card) -> Described:
    """Takes what a perceiver gives apart into the descriptors to compare."""
    parts = card.descriptor.parts if card.descriptor else ()
    if parts == ("pooling",):
        return lambda given: {PLAIN: given}
    if parts != ("pooling", "salad") or card.salad is None or card.dimension is None:
        raise InputError(f"the descriptor is {' + '.join(parts)}; only pooling or pooling + salad can be compared")
    pooled = card.dimension - card.salad.token_dim - card.salad.clusters * card.salad.cluster_dim

    def both(given: Descriptors) -> dict[str, Descriptors]:
        lengths = np.linalg.norm(given[:, :pooled], axis=1, keepdims=True)
        # Without an image all is 0.
        return {PLAIN: given[:, :pooled] / np.maximum(lengths, np.finfo(np.float32).tiny), SHIPPED: given}

    return both


class Cell(NamedTuple):
    """A mean over worlds, and where it plausibly lies."""

    value: float
    bounds: Interval

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.bounds.low:.3f} {self.bounds.high:.3f}]"


class Row(NamedTuple):
    """R@1 of every descriptor and, if there are two, by how much the shipped one is higher."""

    setting: str
    weather: str
    cells: dict[str, Cell]
    gain: Cell | None

    def record(self) -> dict[str, object]:
        """For JSON: a cell is [value, low, high]."""
        cells = self.cells | ({"difference": self.gain} if self.gain else {})
        numbers = {
            name: [round(number, 4) for number in (cell.value, cell.bounds.low, cell.bounds.high)]
            for name, cell in cells.items()
        }
        return {"setting": self.setting, "query": self.weather, **numbers}


def mean(values: Float[np.ndarray, "worlds weathers"]) -> Statistic:
    """Of the worlds that are asked for; undefined values are left out."""

    def statistic(worlds: Int64[np.ndarray, " count"]) -> float | None:
        defined = values[worlds][~np.isnan(values[worlds])]
        return float(defined.mean()) if len(defined) else None

    return statistic


def rows(setting: str, worlds: Sequence[Recalls]) -> Iterator[Row]:
    """Of one setting; the same worlds are drawn for both descriptors."""
    everyone, drawn = np.arange(len(worlds)), block_resamples(len(worlds), 1, RESAMPLES, np.random.default_rng(2026))
    recalls = {name: np.array([world[name] for world in worlds]) for name in worlds[0]}
    columns = {weather: [column] for column, weather in enumerate(ASKED)} | {EVERY: list(range(len(ASKED)))}
    for weather, chosen in columns.items():
        means = {name: mean(given[:, chosen]) for name, given in recalls.items()}
        cells = {name: Cell(one(everyone) or 0.0, interval(one, drawn)) for name, one in means.items()}
        gain = None
        if SHIPPED in cells:
            bounds = paired_difference(means[SHIPPED], means[PLAIN], drawn)
            gain = Cell(cells[SHIPPED].value - cells[PLAIN].value, bounds)
        yield Row(setting, weather, cells, gain)


def show_table(setting: str, table: Sequence[Row], console: Console) -> None:
    difference = ["difference"] if table[0].gain else []
    sheet = Table("query", *table[0].cells, *difference, title=f"{setting}: R@1, queries → {MAPPED}")
    for row in table:
        sheet.add_row(row.weather, *map(str, row.cells.values()), *([str(row.gain)] if row.gain else []))
    console.print(sheet)


def real(folder: Path, settings: Perception, apart: Described) -> dict[str, int]:
    """How many of METU's sunny queries each descriptor gets right, printed with Wilson's interval."""
    if not folder.is_dir():
        print(f"METU-VisTIR: {folder} is not there, left out; name it with --metu")
        return {}
    mapped, asked = shots(folder, "cloudy", "indoor"), shots(folder, "sunny")
    references, queries = (apart(described(given, settings)) for given in (mapped, asked))
    print(f"METU-VisTIR, {len(asked.paths)} sunny queries, {len(mapped.paths)} cloudy and indoor references")
    right = {}
    for name, given in queries.items():
        best = (given @ references[name].T).argmax(axis=1).tolist()
        right[name] = sum(mapped.places[row] == place for row, place in zip(best, asked.places, strict=True))
        bounds = wilson(right[name], len(best))
        print(f"  {name:<14} {right[name]} right, 95 % interval {bounds.low:.2f}–{bounds.high:.2f}")
    return right


def promises(table: Sequence[Row], right: dict[str, int]) -> Iterator[Metric]:
    """What is promised of the shipped descriptor; nothing if there is only the pooling."""
    if SHIPPED in right:
        lost = right[PLAIN] - right[SHIPPED]
        yield Metric("METU, right", right[SHIPPED], "images", "higher", METU_RIGHT)
        yield Metric("METU, fewer right than with plain pooling", lost, "images", "lower", METU_LOST)
    for row in table:
        if row.weather == EVERY and row.gain is not None:
            name = f"{row.setting}: R@1 over plain pooling's, low end of the interval"
            yield Metric(name, row.gain.bounds.low, "", "higher", LEAST_GAIN)


def chosen_settings(head: Path | None) -> Perception:
    """The default perceiver, or the default encoder with another head beside its pooling."""
    if head is None:
        return Perception()
    joined = Descriptor(parts=("pooling", "salad"), weights=(1.0, WEIGHT), clusters=SHAPE.clusters)
    return Perception(head=str(head), descriptor=joined)


def drive(seeds: range, frames: int | None, perceiver: Perceiver) -> dict[str, list[Recalls]]:
    """Every world of every setting."""
    apart = described_by(perceiver.card)
    found: dict[str, list[Recalls]] = {setting.name: [] for setting in SETTINGS}
    jobs = [(setting, seed) for setting in SETTINGS for seed in seeds]
    for setting, seed in track(jobs, "reporting", console=Console(stderr=True), transient=True):
        found[setting.name].append(look_up(setting, seed, frames or FRAMES[setting.family], perceiver, apart))
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=5, help="of each setting")
    parser.add_argument("--frames", type=int, help=f"of a lap; {FRAMES} if not given")
    parser.add_argument("--metu", type=Path, default=DATA, help="folder with cloudy/, sunny/ and indoor/")
    parser.add_argument("--head", type=Path, help="a SALAD head to try beside the pooling of the default encoder")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    given = parser.parse_args()
    if not 1 <= given.worlds <= len(REPORTED):
        parser.error(f"--worlds {given.worlds}: there are 1 to {len(REPORTED)} worlds to report on")
    return given


def main() -> None:
    given = arguments()
    settings, seeds = chosen_settings(given.head), REPORTED[: given.worlds]
    perceiver = open_perceiver(settings, "cpu")
    apart = described_by(perceiver.card)
    uses = {"reported": seeds, "tuning": TUNING, "training": TRAINING}
    spans = {use: f"{span.start} to {span.stop - 1}" for use, span in uses.items()}
    print(*perceiver.card.describe(), sep="\n")
    print("seeds of worlds:", ", ".join(f"{use} {span}" for use, span in spans.items()))
    print(f"seeds of traverses: {traverse_seed(0, 0)} + 10 · world + 0 … {len(ASKED)}", flush=True)
    table: list[Row] = []
    for setting, worlds in drive(seeds, given.frames, perceiver).items():
        table += (found := list(rows(setting, worlds)))
        show_table(setting, found, Console(width=110))
    right = real(given.metu, settings, apart)
    metrics = show("Bounds, means over the weathers", promises(table, right))
    notes = {"seeds": spans, "metu": right, "table": [row.record() for row in table]}
    if given.out:
        write_text(given.out, f"{json.dumps(notes, indent=1)}\n")
    conclude("descriptor", metrics, notes)
    sys.exit(any(metric.holds is False for metric in metrics))


if __name__ == "__main__":
    main()
