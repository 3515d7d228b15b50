"""Global retrieval, ACIL and its eight subsets of U, G, H on real day-to-night descriptor streams.

    python benchmarks/real_descriptors.py [--data ../shared/data/descriptors] [--quick]

Gardens Point: reference day-right, labelled adaptation day-left, test night-right; correct is within two frames.
St Lucia: reference 08:45, no adaptation, test 14:10, joined by its ground truth; the same two (sampled) frames.
Ridge, weights and threshold are chosen on one half of the test stream and reported on the other, and the other way
round, ten frames apart; every frame is reported once. They are chosen once, for plain ACIL, and kept for all eight
subsets, so that a row differs from ACIL by its extensions alone; only G's own weight is chosen beside them. Class terms
have to earn their weight: they are off unless their gain on the choosing half is significant. Intervals are 95 %
block bootstraps (blocks of 10 frames).
"""

import argparse
import itertools
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from jaxtyping import Bool, Float
from rich.console import Console
from rich.table import Table

from streams import Stream, streams
from tmapr.evaluation.bootstrap import Interval, block_resamples, interval, paired_difference
from tmapr.evaluation.loops import score_loops
from tmapr.places.classifier import Classifier, Extension, Places
from tmapr.retrieval.memory import Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.types import PlaceScores

TOLERANCE = 2.0  # frames
GUARD = 10
BLOCK, RESAMPLES = 10, 2000
PRECISION = 0.9
RIDGES = (0.1, 1.0)
CLASS_WEIGHTS, LIKELIHOOD_WEIGHTS = (0.1, 0.3, 1.0), (0.1, 0.3)
BEST_PLACES, TRUSTED_LEVERAGES = (0, 5), (0.15, 0.5)
EXTENSIONS: tuple[Extension, ...] = ("unscented", "mixture", "attenuation")
SUBSETS = [subset for size in range(4) for subset in itertools.combinations(EXTENSIONS, size)]
LETTERS = {"unscented": "U", "mixture": "G", "attenuation": "H"}


@dataclass(frozen=True)
class Found:
    """The best candidate of every test frame."""

    correct: Bool[np.ndarray, " frames"]
    similarity: Float[np.ndarray, " frames"]


@dataclass(frozen=True)
class Choice:
    """What calibration chooses; the default turns the class terms off."""

    ridge: float = 0.1
    class_weight: float = 0.0
    likelihood_weight: float = 0.0
    best_places: int = 0
    trusted_leverage: float = 0.5

    def retrieval(self) -> Retrieval:
        """The search with it."""
        return Retrieval(
            class_weight=self.class_weight,
            likelihood_weight=self.likelihood_weight,
            best_places=self.best_places,
            trusted_leverage=self.trusted_leverage,
            support_radius=TOLERANCE,
        )

    def __str__(self) -> str:
        if self == OFF:
            return "off"
        places = self.best_places or "all"
        return (
            f"λ {self.ridge:g}, class {self.class_weight:g}, G {self.likelihood_weight:g}, {places} places,"
            f" trusted {self.trusted_leverage:g}"
        )


OFF = Choice()
GRID = [
    Choice(ridge, weight, 0.0, best, trusted)
    for ridge, weight, best, trusted in itertools.product(RIDGES, CLASS_WEIGHTS, BEST_PLACES, TRUSTED_LEVERAGES)
]


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


def taught(stream: Stream, places: Places) -> tuple[Classifier, Memory]:
    classifier = Classifier.fit(places, stream.reference, stream.reference_positions)
    pairs = zip(stream.reference, stream.reference_positions, strict=True)
    labels = np.array([classifier.learn(descriptor, position).place for descriptor, position in pairs])
    for descriptors, positions in stream.adaptation:
        for descriptor, position in zip(descriptors, positions, strict=True):
            classifier.learn(descriptor, position)
    order = np.arange(len(stream.reference))
    memory = remember(stream.reference, stream.reference_positions, labels, order, frames=order, probes=256)
    return classifier, memory


