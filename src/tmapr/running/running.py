"""Run an experiment from its percepts: adapt with labels, then localize every test sequence.

Each test sequence starts from the same adapted state, so their order does not matter.
"""

from dataclasses import replace
from importlib.metadata import version

import numpy as np

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.beliefs import save_beliefs
from tmapr.artifacts.documents.runs import Provenance, RecordingMarks, SequenceTimings
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest, read_head_error
from tmapr.artifacts.trajectory import save_estimates
from tmapr.config import dump_toml, settings_digest
from tmapr.evaluation.alignment import PlanarTransform, fit_planar
from tmapr.evaluation.errors import summarize_durations
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.settings import OWN
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
    with writing(folder.path):
        environment = make_map(experiment.system, *_load_references(experiment, encoding), watch=watch)
        with encoding.publishing(folder) as staged:
            environment.save(staged.map)
            write_text(staged.experiment, dump_toml(experiment))
    return environment


def run_experiment(
    experiment: Experiment, folder: RunFolder, watch: Watch = iter, encoding: Encoding | None = None
) -> None:
    """Stream the adapt sequences with labels, then the test sequences; write estimates and provenance.

    A map whose traverses have changed is made again. All that belongs together is published together, at the end.
    """
    encoding = encoding or Encoding(experiment, folder)
    if not experiment.data.test:
        raise InputError("data.test is empty; name the sequences to localize")
    if not folder.map.exists():
        raise InputError(f"{folder.map}: no such file; make it with `tmapr map EXPERIMENT`")
    with writing(folder.path):
        environment, remade = _open_map(experiment, folder, encoding, watch)
        adaptation = [_load_matching(encoding, name, environment) for name in experiment.data.adapt]
        tests = [_load_matching(encoding, name, environment) for name in experiment.data.test]
        _tell_unverified(experiment, folder, encoding, environment, tests)
        with encoding.publishing(folder) as staged:
            if remade:
                environment.save(staged.map)
            _write_run(experiment, staged, environment, adaptation, tests, watch)


def _open_map(experiment: Experiment, folder: RunFolder, encoding: Encoding, watch: Watch) -> tuple[Map, bool]:
    """The map of the traverses as they are now, and whether it had to be made again."""
    environment = Map.load(folder.map, experiment.system, experiment.data.references)
    # Percepts that somebody has removed are not encoded for a comparison.
    if not all(folder.percepts(name).exists() for name in experiment.data.references):
        experiment.perception.refuse_others(str(folder.map), environment.origin)
        return environment, False
    references = _load_references(experiment, encoding)
    changed = [each.sequence for each in references if environment.made_from.get(each.sequence) != each.marks]
    if not changed:
        lacking = environment.memory.keypoints is None and any(percept.keypoints for percept in references[0].percepts)
        return (environment.with_keypoints(references), True) if lacking else (environment, False)
    why = "has changed since" if environment.made_from else "an earlier version did not note"
    encoding.tell(f"{folder.map}: what it was made from, {', '.join(changed)}, {why}; mapped again")
    return make_map(experiment.system, *references, watch=watch), True


def _tell_unverified(
    experiment: Experiment, folder: RunFolder, encoding: Encoding, environment: Map, tests: list[Recording]
) -> None:
    """Say where matches cannot be verified that usually are; a program's own percepts have no images."""
    if experiment.system.tracking.method != "route" or experiment.perception.encoder == OWN:
        return
    if environment.memory.keypoints is None:
        encoding.tell(f"{folder.map}: has no keypoints beside it; matches are not verified")
        return
    for recording in tests:
        if not any(percept.keypoints for percept in recording.percepts):
            encoding.tell(f"{recording.sequence}: has no keypoints; its matches are not verified")


def _load_references(experiment: Experiment, encoding: Encoding) -> list[Recording]:
    """By the names that the experiment has for them: percepts of one's own may tell others."""
    return [replace(encoding.recording(name), sequence=name) for name in experiment.data.references]


def _write_run(
    experiment: Experiment,
    folder: RunFolder,
    environment: Map,
    adaptation: list[Recording],
    tests: list[Recording],
    watch: Watch,
) -> None:
    system = experiment.system
    localizer = build(system, environment)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    for recording in adaptation:
        adapt(localizer, recording, watch(range(len(recording))))
    localizer.save(folder.map.parent)
    timings = {}
    for recording in tests:
        aligned = _align_poses(experiment, recording, adaptation)
        progress = localize(resume(system, environment, folder.state), aligned, watch(range(len(aligned))))
        name = recording.sequence
        save_estimates(folder.estimates(name), folder.trajectory(name), progress.estimates, progress.learned.tolist())
        save_beliefs(folder.beliefs(name), settings_digest(system), environment.digest, progress.estimates)
        timings[name] = _summarize_timings(progress)
    folder.errors.unlink(missing_ok=True)  # those of the last run
    write_text(folder.experiment, dump_toml(experiment))
    named = zip((*experiment.data.adapt, *experiment.data.test), (*adaptation, *tests), strict=True)
    marks = dict(environment.made_from) | {name: recording.marks for name, recording in named}
    provenance = Provenance(
        tmapr=version("tmapr"),
        numpy=version("numpy"),
        settings_sha256=settings_digest(experiment),
        map=environment.digest,
        labels=system.labels.description,
        alignment="none" if experiment.align_apr == "none" else f"apr-{experiment.align_apr}",
        experiment_sha256=file_digest(folder.experiment),
        sequences=timings,
        made_from={name: RecordingMarks(percepts=each.percepts, truth=each.truth) for name, each in marks.items()},
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
