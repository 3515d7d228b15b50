"""Global retrieval, ACIL and its eight subsets of U, G, H on real day-to-night descriptor streams.

    python benchmarks/real_descriptors.py [--data ../shared/data/descriptors] [--quick]

Gardens Point: reference day-right, labelled adaptation day-left, test night-right; correct is within two frames.
St Lucia: reference 08:45, no adaptation, test 14:10, joined by its ground truth; the same two (sampled) frames.
Ridge, weights and threshold are chosen on one half of the test stream and reported on the other, and the other way
round, ten frames apart; every frame is reported once. The class terms have to earn their weight: they are turned off
unless their gain on the choosing half is significant. Intervals are 95 % block bootstraps (blocks of 10 frames).
"""

import argparse
import csv
import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from jaxtyping import Bool, Float
from rich.console import Console
from rich.table import Table

from tmapr.evaluation.bootstrap import Interval, block_resamples, interval, paired_difference
from tmapr.evaluation.loops import score_loops
from tmapr.exceptions import InputError
from tmapr.gating import threshold_for_precision
from tmapr.places.classifier import Classifier, Extension, Places
from tmapr.retrieval.memory import Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.types import PlaceScores

TOLERANCE = 2.0  # frames
GUARD = 10
BLOCK, RESAMPLES = 10, 2000
PRECISION = 0.9
RIDGES = (1.0, 0.1)
# In the order in which ties are settled: the less the class terms say, the better.
CLASS_WEIGHTS, LIKELIHOOD_WEIGHTS = (0.0, 0.1, 0.3, 1.0), (0.0, 0.1, 0.3)
BEST_PLACES, TRUSTED_LEVERAGES = (0, 5), (0.15, 0.5)
EXTENSIONS: tuple[Extension, ...] = ("unscented", "mixture", "attenuation")
SUBSETS = [subset for size in range(4) for subset in itertools.combinations(EXTENSIONS, size)]
LETTERS = {"unscented": "U", "mixture": "G", "attenuation": "H"}


@dataclass(frozen=True)
class Stream:
    """Unit descriptors and positions along a line, one unit per sampled frame."""

    name: str
    reference: Float[np.ndarray, "refs dim"]
    reference_positions: Float[np.ndarray, "refs 2"]
    adaptation: list[tuple[np.ndarray, np.ndarray]]
    test: Float[np.ndarray, "frames dim"]
    test_positions: Float[np.ndarray, "frames 2"]


@dataclass(frozen=True)
class Found:
    """The best candidate of every test frame."""

    correct: Bool[np.ndarray, " frames"]
    similarity: Float[np.ndarray, " frames"]


@dataclass(frozen=True)
class Row:
    """One line of the table: every frame judged with what the other half chose."""

    correct: Bool[np.ndarray, " frames"]
    above: Float[np.ndarray, " frames"]
    chosen: str

    def figure(self, name: str, frames: np.ndarray) -> float | None:
        """R@1, precision, recall or F1 over some frames."""
        if name == "R@1":
            return float(self.correct[frames].mean())
        yes = np.ones(len(frames), dtype=bool)
        scores = score_loops(
            self.above[frames], found=yes, correct=self.correct[frames], opportunity=yes, threshold=0.0
        )
        return {"precision": scores.precision, "recall": scores.recall, "F1": scores.f1}[name]


