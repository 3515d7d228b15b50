"""Default settings on worlds that nothing was chosen on: errors, loops, detours, and how honest the covariance is.

    python benchmarks/study.py RUN [RUN …]

Each RUN is a run folder of a world after `tmapr ablate`, as `make study` leaves it. Nothing is trained or run: gates
and filter are replayed on the recognised frames with the run's own settings, and the system's rows stand beside them.
Intervals are Student's over the worlds, of paired differences. RMSE is of the frames on the map.

A street off the map may be the twin of a mapped one, house for house, and nothing in an image tells them apart. The
renderer knows where it put such streets: what is `localized` beside them is counted, but has no bound. The last line is
JSON, and a missed bound is a non-zero exit code.
"""

import argparse
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from measure import Metric, conclude, show
from tmapr.artifacts.documents.runs import Detours
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.evaluation.decisions import Mapped
from tmapr.evaluation.loops import opportunities
from tmapr.evaluation.off_map import find_detours
from tmapr.experiment import read_experiment
from tmapr.running.encoding import load_recording
from tmapr.running.progressive import RecognisedDrive
from tmapr.simulation.record import MANIFEST, Manifest
from tmapr.studies.ablation import SYSTEMS
from tmapr.studies.calibration import CalibrationData
from tmapr.studies.scoring import Score, gather_evidence, score_drives
from tmapr.system import System
from tmapr.types import Status

FULL, ALL, EVERYTHING = "full", "all drives", "ugh"
ROWS = {variant.key: variant for variant in SYSTEMS if variant.track == "fused"}
"""The system's rows that have a filter."""


@dataclass(frozen=True, slots=True)
class Off:
    """What happened off the map, and how much of it beside twins of mapped streets."""

    detours: Detours
    """Whose accepted frames are the `localized` ones: a frame may correct the filter while no place is certain."""
    twin_frames: int
    twin_localized: int


@dataclass(frozen=True, slots=True)
class World:
    """One run: scores by sequence, the detours, and each row's RMSE by sequence."""

    name: str
    scores: dict[str, Score]
    lost: dict[str, Off | None]
    rows: dict[str, dict[str, float]]
    loops: dict[str, float]
    """F1 of the decision by similarity alone."""


def main(runs: Sequence[Path]) -> int:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        worlds = list(pool.map(_world, runs))
    metrics: list[Metric] = []
    for sequence in worlds[0].scores:
        metrics += _scored(worlds, sequence)
        metrics += _rows(worlds, sequence) if sequence != ALL else []
    metrics += _detours(worlds)
    show("Default settings on worlds that nothing was chosen on", metrics)
    conclude("study", metrics, {"worlds": [world.name for world in worlds]})
    return int(any(metric.holds is False for metric in metrics))


def _world(path: Path) -> World:
    folder = RunFolder(RunFolder(path).ablation / EVERYTHING)
    experiment = read_experiment(folder.experiment)
    data, system = experiment.data, experiment.system
    recordings = CalibrationData(
        tuple(load_recording(experiment, folder.percepts(name), name) for name in data.references),
        tuple(load_recording(experiment, folder.percepts(name), name) for name in data.adapt),
        tuple(load_recording(experiment, folder.percepts(name), name) for name in data.test),
    )
    drives = dict(zip(data.test, recordings.drives(system), strict=True))
    plan = Manifest.model_validate_json((Path(data.root) / MANIFEST).read_text(encoding="utf-8")).plan
    twins = plan.build_world().twins
    print(f"{path.name}: {len(data.test)} sequences", flush=True)
    together = {name: [drive] for name, drive in drives.items()} | {ALL: list(drives.values())}
    return World(
        path.name,
        {name: score_drives(several, system) for name, several in together.items()},
        {name: _off(drive, system, twins) for name, drive in drives.items()},
        {key: _row(changed(experiment, variant.settings).system, recordings) for key, variant in ROWS.items()},
        {name: _loop_f1(several, system) for name, several in together.items()},
    )


def _row(system: System, recordings: CalibrationData) -> dict[str, float]:
    drives = recordings.drives(system)
    return {drive.recording.sequence: score_drives([drive], system).outcome.rmse for drive in drives}


