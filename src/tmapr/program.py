"""A program's door: what the commands do, from paths or arrays, without a file of settings.

What a command prints beside its output, a program finds in the logger `tmapr`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.lock import writing
from tmapr.artifacts.names import file_name
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import EstimateTable
from tmapr.data import sequence
from tmapr.data.bag import Topics
from tmapr.data.health import Detector
from tmapr.data.opening import open_path
from tmapr.exceptions import InputError
from tmapr.experiment import load as load_run
from tmapr.inputs import read_folder
from tmapr.localizer import Localizer
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import Perception
from tmapr.reports.film.cut import Cut
from tmapr.reports.film.film import find_format, make_film
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun, find_name
from tmapr.running.evaluating import evaluate_run, save_errors
from tmapr.running.finished import FinishedRun, require_run
from tmapr.types import Watch

_FILM_WIDTH = 1280


def load(folder: str | Path, device: str = "auto") -> Localizer:
    """The localizer of a run folder: its map, what it learned, its perception, every setting."""

    def open_streams(settings: Perception) -> Callable[[], Perceiver]:
        network = open_perceiver(settings, device)
        return lambda: network.with_inspection(Detector().inspect)

    return load_run(read_folder(folder), open_streams)


def open_sequence(path: str | Path, *, image: str | None = None, position: str | None = None) -> sequence.Sequence:
    """The frames of a folder of images, a bag or a video: `for frame in tmapr.open_sequence("patrol.mcap")`.

    `image` and `position` are topics of a bag that has several.
    """
    return open_path(read_folder(path), Topics(image=image, position=position))


def open_run(folder: str | Path) -> "Run":
    """A run that was made before, here or by the command."""
    path = read_folder(folder)
    require_run(RunFolder(path))
    return Run(path)


@dataclass(frozen=True, slots=True)
class Run:
    """What was said of every frame of some drives, in a folder."""

    folder: Path

    @property
    def sequences(self) -> tuple[str, ...]:
        """The drives, in the order in which they were localized."""
        return FinishedRun.load(RunFolder(self.folder)).experiment.data.scored

    def estimates(self, sequence: str | None = None) -> EstimateTable:
        """What was said of each frame of a drive, the first one unless it is named."""
        finished = FinishedRun.load(RunFolder(self.folder))
        scored = finished.experiment.data.scored
        return finished.sequence(find_name(sequence, scored[0], scored)).table

    def evaluate(self, align: Literal["none", "planar"] = "none", watch: Watch = iter) -> Errors:
        """Compare with the true positions that were recorded; writes errors.json as `tmapr evaluate` does."""
        folder = RunFolder(self.folder)
        with writing(self.folder):
            finished = FinishedRun.load(folder)
            if not finished.compared:
                raise InputError(f"{self.folder}: no frame has a true position; nothing to compare with")
            errors = evaluate_run(finished, align, watch)
            save_errors(errors, folder)
        return errors

    def describe(self) -> str:
        """What was found, in words: a sentence or two for each drive."""
        return "\n".join(map(describe_findings, ReportedRun.load(self.folder).sequences))

    def report(self, out: str | Path | None = None) -> Path:
        """Write the page, by default to report/index.html in the run folder; its path."""
        path = RunFolder(self.folder).page if out is None else read_folder(out)
        with writing(self.folder):
            write_text(path, render_page([ReportedRun.load(self.folder)]))
        return path

    def film(self, out: str | Path | None = None, sequence: str | None = None, watch: Watch = iter) -> Path:
        """Film a drive as .webm or .gif, by default into the run folder's report/; its path."""
        with writing(self.folder):
            loaded = ReportedRun.load(self.folder)
            shown = loaded.find(sequence)
            usual = RunFolder(self.folder).page.with_name(f"{file_name(shown.name)}.webm")
            path = usual if out is None else read_folder(out)
            cut = Cut.of(shown.seconds, find_format(path).rate)
            make_film(loaded, shown, cut, path, _FILM_WIDTH, watch)
        return path
