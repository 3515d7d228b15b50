"""Calibration on worlds that it has not seen: before and after, off the map, and how honest the covariance is.

    python benchmarks/study.py RUN [RUN …] --rows FOLDER [--before SETTING=VALUE …]

Each RUN is a run folder of a world after `tmapr ablate`, as `make study` leaves it; its experiment holds the calibrated
settings. Nothing is trained or run: gates and filter are replayed on the recognised frames, once with the settings of
before, chosen by hand on worlds 11 and 12, once with the calibrated ones. Intervals are Student's over the worlds, of
paired differences.

A street off the map may be the twin of a mapped one, house for house, and nothing in an image tells them apart. The
renderer knows where it put such streets: what is accepted beside them is counted, but has no bound.

The system's rows stand beside them, each with the settings calibrated for it, ROW.toml in FOLDER: gates calibrated for
the full system do not suit a row without its scores, and that would make the full system look better than it is. The
last line is JSON, and a missed bound is a non-zero exit code.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from measure import Metric, conclude, show
from tmapr.artifacts.documents.runs import Detours
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed, load_settings
from tmapr.config.tree import as_tree
from tmapr.evaluation.bootstrap import mean_interval
from tmapr.evaluation.decisions import Mapped
from tmapr.evaluation.loops import opportunities
from tmapr.evaluation.off_map import find_detours
from tmapr.experiment import Experiment
from tmapr.running.encoding import load_recording
from tmapr.running.progressive import RecognisedDrive
from tmapr.simulation.record import MANIFEST, Manifest
from tmapr.studies.ablation import SYSTEMS
from tmapr.studies.calibration import SEARCHED, CalibrationData
from tmapr.studies.scoring import Score, gather_evidence, score_drives
from tmapr.system import System
from tmapr.types import Status

BY_HAND = (
    "gating.max_innovation=150.0",
    'fusion.noise="acceleration"',
    "fusion.velocity_noise=3.0",
    "fusion.apr_variance=2500.0",
    "fusion.correction_variance=1.0",
    "fusion.min_correction_variance=1.0",
)
"""What the demonstration uses."""


FULL, ALL, EVERYTHING = "full", "all drives", "ugh"
ROWS = {variant.key: variant for variant in SYSTEMS if variant.track == "fused"}
"""The system's rows that have a filter."""


@dataclass(frozen=True, slots=True)
class Off:
    """What happened off the map, and how much of it beside twins of mapped streets."""

    detours: Detours
    twin_frames: int
    twin_accepts: int


@dataclass(frozen=True, slots=True)
class World:
    """One run before and after the calibration: scores by sequence, the detours, and each row's RMSE by sequence."""

    name: str
    before: dict[str, Score]
    after: dict[str, Score]
    lost: dict[str, tuple[Off | None, Off | None]]
    rows: dict[str, dict[str, float]]
    loops: dict[str, tuple[float, float]]
    """F1 of the decision by similarity alone, before and after."""


def main(runs: Sequence[Path], rows: Path, by_hand: Sequence[str]) -> int:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        worlds = list(pool.map(partial(_world, rows=rows, by_hand=by_hand), runs))
    metrics: list[Metric] = []
    for sequence in worlds[0].after:
        metrics += _compared(worlds, sequence)
        metrics += _rows(worlds, sequence) if sequence != ALL else []
    metrics += _detours(worlds)
    show("Calibrated on another world", metrics)
    conclude("study", metrics, {"worlds": [world.name for world in worlds], "before": list(by_hand)})
    return int(any(metric.holds is False for metric in metrics))