def streams(folder: Path, kind: str) -> Iterator[Stream]:
    def descriptors(name: str) -> np.ndarray:
        rows = np.load(folder / f"{name}.npz")[kind].astype(float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def numbers(name: str) -> list[int]:
        return [int(Path(str(file)).stem) for file in np.load(folder / f"{name}.npz")["files"]]

    def line(values: object) -> np.ndarray:
        along = np.asarray(values, dtype=float)
        return np.stack([along, np.zeros_like(along)], axis=1)

    frames = line(range(200))
    yield Stream(
        f"Gardens Point {kind}",
        descriptors("gp_day_right"),
        frames,
        [(descriptors("gp_day_left"), frames)],
        descriptors("gp_night_right"),
        frames,
    )
    with (folder / "stlucia_gt.csv").open() as table:
        truth = {int(row["query_file"][:-4]): int(row["ref_file"][:-4]) for row in csv.DictReader(table)}
    # Every second frame was kept, so two frame numbers are one sampled frame.
    yield Stream(
        f"St Lucia {kind}",
        descriptors("stlucia_0845"),
        line(numbers("stlucia_0845")) / 2,
        [],
        descriptors("stlucia_1410"),
        line([truth[number] for number in numbers("stlucia_1410")]) / 2,
    )


def taught(stream: Stream, places: Places) -> tuple[Classifier, Memory]:
    classifier = Classifier.fitted(places, stream.reference, stream.reference_positions)
    pairs = zip(stream.reference, stream.reference_positions, strict=True)
    labels = np.array([classifier.learn(descriptor, position).place for descriptor, position in pairs])
    for descriptors, positions in stream.adaptation:
        for descriptor, position in zip(descriptors, positions, strict=True):
            classifier.learn(descriptor, position)
    order = np.arange(len(stream.reference))
    memory = remember(stream.reference, stream.reference_positions, labels, order, frames=order, probes=256)
    return classifier, memory


def searched(
    stream: Stream, memory: Memory, scores: list[PlaceScores], classifier: Classifier, retrieval: Retrieval
) -> Found:
    correct, similarity = [], []
    for descriptor, position, places in zip(stream.test, stream.test_positions, scores, strict=True):
        best = retrieval.search(memory, descriptor, places, classifier.neighbourhood)[0]
        correct.append(abs(best.position[0] - position[0]) <= TOLERANCE)
        similarity.append(best.similarity)
    return Found(np.array(correct), np.array(similarity))


def options(stream: Stream, subset: tuple[Extension, ...]) -> dict[str, Found]:
    """What every setting of the grid finds, besides turning the class terms off."""
    found: dict[str, Found] = {}
    likelihoods = LIKELIHOOD_WEIGHTS if "mixture" in subset else (0.0,)
    grid = list(itertools.product(CLASS_WEIGHTS, likelihoods, BEST_PLACES, TRUSTED_LEVERAGES))
    for ridge in RIDGES:
        classifier, memory = taught(stream, Places(cell=5.0, use=subset, ridge=ridge))
        scores = [classifier.predict(descriptor) for descriptor in stream.test]
        for weight, likelihood, best, trusted in grid:
            if not (weight or likelihood or best):
                continue
            retrieval = Retrieval(
                class_weight=weight,
                likelihood_weight=likelihood,
                best_places=best,
                trusted_leverage=trusted,
                support_radius=TOLERANCE,
            )
            name = f"λ {ridge:g} class {weight:g} G {likelihood:g} best {best or 'all'} trusted {trusted:g}"
            found[name] = searched(stream, memory, scores, classifier, retrieval)
    return found


def threshold(found: Found, half: slice) -> float:
    """For the precision target, or, where the half never reaches it, for the best precision it has."""
    similarity, correct = found.similarity[half], found.correct[half]
    for target in (PRECISION, *np.arange(PRECISION, 0.0, -0.05)):
        try:
            return threshold_for_precision(similarity, correct, float(target)).value
        except InputError:
            continue
    return float(similarity.max())


def earned(grid: dict[str, Found], half: slice) -> str:
    """The option that is right most often on a half, if the bootstrap says that it beats turning the terms off."""
    name = max(grid, key=lambda option: int(grid[option].correct[half].sum()))
    ours, off = grid[name].correct[half], grid["off"].correct[half]
    resamples = block_resamples(len(off), BLOCK, RESAMPLES, np.random.default_rng(7))
    gain = paired_difference(lambda f: float(ours[f].mean()), lambda f: float(off[f].mean()), resamples)
    return name if gain.low > 0 else "off"


def crossed(grid: dict[str, Found]) -> Row:
    """Choose on each half, report on the other."""
    count = len(next(iter(grid.values())).correct)
    middle = count // 2
    correct, above, chosen = np.zeros(count, dtype=bool), np.zeros(count), []
    for report, calibrate in (
        (slice(middle, count), slice(0, middle - GUARD)),
        (slice(0, middle), slice(middle + GUARD, count)),
    ):
        name = earned(grid, calibrate)
        found = grid[name]
        correct[report] = found.correct[report]
        above[report] = found.similarity[report] - threshold(found, calibrate)
        chosen.append(name)
    return Row(correct, above, " | ".join(chosen))


def table_of(stream: Stream) -> dict[str, Row]:
    classifier, memory = taught(stream, Places(cell=5.0, use=()))
    scores = [classifier.predict(descriptor) for descriptor in stream.test]
    plain = searched(stream, memory, scores, classifier, Retrieval(mode="global", support_radius=TOLERANCE))
    rows = {"global retrieval": crossed({"off": plain})}
    for subset in SUBSETS:
        name = "+".join(["ACIL", *(LETTERS[extension] for extension in subset)])
        rows[name] = crossed({"off": plain} | options(stream, subset))
    return rows


def shown(value: float | None, bounds: Interval) -> str:
    return f"{value:.3f} [{bounds.low:.3f} {bounds.high:.3f}]" if value is not None else "–"


def report(stream: Stream, rows: dict[str, Row], console: Console) -> dict[str, object]:
    """Print a stream's table; return its figures."""
    count = len(stream.test)
    everything = np.arange(count)
    resamples = block_resamples(count, BLOCK, RESAMPLES, np.random.default_rng(2026))
    table = Table("method", "R@1", "precision", "recall", "F1", "ΔR@1 to global", "ΔF1 to global", title=stream.name)
    figures: dict[str, object] = {}
    baseline = rows["global retrieval"]
    for name, row in rows.items():
        cells, kept = [], {}
        for figure in ("R@1", "precision", "recall", "F1"):
            value = row.figure(figure, everything)
            bounds = interval(lambda frames, f=figure, r=row: r.figure(f, frames), resamples)
            cells.append(shown(value, bounds))
            kept[figure] = value
        below = False
        for figure in ("R@1", "F1"):
            difference = paired_difference(
                lambda frames, f=figure, r=row: r.figure(f, frames),
                lambda frames, f=figure: baseline.figure(f, frames),
                resamples,
            )
            below |= difference.high < 0
            mark = " worse" if difference.high < 0 else " better" if difference.low > 0 else ""
            cells.append(f"[{difference.low:+.3f} {difference.high:+.3f}]{mark}")
        table.add_row(name, *cells)
        figures[name] = kept | {"significantly_below_global": below, "chosen": row.chosen}
    console.print(table)
    for name, row in rows.items():
        console.print(f"  {name}: {row.chosen}", highlight=False)
    return figures


def labels_on_the_test_stream(stream: Stream, console: Console) -> dict[str, float]:
    """R@1 if true labels of the test stream itself are learned, by how many frames late they are."""
    figures = {}
    for delay in (0, 60, 120):
        classifier, memory = taught(stream, Places(cell=5.0, use=()))
        retrieval = Retrieval(support_radius=TOLERANCE)
        correct = []
        for row, (descriptor, position) in enumerate(zip(stream.test, stream.test_positions, strict=True)):
            scores = classifier.predict(descriptor)
            best = retrieval.search(memory, descriptor, scores, classifier.neighbourhood)[0]
            correct.append(abs(best.position[0] - position[0]) <= TOLERANCE)
            if row >= delay:
                classifier.learn(stream.test[row - delay], stream.test_positions[row - delay])
        figures[f"truth+{delay}"] = float(np.mean(correct))
    console.print(
        f"{stream.name}, test labels learned, defaults: R@1 {figures['truth+120']:.3f} (truth+120)."
        f" Not results, a label tells the next frame the answer: {figures['truth+60']:.3f} (truth+60),"
        f" {figures['truth+0']:.3f} (truth+0).",
        highlight=False,
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/descriptors"))
    parser.add_argument("--quick", action="store_true", help="the 768-dimensional descriptors only")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"{arguments.data}: no such folder; name the descriptor streams with --data")
    console = Console(width=170)
    results = {}
    for kind in ("rp768",) if arguments.quick else ("rp768", "rp2048"):
        for stream in streams(arguments.data, kind):
            results[stream.name] = report(stream, table_of(stream), console)
            results[f"{stream.name}, labels"] = labels_on_the_test_stream(stream, console)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
