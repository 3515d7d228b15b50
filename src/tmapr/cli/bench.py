"""`tmapr bench`: how long a frame takes here, stage by stage, by the paper's protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tmapr.cli.options import Overrides, TableFormat, make_teller

if TYPE_CHECKING:
    from tmapr.artifacts.documents.latency import Precision
    from tmapr.latency.bench import Benchmark

_REFERENCES = 1000
_LEAST = {"--frames": 1, "--updates": 3, "--references": 10, "--places": 1}


def bench(  # noqa: PLR0913 (each an option)
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="a run folder: its perceiver, map, settings and frames")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option(help="where images are encoded; cuda: where frames go their whole way, part by part"),
    ] = "auto",
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="without RUN: default | vit-b14 (random weights) | a checkpoint or ONNX file"
        ),
    ] = None,
    precision: Annotated[
        Literal["float32", "float16", "int8"] | None, typer.Option(help="of the encoder (default: the one it has)")
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
    from tmapr.exceptions import InputError
    from tmapr.latency.bench import load_benchmark, measure
    from tmapr.reports.tables.latency import tabulate_latency, tabulate_parts

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
    if run is None:
        wanted = Invented(references or _REFERENCES, places, frames)
        benchmark = _invent(encoder, device, precision, wanted, overrides or [])
    else:
        benchmark = load_benchmark(run, device, precision, frames, overrides or [])
    # Lines and not a bar: that would draw itself from a thread of its own while others are timed.
    result = measure(benchmark, updates, make_teller(quiet))
    if out is not None:
        result.save(out)
    if form != "json" and not quiet:
        for table in (tabulate_latency([result]), tabulate_parts(result)):
            if table is not None:
                typer.echo({"text": table.text, "markdown": table.markdown, "latex": table.latex}[form]())
    typer.echo(result.as_json())


class Invented(NamedTuple):
    """How much is made up."""

    references: int
    places: int | None
    frames: int


def _invent(
    encoder: str | None, device: str, precision: "Precision | None", wanted: Invented, overrides: list[str]
) -> "Benchmark":
    import json

    from tmapr.experiment import read_experiment
    from tmapr.latency.bench import invent_benchmark
    from tmapr.latency.perceiver import VIT, open_random_vit, open_timed_perceiver
    from tmapr.latency.workload import choose_cell

    # JSON's strings are TOML's too.
    named = [f"perception.encoder={json.dumps(encoder)}"] if encoder not in (None, VIT) else []
    if wanted.places is not None:
        named.append(f"places.cell={choose_cell(wanted.references, wanted.places)}")
    settings = read_experiment(None, [*overrides, *named])
    open_perceiver = open_random_vit if encoder == VIT else open_timed_perceiver
    timed = open_perceiver(settings.perception, device, precision)
    return invent_benchmark(settings, timed, wanted.references, wanted.frames)
