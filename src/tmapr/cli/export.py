"""`tmapr export`: a perceiver as one ONNX file, so that mapping and running need no torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Overrides, Quiet, make_teller, needs

if TYPE_CHECKING:
    from tmapr.perception.card import Card


def export(
    experiment: Annotated[Path | None, typer.Argument(metavar="[EXPERIMENT]", help="default: the defaults")] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="the file to write")] = Path("perceiver.onnx"),
    int8: Annotated[bool, typer.Option("--int8", help="keep a ViT's matrices as bytes: smaller, faster")] = False,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Write the experiment's perceiver (encoder, descriptor, pose head) as ONNX, then compare it with torch."""
    from tmapr.exceptions import InputError
    from tmapr.experiment import read_experiment

    if out.suffix != ".onnx":
        raise InputError(f"--out {out}: the name of an ONNX file ends in .onnx")
    perception = read_experiment(experiment, overrides or [], make_teller(quiet)).perception
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
