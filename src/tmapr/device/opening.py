"""Which perceiver the settings ask for, and who localizes: on a GPU, networks see by graphs and with half the bits.

Every command opens it here, so that a percept does not tell which of them made it.
"""

from importlib.util import find_spec
from typing import Literal

from tmapr.exceptions import InputError
from tmapr.perception import opening
from tmapr.perception.keypoints import KeypointFinder
from tmapr.perception.perceiver import GPU_BATCH, Perceiver
from tmapr.perception.settings import Perception
from tmapr.stages import Backend

Precision = Literal["float32", "float16", "bfloat16"]


def open_perceiver(settings: Perception, device: str = "auto", precision: Precision = "float16") -> Perceiver:
    """As `perception.opening` does it, but for torch's own networks on a GPU: a plug-in's may wait for the host.

    Of the two halves float16 is nearer to float32: it has three bits more, and no activation here needs the range that
    bfloat16 has for them.
    """
    where = _find_gpu(settings, device)
    if where is None:
        return opening.open_perceiver(settings, device)
    import torch

    from tmapr.device.perceiving import DeviceEye
    from tmapr.perception.network import assemble

    network, card = assemble(settings)
    kinds = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
    eye = DeviceEye(network, settings.image, settings.size, where, kinds[precision])
    return Perceiver(card, settings.image, eye, find_keypoints=KeypointFinder(), at_once=GPU_BATCH)


def open_backend(device: str) -> Backend | None:
    """What localizes on a GPU that is asked for by name; None: the CPU, which is the default and the reference."""
    if not device.startswith("cuda"):
        return None
    if find_spec("torch") is None:
        raise InputError(f"--device {device}: needs torch; run: pip install 'tmapr[train]'")
    from tmapr.device.backend import DeviceBackend
    from tmapr.perception.network import choose_device

    return DeviceBackend(choose_device(device))


def choose_precision(settings: Perception, device: str = "auto") -> Precision:
    """That of the network which `open_perceiver` opens; nothing is opened."""
    return "float32" if _find_gpu(settings, device) is None else "float16"


def _find_gpu(settings: Perception, device: str) -> str | None:
    """The one on which torch's own network sees; None where there is none, or another perceiver is asked for."""
    if settings.is_plugin or not opening.needs_torch(settings, device) or find_spec("torch") is None:
        return None
    from tmapr.perception.network import choose_device

    where = choose_device(device)
    return where if where.startswith("cuda") else None
