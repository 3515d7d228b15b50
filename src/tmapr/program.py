"""A program's door: what the commands do, from paths or arrays, without a file of settings.

What a command prints beside its output, a program finds in the logger `tmapr`.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.documents.runs import Errors
from tmapr.artifacts.lock import writing
from tmapr.artifacts.names import file_name
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.artifacts.trajectory import EstimateTable
from tmapr.config import changed
from tmapr.data import sequence
from tmapr.data.bag import Topics
from tmapr.data.opening import open_path
from tmapr.device import open_backend
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.experiment import load as load_run
from tmapr.inputs import read_folder
from tmapr.live.events import Answer
from tmapr.live.following import follow as follow_frames
from tmapr.live.sources.recorded import Given
from tmapr.localizer import Localizer
from tmapr.perception.settings import OWN, Perception
from tmapr.reports.film.cut import Cut
from tmapr.reports.film.film import find_format, make_film
from tmapr.reports.page.findings import describe_findings
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun, find_name
from tmapr.reports.tracks.export import export_run
from tmapr.running.encoding import Encoding
from tmapr.running.evaluating import evaluate_run, save_errors
from tmapr.running.finished import FinishedRun, require_run
from tmapr.running.planning import make_name, plan_drive, plan_experiment, plan_own_drive, seed_run
from tmapr.running.running import map_experiment, run_experiment
from tmapr.running.streams import open_streams
from tmapr.types import CoordinateFrame, Watch

Source = str | Path | Recording
"""A folder of images, a bag or a video, or percepts of a program's own."""
Settings = Mapping[str, object]
"""Values by their paths in an experiment file, such as {"places.cell": 20.0}."""
_FILM_WIDTH = 1280
_tell = logging.getLogger("tmapr").warning


def load(folder: str | Path, device: str = "auto") -> Localizer:
    """The localizer of a run folder: its map, what it learned, its perception, every setting.

    It perceives on a GPU if there is one, and with the device `cuda` it also localizes there.
    """
    return load_run(read_folder(folder), open_streams(device), backend=open_backend(device))


def open_sequence(
    path: str | Path,
    *,
    image: str | None = None,
    position: str | None = None,
    frame: CoordinateFrame | None = None,
) -> sequence.Sequence:
    """The frames of a folder of images, a bag or a video: `for frame in tmapr.open_sequence("patrol.mcap")`.

    `image` and `position` are topics of a bag that has several. Longitudes and latitudes become metres from the first
    of them; `frame`, that of a localizer or of another sequence, makes them comparable with its positions.
    """
    return open_path(read_folder(path), Topics(image=image, position=position), frame=frame)


def make_map(
    sources: Source | Sequence[Source],
    folder: str | Path,
    *,
    settings: Settings | None = None,
    device: str = "auto",
    watch: Watch = iter,
) -> Localizer:
    """Map recordings that have positions into a run folder; the localizer of the new map.

    Images are encoded once: what is kept in the folder and still true is not made again. `watch` may show how far it
    is, as `tqdm.tqdm` does.
    """
    paths, recordings = _sort_sources(sources)
    home = RunFolder(read_folder(folder))
    planned = _plan_own(recordings) if recordings else plan_experiment(paths)
    experiment = changed(planned, {"name": make_name(home.path.absolute().name), **(settings or {})})
    with writing(home.path):
        _save_own(recordings, home)
    map_experiment(experiment, home, watch, Encoding(experiment, home, device, watch, tell=_tell))
    return load(folder, device)


def run(
    map_folder: str | Path,
    sources: Source | Sequence[Source],
    folder: str | Path | None = None,
    *,
    learn: Literal["off", "fused", "truth"] | None = None,
    settings: Settings | None = None,
    device: str = "auto",
    watch: Watch = iter,
) -> "Run":
    """Localize recordings in a map and keep what is said of every frame in a run folder, by default runs/NAME.

    It starts from what the map's experiment learned; with `learn`, it goes on learning.
    """
    paths, recordings = _sort_sources(sources)
    home, out = RunFolder(read_folder(map_folder)), None if folder is None else read_folder(folder)
    names = [recording.sequence for recording in recordings]
    planned, target = plan_own_drive(home, names, out, _tell) if names else plan_drive(home, paths, out, tell=_tell)
    chosen = {} if learn is None else {"labels.mode": learn}
    experiment = changed(planned, {**(settings or {}), **chosen})
    seed_run(home, target, experiment)
    with writing(target.path):
        _save_own(recordings, target)
    run_experiment(experiment, target, watch, Encoding(experiment, target, device, watch, tell=_tell))
    return Run(target.path)


def follow(
    map_folder: str | Path,
    frames: Iterable[Given],
    *,
    folder: str | Path | None = None,
    learn: Literal["off", "fused"] = "off",
    device: str = "auto",
) -> Iterator[Answer]:
    """Localize frames as they come: `for answer in tmapr.follow("runs/street", camera)`.

    `frames` gives them when they are there: each a `Frame`, or an image and its stamp in nanoseconds. They are
    perceived, localized and learned from in threads of their own; those nobody has time for are dropped, oldest first.
    What is learned is kept in `folder`, by default `live` in the map's, when the loop is left; the next one goes on
    from there. For recordings, of which no frame is to be lost, there is `run`.
    """
    home, out = read_folder(map_folder), None if folder is None else read_folder(folder)
    return follow_frames(home, frames, out, learn, device)


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

    def evaluate(self, align: Literal["none", "planar"] = "none") -> Errors:
        """Compare with the true positions that were recorded; writes errors.json as `tmapr evaluate` does."""
        folder = RunFolder(self.folder)
        with writing(self.folder):
            finished = FinishedRun.load(folder)
            if not finished.compared:
                raise InputError(f"{self.folder}: no frame has a true position; nothing to compare with")
            errors = evaluate_run(finished, align)
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

    def export(self, out: str | Path, sequence: str | None = None, *, of_map: bool = False) -> Path:
        """Write a drive, or the map's references, as the suffix says: .geojson, .gpx, .csv, .parquet, .tum."""
        return export_run(RunFolder(self.folder), read_folder(out), sequence=sequence, of_map=of_map, tell=_tell)


def _sort_sources(given: Source | Sequence[Source]) -> tuple[list[Path], list[Recording]]:
    """The paths and the percepts of one's own; a map and its drives are of one kind."""
    several = [given] if isinstance(given, str | Path | Recording) else list(given)
    recordings = [each for each in several if isinstance(each, Recording)]
    paths = [read_folder(each) for each in several if not isinstance(each, Recording)]
    if recordings and paths:
        raise InputError(
            f"{paths[0]}: is recorded, and {recordings[0].sequence!r} is a program's own; keep to one kind"
        )
    return paths, recordings


def _plan_own(recordings: Sequence[Recording]) -> Experiment:
    names = tuple(recording.sequence for recording in recordings)
    return Experiment(data=Data(reference=names), perception=Perception(encoder=OWN))


def _save_own(recordings: Sequence[Recording], folder: RunFolder) -> None:
    for recording in recordings:
        recording.save(folder.percepts(recording.sequence))
