"""Learning from one's own estimates: does it help the next night, and does it ever hurt?

    python benchmarks/learning.py [--method NAME] [--choosing] [--only NAME …] [--workers N] [--home DIR] [--data DIR]

Rendered worlds, mapped by day and adapted to nothing: one night is driven with `--learn off` and with `--learn fused`,
then a second night, another drive in the same weather, from what each of them left. R@1 of the second night is that of
the system's own ranking with the state as the first night left it, and, as "half", as half of it would have. Real sets
are driven once. There is no pose head. Rows are kept in benchmarks/rows/learning/METHOD, one file a world; what is
there is not computed again. Intervals are Student's over worlds. `--choosing` takes the even styles, which are not
reported.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from decision_tables import cell, mean_cell, show_table
from proving import HOME, Ground, plan_world, work_on_each
from proving_rows import find_worlds, judge_drive, make_parser, name_settings
from real_sets import REAL, SETS, open_images, open_stream
from tmapr.artifacts.documents import Document
from tmapr.artifacts.documents.decisions import Decisions
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.evaluation.decisions import Mapped
from tmapr.evaluation.loops import correct_candidates, opportunities
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.labels import Labels
from tmapr.localizer import Localizer
from tmapr.running.encoding import Encoding
from tmapr.running.progressive import RecognisedDrive, localize, recognise_drive
from tmapr.simulation.record import write_dataset
from tmapr.simulation.traverse import Traverse
from tmapr.system import Map, System, build, make_map

METHOD = "smoothed"
MODES = ("off", "fused")
DRIVES = ("day", "night", "night2")
SYSTEM = System()
MORE_SETS = {
    "real-gardens-left-night": open_images("gardens", "day_left", "night_right"),
    "real-gardens-stream": open_stream("Gardens"),
}


class LearningRow(Document):
    """What learning did in one world, or on one real set."""

    name: str
    kind: str
    settings: str
    night: dict[str, Decisions]
    """The first drive, by the mode of learning."""
    second: dict[str, Decisions]
    """The second one; nothing where there is none."""
    recalls: dict[str, float]
    """R@1 of the second drive, with what was left by `off`, by `fused`, and by half a drive with `fused`."""
    lessons: int
    """That the drive with `fused` learned, counter-lessons among them."""


def run_world(ground: Ground, home: Path) -> LearningRow:
    """Drive two nights in a world."""
    day, night, second = open_drives(ground, home)
    environment = make_map(SYSTEM, day)
    asked = opportunities(second.truth[second.known], environment.memory.positions)
    firsts, seconds, recalls, lessons = {}, {}, {}, 0
    for mode in MODES:
        localizer = make_localizer(environment, mode)
        firsts[mode], lessons = drive(localizer, environment, night)
        recalls[mode] = rank(localizer, second, asked)
        seconds[mode], _ = drive(localizer.fork(), environment, second)
    half = make_localizer(environment, "fused")
    localize(half, night, range(len(night) // 2))
    recalls["half"] = rank(half, second, asked)
    return make_row(ground.name, ground.kind, firsts, lessons, seconds, recalls)


def run_set(name: str, reference: Recording, query: Recording) -> LearningRow:
    """Drive a real set once."""
    environment, firsts, lessons = make_map(SYSTEM, reference), {}, 0
    for mode in MODES:
        firsts[mode], lessons = drive(make_localizer(environment, mode), environment, query)
    return make_row(name, "real", firsts, lessons, {}, {})


def make_row(
    name: str,
    kind: str,
    night: dict[str, Decisions],
    lessons: int,
    second: dict[str, Decisions],
    recalls: dict[str, float],
) -> LearningRow:
    return LearningRow(
        name=name,
        kind=kind,
        settings=name_settings(SYSTEM),
        night=night,
        second=second,
        recalls=recalls,
        lessons=lessons,
    )


def make_localizer(environment: Map, mode: str) -> Localizer:
    return build(changed(SYSTEM, {"labels": Labels.model_validate({"mode": mode})}), environment)


def drive(localizer: Localizer, environment: Map, recording: Recording) -> tuple[Decisions, int]:
    """What a drive's estimates are worth, and after how many frames something was learned."""
    memory = environment.memory
    progress = localize(localizer, recording, range(len(recording)))
    seen = RecognisedDrive(recording, tuple(each.recognition for each in progress.estimates), memory)
    return judge_drive(seen, progress.estimates, memory, Mapped(memory.positions[memory.order])), int(
        progress.learned.sum()
    )


def rank(localizer: Localizer, recording: Recording, asked: np.ndarray) -> float:
    """R@1 of a drive with a state as it is; nothing is learned."""
    seen, nowhere = recognise_drive(localizer, recording).recognitions, np.full(2, np.nan)
    first = np.array([each.first.position if each and each.first else nowhere for each in seen])
    right = correct_candidates(first[recording.known], recording.truth[recording.known])[asked]
    return float(right.mean()) if len(right) else 0.0