def _world(path: Path, rows: Path, by_hand: Sequence[str]) -> World:
    folder = RunFolder(RunFolder(path).ablation / EVERYTHING)
    experiment = load_settings(Experiment, folder.experiment)
    data = experiment.data
    before = _calibrated(experiment, load_settings(Experiment, None, by_hand)).system
    recordings = CalibrationData(
        tuple(load_recording(experiment, folder, name) for name in data.references),
        tuple(load_recording(experiment, folder, name) for name in data.adapt),
        tuple(load_recording(experiment, folder, name) for name in data.test),
    )
    old, new = recordings.drives(before), recordings.drives(experiment.system)
    by_row: dict[str, dict[str, float]] = {}
    for key, variant in ROWS.items():
        own = experiment
        if key != FULL:
            own = _calibrated(experiment, load_settings(Experiment, rows / f"{key}.toml"))
        system = changed(own, variant.settings).system
        drives = new if key == FULL else recordings.drives(system)
        by_row[key] = {
            drive.recording.sequence: score_drives([drive], system.gating, system.fusion).rmse for drive in drives
        }
    plan = Manifest.model_validate_json((Path(data.root) / MANIFEST).read_text(encoding="utf-8")).plan
    twins = plan.build_world().twins
    pairs = {
        name: (_off(one, before, twins), _off(two, experiment.system, twins))
        for name, one, two in zip(data.test, old, new, strict=True)
    }
    print(f"{path.name}: {len(data.test)} sequences", flush=True)
    return World(
        path.name,
        _scores(data.test, old, before),
        _scores(data.test, new, experiment.system),
        pairs,
        by_row,
        {
            name: (_loop_f1(one, before), _loop_f1(two, experiment.system))
            for name, one, two in [
                *zip(data.test, ([each] for each in old), ([each] for each in new), strict=True),
                (ALL, old, new),
            ]
        },
    )


def _calibrated(experiment: Experiment, chosen: Experiment) -> Experiment:
    """The experiment with what a calibration decides as in `chosen`."""
    tree = as_tree(chosen)
    return changed(experiment, {f"{name}.{key}": tree[name][key] for name, keys in SEARCHED.items() for key in keys})


def _loop_f1(drives: Sequence[RecognisedDrive], system: System) -> float:
    """As in the paper's Table IV: accepted is what reaches the threshold, before gates and fusion."""
    evidence = gather_evidence(drives)
    accepted = evidence.similarity >= system.gating.min_similarity
    return 2 * int((accepted & evidence.right).sum()) / (int(accepted.sum()) + evidence.opportunities)


def _scores(names: Sequence[str], drives: Sequence[RecognisedDrive], system: System) -> dict[str, Score]:
    """Of each drive, and of all of them together."""
    each = {
        name: score_drives([drive], system.gating, system.fusion) for name, drive in zip(names, drives, strict=True)
    }
    return each | {ALL: score_drives(drives, system.gating, system.fusion)}


def _off(drive: RecognisedDrive, system: System, twins: Sequence[np.ndarray]) -> Off | None:
    estimates = drive.replay(system.tracking, system.fusion)
    truth = drive.recording.truth
    accepted = np.array([each.verdict.accepted for each in estimates])
    found = find_detours(
        truth,
        np.array([each.position for each in estimates]),
        localized=np.array([each.status is Status.LOCALIZED for each in estimates]),
        accepted=accepted,
        mapped=drive.mapped,
    )
    beside = ~opportunities(truth, drive.mapped) & Mapped(drive.mapped, tuple(twins)).beside_twins(truth)
    return found and Off(found, int(beside.sum()), int((beside & accepted).sum()))


