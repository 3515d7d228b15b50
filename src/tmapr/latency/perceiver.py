"""The perceiver that is timed, and how exactly it runs: where, by what, in which precision."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tmapr.artifacts.documents.latency import Precision, Runtime
from tmapr.data.health import Detector
from tmapr.exceptions import InputError
from tmapr.files import WEIGHTS_BYTES, read_bytes
from tmapr.perception.eyes import PictureEye
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.plugin import is_descriptor
from tmapr.perception.settings import Perception
from tmapr.stages import Perceive
from tmapr.types import Frame, Percept

if TYPE_CHECKING:  # it loads torch
    from tmapr.latency.sight import DeviceSight
    from tmapr.perception.card import Card
    from tmapr.perception.network import Network

VIT = "vit-b14"
_BYTES = b"MatMulInteger"
"""The operator that multiplies with a matrix of bytes; ONNX spells operators out."""


@dataclass(frozen=True, slots=True)
class TimedPerceiver:
    """A perceiver, and what must be said beside its times."""

    perceiver: Perceiver
    encoder: str
    weights: Literal["random", "trained"]
    runtime: Runtime
    device: str
    precision: Precision
    sight: "DeviceSight | None" = None
    """Where the eye is a device's own."""

    def stream(self) -> Perceive:
        """Begin a stream of frames, as a robot does: frozen ones are told from live ones."""
        watched = self.perceiver.with_inspection(Detector().inspect)
        if self.precision != "float16" or not isinstance(self.perceiver.eye, PictureEye):
            return watched
        import torch

        def perceive_in_half(frame: Frame) -> Percept:
            with torch.autocast(self.device, dtype=torch.float16):
                return watched(frame)

        return perceive_in_half

    @property
    def accelerator(self) -> str | None:
        """The name of the GPU, where torch works on one and can tell."""
        if self.runtime == "torch" and self.device == "cuda":
            import torch

            return torch.cuda.get_device_name()
        return None

    @property
    def threads(self) -> int | None:
        """Threads of one pass on the processor; ONNX Runtime and plug-ins choose their own and do not tell."""
        if self.runtime != "torch":
            return None
        import torch

        return torch.get_num_threads()

    @property
    def settle(self) -> Callable[[], None]:
        """A call that waits until the device has done what was asked of it."""
        if self.runtime == "torch" and self.device == "cuda":
            import torch

            return torch.cuda.synchronize
        return lambda: None


def open_timed_perceiver(settings: Perception, device: str, precision: Precision | None = None) -> TimedPerceiver:
    """The perceiver of the settings; without a precision, in the one that it has."""
    # As `open_perceiver` decides: what is shipped runs without torch, except where a GPU is asked for by name.
    shipped = settings.is_shipped and device != "cuda"
    runtime: Runtime = "onnxruntime" if settings.is_exported or shipped else "torch"
    where = _choose_onnx_device(device) if runtime == "onnxruntime" else _choose_torch_device(device)
    if is_descriptor(settings):
        runtime, where = "plug-in", "cpu"
    if device == "cuda" and runtime == "torch" and not settings.is_plugin:
        return open_there(settings, where, precision)
    perceiver = open_perceiver(settings, device)
    granted = _grant_precision(precision, _find_precision(settings), runtime, where)
    return TimedPerceiver(perceiver, settings.encoder, "trained", runtime, where, granted)


def open_random_vit(settings: Perception, device: str, precision: Precision | None = None) -> TimedPerceiver:
    """The paper's network with random weights."""
    if find_spec("torch") is None:
        raise InputError(f"--encoder {VIT}: needs torch; run: pip install 'tmapr[train]'")
    from tmapr.latency.random_vit import make_random_perceiver

    where = _choose_torch_device(device)
    if device == "cuda":
        return open_random_vit_there(settings, where, precision)
    granted = _grant_precision(precision, "float32", "torch", where)
    return TimedPerceiver(make_random_perceiver(settings, where), VIT, "random", "torch", where, granted)


def open_there(settings: Perception, device: str, precision: Precision | None = None) -> TimedPerceiver:
    """The same, seen by an eye of that device: without a precision, in the one that commands see in there."""
    from tmapr.perception.network import assemble

    return _see_there(assemble(settings), settings, TimedAs(settings.encoder, "trained", device, precision))


def open_random_vit_there(settings: Perception, device: str, precision: Precision | None = None) -> TimedPerceiver:
    """The paper's network with random weights, seen by an eye of that device."""
    from tmapr.latency.random_vit import make_random_network

    return _see_there(make_random_network(settings), settings, TimedAs(VIT, "random", device, precision))


class TimedAs(NamedTuple):
    """What is asked for."""

    encoder: str
    weights: Literal["random", "trained"]
    device: str
    precision: Precision | None


def _see_there(opened: "tuple[Network, Card]", settings: Perception, asked: TimedAs) -> TimedPerceiver:
    from tmapr.latency.sight import open_sight
    from tmapr.perception.keypoints import KeypointFinder

    granted = _grant_precision(asked.precision or "float16", "float32", "torch", asked.device)
    find = KeypointFinder() if asked.weights == "trained" else None
    perceiver, sight = open_sight(*opened, settings, asked.device, granted, find)
    return TimedPerceiver(perceiver, asked.encoder, asked.weights, "torch", asked.device, granted, sight)


def _grant_precision(asked: Precision | None, own: Precision, runtime: Runtime, device: str) -> Precision:
    if asked in (None, own):
        return own
    if asked == "float16":
        if runtime == "torch" and device == "cuda":
            return asked
        raise InputError(
            f"--precision float16: is for torch on a GPU and this is {runtime} on {device}; use --device cuda with an"
            " encoder that is no ONNX file, or leave it out"
        )
    if asked == "int8":
        raise InputError(
            "--precision int8: the encoder is not an exported file with int8 in it; write one with"
            " `tmapr export --int8 --out FILE` and name it: --encoder FILE"
        )
    raise InputError(
        f"--precision float32: the encoder was exported with {own}; leave it out, or export without --int8"
    )


def _find_precision(settings: Perception) -> Precision:
    return "int8" if settings.is_exported and _BYTES in read_bytes(Path(settings.encoder), WEIGHTS_BYTES) else "float32"


def _choose_onnx_device(device: str) -> str:
    """Where ONNX Runtime works: a build for GPUs takes one unless told otherwise."""
    import onnxruntime

    return "cuda" if device != "cpu" and "CUDAExecutionProvider" in onnxruntime.get_available_providers() else "cpu"


def _choose_torch_device(device: str) -> str:
    if find_spec("torch") is None:
        return device  # opening the perceiver says what is missing
    from tmapr.perception.network import choose_device

    return choose_device(device)
