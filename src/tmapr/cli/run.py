"""`tmapr run`: adapt with labels, stream, then localize the test sequences."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

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
    make_watch,
    open_experiment,
)

_MOST = 0.8


def run(  # noqa: PLR0913 (each an option)
    experiment: ExperimentFile,
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
    quiet: Quiet = False,
) -> None:
    """Localize sequences, streamed ones and tests, after adapting to labelled ones; missing percepts are encoded."""
    from tmapr.artifacts.documents.runs import Provenance
    from tmapr.reports.tables.stream import describe_labels
    from tmapr.running.running import run_experiment

    chosen = {"labels.mode": learn, "labels.delay": label_delay, "align_apr": align_apr}
    options = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    settings, folder = open_experiment(experiment, [*(overrides or []), *options], run)
    run_experiment(
        settings,
        folder,
        make_watch("localizing", quiet),
        make_encoding(settings, folder, device, quiet, choose_trust(verify, force)),
    )
    if not quiet:
        made = Provenance.load(folder.provenance, f"tmapr run {experiment}")
        for name, entry in made.sequences.items():
            summary = _summary(folder.estimates(name), settings.system.tracking.gates.min_similarity)
            typer.echo(f"{summary} [{entry.protocol_name}]")
        labels = describe_labels(made.labels, made.sequences.values())
        verb = "evaluate" if any(_has_truth(folder.percepts(name)) for name in made.sequences) else "report"
        typer.echo(f"labels {labels}; now: tmapr {verb} {folder.path}")
        if folder.page.exists():
            typer.echo(f"{folder.page}: shows the run before this one; `tmapr report {folder.path}` makes it anew")


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
