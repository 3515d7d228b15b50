"""`tmapr check`: what a recording holds, what is wrong with it, and what `map` and `run` will do with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Overrides, Quiet, RunOption, locate_experiment, make_watch

if TYPE_CHECKING:
    from tmapr.artifacts.percepts import Recording
    from tmapr.data.bag import Topics
    from tmapr.data.examination import Examination
    from tmapr.data.sequence import Sequence
    from tmapr.experiment import Experiment
    from tmapr.perception.image import Image
    from tmapr.running.forecast import Forecaster, Outlook

_SAMPLE = 200
_ALONE = ("reference", "test")
"""What a recording outside of any experiment may become."""


@dataclass(slots=True)
class _Report:
    """What is told of all sequences, and what of it matters at the end."""

    stops: list[str]
    quiet: bool
    sequences: int = 0
    frames: int = 0
    warnings: int = 0
    encoded: bool = False

    def tell(self, line: str) -> None:
        if not self.quiet:
            typer.echo(line)


def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="an experiment's TOML file, a folder or a bag")],
    every: Annotated[bool, typer.Option("--all", help="read the pixels of all frames, not of 200 a sequence")] = False,
    sheet: Annotated[Path | None, typer.Option(metavar="PNG", help="write thumbnails of evenly spaced frames")] = None,
    overrides: Overrides = None,
    run: RunOption = None,
    quiet: Quiet = False,
) -> None:
    """Look through recordings, and say what `map` and `run` will do with them; writes nothing but the sheet."""
    from tmapr.exceptions import InputError

    report = _Report([], quiet)
    if path.suffix.lower() == ".toml":
        _check_experiment(report, path, overrides or [], run, every, sheet)
    elif overrides or run:
        given = f"nothing to --set; leave {overrides[0]} out" if overrides else f"no run folder; leave {run} out"
        raise InputError(f"{path}: is no experiment file, so there is {given}")
    else:
        _check_path(report, path, every, sheet)
    stops = report.stops
    if stops:
        raise InputError(stops[0] if len(stops) == 1 else f"{stops[0]} (and {len(stops) - 1} more that stop a run)")
    warnings = _count(report.warnings, "warning") if report.warnings else "all well"
    counted = f"{report.frames} frames in {_count(report.sequences, 'sequence')}"
    report.tell(f"{counted}: {warnings}, nothing that stops a run")


def _check_path(report: _Report, path: Path, every: bool, sheet: Path | None) -> None:
    """A recording outside of any experiment: what it would be as a map, and as a drive to localize."""
    from tmapr.data.bag import GUESSED
    from tmapr.data.opening import open_path
    from tmapr.perception.image import Image
    from tmapr.reports.thumbnails import write_sheet
    from tmapr.running.forecast import Outlook

    _tell_topics(report, path, GUESSED)
    sequence = open_path(path)
    if sheet is not None:
        write_sheet(sheet, [sequence])
    report.tell(sequence.name)
    found = _examine(report, sequence, Image(), None, every)
    outlook = Outlook.of(sequence, found)
    _tell_roles(report, outlook, _ALONE)
    report.stops += _find_stops(outlook, sequence, found)


def _check_experiment(
    report: _Report, path: Path, overrides: list[str], run: Path | None, every: bool, sheet: Path | None
) -> None:
    from tmapr.data.sequence import Sequence
    from tmapr.exceptions import InputError
    from tmapr.reports.thumbnails import write_sheet
    from tmapr.running.forecast import Forecaster

    experiment, folder = locate_experiment(path, overrides, run, report.quiet)
    experiment = experiment.with_head(folder)
    experiment.perception.choose_plugin()
    experiment.system.tracking.choose_plugin()
    roles = _list_roles(experiment)
    if not roles:
        raise InputError(f"{path}: names no sequence; set data.reference, data.test or another role")
    forecaster = Forecaster(experiment, folder)
    opened: dict[str, Sequence | Recording] = {}
    for name in roles:
        _tell_bag(report, experiment, name)
        opened[name] = forecaster.open(name)
    if sheet is not None:
        write_sheet(sheet, [found for found in opened.values() if isinstance(found, Sequence)])
    top_speed = None
    for name, played in roles.items():
        report.tell(f"{name} ({', '.join(played)})")
        found = opened[name]
        if isinstance(found, Sequence):
            speed = _check_sequence(report, forecaster, found, played, experiment.perception.image, top_speed, every)
            top_speed = top_speed or (speed if "reference" in played else None)
        else:
            _check_kept(report, forecaster, found, name, played)
    _conclude(report, experiment, forecaster)


def _list_roles(experiment: "Experiment") -> dict[str, tuple[str, ...]]:
    """The roles of each sequence; references first, by whose speed jumps are measured."""
    roles: dict[str, tuple[str, ...]] = dict.fromkeys(experiment.data.references, ())
    for role, names in experiment.data.roles.items():
        for name in names:
            roles[name] = (*roles.get(name, ()), role)
    return roles


def _check_sequence(
    report: _Report,
    forecaster: "Forecaster",
    sequence: "Sequence",
    roles: tuple[str, ...],
    image: "Image",
    top_speed: float | None,
    every: bool,
) -> float | None:
    """A recording that is here; the top speed that its jumps were measured by."""
    from tmapr.reports.recording import format_line

    found = _examine(report, sequence, image, top_speed, every)
    outlook = forecaster.look(sequence, found)
    report.tell(format_line("kept", forecaster.describe_kept(outlook)))
    report.encoded |= outlook.encoded > 0
    _tell_roles(report, outlook, roles)
    report.stops += _find_stops(outlook, sequence, found)
    report.stops += forecaster.find_stops(outlook, roles)
    return found.top_speed


def _check_kept(
    report: _Report, forecaster: "Forecaster", recording: "Recording", name: str, roles: tuple[str, ...]
) -> None:
    """A sequence of which nothing but what was encoded is here, or was ever meant to be."""
    from tmapr.reports.recording import format_line
    from tmapr.running.forecast import Outlook

    outlook = Outlook.kept(recording, name)
    report.sequences += 1
    report.frames += len(recording)
    report.tell(format_line("frames", str(len(recording))))
    report.tell(format_line("kept", forecaster.describe_absence(name)))
    _tell_roles(report, outlook, roles)
    report.stops += forecaster.find_stops(outlook, roles)


def _examine(
    report: _Report, sequence: "Sequence", image: "Image", top_speed: float | None, every: bool
) -> "Examination":
    from tmapr.data.examination import examine
    from tmapr.reports.recording import list_defects, list_figures

    watch = make_watch(f"checking {sequence.name}", report.quiet)
    look = partial(examine, sequence, preparation=image, top_speed=top_speed, watch=watch)
    found = look(sample=None if every else _SAMPLE)
    if not found.usable and len(found.faults) < found.frames:
        found = look(sample=None)  # whether there is any image that can be used decides on the run
    report.sequences += 1
    report.frames += found.frames
    report.warnings += len(found.defects)
    for line in (*list_figures(found), *list_defects(found)):
        report.tell(line)
    return found


def _find_stops(outlook: "Outlook", sequence: "Sequence", found: "Examination") -> Iterator[str]:
    """What would stop an encoding of a recording, in its words."""
    from tmapr.exceptions import InputError
    from tmapr.running.faults import refuse_unusable

    if not found.frames:
        yield f"{sequence.name}: holds no frame"
    elif outlook.known and not outlook.usable.any():
        try:
            refuse_unusable(sequence, outlook.faulty)
        except InputError as error:
            yield str(error)
    yield from (f"{sequence.name}: {refusal}" for refusal in found.refusals)


def _tell_roles(report: _Report, outlook: "Outlook", roles: tuple[str, ...]) -> None:
    """What becomes of a sequence, verb by verb."""
    from tmapr.reports.recording import format_line

    for role in roles:
        if role == "reference":
            report.tell(format_line("map", outlook.describe_mapping()))
        elif role in ("stream", "test"):
            report.tell(format_line("run", outlook.describe_localizing()))
            report.tell(format_line("evaluate", outlook.describe_evaluating()))
        else:
            report.tell(format_line("run" if role == "adapt" else "train", outlook.describe_lessons()))


def _conclude(report: _Report, experiment: "Experiment", forecaster: "Forecaster") -> None:
    """What holds for the experiment as a whole."""
    from tmapr.running.running import NOTHING_TO_LOCALIZE, NOTHING_TO_MAP

    data = experiment.data
    report.stops += forecaster.find_general_stops(report.encoded)
    report.tell(f"train: {forecaster.describe_training()}")
    report.tell(f"map: {forecaster.describe_map() if data.references else NOTHING_TO_MAP}")
    if not data.scored:
        report.tell(f"run: {NOTHING_TO_LOCALIZE}")


def _tell_bag(report: _Report, experiment: "Experiment", name: str) -> None:
    from tmapr.experiment import locate_data

    data = experiment.data
    _tell_topics(report, locate_data(data, name), data.choose_topics(name))


def _tell_topics(report: _Report, path: Path, topics: "Topics") -> None:
    """Of a bag; before it is opened, since somebody who has to choose a topic is refused there."""
    from tmapr.data.drives import recognize
    from tmapr.data.topics import list_topics
    from tmapr.reports import recording

    if not report.quiet and path.exists() and recognize(path) == "bag":
        report.tell(f"{path}")
        for line in recording.list_topics(list_topics(path, topics)):
            report.tell(line)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
