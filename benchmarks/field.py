"""Learning in the field: is it ever worse than not learning, and what if labels are wrong?

    python benchmarks/field.py [--method NAME] [--choosing] [--only NAME …] [--columns NAME …] [--workers N]

Rendered worlds, mapped by day and adapted to nothing: a night is driven with `--learn off`, with `--learn fused`, and
with labels that are forced to be wrong, one in five, three in five, or all of them by the same way along the route. A
second night, another drive in the same weather, goes on from what each of them left. A wrong label is wrong for all
that the product does with it: for the lesson, for the exams, and for the guard's doubt. Whatever learns after a frame
depends on the frames alone, so that a live drive of which nothing is dropped is this one. There is no pose head. Rows
are kept in benchmarks/rows/field/METHOD, one file a world; what is there is not computed again. Intervals are Student's
over worlds. `--choosing` takes the even styles, which are not reported.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from decision_tables import Figure, cell, mean_cell, show_table
from learning import SYSTEM, drive, make_localizer, open_drives
from proving import HOME, Ground, work_on_each
from proving_rows import find_worlds, make_parser, name_settings
from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.percepts import Recording
from tmapr.exceptions import InputError
from tmapr.learning.student import Student, Vector, Weigh
from tmapr.places.classifier import Classifier
from tmapr.system import Map, make_map
from tmapr.tracking.smoothing import View

METHOD = "guarded"
SEED = 21
OTHER = 4.0
"""Radii of a place from which on another one is another one."""
FIGURES: Mapping[str, Figure] = {
    "R@1": lambda each: each.first_right,
    "localized": lambda each: each.localized,
    "wrong in 1000": lambda each: 1000.0 * each.wrong / each.frames,
    "RMSE, m": lambda each: each.rmse,
}


class Trouble(NamedTuple):
    """How labels are wrong: which share of them, and by how many metres along the route; 0: anywhere."""

    share: float = 0.0
    metres: float = 0.0


OFF, FUSED, FIFTH = "off", "fused", "a fifth wrong"
COLUMNS: Mapping[str, Trouble] = {
    OFF: Trouble(),
    FUSED: Trouble(),
    FIFTH: Trouble(0.2),
    "three fifths wrong": Trouble(0.6),
    "all moved by 60 m": Trouble(1.0, 60.0),
}


class Night(Document):
    """What a drive was worth, and what was learned in it."""

    decisions: Decisions
    lessons: int
    """Frames after which something was learned."""
    rollbacks: int
    """Since the first night began."""
    answers: bool
    """Whether the guard lets the learned classifier answer at the end."""


class FieldRow(Document):
    """What learning did in one world: both nights of each column."""

    name: str
    kind: str
    settings: str
    nights: dict[str, list[Night]]


@contextmanager
def mislead(trouble: Trouble) -> Iterator[None]:
    """Every student of this process gets wrong labels: what will be one is drawn when its view is seen.

    What both classifiers say of the wrong place is asked then, too, as they are asked about the right one.
    """
    see, let_go, rng = Student.see, Student._let_go, np.random.default_rng(SEED)
    fates: dict[int, tuple[object, View, np.ndarray]] = {}

    def see_wrong(student: Student, view: View, vector: Vector, learned: Classifier, weigh: Weigh) -> None:
        see(student, view, vector, learned, weigh)
        if rng.random() < trouble.share and len(view.rows):
            place = find_other(student, int(view.rows[np.argmax(view.masses)]), view.metres, trouble, rng)
            said = np.exp(student._ask(vector, learned, weigh)[:, place.rows]) @ place.masses
            fates[id(student._seen[-1])] = (student._seen[-1], place, np.log(said))

    def let_go_wrong(student: Student) -> object:
        seen = student._seen[0]
        if id(seen) not in fates:
            return let_go(student)
        _, place, said = fates.pop(id(seen))
        student._seen[0] = replace(seen, chances=np.repeat(said[:, None], seen.chances.shape[1], axis=1))
        label = let_go(student)
        return label and replace(label, place=place)

    Student.see, Student._let_go = see_wrong, let_go_wrong
    try:
        yield
    finally:
        Student.see, Student._let_go = see, let_go


def find_other(student: Student, here: int, metres: float, trouble: Trouble, rng: np.random.Generator) -> View:
    """Another place: the references around one, all alike."""
    route = student._route
    if trouble.metres:
        along = np.cumsum(route.widths)
        other = int(np.searchsorted(along, (along[here] + trouble.metres) % along[-1]))
    else:
        away = np.hypot(*(route.positions - route.positions[here]).T)
        other = int(rng.choice(np.flatnonzero(away > min(OTHER * student._radius, np.median(away)))))
    rows = np.flatnonzero(np.hypot(*(route.positions - route.positions[other]).T) <= student._radius)
    return View(rows, np.full(len(rows), 1.0 / len(rows)), metres)


def run_world(ground: Ground, home: Path, folder: Path, columns: Sequence[str]) -> str:
    """Drive both nights in the columns that are not there yet, and keep each when it is finished."""
    path = folder / f"{ground.name}.json"
    nights = load_row(path).nights if path.exists() else {}
    missing = [column for column in columns if column not in nights]
    if missing:
        day, *recordings = open_drives(ground, home)
        environment = make_map(SYSTEM, day)
        for column in missing:
            nights |= {column: run_column(column, environment, recordings)}
            row = FieldRow(name=ground.name, kind=ground.kind, settings=name_settings(SYSTEM), nights=nights)
            row.save(path)
    return ground.name


def run_column(column: str, environment: Map, recordings: Sequence[Recording]) -> list[Night]:
    """One night, and another from what it left."""
    localizer, nights = make_localizer(environment, OFF if column == OFF else FUSED), []
    with mislead(COLUMNS[column]):
        for recording in recordings:
            decisions, lessons = drive(localizer.new_drive(), environment, recording)
            answers = bool(localizer.arrays().get("own.guard.passed", False))
            nights.append(Night(decisions=decisions, lessons=lessons, rollbacks=localizer.rollbacks, answers=answers))
    return nights


def gather(folder: Path, grounds: Sequence[Ground], home: Path, columns: Sequence[str], workers: int) -> list[FieldRow]:
    """The rows of all worlds: what is kept, and what is missing, kept when finished."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{ground.name}.json" for ground in grounds]
    missing = [
        ground
        for ground, path in zip(grounds, paths, strict=True)
        if not path.exists() or not set(columns) <= set(load_row(path).nights)
    ]
    work = partial(run_world, home=home, folder=folder, columns=columns)
    for name in work_on_each(work, missing, workers):
        print(name, flush=True)
    return [load_row(path) for path in paths]


