"""`tmapr run`: adapt with labels, stream, then localize the test sequences."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import (
    Device,
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
from tmapr.cli.view import View, choose_way, show_in_viewer

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import Experiment

_MOST = 0.8


def run(  # noqa: PLR0913 (each an option)
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT|MAP", help="the experiment's TOML file, or a run folder with a map")
    ],
    source: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="localize a folder, bag or video in MAP; may be repeated")
    ] = None,
    learn: Annotated[Literal["off", "fused", "truth"] | None, typer.Option(help="learn while localizing")] = None,
    label_delay: Annotated[int | None, typer.Option(help="frames by which true labels are late")] = None,
    align_apr: Annotated[
        Literal["none", "adapt", "oracle"] | None, typer.Option(help="fit the pose head first")
    ] = None,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    view: View = None,
    quiet: Quiet = False,
) -> None:
    """Localize sequences, streamed ones and tests, after adapting to labelled ones; missing percepts are encoded."""
    from tmapr.artifacts.documents.runs import Provenance
    from tmapr.reports.tables.stream import describe_labels
    from tmapr.running.running import run_experiment

    way = None if view is None else choose_way(view)
    chosen = {"labels.mode": learn, "labels.delay": label_delay, "align_apr": align_apr}
    options = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    settings, folder = _open(experiment, source or [], [*(overrides or []), *options], run, quiet)
    run_experiment(
        settings,
        folder,
        make_watch("localizing", quiet),
        make_encoding(settings, folder, device, quiet, choose_trust(verify, force)),
    )
    if not quiet:
        made = Provenance.load(folder.provenance, f"tmapr run {folder.experiment}")
        for name, entry in made.sequences.items():
            summary = _summary(folder.estimates(name), settings.system.tracking.gates.min_similarity)
            typer.echo(f"{summary} [{entry.protocol_name}]")
        labels = describe_labels(made.labels, made.sequences.values())
        verb = "evaluate" if any(_has_truth(folder.percepts(name)) for name in made.sequences) else "report"
        typer.echo(f"labels {labels}; now: tmapr {verb} {folder.path}")
        if folder.page.exists():
            typer.echo(f"{folder.page}: shows the run before this one; `tmapr report {folder.path}` makes it anew")
    if way is not None:
        show_in_viewer(folder.path, way, quiet=quiet)


def _open(
    path: Path, sources: list[Path], overrides: list[str], run: Path | None, quiet: bool
) -> "tuple[Experiment, RunFolder]":
    """The experiment that is asked for and its run folder, which has a map if one is given."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.exceptions import InputError
    from tmapr.running.planning import plan_drive, seed_run

    if not sources:
        return open_experiment(path, overrides, run, quiet)
    if not path.is_dir():
        raise InputError(f"{path}: --source needs the run folder of a map, as in `tmapr run runs/NAME --source PATH`")
    home = RunFolder(path)
    experiment, folder = plan_drive(home, sources, run, overrides, make_teller(quiet))
    seed_run(home, folder, experiment)
    return experiment, folder


def _has_truth(percepts: Path) -> bool:
    """Whether there is anything that estimates can be compared with."""
    from tmapr.artifacts.percepts import Recording

    return bool(Recording.load(percepts).known.any())


def _summary(path: Path, threshold: float) -> str:
    """How the gates judged; where nearly all looked different, what the threshold would have to be to matter."""
    import numpy as np

    from tmapr.artifacts.trajectory import load_estimates
    from tmapr.types import Reason, Status

    estimates = load_estimates(path)
    counts = Counter(estimates.reasons)
    # By the names of `evaluate`, which counts the same.
    localized = sum(status is Status.LOCALIZED for status in estimates.statuses)
    judged = ", ".join(f"{counts[each]} {each}" for each in (Reason.ACCEPTED, Reason.RELOCALIZED) if counts[each])
    line = f"{path}: {localized} of {len(estimates.reasons)} frames localized; {judged or 'no match accepted'}"
    different = sum(reason is Reason.LOOKS_DIFFERENT for reason in estimates.reasons)
    if different <= _MOST * len(estimates.reasons):
        return line
    median = np.median(estimates.similarities.values[estimates.similarities.known])
    return (
        f"{line}; {different} look different from it: their best similarity is {median:.2f} in the median and"
        f" tracking.gates.min_similarity is {threshold:g}, which belongs to another descriptor or these are other"
        " places"
    )
