"""Perceivers as ONNX files, run by ONNX Runtime: no torch. The wheel ships the default one."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from pydantic import ValidationError

from tmapr.exceptions import InputError
from tmapr.files import WEIGHTS_BYTES, read_bytes, require_file
from tmapr.perception.card import Card
from tmapr.perception.eyes import Outputs
from tmapr.perception.settings import Precision

SHIPPED = Path(__file__).with_name("default.onnx")
METADATA = "tmapr"
INPUT = "pictures"
TENSORRT, CUDA = "TensorrtExecutionProvider", "CUDAExecutionProvider"


class OnnxEngine:
    """Runs an exported network."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __call__(self, pictures: UInt8[np.ndarray, "images height width"]) -> Outputs:
        """Descriptors and, if the file has a pose head, poses of a batch."""
        return Outputs(*self._session.run(None, {INPUT: pictures}))


def load_onnx(path: Path, device: str = "auto", precision: Precision = "float32") -> tuple[Card, OnnxEngine]:
    """Open a file that `tmapr export` made; another one is refused, since nothing would say how to feed it."""
    session = open_session(path, device, precision)
    described = session.get_modelmeta().custom_metadata_map.get(METADATA)
    if described is None:
        raise InputError(f"{path}: was not made by `tmapr export`, so nothing says how to prepare its images")
    try:
        return Card.model_validate_json(described), OnnxEngine(session)
    except ValidationError as error:
        told = f"its card is unknown to this version ({error.errors()[0]['msg']}); export it again"
        raise InputError(f"{path}: {told}") from None


def open_session(path: Path, device: str = "auto", precision: Precision = "float32") -> Any:
    """Whatever ONNX Runtime can run."""
    onnxruntime = _load_runtime()
    require_file(path, WEIGHTS_BYTES)
    providers = choose_providers(device, onnxruntime.get_available_providers(), precision)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is told once, below
    # Threads that spin between frames take a core from the rest of the robot.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(read_bytes(path, WEIGHTS_BYTES), options, providers=providers)
    except Exception as error:
        raise InputError(f"{path}: ONNX Runtime cannot open it ({_first_line(error)}); export it again") from None
    if device.startswith("cuda") and not {TENSORRT, CUDA} & set(session.get_providers()):
        raise InputError(
            f"--device {device}: ONNX Runtime has GPU support and could not start it; install the CUDA and cuDNN that"
            " its version asks for, or use cpu"
        )
    return session


def choose_providers(device: str, available: Sequence[str], precision: Precision) -> list[tuple[str, dict[str, str]]]:
    """Who computes, best first, of those that this ONNX Runtime has: what the first cannot do the next one does.

    TensorRT builds an engine for minutes, so it is only taken where a GPU is asked for by name, and keeps its engines.
    """
    here: list[tuple[str, dict[str, str]]] = [("CPUExecutionProvider", {})]
    if device == "cpu":
        return here
    if device.startswith("cuda") and not {TENSORRT, CUDA} & set(available):
        raise InputError(f"--device {device}: this ONNX Runtime has no GPU support; install onnxruntime-gpu or use cpu")
    number = {"device_id": device.partition(":")[2] or "0"}
    there = [(CUDA, number | {"use_tf32": "0"})] if CUDA in available else []
    if TENSORRT in available and device.startswith("cuda"):
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tmapr/tensorrt"
        cache.mkdir(parents=True, exist_ok=True)
        kept = {"trt_engine_cache_enable": "True", "trt_engine_cache_path": str(cache)}
        there.insert(0, (TENSORRT, number | kept | {"trt_fp16_enable": str(precision == "float16")}))
    return there + here


def runs_tensorrt(device: str) -> bool:
    """Whether networks in ONNX files have the settings' precision there; elsewhere they have their own."""
    return device.startswith("cuda") and TENSORRT in _load_runtime().get_available_providers()


def _load_runtime() -> Any:
    # Before it is loaded: it would report to its maker, and complain where there is no home to keep an identifier in.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:120]