def load_row(path: Path) -> FieldRow:
    row = FieldRow.load(path, "python benchmarks/field.py")
    if row.settings != name_settings(SYSTEM):
        raise InputError(f"{path}: was made with other settings; give a changed method a name of its own with --method")
    return row


def show_night(rows: Sequence[FieldRow], columns: Sequence[str], title: str, number: int) -> None:
    """Means over worlds, and what each column has more than `off`, paired by world."""
    picked = {column: [row.nights[column][number] for row in rows] for column in columns}
    off = [night.decisions for night in picked[OFF]]
    means, gains = [], []
    for column, nights in picked.items():
        pairs = list(zip([night.decisions for night in nights], off, strict=True))
        told = [cell(float(np.mean([night.lessons for night in nights]))), *_count(nights)]
        means.append((column, [_average(figure, nights) for figure in FIGURES.values()] + told))
        if column != OFF:
            gains.append(
                (column, [_compare(figure, pairs) for figure in FIGURES.values()] + [_list_worse(rows, pairs)])
            )
    show_table(f"{title}, means over {len(rows)} worlds", means, [*FIGURES, "lessons", "rolled back", "answers"])
    show_table(f"{title}, less off, paired by world [95 %]", gains, [*FIGURES, "worse in"])


def _average(figure: Figure, nights: Sequence[Night]) -> str:
    values = [figure(night.decisions) for night in nights]
    return cell(float(np.mean([value for value in values if value is not None])), 3)


def _count(nights: Sequence[Night]) -> list[str]:
    """In how many worlds something was taken back by then, and in how many the learned one answers."""
    return [cell(sum(night.rollbacks > 0 for night in nights)), cell(sum(night.answers for night in nights))]


def _compare(figure: Figure, pairs: Sequence[tuple[Decisions, Decisions]]) -> str:
    values = [(figure(ours), figure(theirs)) for ours, theirs in pairs]
    return mean_cell([None if a is None or b is None else a - b for a, b in values], 3)


def _list_worse(rows: Sequence[FieldRow], pairs: Sequence[tuple[Decisions, Decisions]]) -> str:
    """Worlds with more frames `localized` and wrong, or with an RMSE that is 5 % and 10 cm higher."""
    worse = [
        f"{row.name} ({theirs.wrong} → {ours.wrong}, {cell(theirs.rmse)} → {cell(ours.rmse)} m)"
        for row, (ours, theirs) in zip(rows, pairs, strict=True)
        if ours.wrong > theirs.wrong
        or (ours.rmse or 0.0) > max(1.05 * (theirs.rmse or 0.0), (theirs.rmse or 0.0) + 0.1)
    ]
    return ", ".join(worse) or "none"


def main() -> None:
    parser = make_parser(__doc__)
    parser.set_defaults(method=METHOD)
    parser.add_argument("--home", type=Path, default=HOME, help="folder of data/learning and runs/learning")
    parser.add_argument("--only", nargs="*", help="names of worlds; none: all")
    heard = [FUSED, FIFTH]
    parser.add_argument("--columns", nargs="*", choices=[*COLUMNS], default=heard, help="what is compared with off")
    given = parser.parse_args()
    columns = [column for column in COLUMNS if column in (OFF, *given.columns)]
    folder, worlds = find_worlds(given.choosing)
    grounds = [each for each in worlds if not given.only or each.name in given.only]
    rows = gather(folder / "field" / given.method, grounds, given.home, columns, given.workers)
    show_night(rows, columns, "First night", 0)
    show_night(rows, columns, "Second night", 1)


if __name__ == "__main__":
    main()
