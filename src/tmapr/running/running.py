"""Run an experiment from its percepts: adapt with labels, stream, then localize every test sequence.

Each test sequence starts from the state that adapting and streaming left, so their order does not matter.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version

import numpy as np

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.beliefs import save_beliefs
from tmapr.artifacts.documents.runs import Provenance, RecordingMarks, SequenceTimings
from tmapr.artifacts.documents.streams import StreamRecord, StretchFigures
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder, file_digest, read_head_error
from tmapr.artifacts.trajectory import save_estimates
from tmapr.config import settings_digest
from tmapr.data.fitting import refuse_elsewhere
from tmapr.evaluation.alignment import PlanarTransform, fit_planar
from tmapr.evaluation.errors import summarize_durations
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, dump_experiment, experiment_digest
from tmapr.localizer import Localizer
from tmapr.perception.settings import OWN
from tmapr.running.encoding import Encoding
from tmapr.running.progressive import Progress, adapt, localize
from tmapr.running.ranking import rank_drive
from tmapr.running.streaming import Stream, build_learning
from tmapr.stages import Backend
from tmapr.system import Map, Teach, make_map, resume
from tmapr.types import Percept, Watch

NOTHING_TO_MAP = "data.reference is not set; name the traverse to be mapped"
NOTHING_TO_LOCALIZE = (
    "data.test is empty, and so is data.stream; name the sequences to localize, or give recordings as in `tmapr run MAP"
    " --source PATH`"
)


@dataclass(frozen=True, slots=True)
class _Drives:
    """The recordings of a run by their roles."""

    adapt: tuple[Recording, ...]
    stream: tuple[Recording, ...]
    test: tuple[Recording, ...]


def map_experiment(
    experiment: Experiment,
    folder: RunFolder,
    watch: Watch = iter,
    encoding: Encoding | None = None,
    *,
    ahead: Callable[[Encoding], None] = lambda _: None,
    teach: Teach | None = None,
) -> Map:
    """Map the reference traverses and write map.npz.

    `ahead` may see to it that they are encoded, before this process looks at them; `teach` is as in `make_map`.
    """
    encoding = encoding or Encoding(experiment, folder)
    if not experiment.data.references:
        raise InputError(NOTHING_TO_MAP)
    with writing(folder.path):
        ahead(encoding)
        environment = make_map(experiment.system, *_load_references(experiment, encoding), watch=watch, teach=teach)
        with encoding.publishing(folder) as staged:
            environment.save(staged.map)
            write_text(staged.experiment, dump_experiment(experiment, folder.path))
    return environment


def run_experiment(
    experiment: Experiment, folder: RunFolder, watch: Watch = iter, encoding: Encoding | None = None
) -> None:
    """Learn the adapt sequences, then score the stream and the tests; write estimates and provenance.

    A map whose traverses have changed is made again. All that belongs together is published together, at the end.
    """
    encoding = encoding or Encoding(experiment, folder)
    if not experiment.data.scored:
        raise InputError(NOTHING_TO_LOCALIZE)
    if not folder.map.exists():
        raise InputError(f"{folder.map}: no such file; make it with `tmapr map EXPERIMENT`")
    with writing(folder.path):
        environment, remade = _open_map(experiment, folder, encoding, watch)
        data = experiment.data
        roles = (data.adapt, data.stream, data.test)
        drives = _Drives(*(tuple(_load_matching(encoding, name, environment) for name in names) for names in roles))
        _tell_unverified(experiment, folder, encoding, environment, (*drives.stream, *drives.test))
        with encoding.publishing(folder) as staged:
            if remade:
                environment.save(staged.map)
            _write_run(experiment, staged, environment, drives, watch, encoding.backend)


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
    if environment.past:  # mapped again from whole traverses, it would be another map
        raise InputError(
            f"{folder.map}: what it was made from, {', '.join(changed)}, has changed since, and `tmapr upkeep` made it"
            f" ({environment.past[-1].told}); map the recordings as they are now, and do that again"
        )
    encoding.tell(f"{folder.map}: what it was made from, {', '.join(changed)}, has changed since; mapped again")
    return make_map(experiment.system, *references, watch=watch), True


def _tell_unverified(
    experiment: Experiment, folder: RunFolder, encoding: Encoding, environment: Map, scored: Sequence[Recording]
) -> None:
    """Say where matches cannot be verified that usually are; a program's own percepts have no images."""
    if experiment.system.tracking.method != "route" or experiment.perception.encoder == OWN:
        return
    if environment.memory.keypoints is None:
        encoding.tell(f"{folder.map}: has no keypoints beside it; matches are not verified")
        return
    for recording in scored:
        if not any(percept.keypoints for percept in recording.percepts):
            encoding.tell(f"{recording.sequence}: has no keypoints; its matches are not verified")


def _load_references(experiment: Experiment, encoding: Encoding) -> list[Recording]:
    """By the names that the experiment has for them: percepts of one's own may tell others."""
    return [replace(encoding.recording(name), sequence=name) for name in experiment.data.references]


