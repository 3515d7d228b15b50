"""Localizing on a device: what `--device cuda` stands for, beyond perception."""

import torch

from tmapr.device.classifier import DeviceClassifier
from tmapr.device.memory import DeviceMemory
from tmapr.device.placing import DevicePlacer
from tmapr.device.way import DeviceWay, Kit
from tmapr.places.classifier import Classifier
from tmapr.places.protocol import PlaceClassifier
from tmapr.places.settings import Places
from tmapr.retrieval.memory import Memory
from tmapr.stages import Stages
from tmapr.track.laying import lay_route_of
from tmapr.tracking.route import Route


class DeviceBackend:
    """Puts a map on a device when the first drive begins; all drives of that map share it."""

    def __init__(self, device: torch.device | str, references: torch.dtype = torch.float16) -> None:
        self._device, self._references = torch.device(device), references
        self._mapped: tuple[Memory, DeviceMemory, Route] | None = None

    def adopt(self, settings: Places, classifier: Classifier) -> PlaceClassifier:
        """The same A_t there."""
        return DeviceClassifier(settings, classifier, self._device)

    def begin_way(self, stages: Stages, memory: Memory, classifier: PlaceClassifier) -> DeviceWay:
        """For one drive."""
        if not isinstance(classifier, DeviceClassifier):
            raise TypeError(f"a way on a device needs a classifier there, got {type(classifier).__name__}")
        there, route = self._put(memory)
        radius = stages.tracking.radius or memory.reference.place
        placer = DevicePlacer(route, radius, classifier.dimension, self._device)
        reach = memory.reference.place
        kit = Kit(stages.retrieval, memory, there, classifier, reach, stages.fusion.apr, stages.begin_stream)
        return DeviceWay(kit, placer)

    def _put(self, memory: Memory) -> tuple[DeviceMemory, Route]:
        if self._mapped is None or self._mapped[0] is not memory:
            self._mapped = memory, DeviceMemory(memory, self._device, self._references), lay_route_of(memory)
        return self._mapped[1:]
