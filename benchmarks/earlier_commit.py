"""An earlier commit in the worlds of a study: asked in an environment of its own, judged by today's code, kept as rows.

    git worktree add OLD COMMIT && make -C OLD .venv/ready-for-demo
    tmapr study PLAN                                                           # renders the worlds
    OLD/.venv/bin/python benchmarks/earlier_commit.py ask HOME ANSWERS WORLD…    # every 1 and every 3
    .venv/bin/python benchmarks/earlier_commit.py judge PLAN ANSWERS COMMIT

`ask` has the earlier package alone: default settings, on the same images, adapted to the same drive.
"""

import hashlib
import itertools
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

FIELDS = ("truth", "estimated", "covariances", "localized", "first", "nearest")
HERE = Path(__file__).parents[1]


def ask(home: Path, answers: Path, worlds: Sequence[str]) -> None:
    """What the installed package says of a night and of a detour in each world, as arrays."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import Data, Experiment
    from tmapr.running.encoding import Encoding
    from tmapr.running.progressive import adapt, recognise_drive
    from tmapr.studies.scoring import gather_judged
    from tmapr.system import build, make_map

    for name in worlds:
        if (answers / f"{name}.npz").exists():
            continue
        roles = Data(root=str(home / "data/proving" / name), reference="day", adapt=("other",), test=("night", "away"))
        experiment = Experiment(name=name, data=roles)
        encoding = Encoding(experiment, RunFolder(answers / name))
        localizer = build(experiment.system, make_map(experiment.system, encoding.recording("day")))
        other = encoding.recording("other")
        adapt(localizer, other, range(len(other)))
        memory = localizer.memory
        arrays = {"mapped": memory.positions[memory.order]}
        for drive in roles.test:
            for every in (1, 3):
                shown = _pick(encoding.recording(drive), every)
                seen = recognise_drive(localizer, shown)
                judged = gather_judged(seen, seen.replay(experiment.system.tracking, experiment.system.fusion))
                views = np.array([percept.descriptor for percept in shown.percepts])
                usable = np.array([not percept.fault for percept in shown.percepts])
                nearest = memory.positions[(views @ np.asarray(memory.descriptors, float).T).argmax(axis=1)]
                judged = replace(judged, nearest=np.where(usable[:, None], nearest, np.nan)[shown.known])
                title = f"{drive}, every {every}" if every > 1 else drive
                arrays |= {f"{title}/{field}": getattr(judged, field) for field in FIELDS}
        np.savez(answers / f"{name}.npz", **arrays)
        print(name, flush=True)


def _pick(recording, every: int):
    """Every so many frames; how far the picture moved between them is added up where each step is known."""
    rows = np.arange(0, len(recording), every)
    told = np.array([np.nan if each.shift is None else each.shift for each in recording.percepts])
    sums = [None, *(told[a + 1 : b + 1].sum() for a, b in itertools.pairwise(rows))]
    shifts = [None if each is None or np.isnan(each) or abs(each) > 1 else float(each) for each in sums]
    percepts = [replace(recording.percepts[row], shift=shift) for row, shift in zip(rows, shifts, strict=True)]
    headings = None if recording.headings is None else recording.headings[rows]
    kept = {"truth": recording.truth[rows], "known": recording.known[rows], "headings": headings, "sources": None}
    return recording if every == 1 else replace(recording, percepts=tuple(percepts), **kept)


def judge(plan_file: Path, answers: Path, commit: str) -> None:
    """Rows beside those of today's methods."""
    from tmapr.artifacts.documents.decisions import StudyRow
    from tmapr.evaluation.decisions import Judged, Mapped
    from tmapr.studies.cases import list_cases, summarize_case
    from tmapr.studies.provenance import describe_maker
    from tmapr.studies.study_plan import read_plan
    from tmapr.studies.worlds import list_places

    plan = read_plan(plan_file)
    places = list_places(plan, HERE)
    source = hashlib.sha256(_ask_git("rev-parse", f"{commit}:src").encode()).hexdigest()
    for place in places:
        asked = list_cases(plan, place, places)
        with np.load(answers / f"{place.name}.npz") as told:
            mapped = Mapped(told["mapped"], place.world.build_world().twins if place.world else ())
            drives = {}
            for case in asked.cases:
                judged = Judged(**{field: told[f"{case.title}/{field}"] for field in FIELDS})
                since = mapped.return_row(judged.truth) if case.drive == "away" else 0
                drives[case.title] = summarize_case(case, judged, mapped, since)
        maker = describe_maker(source, hashlib.sha256(b"{}").hexdigest(), asked.digest())
        row = StudyRow(
            name=place.name,
            kind=place.kind,
            style=place.world.style if place.world else None,
            seed=place.seed,
            spacing=mapped.spacing,
            drives=drives,
            made_by=maker.model_copy(update={"commit": _ask_git("rev-parse", commit), "dirty": False}),
        )
        path = HERE / "benchmarks/rows" / plan.name / commit / f"{place.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        row.save(path)


def _ask_git(*words: str) -> str:
    return subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    verbs: Mapping[str, Callable[..., None]] = {"ask": ask, "judge": judge}
    paths = [Path(each) for each in sys.argv[2:4]]
    verbs[sys.argv[1]](*paths, sys.argv[4:] if sys.argv[1] == "ask" else sys.argv[4])
