"""Perceivers as ONNX files, run by ONNX Runtime: no torch. The wheel ships the default one."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from pydantic import ValidationError

from tmapr.exceptions import InputError
from tmapr.files import WEIGHTS_BYTES, read_bytes, require_file
from tmapr.perception.card import Card
from tmapr.perception.eyes import Outputs

SHIPPED = Path(__file__).with_name("default.onnx")
METADATA = "tmapr"
INPUT = "pictures"


class OnnxEngine:
    """Runs an exported network."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __call__(self, pictures: UInt8[np.ndarray, "images height width"]) -> Outputs:
        """Descriptors and, if the file has a pose head, poses of a batch."""
        return Outputs(*self._session.run(None, {INPUT: pictures}))


def load_onnx(path: Path, device: str = "auto") -> tuple[Card, OnnxEngine]:
    """Open a file that `tmapr export` made; another one is refused, since nothing would say how to feed it."""
    session = open_session(path, device)
    described = session.get_modelmeta().custom_metadata_map.get(METADATA)
    if described is None:
        raise InputError(f"{path}: was not made by `tmapr export`, so nothing says how to prepare its images")
    try:
        return Card.model_validate_json(described), OnnxEngine(session)
    except ValidationError as error:
        told = f"its card is unknown to this version ({error.errors()[0]['msg']}); export it again"
        raise InputError(f"{path}: {told}") from None


def open_session(path: Path, device: str = "auto") -> Any:
    """Whatever ONNX Runtime can run."""
    # Before it is loaded: it would report to its maker, and complain where there is no home to keep an identifier in.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    require_file(path, WEIGHTS_BYTES)
    providers, options = _choose_providers(device), onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is told once, below
    # Threads that spin between frames take a core from the rest of the robot.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(read_bytes(path, WEIGHTS_BYTES), options, providers=providers)
    except Exception as error:
        raise InputError(f"{path}: ONNX Runtime cannot open it ({_first_line(error)}); export it again") from None


def _choose_providers(device: str) -> list[str]:
    import onnxruntime

    cuda = "CUDAExecutionProvider"
    available = cuda in onnxruntime.get_available_providers()
    if device.startswith("cuda") and not available:
        raise InputError(f"--device {device}: this ONNX Runtime has no GPU support; install onnxruntime-gpu or use cpu")
    return [cuda, "CPUExecutionProvider"] if available and device != "cpu" else ["CPUExecutionProvider"]


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:120]
