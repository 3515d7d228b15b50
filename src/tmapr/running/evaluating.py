"""The errors of a finished run: read where they are of these estimates and this truth, else evaluated in memory."""

import hashlib
from collections.abc import Mapping, Sequence

from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.documents.streams import StreamFigures
from tmapr.artifacts.results import renewing
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.evaluation.alignment import fit_planar
from tmapr.evaluation.assessment import Fit, assess
from tmapr.evaluation.stretches import measure_stream
from tmapr.running.finished import FinishedRun
from tmapr.running.ranking import rank_by_similarity, rank_by_system, recall_at, recall_first
from tmapr.types import Watch

FITS: Mapping[str, Fit] = {"planar": fit_planar}
"""What a trajectory can be brought to the truth by, as errors.json names it."""


def evaluate_run(run: FinishedRun, align: str = "none", watch: Watch = iter) -> Errors:
    """Evaluate every sequence that was scored and whose true positions are known: perhaps none.

    With an alignment, after fitting each trajectory to the truth.
    """
    fit, data = FITS.get(align), run.experiment.data
    known = run.compared
    ours = rank_by_system(run) if set(known) & set(data.test) else None
    plain, tests = rank_by_similarity(run.environment.memory), {}
    for name in known:
        trial = run.trial(name)
        opportunity = trial.queries.opportunity
        if name in data.test:
            recalls = recall_at(ours, trial.recording, opportunity, watch) if ours else None
        else:  # the states that answered are gone; the first candidates are in the table
            recalls = recall_first(trial.queries)
        plain_recalls = recall_at(plain, trial.recording, opportunity)
        tests[name] = assess(trial, run.provenance.sequences[name], recalls, plain_recalls, fit)
    return Errors(
        test=tests,
        alignment=align if fit else run.provenance.alignment,
        labels=run.provenance.labels,
        frame=run.environment.frame,
        settings_sha256=run.provenance.settings_sha256,
        evaluated_sha256=_digest(run),
        stream=_evaluate_stream(run, fit, known),
    )


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
