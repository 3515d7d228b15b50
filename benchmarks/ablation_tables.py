"""Tables IV and V of several methods side by side, in Markdown: means over worlds, differences paired by world."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from decision_tables import mean_cell, show_table
from tmapr.artifacts.documents.studies import Ablation, AblationRow, RowFigures
from tmapr.studies.ablation import ACIL, FULL, SUBSETS, SYSTEMS

GLOBAL, NIGHT = "global", "night"
Ablations = Mapping[str, Sequence[Ablation]]
"""Of each method the same worlds in one order."""

Figure = Callable[[RowFigures], float | None]
_FIGURES: Mapping[str, Figure] = {
    "R@1": lambda row: (row.loops.recall_at or {}).get("1") if row.loops else None,
    "F1": lambda row: row.loops.f1 if row.loops else None,
}


def show_loops(family: str, found: Ablations) -> None:
    """Table IV: of each method R@1 and F1 of every row, and F1 less plain ACIL's."""
    titles = {row.key: row.title for row in SYSTEMS if row.key == GLOBAL} | {row.key: row.title for row in SUBSETS}
    lines = []
    for key, title in titles.items():
        cells = []
        for ablations in found.values():
            cells += [mean_cell(map(figure, _read(ablations, key))) for figure in _FIGURES.values()]
            cells.append("" if key == ACIL else mean_cell(_subtract(_FIGURES["F1"], ablations, key, ACIL), digits=4))
        lines.append((title, cells))
    heads = [f"{method}: {head}" for method in found for head in (*_FIGURES, "F1 less ACIL")]
    show_table(f"Loops at night, {_name(family, found)}", lines, heads)
    for method, ablations in found.items():
        full = list(_read(ablations, FULL))
        print(
            f"\n{method}: classes {mean_cell(row.classes for row in full)}, constrained"
            f" {mean_cell(row.constrained for row in full)} of the frames, thresholds"
            f" {mean_cell(row.threshold for row in full)}"
        )


def show_systems(family: str, found: Ablations) -> None:
    """Table V: of each method the RMSE of every row; less the first method's, and less that of global retrieval."""
    first, *others = found
    lines = []
    for row in SYSTEMS:
        cells = [mean_cell(each.rmse for each in _read(ablations, row.key)) for ablations in found.values()]
        cells += [mean_cell(_pair(found[other], found[first], row.key)) for other in others]
        cells += [mean_cell(_subtract(lambda each: each.rmse, each, row.key, GLOBAL)) for each in found.values()]
        lines.append((row.title, cells))
    heads = [f"{method}: RMSE, m" for method in found]
    heads += [f"{other} less {first}" for other in others] + [f"{method}: less global top-1" for method in found]
    show_table(f"Systems at night, {_name(family, found)}", lines, heads)


def _name(family: str, found: Ablations) -> str:
    worlds = len(next(iter(found.values())))
    return f"{family}, {worlds} worlds, means [95 %]"


def _read(ablations: Sequence[Ablation], key: str) -> Iterator[RowFigures]:
    for ablation in ablations:
        yield _find(ablation, key).test[NIGHT]


def _find(ablation: Ablation, key: str) -> AblationRow:
    return next(row for row in ablation.rows if row.key == key)


def _subtract(figure: Figure, ablations: Sequence[Ablation], key: str, other: str) -> Iterator[float | None]:
    for one, two in zip(_read(ablations, key), _read(ablations, other), strict=True):
        yield _less(figure(one), figure(two))


def _pair(ours: Sequence[Ablation], theirs: Sequence[Ablation], key: str) -> Iterator[float | None]:
    for one, two in zip(_read(ours, key), _read(theirs, key), strict=True):
        yield _less(one.rmse, two.rmse)


def _less(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else one - two
