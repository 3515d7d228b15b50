"""Run an experiment from its percepts: adapt with labels, then localize every test sequence.

Each test sequence starts from the same adapted state, so their order does not matter.
"""

from dataclasses import replace
from importlib.metadata import version

import numpy as np

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.beliefs import save_beliefs
from tmapr.artifacts.documents.runs import Provenance, SequenceTimings
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest, read_head_error
from tmapr.artifacts.trajectory import save_estimates
from tmapr.config import dump_toml, settings_digest
from tmapr.evaluation.alignment import PlanarTransform, fit_planar
from tmapr.evaluation.errors import summarize_durations
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.running.encoding import Encoding
from tmapr.running.progressive import Progress, adapt, localize
from tmapr.system import Map, build, make_map, resume
from tmapr.types import Percept, Watch


def map_experiment(
    experiment: Experiment, folder: RunFolder, watch: Watch = iter, encoding: Encoding | None = None
) -> Map:
    """Map the reference traverses and write map.npz."""
    encoding = encoding or Encoding(experiment, folder)
    if not experiment.data.references:
        raise InputError("data.reference is not set; name the traverse to be mapped")
    # By the names that the experiment has for them: percepts of one's own may tell others.
    references = [replace(encoding.recording(name), sequence=name) for name in experiment.data.references]
    environment = make_map(experiment.system, *references, watch=watch)
    environment.save(folder.map)
    write_text(folder.experiment, dump_toml(experiment))
    return environment


def run_experiment(
    experiment: Experiment, folder: RunFolder, watch: Watch = iter, encoding: Encoding | None = None
) -> None:
    """Stream the adapt sequences with labels, then the test sequences; write estimates and provenance."""
    encoding = encoding or Encoding(experiment, folder)
    if not experiment.data.test:
        raise InputError("data.test is empty; name the sequences to localize")
    system = experiment.system
    environment = Map.load(folder.map, system, experiment.data.references)
    experiment.perception.refuse_others(str(folder.map), environment.origin)
    adaptation = [_load_matching(encoding, name, environment) for name in experiment.data.adapt]
    tests = [_load_matching(encoding, name, environment) for name in experiment.data.test]
    # Without provenance nobody mistakes the estimates of an interrupted run for those of the last whole one.
    for stale in (folder.errors, folder.provenance):
        stale.unlink(missing_ok=True)
    localizer = build(system, environment)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    for recording in adaptation:
        adapt(localizer, recording, watch(range(len(recording))))
    localizer.save(folder.path)
    timings = {}
    for recording in tests:
        aligned = _align_poses(experiment, recording, adaptation)
        progress = localize(resume(system, environment, folder.state), aligned, watch(range(len(aligned))))
        name = recording.sequence
        save_estimates(folder.estimates(name), folder.trajectory(name), progress.estimates, progress.learned.tolist())
        save_beliefs(folder.beliefs(name), settings_digest(system), environment.digest, progress.estimates)
        timings[name] = _summarize_timings(progress)
    write_text(folder.experiment, dump_toml(experiment))
    provenance = Provenance(
        tmapr=version("tmapr"),
        numpy=version("numpy"),
        settings_sha256=settings_digest(experiment),
        map=environment.digest,
        labels=system.labels.description,
        alignment="none" if experiment.align_apr == "none" else f"apr-{experiment.align_apr}",
        experiment_sha256=file_digest(folder.experiment),
        sequences=timings,
    )
    provenance.save(folder.provenance)


def _load_matching(encoding: Encoding, sequence: str, environment: Map) -> Recording:
    """A recording that fits the map: positions in one frame, percepts of one perception."""
    recording = encoding.recording(sequence)
    if recording.frame != environment.frame:
        raise InputError(
            f"{sequence}: positions are in {recording.frame}, the map's in {environment.frame}; convert one of them"
        )
    return recording


def _align_poses(experiment: Experiment, recording: Recording, adaptation: list[Recording]) -> Recording:
    """The recording with the pose head's positions fitted as the experiment asks."""
    if experiment.align_apr == "none":
        return recording
    sources = [recording] if experiment.align_apr == "oracle" else adaptation
    pairs = [
        (percept.position, truth)
        for source in sources
        for percept, truth, known in zip(source.percepts, source.truth, source.known, strict=True)
        if known and percept.position is not None and not percept.fault
    ]
    fit = fit_planar(
        np.array([pose for pose, _ in pairs]).reshape(-1, 2), np.array([t for _, t in pairs]).reshape(-1, 2)
    )
    return replace(recording, percepts=tuple(_move_pose(percept, fit) for percept in recording.percepts))


def _move_pose(percept: Percept, fit: PlanarTransform) -> Percept:
    position = None if percept.position is None else fit(percept.position[None])[0]
    heading = None if percept.heading is None else percept.heading + fit.angle
    return replace(percept, position=position, heading=heading)


def _summarize_timings(progress: Progress) -> SequenceTimings:
    updates = summarize_durations(progress.update_seconds) if len(progress.update_seconds) else None
    return SequenceTimings(step_ms=summarize_durations(progress.step_seconds), update_ms=updates)
