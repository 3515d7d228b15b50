"""`tmapr bench`: how long a frame takes here, stage by stage, by the paper's protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Overrides, TableFormat, make_teller, needs

if TYPE_CHECKING:
    from tmapr.experiment import Experiment

_REFERENCES = 1000
_LEAST = {"--frames": 1, "--updates": 3, "--references": 10, "--places": 1}


def bench(  # noqa: PLR0913 (each an option)
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="a run folder: its perceiver, map, settings and frames")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="where images are encoded; cuda: and frames localized")
    ] = "auto",
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="without RUN: default | vit-b14 (random weights) | a checkpoint or ONNX file"
        ),
    ] = None,
    precision: Annotated[
        Literal["float32", "float16", "int8"] | None,
        typer.Option(help="of the encoder (default: float32, or int8 of a file that has it)"),
    ] = None,
    frames: Annotated[int, typer.Option(metavar="N", help="frames that count, after the warm-ups")] = 200,
    updates: Annotated[int, typer.Option(metavar="N", help="one-sample updates that count")] = 4000,
    references: Annotated[
        int | None, typer.Option(metavar="N", help="without RUN: references of the made-up map (default: 1000)")
    ] = None,
    places: Annotated[
        int | None, typer.Option(metavar="N", help="without RUN: cells so large that there are about so many places")
    ] = None,
    form: Annotated[TableFormat, typer.Option("--format", help="of the table above the JSON line")] = "text",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="write the JSON there too")] = None,
    overrides: Overrides = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="print the JSON line alone")] = False,
) -> None:
    """Time one frame's way stage by stage, as a whole, and with the update; the last line is one JSON object."""
    from tmapr.bench.measure import measure
    from tmapr.bench.workload import WARM_UPS, choose_cell, invent_map, open_timed_perceiver, prepare_work
    from tmapr.device import open_backend
    from tmapr.exceptions import InputError
    from tmapr.experiment import load
    from tmapr.reports.tables.latency import tabulate_latency
    from tmapr.system import build

    counts = {"--frames": frames, "--updates": updates, "--references": references, "--places": places}
    for option, given in counts.items():
        if given is not None and given < _LEAST[option]:
            raise InputError(f"{option} {given}: must be at least {_LEAST[option]}")
    if out is not None and out.is_dir():
        raise InputError(f"--out {out}: is a folder; name the file to write")
    if run is not None and any(given is not None for given in (encoder, references, places)):
        raise InputError(
            f"{run}: has an encoder and references of its own; leave --encoder, --references and --places out"
        )
    changes, count = overrides or [], references or _REFERENCES
    localizer = load(run, None, changes, open_backend(device)) if run else None
    settings = _read_settings(run, encoder, choose_cell(count, places) if places else None, changes)
    with needs("train"):
        timed = open_timed_perceiver(settings.perception, device, precision)
    if localizer is None:
        environment = invent_map(settings.system, count, timed.perceiver.dimension)
        localizer = build(settings.system, environment, backend=open_backend(device))
    # Lines and not a bar: that would draw itself from a thread of its own while others are timed.
    make_teller(quiet)(
        f"{frames} frames stage by stage and whole, {updates} updates, after {WARM_UPS} warm-ups of each"
    )
    result = measure(prepare_work(settings, timed, localizer, frames), updates)
    if out is not None:
        result.save(out)
    if form != "json" and not quiet:
        table = tabulate_latency([result])
        typer.echo({"text": table.text, "markdown": table.markdown, "latex": table.latex}[form]())
    typer.echo(result.as_json())


def _read_settings(run: Path | None, encoder: str | None, cell: float | None, changes: list[str]) -> "Experiment":
    import json

    from tmapr.artifacts.run import RunFolder
    from tmapr.exceptions import InputError
    from tmapr.experiment import read_experiment

    if any(change.startswith("perception.precision=") for change in changes):
        raise InputError("--set perception.precision: name the precision to be timed by --precision")
    if run is not None:
        return read_experiment(RunFolder(run).experiment, changes).with_head(RunFolder(run))
    # JSON's strings are TOML's too.
    named = [f"perception.encoder={json.dumps(encoder)}"] if encoder else []
    return read_experiment(None, [*changes, *named, *([f"places.cell={cell}"] if cell else [])])
