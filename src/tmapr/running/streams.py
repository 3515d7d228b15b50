"""The perception of a map for frames that come one by one."""

from collections.abc import Callable

from tmapr.data.health import Detector
from tmapr.device import open_perceiver
from tmapr.experiment import Opener
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.settings import Perception


def open_streams(device: str = "auto") -> Opener:
    """What opens the network that a map's settings name, and begins a stream of inspected frames with it."""

    def open_network(settings: Perception) -> Callable[[], Perceiver]:
        network = open_perceiver(settings, device)
        return lambda: network.with_inspection(Detector().inspect)

    return open_network
