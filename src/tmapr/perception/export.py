"""A perceiver written as ONNX: fixed size, position embedding baked in, its card in the metadata."""

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import numpy as np
import torch

from tmapr.artifacts.atomic import replacing
from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Plugged, Vit
from tmapr.perception.network import Network
from tmapr.perception.onnx import INPUT, METADATA, load_onnx

_OUTPUTS = ("descriptor", "position", "heading")


def export(network: Network, card: Card, path: Path, *, int8: bool = False) -> None:
    """Write the network; with `int8` the matrices of a ViT's blocks become bytes, all else stays float32."""
    if find_spec("onnx") is None or find_spec("onnxscript") is None:
        raise InputError("writing ONNX needs two more packages; run: pip install 'tmapr[export]'")
    if isinstance(card.encoder, Plugged):
        raise InputError("perception.encoder names a plug-in, whose code ONNX cannot hold; install it on the robot too")
    if int8 and not isinstance(card.encoder, Vit):
        raise InputError("int8 is for ViT encoders, this one is a convolution; export without it")
    with silence_exporter():
        model = _trace(network.cpu(), card)
        if int8:
            model = _quantize(model)
    describe_model(model, card)
    with replacing(path) as stream:
        stream.write(model.SerializeToString(deterministic=True))


def describe_model(model: Any, card: Card) -> None:
    """Put the card into a model's metadata, and nothing else: the exporter notes where in which program nodes were."""
    for described in (*model.graph.node, *model.graph.initializer, *model.graph.value_info):
        described.ClearField("metadata_props")
        described.ClearField("doc_string")
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA, card.model_dump_json(exclude_none=True)


def measure_agreement(network: Network, path: Path) -> float:
    """The smallest cosine between the two's descriptors of four made-up pictures: waves, finer from one to the next."""
    card, engine = load_onnx(path, "cpu")
    height, width = card.input.size if card.input else (0, 0)
    rows, columns = np.mgrid[:height, :width]
    waves = [np.sin(rows / period) * np.cos(columns / (2 * period)) for period in (40, 20, 10, 5)]
    pictures = np.array([127.5 * (1 + wave) for wave in waves]).astype(np.uint8)
    with torch.inference_mode():
        wanted = network(torch.from_numpy(pictures))[0].numpy()
    return float((wanted * engine(pictures).descriptors).sum(axis=1).min())


def _trace(network: Network, card: Card) -> Any:
    """The network as an ONNX model for any number of pictures of one size."""
    if card.input is None:
        raise ValueError("a network's card says how large its pictures are")
    program = torch.onnx.export(
        network,
        (torch.zeros(2, *card.input.size, dtype=torch.uint8),),
        dynamo=True,
        input_names=[INPUT],
        output_names=list(_OUTPUTS if card.apr else _OUTPUTS[:1]),
        dynamic_shapes={INPUT: {0: torch.export.Dim("images")}},
        verbose=False,
    )
    if program is None:
        raise RuntimeError("torch.onnx.export gave no program")
    return program.model_proto


def _quantize(model: Any) -> Any:
    """Dynamic int8: bytes for the weights, activations scaled as they come.

    Unsigned weights: with signed ones, processors that have AVX2 but no VNNI saturate sums of products at 16 bits.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # The exporter's notes on shapes contradict those of layers that it has turned round; the quantizer infers its own.
    model.graph.ClearField("value_info")
    blocks = [node.name for node in model.graph.node if node.op_type == "MatMul" and _in_blocks(node)]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "int8.onnx"
        quantize_dynamic(model, target, weight_type=QuantType.QUInt8, nodes_to_quantize=blocks)
        return onnx.load(target)


def _in_blocks(node: Any) -> bool:
    return any("encoder.blocks" in entry.value for entry in node.metadata_props)


@contextmanager
def silence_exporter() -> Iterator[None]:
    """Exporter and quantizer lament packages that nobody needs and advise steps that were taken."""
    with catch_warnings(action="ignore"):
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
