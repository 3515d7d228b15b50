"""`tmapr export`: a perceiver as one ONNX file, so that mapping and running need no torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Overrides, Quiet, needs

if TYPE_CHECKING:
    from tmapr.perception.card import Descriptor


def export(
    experiment: Annotated[Path | None, typer.Argument(metavar="[EXPERIMENT]", help="default: the defaults")] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="the file to write")] = Path("perceiver.onnx"),
    int8: Annotated[bool, typer.Option("--int8", help="keep a ViT's matrices as bytes: smaller, faster")] = False,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Write the experiment's perceiver (encoder, descriptor, pose head) as ONNX, then compare it with torch."""
    from tmapr.config import load_settings
    from tmapr.exceptions import InputError
    from tmapr.experiment import Experiment

    if out.suffix != ".onnx":
        raise InputError(f"--out {out}: the name of an ONNX file ends in .onnx")
    perception = load_settings(Experiment, experiment, overrides or []).perception
    with needs("export"):
        from tmapr.perception.export import agreement
        from tmapr.perception.export import export as write
        from tmapr.perception.network import assemble
    network, card = assemble(perception)
    write(network, card, out, int8=int8)
    if not quiet:
        size, cosine = out.stat().st_size / 1e6, agreement(network, out)
        typer.echo(f"{out}: {size:.1f} MB; the cosine of its descriptors to torch's is at least {cosine:.6f}")
        typer.echo(f'use it with: perception.encoder = "{out}"' + _besides(out, card.descriptor))


def _besides(out: Path, built_in: "Descriptor | None") -> str:
    """What an experiment must say of the descriptor, if it is not the one that goes without saying."""
    import json

    from tmapr.perception.settings import Perception

    if built_in is None or built_in == Perception(encoder=str(out)).descriptor:
        return ""
    # JSON's strings and lists are TOML's too.
    settings = built_in.model_dump(mode="json").items()
    return f" and perception.descriptor = {{ {', '.join(f'{key} = {json.dumps(value)}' for key, value in settings)} }}"
