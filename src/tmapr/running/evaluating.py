"""The errors of a finished run: read where they are of these estimates and this truth, else evaluated in memory."""

import hashlib
from collections.abc import Mapping, Sequence

from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.documents.streams import StreamFigures
from tmapr.artifacts.results import renewing
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.evaluation.alignment import fit_planar
from tmapr.evaluation.assessment import Fit, assess
from tmapr.evaluation.recall import recall_at, recall_first
from tmapr.evaluation.stretches import measure_stream
from tmapr.running.finished import FinishedRun

FITS: Mapping[str, Fit] = {"planar": fit_planar}
"""What a trajectory can be brought to the truth by, as errors.json names it."""


def evaluate_run(run: FinishedRun, align: str = "none") -> Errors:
    """Evaluate every sequence that was scored and whose true positions are known: perhaps none.

    With an alignment, after fitting each trajectory to the truth.
    """
    fit, data = FITS.get(align), run.experiment.data
    known, tests = run.compared, {}
    for name in known:
        trial, ranked = run.trial(name), run.load_candidates(name)
        asked = trial.recording, trial.memory.positions, trial.queries.opportunity
        if name not in data.test:
            recalls = recall_first(trial.queries)
        else:  # while A_t learns, a rank is not of one state
            recalls = recall_at(ranked.searched, *asked) if _searches_unchanged(run) else None
        tests[name] = assess(trial, run.provenance.sequences[name], recalls, recall_at(ranked.cosine, *asked), fit)
    return Errors(
        test=tests,
        alignment=align if fit else run.provenance.alignment,
        labels=run.provenance.labels,
        frame=run.environment.frame,
        settings_sha256=run.provenance.settings_sha256,
        evaluated_sha256=_digest(run),
        stream=_evaluate_stream(run, fit, known),
    )


def _searches_unchanged(run: FinishedRun) -> bool:
    """Whether its tests were searched for, all by one state."""
    return run.experiment.system.retrieval.mode != "off" and run.provenance.labels == "off"


def _evaluate_stream(run: FinishedRun, fit: Fit | None, known: Sequence[str]) -> StreamFigures | None:
    record = run.provenance.stream
    if record is None:
        return None
    measured = {name: measure_stream(run.trial(name), fit) for name in record.order if name in known}
    return StreamFigures(**dict(record), while_learning=measured)


def save_errors(errors: Errors, folder: RunFolder) -> None:
    """Write errors.json beside the estimates that it is about; only for the holder of the folder's lock."""
    with renewing(folder) as staged:
        errors.save(staged.errors)


def read_errors(run: FinishedRun) -> Errors:
    """What the last evaluation found; evaluated again, in memory, where that is missing or about something else."""
    if not run.folder.errors.exists():
        return evaluate_run(run)
    for name in run.experiment.data.scored:
        run.sequence(name)  # what is missing or does not fit is refused by its name, and not as a digest
    errors = Errors.load(run.folder.errors, f"tmapr evaluate {run.folder.path}")
    return errors if errors.evaluated_sha256 == _digest(run) else evaluate_run(run, errors.alignment)


def _digest(run: FinishedRun) -> str:
    """Names the run, its estimates and the percepts and truth that it is compared with."""
    names = run.experiment.data.scored
    files = [run.folder.provenance, *map(run.folder.estimates, names)]
    marks = [f"{each.percepts}{each.truth}" for each in (run.sequence(name).recording.marks for name in names)]
    return hashlib.sha256("".join([*map(file_digest, files), *marks]).encode()).hexdigest()