def open_drives(ground: Ground, home: Path) -> list[Recording]:
    """The percepts of the day and of both nights, made where they are not there yet."""
    root, folder = home / "data/learning" / ground.name, RunFolder(home / "runs/learning" / ground.name)
    if not all(folder.percepts(name).exists() for name in DRIVES):
        write_dataset(root, plan_world(ground), list_traverses(ground))
    roles = Data(root=str(root), reference=DRIVES[0], test=DRIVES[1:])
    encoding = Encoding(Experiment(name=ground.name, data=roles), folder)
    recordings = [encoding.recording(name) for name in DRIVES]
    encoding.publish()
    return recordings


def list_traverses(ground: Ground) -> list[Traverse]:
    """The day and the night of the proving ground, and another night."""
    first = [traverse for traverse in ground.traverses if traverse.name in DRIVES]
    return [*first, ground.plan_traverse(DRIVES[-1], ground.night)]


def gather(folder: Path, grounds: Sequence[Ground], home: Path, data: Path, workers: int) -> list[LearningRow]:
    """The rows that are kept, and the others, kept when finished."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [ground for ground in grounds if not (folder / f"{ground.name}.json").exists()]
    for row in work_on_each(partial(run_world, home=home), missing, workers):
        row.save(folder / f"{row.name}.json")
        print(row.name, flush=True)
    for name, load in (SETS | MORE_SETS).items():
        if not (folder / f"{name}.json").exists() and data.is_dir():
            run_set(name, *load(data)).save(folder / f"{name}.json")
            print(name, flush=True)
    names = [*(ground.name for ground in grounds), *SETS, *MORE_SETS]
    paths = [folder / f"{name}.json" for name in names]
    return [load_row(path) for path in paths if path.exists()]


def load_row(path: Path) -> LearningRow:
    row = LearningRow.load(path, "python benchmarks/learning.py")
    if row.settings != name_settings(SYSTEM):
        raise InputError(f"{path}: was made with other settings; give a changed method a name of its own with --method")
    return row


FIGURES: dict[str, Callable[[Decisions], float | None]] = {
    "RMSE, m": lambda each: each.rmse,
    "wrong": lambda each: each.wrong,
    "localized": lambda each: each.localized,
    "first right": lambda each: each.first_right,
}


def show_drives(rows: Sequence[LearningRow], title: str, pick: Callable[[LearningRow], dict[str, Decisions]]) -> None:
    """A line a world, off → fused, and the mean of the differences."""
    rows = [row for row in rows if pick(row)]
    if not rows:
        return
    lines = []
    for row in rows:
        off, fused = (pick(row)[mode] for mode in MODES)
        lines.append((row.name, [f"{cell(figure(off))} → {cell(figure(fused))}" for figure in FIGURES.values()]))
    gains = [mean_cell(_subtract(figure, pick(row)) for row in rows) for figure in FIGURES.values()]
    show_table(f"{title}, off → fused", [*lines, ("fused less off [95 %]", gains)], FIGURES)


def _subtract(figure: Callable[[Decisions], float | None], drives: dict[str, Decisions]) -> float | None:
    off, fused = (figure(drives[mode]) for mode in MODES)
    return None if off is None or fused is None else float(fused - off)


def show_recalls(rows: Sequence[LearningRow]) -> None:
    """R@1 of the second night."""
    rows = [row for row in rows if row.recalls]
    lines = [(row.name, [cell(row.recalls[name]) for name in ("off", "half", "fused")]) for row in rows]
    gains = [mean_cell(row.recalls[name] - row.recalls["off"] for row in rows) for name in ("half", "fused")]
    show_table("R@1 of the second night", [*lines, ("less off [95 %]", ["", *gains])], ("off", "half", "fused"))


def main() -> None:
    parser = make_parser(__doc__)
    parser.set_defaults(method=METHOD)
    parser.add_argument("--home", type=Path, default=HOME, help="folder of data/learning and runs/learning")
    parser.add_argument("--only", nargs="*", help="names of worlds; none: all")
    parser.add_argument("--data", type=Path, default=REAL, help="folder of the real sets")
    given = parser.parse_args()
    folder, worlds = find_worlds(given.choosing)
    grounds = [each for each in worlds if not given.only or each.name in given.only]
    rows = gather(folder / "learning" / given.method, grounds, given.home, given.data, given.workers)
    real, rendered = ([row for row in rows if (row.kind == "real") is wanted] for wanted in (True, False))
    show_drives(real, "Real sets", lambda row: row.night)
    show_drives(rendered, "First night", lambda row: row.night)
    show_drives(rendered, "Second night", lambda row: row.second)
    show_recalls(rendered)


if __name__ == "__main__":
    main()
