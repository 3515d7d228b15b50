"""The paper's ablations on one percept cache: every subset of U, G and H, and the system with parts left out.

Each row is an ordinary run in `ablate/` of the run folder, so everything that can be done with a run can be done with
it. With validation sequences each first chooses what it decides by (`row_calibration`), so that rows differ in their
parts alone. They do not touch one another: they run side by side, and one that is whole is not run again unless its
settings or the percepts have changed. Time enters no figure, so the same percepts give the same rows bit for bit.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Literal

from pydantic import JsonValue

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Marks, Recording
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, experiment_digest
from tmapr.files import DOCUMENT_BYTES, read_bytes
from tmapr.places.classifier import Extension
from tmapr.running.encoding import Encoding
from tmapr.running.evaluating import evaluate_run, save_errors
from tmapr.running.finished import FinishedRun
from tmapr.running.running import map_experiment, run_experiment
from tmapr.studies.calibration import CalibrationData
from tmapr.studies.row_calibration import calibrate_row, keep_likelihoods
from tmapr.types import Watch

LETTERS: Mapping[Extension, str] = {"unscented": "U", "mixture": "G", "attenuation": "H"}
TrackName = Literal["fused", "apr", "retrieval"]
"""Which of a run's positions a row is about."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A row: the settings it changes in the experiment, by path, and which positions of its run it is about."""

    key: str
    title: str
    kind: Literal["subset", "system"]
    settings: Mapping[str, JsonValue]
    track: TrackName = "fused"


def _subset(used: Sequence[Extension]) -> Variant:
    letters = [LETTERS[name] for name in used]
    key = "".join(letters).lower() or "acil"
    return Variant(key, " + ".join(["ACIL", *letters]), "subset", {"places.use": list(used)})


ACIL, FULL = "acil", "full"
"""What the subsets and the systems are compared with."""

_WITHOUT_APR: Mapping[str, JsonValue] = {"retrieval.mode": "global", "fusion.apr": False}
SUBSETS = tuple(_subset(used) for count in range(len(LETTERS) + 1) for used in combinations(LETTERS, count))
SYSTEMS = (
    Variant("apr", "APR", "system", {}, "apr"),
    Variant("apr+capf", "APR + CAPF", "system", {"retrieval.mode": "off"}),
    Variant("global", "global top-1", "system", _WITHOUT_APR, "retrieval"),
    Variant("global+capf", "global + CAPF without APR", "system", _WITHOUT_APR),
    Variant("apr+global+capf", "APR + global + CAPF", "system", {"retrieval.mode": "global"}),
    Variant(FULL, "full", "system", {}),
)


@dataclass(frozen=True, slots=True)
class Job:
    """One run that one row or several are about."""

    experiment: Experiment
    parent: RunFolder
    folder: RunFolder

    def is_done(self) -> bool:
        """Whether the run is there, whole, planned with these settings and made from these percepts."""
        if not self.folder.inputs.exists():  # written last
            return False
        return read_bytes(self.folder.inputs, DOCUMENT_BYTES) == self._describe_inputs().encode()

    def run(self) -> str:
        """Calibrate, map, adapt, localize, evaluate; the name of the row."""
        self.folder.inputs.unlink(missing_ok=True)
        self.folder.path.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # reports find the images' percepts beside the estimates, as in any run
            os.symlink(os.path.relpath(self.parent.percepts_folder, self.folder.path), self.folder.percepts_folder)
        # Whoever planned the rows has brought the percepts up to date, and only one may write them.
        encoding = Encoding(self.experiment, self.parent, trust="everything")
        experiment = self._calibrate(encoding)
        map_experiment(experiment, self.folder, encoding=encoding)
        run_experiment(experiment, self.folder, encoding=encoding)
        with writing(self.folder.path):
            save_errors(evaluate_run(FinishedRun.load(self.folder)), self.folder)
        write_text(self.folder.inputs, self._describe_inputs())
        return self.folder.path.name

    def _calibrate(self, encoding: Encoding) -> Experiment:
        """With what suits this row; a validation that was learned from says nothing."""
        data, system = self.experiment.data, keep_likelihoods(self.experiment.system)
        validation = list_calibrating(self.experiment)
        if validation:
            roles = (data.references, data.adapt, validation)
            recordings = CalibrationData(*(tuple(map(encoding.recording, names)) for names in roles))
            system = calibrate_row(system, recordings)
        return self.experiment.model_copy(update={"system": system})

    def _describe_inputs(self) -> str:
        """The settings that were planned and the marks of the percepts, as inputs.json has them."""
        marks = {name: asdict(each) for name, each in self.read_marks().items()}
        return json.dumps({"planned_sha256": experiment_digest(self.experiment), "sequences": marks}, indent=2) + "\n"

    def read_marks(self) -> dict[str, Marks]:
        """What the percepts are known by, sequence by sequence."""
        return {name: Recording.load(self.parent.percepts(name)).marks for name in _sequences(self.experiment)}


def run_rows(
    experiment: Experiment,
    folder: RunFolder,
    encoding: Encoding,
    workers: int,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Job]:
    """Run what is not there yet, side by side; the run of each row by its key."""
    if not experiment.data.scored:
        raise InputError("data.test is empty, and so is data.stream; name the sequences to localize")
    for name in _sequences(experiment):
        encoding.recording(name)
    encoding.publish()
    jobs = plan_jobs(experiment, folder)
    distinct = {job.folder.path: job for job in jobs.values()}
    missing = [job for job in distinct.values() if not job.is_done()]
    tell(f"{len(distinct)} runs, {len(distinct) - len(missing)} of them there already")
    if not missing:
        return jobs
    try:
        run_jobs([job.run for job in missing], workers, tell)
    except KeyboardInterrupt as stop:
        done = sum(job.is_done() for job in distinct.values())
        stop.add_note(f"{done} of {len(distinct)} runs are done and kept; the same command goes on")
        raise
    return jobs


def run_jobs(jobs: Sequence[Callable[[], str]], workers: int, tell: Callable[[str], None], watch: Watch = iter) -> None:
    """Several at a time, each by a process that starts afresh: a forked one could inherit a lock of numba or BLAS.

    What each of them gives is told when it is done.
    """
    with ProcessPoolExecutor(min(workers, len(jobs)), get_context("spawn"), _end_with_parent) as pool:
        finished = as_completed([pool.submit(job) for job in jobs])
        try:
            for number in watch(range(len(jobs))):
                tell(f"{number + 1}/{len(jobs)} {next(finished).result()}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def plan_jobs(experiment: Experiment, folder: RunFolder) -> dict[str, Job]:
    """The run of each row; rows with the same settings share one."""
    jobs: dict[str, Job] = {}
    # A run is named after the row that is about its fused track.
    for variant in sorted((*SUBSETS, *SYSTEMS), key=lambda each: each.track != "fused"):
        varied = changed(experiment, variant.settings)
        same = next((job for job in jobs.values() if job.experiment == varied), None)
        jobs[variant.key] = same or Job(varied, folder, RunFolder(folder.ablation / variant.key))
    return jobs


def _sequences(experiment: Experiment) -> list[str]:
    data = experiment.data
    if not data.references:
        raise InputError("data.reference is not set; name the traverse to be mapped")
    return list(dict.fromkeys((*data.references, *data.adapt, *list_calibrating(experiment), *data.scored)))


def list_calibrating(experiment: Experiment) -> list[str]:
    """The validation sequences that nothing is learned from before they are asked."""
    data = experiment.data
    return [name for name in data.validation if name not in (*data.references, *data.adapt)]
