"""`tmapr calibrate`: settings chosen on the validation sequences, as a file that experiments include."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import (
    Device,
    ExperimentFile,
    Force,
    Overrides,
    Quiet,
    RunOption,
    Verify,
    choose_trust,
    make_encoding,
    make_teller,
    make_watch,
    open_experiment,
)

if TYPE_CHECKING:
    from tmapr.experiment import Experiment
    from tmapr.studies.calibration import Calibration
    from tmapr.studies.scoring import Score


def calibrate(
    experiment: ExperimentFile,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="default: calibrated.toml in the run folder")] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Choose score weights, λ and noise on the validation sequences; the test is not read.

    With the paper's gates also the similarity threshold, the gate's width and the variances.

    What makes RMSE, wrong claims or the 95 % ellipse worse there is not taken.

    Include the file it writes in an experiment of the same camera and descriptor, also of another place:

    include = ["calibrated.toml"]
    """
    from tmapr.artifacts.atomic import write_text
    from tmapr.artifacts.lock import writing
    from tmapr.exceptions import InputError
    from tmapr.studies.calibration import CalibrationData
    from tmapr.studies.calibration import calibrate as search

    settings, folder = open_experiment(experiment, overrides or [], run, quiet)
    data = settings.data
    if not data.references or not data.validation:
        raise InputError("data.reference and data.validation: a calibration needs both; name the sequences")
    if {*data.references, *data.adapt} & set(data.validation):
        raise InputError("data.validation: must be of other sequences than data.reference and data.adapt")
    encoding = make_encoding(settings, folder, device, quiet, choose_trust(verify, force))
    out = out or folder.path / "calibrated.toml"
    with writing(folder.path):
        recordings = CalibrationData(
            tuple(encoding.recording(name) for name in data.references),
            tuple(encoding.recording(name) for name in data.adapt),
            tuple(encoding.recording(name) for name in data.validation),
        )
        encoding.publish()
        found = search(settings.system, recordings, make_watch("calibrating", quiet), make_teller(quiet))
        write_text(out, describe_calibration(settings, found))
    if not quiet:
        typer.echo(f"validation {', '.join(data.validation)}, before: {_format_score(found.before)}")
        typer.echo(f"validation {', '.join(data.validation)}, after:  {_format_score(found.after)}")
        typer.echo(f'{out}: write include = ["{out.name}"] at the top of an experiment beside it')


def describe_calibration(settings: "Experiment", found: "Calibration") -> str:
    """Every setting that was searched, with what it was chosen on."""
    from tmapr.config import dump_toml
    from tmapr.studies.calibration import list_searched

    return (
        f"# Calibrated on {', '.join(settings.data.validation)} of {settings.name}: surprise"
        f" {found.before.surprise:.3f} → {found.after.surprise:.3f} nats, RMSE on the map"
        f" {found.before.outcome.rmse:.2f} → {found.after.outcome.rmse:.2f} m.\n"
        "# An experiment that includes this file still overrides it with what it says itself.\n\n"
        + dump_toml(found.system, list_searched(found.system))
    )


def _format_score(score: "Score") -> str:
    figures = {"precision": score.precision, "recall": score.recall, "wrong accepted": score.passed}
    shares = ", ".join(f"{name} {'–' if value is None else f'{value:.3f}'}" for name, value in figures.items())
    found = score.outcome
    return (
        f"RMSE on the map {found.rmse:.2f} m, {found.wrong} frames localized and wrong,"
        f" {100 * found.coverage95:.1f} % in the 95 % ellipse, {shares}"
    )