def _compared(worlds: Sequence[World], sequence: str) -> list[Metric]:
    before, after = ([getattr(world, when)[sequence] for world in worlds] for when in ("before", "after"))
    metrics = []
    for name, unit, figure in (
        ("RMSE", "m", lambda score: score.rmse),
        ("F1 of what was accepted", "", _accepted_f1),
        ("surprise", "nats", lambda score: score.surprise),
    ):
        old, new = (np.array(list(map(figure, scores))) for scores in (before, after))
        change = mean_interval((new - old).tolist())
        metrics.append(Metric(f"{sequence}: {name}, before", float(old.mean()), unit))
        metrics.append(Metric(f"{sequence}: {name}, after", float(new.mean()), unit))
        metrics.append(
            Metric(
                f"{sequence}: {name}, change [{change.low:+.3f} {change.high:+.3f}]", float((new - old).mean()), unit
            )
        )
    old, new = (np.array([world.loops[sequence][side] for world in worlds]) for side in (0, 1))
    change = mean_interval((new - old).tolist())
    metrics.append(Metric(f"{sequence}: F1 of loops, before", float(old.mean()), ""))
    metrics.append(Metric(f"{sequence}: F1 of loops, after", float(new.mean()), ""))
    metrics.append(
        Metric(f"{sequence}: F1 of loops, change [{change.low:+.3f} {change.high:+.3f}]", float((new - old).mean()), "")
    )
    for when, scores in (("before", before), ("after", after)):
        inside = [each.coverage95 for each in scores]
        bounded = when == "after" and sequence == ALL
        share = float(np.mean(inside))
        metrics.append(
            Metric(f"{sequence}: share in the 95 % ellipse, {when}", share, "", "higher", 0.85 if bounded else None)
        )
        metrics.append(Metric(f"{sequence}: least of a world, {when}", min(inside), ""))
        if bounded:
            metrics.append(Metric(f"{sequence}: share in the 95 % ellipse, {when}", share, "", "lower", 0.995))
    return metrics


def _accepted_f1(score: Score) -> float:
    """Of what the gates accepted, not of the similarity alone."""
    if not score.precision or not score.recall:
        return 0.0
    return 2 * score.precision * score.recall / (score.precision + score.recall)


def _rows(worlds: Sequence[World], sequence: str) -> list[Metric]:
    """The rows, each calibrated for itself, and the full system less the best other one."""
    means = {key: float(np.mean([world.rows[key][sequence] for world in worlds])) for key in ROWS}
    metrics = [Metric(f"{sequence}: RMSE, {ROWS[key].title}", mean, "m") for key, mean in means.items()]
    other = min((key for key in ROWS if key != FULL), key=means.__getitem__)
    gaps = [world.rows[FULL][sequence] - world.rows[other][sequence] for world in worlds]
    found = mean_interval(gaps)
    name = f"{sequence}: full less {ROWS[other].title} [{found.low:+.2f} {found.high:+.2f}]"
    return [*metrics, Metric(name, float(np.mean(gaps)), "m")]


def _detours(worlds: Sequence[World]) -> list[Metric]:
    metrics = []
    for when, side in (("before", 0), ("after", 1)):
        offs = [off for world in worlds for pair in world.lost.values() if (off := pair[side])]
        each = [off.detours for off in offs]
        if not each:
            continue
        twin_frames, twin_accepts = sum(off.twin_frames for off in offs), sum(off.twin_accepts for off in offs)
        frames = sum(detour.frames for detour in each) - twin_frames
        accepts = sum(detour.false_accepts for detour in each) - twin_accepts
        left = [np.inf if detour.left_after is None else detour.left_after for detour in each]
        back = [np.inf if detour.back_after is None else detour.back_after for detour in each]
        shortest = min(detour.metres for detour in each)
        bounds = (0.01, 20.0, 50.0) if side else (None, None, None)
        where = f"off the map, {when}"
        share = f"{where}: accepted of {frames} frames, {len(each)} detours of {shortest:.0f} m and more"
        metrics += [
            Metric(share, accepts / frames, "", "lower", bounds[0]),
            Metric(f"{where}: until no longer localized, at most", float(max(left)), "m", "lower", bounds[1]),
            Metric(f"{where}: until localized again, at most", float(max(back)), "m", "lower", bounds[2]),
        ]
        if twin_frames:
            name = f"{where}: accepted of {twin_frames} frames beside twins of mapped streets"
            metrics.append(Metric(name, twin_accepts / twin_frames, ""))
    return metrics


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--before", nargs="*", default=BY_HAND)
    given = parser.parse_args()
    raise SystemExit(main(given.runs, given.rows, given.before))