def _loop_f1(drives: Sequence[RecognisedDrive], system: System) -> float:
    """As in the paper's Table IV: accepted is what reaches the threshold, before gates and fusion."""
    evidence = gather_evidence(drives)
    accepted = evidence.similarity >= system.tracking.gates.min_similarity
    return 2 * int((accepted & evidence.right).sum()) / (int(accepted.sum()) + evidence.opportunities)


def _off(drive: RecognisedDrive, system: System, twins: Sequence[np.ndarray]) -> Off | None:
    estimates = drive.replay(system.tracking, system.fusion)
    truth = drive.recording.truth
    localized = np.array([each.status is Status.LOCALIZED for each in estimates])
    found = find_detours(
        truth,
        np.array([each.position for each in estimates]),
        localized=localized,
        accepted=localized,
        mapped=drive.mapped,
    )
    beside = ~opportunities(truth, drive.mapped) & Mapped(drive.mapped, tuple(twins)).beside_twins(truth)
    return found and Off(found, int(beside.sum()), int((beside & localized).sum()))


def _scored(worlds: Sequence[World], sequence: str) -> list[Metric]:
    scores = [world.scores[sequence] for world in worlds]
    inside = [score.outcome.coverage95 for score in scores]
    share, bounds = f"{sequence}: share in the 95 % ellipse", (0.85, 0.995) if sequence == ALL else (None, None)

    def mean(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    return [
        Metric(f"{sequence}: RMSE on the map", mean(score.outcome.rmse for score in scores), "m"),
        Metric(f"{sequence}: localized and wrong, frames a world", mean(score.outcome.wrong for score in scores), ""),
        Metric(f"{sequence}: F1 of what was accepted", mean(map(_accepted_f1, scores)), ""),
        Metric(f"{sequence}: surprise", mean(score.surprise for score in scores), "nats"),
        Metric(f"{sequence}: F1 of loops", mean(world.loops[sequence] for world in worlds), ""),
        Metric(share, mean(inside), "", "higher", bounds[0]),
        *([Metric(share, mean(inside), "", "lower", bounds[1])] if bounds[1] else []),
        Metric(f"{sequence}: least of a world", min(inside), ""),
    ]


def _accepted_f1(score: Score) -> float:
    """Of what the gates accepted, not of the similarity alone."""
    if not score.precision or not score.recall:
        return 0.0
    return 2 * score.precision * score.recall / (score.precision + score.recall)


def _rows(worlds: Sequence[World], sequence: str) -> list[Metric]:
    """The rows, and the full system less the best other one."""
    means = {key: float(np.mean([world.rows[key][sequence] for world in worlds])) for key in ROWS}
    metrics = [Metric(f"{sequence}: RMSE, {ROWS[key].title}", mean, "m") for key, mean in means.items()]
    other = min((key for key in ROWS if key != FULL), key=means.__getitem__)
    gaps = [world.rows[FULL][sequence] - world.rows[other][sequence] for world in worlds]
    found = mean_interval(gaps)
    name = f"{sequence}: full less {ROWS[other].title} [{found.low:+.2f} {found.high:+.2f}]"
    return [*metrics, Metric(name, float(np.mean(gaps)), "m")]


def _detours(worlds: Sequence[World]) -> list[Metric]:
    offs = [off for world in worlds for off in world.lost.values() if off]
    if not offs:
        return []
    each = [off.detours for off in offs]
    twin_frames, twin_localized = sum(off.twin_frames for off in offs), sum(off.twin_localized for off in offs)
    frames = sum(detour.frames for detour in each) - twin_frames
    localized = sum(detour.false_accepts for detour in each) - twin_localized
    left = [np.inf if detour.left_after is None else detour.left_after for detour in each]
    back = [np.inf if detour.back_after is None else detour.back_after for detour in each]
    shortest = min(detour.metres for detour in each)
    share = f"off the map: localized of {frames} frames, {len(each)} detours of {shortest:.0f} m and more"
    metrics = [
        Metric(share, localized / frames, "", "lower", 0.01),
        Metric("off the map: until no longer localized, at most", float(max(left)), "m", "lower", 20.0),
        Metric("off the map: until localized again, at most", float(max(back)), "m", "lower", 50.0),
    ]
    if twin_frames:
        name = f"off the map: localized of {twin_frames} frames beside twins of mapped streets"
        metrics.append(Metric(name, twin_localized / twin_frames, ""))
    return metrics


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    raise SystemExit(main(parser.parse_args().runs))