def _write_run(
    experiment: Experiment,
    folder: RunFolder,
    environment: Map,
    drives: _Drives,
    watch: Watch,
    backend: Backend | None,
) -> None:
    localizer = build_learning(experiment.system, environment)
    localizer.expect_head(read_head_error(experiment.perception.apr))
    for recording in drives.adapt:
        adapt(localizer, recording, watch(range(len(recording))))
    localizer.save(folder.map.parent)
    scoring = _Scoring(experiment, folder, environment, drives.adapt, watch, backend)
    record = scoring.follow_stream(localizer, drives.stream)
    scoring.localize_tests(drives.test)
    folder.errors.unlink(missing_ok=True)  # those of the last run
    write_text(folder.experiment, dump_experiment(experiment, folder.path))
    everything = (*drives.adapt, *drives.stream, *drives.test)
    marks = dict(environment.made_from) | {recording.sequence: recording.marks for recording in everything}
    provenance = Provenance(
        tmapr=version("tmapr"),
        numpy=version("numpy"),
        tracking_plugin=offer.mark if (offer := experiment.system.tracking.choose_plugin()) else None,
        settings_sha256=experiment_digest(experiment),
        map=environment.digest,
        labels=experiment.system.labels.description,
        alignment="none" if experiment.align_apr == "none" else f"apr-{experiment.align_apr}",
        experiment_sha256=file_digest(folder.experiment),
        sequences=scoring.sequences,
        made_from={name: RecordingMarks(percepts=each.percepts, truth=each.truth) for name, each in marks.items()},
        stream=record if drives.stream else None,
        classes=len(localizer.classifier.grid),
    )
    provenance.save(folder.provenance)


@dataclass(frozen=True, slots=True)
class _Scoring:
    """Localizes sequences, writes what was said of them, and notes how that came about."""

    experiment: Experiment
    folder: RunFolder
    environment: Map
    adaptation: tuple[Recording, ...]
    watch: Watch
    backend: Backend | None = None
    """What localizes tests; what is learned before them is learned by the CPU."""
    sequences: dict[str, SequenceTimings] = field(default_factory=dict)

    def follow_stream(self, localizer: Localizer, recordings: Sequence[Recording]) -> StreamRecord:
        """Score sequences while they are learned; state.npz is then what they left."""
        data, labels = self.experiment.data, self.experiment.system.labels.streamed.description
        asked_again: dict[str, dict[str, StretchFigures]] = {}
        stream = Stream(self.experiment.system, self.environment, self.folder, self.watch)
        for passage in stream.follow(localizer, [*map(self._align, recordings)]):
            name = passage.sequence
            trained = data.trained_on(name)
            made = _summarize_timings(passage.progress, labels)
            self._write(name, passage.progress, made.model_copy(update={"protocol": "stream", "trained": trained}))
            asked_again[name] = passage.asked_again
        return StreamRecord(order=data.stream, labels=labels, asked_again=asked_again)

    def localize_tests(self, recordings: Sequence[Recording]) -> None:
        """Score sequences, each from the state that is kept."""
        system = self.experiment.system
        for recording in map(self._align, recordings):
            localizer = resume(system, self.environment, self.folder.state, backend=self.backend)
            progress = localize(localizer, recording, self.watch(range(len(recording))))
            self._write(recording.sequence, progress, _summarize_timings(progress, system.labels.description))

    def _align(self, recording: Recording) -> Recording:
        return _align_poses(self.experiment, recording, self.adaptation)

    def _write(self, name: str, progress: Progress, made: SequenceTimings) -> None:
        folder, digest = self.folder, settings_digest(self.experiment.system)
        save_estimates(folder.estimates(name), folder.trajectory(name), progress.estimates, progress.learned.tolist())
        save_beliefs(folder.beliefs(name), digest, self.environment.digest, progress.estimates)
        rank_drive(progress, self.environment.memory).save(folder.candidates(name), digest, self.environment.digest)
        self.sequences[name] = made
        seconds = float(progress.step_seconds.sum())
        logging.getLogger("tmapr").info("%s: %d frames answered in %.1f s", name, len(progress.estimates), seconds)


def _load_matching(encoding: Encoding, sequence: str, environment: Map) -> Recording:
    """A recording that fits the map: positions in one frame, percepts of one perception."""
    recording = encoding.recording(sequence)
    refuse_elsewhere(sequence, recording.frame, bool(recording.known.any()), environment.frame)
    # By the name that the experiment has for it, as with references.
    return replace(recording, sequence=sequence)


def _align_poses(experiment: Experiment, recording: Recording, adaptation: Sequence[Recording]) -> Recording:
    """The recording with the pose head's positions fitted as the experiment asks, if there is a pose head."""
    if experiment.align_apr == "none" or all(percept.position is None for percept in recording.percepts):
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


def _summarize_timings(progress: Progress, labels: str) -> SequenceTimings:
    """Of a test; a stream says more."""
    updates = summarize_durations(progress.update_seconds) if len(progress.update_seconds) else None
    steps = summarize_durations(progress.step_seconds)
    return SequenceTimings(step_ms=steps, update_ms=updates, labels=labels, trained=False)