class Trial:
    """A stream searched with any subset and any choice; what was found is kept."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._taught: dict[tuple[object, float], tuple[Classifier, Memory, list[PlaceScores]]] = {}
        self._found: dict[tuple[object, Choice], Found] = {}

    def found(self, subset: tuple[Extension, ...], choice: Choice) -> Found:
        """The best candidates."""
        if (subset, choice) not in self._found:
            classifier, memory, scores = self._scores(subset, choice.ridge)
            retrieval = choice.retrieval()
            frames = zip(self.stream.test, scores, strict=True)
            best = [retrieval.search(memory, frame, places, classifier.neighbourhood).first for frame, places in frames]
            along = np.array([candidate.position[0] for candidate in best])
            correct = np.abs(along - self.stream.test_positions[:, 0]) <= TOLERANCE
            self._found[subset, choice] = Found(correct, np.array([candidate.similarity for candidate in best]))
        return self._found[subset, choice]

    def _scores(self, subset: tuple[Extension, ...], ridge: float) -> tuple[Classifier, Memory, list[PlaceScores]]:
        if (subset, ridge) not in self._taught:
            classifier, memory = taught(self.stream, Places(cell=5.0, use=subset, ridge=ridge))
            scores = [classifier.predict(descriptor) for descriptor in self.stream.test]
            self._taught[subset, ridge] = classifier, memory, scores
        return self._taught[subset, ridge]

    def leverage(self, subset: tuple[Extension, ...], ridge: float) -> float:
        """The median over the stream."""
        return float(np.median([scores.leverage for scores in self._scores(subset, ridge)[2]]))

    def earned(self, subset: tuple[Extension, ...], start: Choice, options: list[Choice], half: slice) -> Choice:
        """The option that is right most often on a half, if the bootstrap says that it beats the start."""
        winner = max(options, key=lambda option: int(self.found(subset, option).correct[half].sum()))
        ours, theirs = (self.found(subset, choice).correct[half] for choice in (winner, start))
        resamples = block_resamples(len(ours), BLOCK, RESAMPLES, np.random.default_rng(7))
        gain = paired_difference(lambda f: float(ours[f].mean()), lambda f: float(theirs[f].mean()), resamples)
        return winner if gain.low > 0 else start

    def row(self, subset: tuple[Extension, ...], *, global_only: bool = False) -> Row:
        """Choose on each half, report on the other."""
        count = len(self.stream.test)
        middle = count // 2
        correct, above, chosen = np.zeros(count, dtype=bool), np.zeros(count), []
        for report, half in (
            (slice(middle, count), slice(0, middle - GUARD)),
            (slice(0, middle), slice(middle + GUARD, count)),
        ):
            choice = OFF if global_only else self.earned((), OFF, GRID, half)
            if "mixture" in subset:
                weighted = [replace(choice, likelihood_weight=weight) for weight in LIKELIHOOD_WEIGHTS]
                choice = self.earned(subset, choice, weighted, half)
            found = self.found(subset, choice)
            correct[report] = found.correct[report]
            above[report] = found.similarity[report] - threshold(found, half)
            chosen.append(str(choice))
        return Row(correct, above, " | ".join(chosen))


def threshold(found: Found, half: slice) -> float:
    """For the precision target, or, where the half never reaches it, for the best precision it has."""
    similarity, correct = found.similarity[half], found.correct[half]
    order = np.argsort(-similarity, kind="stable")
    reached = np.cumsum(correct[order]) / np.arange(1, len(order) + 1)
    ends = np.append(np.diff(similarity[order]) != 0, True)  # equal ones stand or fall together
    for target in np.arange(PRECISION, 0.0, -0.05):
        good = np.flatnonzero(ends & (reached >= target))
        if len(good):
            return float(similarity[order][good[-1]])
    return float(similarity.max())


def table_of(trial: Trial) -> dict[str, Row]:
    rows = {"global retrieval": trial.row((), global_only=True)}
    for subset in SUBSETS:
        rows["+".join(["ACIL", *(LETTERS[extension] for extension in subset)])] = trial.row(subset)
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


def filtering(trial: Trial, console: Console) -> dict[str, float]:
    """What searching only the best five places does, whatever the leverage: the whole stream, nothing chosen."""
    always = Choice(0.1, class_weight=0.3, trusted_leverage=1e9)
    figures = {
        "leverage": trial.leverage((), always.ridge),
        "all places": float(trial.found((), always).correct.mean()),
        "five places": float(trial.found((), replace(always, best_places=5)).correct.mean()),
    }
    text = ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
    console.print(f"{trial.stream.name}, R@1 with the class terms always trusted: {text}", highlight=False)
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
            best = retrieval.search(memory, descriptor, scores, classifier.neighbourhood).first
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
            trial = Trial(stream)
            results[stream.name] = report(stream, table_of(trial), console)
            results[f"{stream.name}, filter"] = filtering(trial, console)
            results[f"{stream.name}, labels"] = labels_on_the_test_stream(stream, console)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
