"""`tmapr export`: a drive or a map for other tools, or a perceiver as one ONNX file; the suffix of --out decides."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Overrides, Quiet, make_teller, needs

if TYPE_CHECKING:
    from tmapr.perception.card import Card

_ONNX = ".onnx"
_SOURCE = "a run folder, with --map also a map.npz; for .onnx an experiment (default: the defaults)"
_OUT = "its suffix decides: .geojson, .gpx, .csv, .parquet, .tum of a run, .onnx of an experiment"
_SEQUENCE = "which drive of the run (default: the first test), or with --map which traverse (default: all)"


def export(
    source: Annotated[Path | None, typer.Argument(metavar="[RUN | EXPERIMENT]", help=_SOURCE)] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help=_OUT)] = Path("perceiver.onnx"),
    sequence: Annotated[str | None, typer.Option(metavar="NAME", help=_SEQUENCE)] = None,
    of_map: Annotated[bool, typer.Option("--map", help="the references of the map, not a drive")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="for .onnx: a ViT's matrices as bytes: smaller, faster")] = False,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Write a drive of a run, or a map, for other tools; or an experiment's perceiver as ONNX, compared with torch.

    tmapr export runs/street --out street.geojson
    """
    from tmapr.exceptions import InputError

    if out.suffix.lower() == _ONNX:
        if sequence is not None or of_map:
            raise InputError(f"--out {out}: an ONNX file is made from an experiment; --sequence and --map are for runs")
        _export_perceiver(source, out, overrides or [], int8=int8, quiet=quiet)
        return
    if int8 or overrides:
        raise InputError(f"--out {out}: --int8 and --set are for .onnx files")
    _export_track(source, out, sequence, of_map=of_map, quiet=quiet)


def _export_track(source: Path | None, out: Path, sequence: str | None, *, of_map: bool, quiet: bool) -> None:
    from tmapr.artifacts.run import RunFolder
    from tmapr.exceptions import InputError
    from tmapr.reports.tracks.export import FORMATS, export_run

    if out.suffix.lower() not in FORMATS:
        suffixes = ", ".join((*FORMATS, _ONNX))
        raise InputError(f"--out {out}: ends in no suffix that can be written; there are {suffixes}")
    if source is None:
        raise InputError(f"--out {out}: is made from a run; name its folder: tmapr export RUN --out {out}")
    if source.suffix == ".toml":
        raise InputError(f"{source}: is an experiment, and {out.suffix} is made from a run; name the run folder")
    if source.is_file() and not of_map:
        raise InputError(f"{source}: is a file; name the run folder, or give --map if it is a map")
    export_run(RunFolder(source), out, sequence=sequence, of_map=of_map, tell=make_teller(quiet))
    if not quiet:
        typer.echo(f"{out}: {out.stat().st_size / 1e3:.1f} kB")


def _export_perceiver(experiment: Path | None, out: Path, overrides: list[str], *, int8: bool, quiet: bool) -> None:
    from tmapr.exceptions import InputError
    from tmapr.experiment import read_experiment

    if experiment is not None and experiment.is_dir():
        inside = experiment / "experiment.toml"
        raise InputError(f"{experiment}: is a folder, and {_ONNX} is made from an experiment; name {inside}")
    perception = read_experiment(experiment, overrides, make_teller(quiet)).perception
    with needs("export"):
        from tmapr.perception.export import export as write
        from tmapr.perception.export import measure_agreement
        from tmapr.perception.network import assemble
    network, card = assemble(perception)
    write(network, card, out, int8=int8)
    if not quiet:
        size, cosine = out.stat().st_size / 1e6, measure_agreement(network, out)
        typer.echo(f"{out}: {size:.1f} MB; the cosine of its descriptors to torch's is at least {cosine:.6f}")
        typer.echo(f'use it with: perception.encoder = "{out}"' + _list_overrides(out, card))


def _list_overrides(out: Path, card: "Card") -> str:
    """What else an experiment must say, where what is built in does not go without saying."""
    import json

    from tmapr.perception.settings import Perception

    usual, words = Perception(encoder=str(out)), ""
    # JSON's strings, numbers and lists are TOML's too.
    if card.input and card.input.size != usual.size:
        words += f" and perception.size = {json.dumps(card.input.size)}"
    if card.descriptor and card.descriptor != usual.descriptor:
        entries = card.descriptor.model_dump(mode="json").items()
        inner = ", ".join(f"{key} = {json.dumps(value)}" for key, value in entries)
        words += f" and perception.descriptor = {{ {inner} }}"
    return words
