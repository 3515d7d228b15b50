"""Tables of decisions over time, in Markdown: values, means over worlds, and paired differences between methods."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tmapr.artifacts.documents.decisions import Decisions
from tmapr.evaluation.bootstrap import mean_interval

Figure = Callable[[Decisions], float | None]
Pairs = Sequence[tuple[Decisions, Decisions]]

COLUMNS: Mapping[str, Figure] = {
    "localized": lambda each: each.localized,
    "wrong": lambda each: each.wrong,
    "wrong, m": lambda each: each.wrong_metres,
    "back after, m": lambda each: each.recovered_after,
    "in 95 %": lambda each: each.coverage95,
    "RMSE, m": lambda each: each.rmse,
}
"""What both studies tell of a drive, see `Decisions`: a share of the frames on the map, then a number of frames."""


def show_table(title: str, lines: Iterable[tuple[str, Sequence[str]]], heads: Iterable[str]) -> None:
    """Print a table."""
    heads = list(heads)
    print(f"\n{title}\n\n| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for name, cells in lines:
        print(f"| {name} | {' | '.join(cells)} |")


def show_paired(pairs: Mapping[str, Pairs], columns: Mapping[str, Figure], against: str) -> None:
    """Print the mean differences from another method, world by world."""
    lines = [
        (name, [mean_cell(_subtract(figure, pair) for pair in each) for figure in columns.values()])
        for name, each in pairs.items()
    ]
    show_table(f"Less {against}, paired by world [95 %]", lines, columns)


def mean_cell(values: Iterable[float | None], digits: int = 2) -> str:
    """The mean of what is known, and its interval over worlds."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return cell(known[0] if known else None, digits)
    found = mean_interval(known)
    return f"{cell(float(np.mean(known)), digits)} [{cell(found.low, digits)} {cell(found.high, digits)}]"


def cell(value: float | None, digits: int = 2) -> str:
    """So many digits after the point for shares and small lengths, none for large ones and for counts."""
    if value is None:
        return "–"
    return f"{value:.0f}" if isinstance(value, int) or abs(value) >= 10 else f"{value:.{digits}f}"


def _subtract(figure: Figure, pair: tuple[Decisions, Decisions]) -> float | None:
    ours, theirs = (figure(each) for each in pair)
    return None if ours is None or theirs is None else ours - theirs
