"""Where frames are perceived and localized, by `--device`: the GPU's package is loaded only where there is one to use.

Every command opens its perceiver here, so that a percept does not tell which of them made it.
"""

import platform
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tmapr.perception import opening
from tmapr.perception.eyes import Engine, Eye
from tmapr.perception.onnx import runs_tensorrt
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import Perception, Precision
from tmapr.stages import Backend

if TYPE_CHECKING:  # it loads torch
    from tmapr.perception.network import Network


def open_perceiver(settings: Perception, device: str = "auto") -> Perceiver:
    """As `perception.opening` does it, but for torch's own networks on a GPU; a plug-in's may wait for the host."""
    return opening.open_perceiver(settings, device, _open_network)


def _open_network(network: "Network", settings: Perception, where: str) -> Engine | Eye:
    if not where.startswith("cuda") or settings.is_plugin:
        from tmapr.perception.network import TorchEngine

        return TorchEngine(network, where)
    import torch

    from tmapr.gpu.encoder import GpuEncoder

    dtype = {"float16": torch.float16, "float32": torch.float32}[settings.precision]
    return GpuEncoder(network, settings.image, settings.size, where, dtype)


def open_backend(device: str) -> Backend | None:
    """What multiplies with K and M₀ on a GPU that is asked for by name; None: the CPU, the default and the reference.

    Without torch only the encoder is on the GPU.
    """
    if not device.startswith("cuda") or find_spec("torch") is None:
        return None
    from tmapr.gpu.backend import GpuBackend
    from tmapr.perception.network import choose_device

    return GpuBackend(choose_device(device))


def choose_precision(settings: Perception, device: str = "auto") -> Precision:
    """That of the network which `open_perceiver` opens; nothing is opened."""
    if settings.is_plugin or not opening.needs_torch(settings, device):
        return settings.precision if runs_tensorrt(device) and not settings.is_plugin else "float32"
    from tmapr.perception.network import choose_device

    return settings.precision if choose_device(device).startswith("cuda") else "float32"


def find_processor() -> str:
    """The processor's name as the system tells it."""
    table = Path("/proc/cpuinfo")
    named = table.read_text(errors="replace").partition("model name")[2] if table.exists() else ""
    return named.partition(":")[2].partition("\n")[0].strip() or platform.processor() or platform.machine()
