"""The first half of a frame's way on the device: from a descriptor that is there to everything tracking needs of it.

`recognising` and `retrieval.search` are the reference. Two reads are what it costs, of the memory and of the ridge; all
else is written in torch (`plain_recognition`) and in a few kernels (`fused_recognition`). What the host needs leaves in
one tensor of some dozens of numbers. Local features are matched on the host, which has the picture: what leaves says
whether any place is in doubt and which references to match with (`Packing.list_likely`); what the matches add to these
few ranks them anew there, and goes to the route filter as `Comparison.local`.
"""

from typing import NamedTuple, Protocol

from jaxtyping import Float
from torch import Tensor

from tmapr.device.aside import Aside
from tmapr.device.condition import DeviceCondition, DeviceShared
from tmapr.device.found import Found, Prepared
from tmapr.device.memory import DeviceMemory
from tmapr.device.packing import Packing
from tmapr.device.places import DevicePlaces, DeviceScores, Observed
from tmapr.device.plain_recognition import PlainRecognition
from tmapr.device.triangle import runs_kernels
from tmapr.retrieval.search import VERIFIED, Retrieval


class Steps(Protocol):
    """What is beside the two reads."""

    def prepare(self, descriptor: Float[Tensor, " dim"], shared: DeviceShared | None) -> Prepared:
        """The view under the map's condition, and what the memory is multiplied with."""

    def conclude(
        self,
        prepared: Prepared,
        products: Float[Tensor, "k refs"],
        scores: DeviceScores | None,
        observed: Observed | None,
    ) -> Found:
        """Everything else, once the ridge and the memory have answered."""


class Asked(NamedTuple):
    """What the memory is multiplied with, and the rows that the ridge is asked for, if it is: those of a lesson."""

    prepared: Prepared
    rows: Float[Tensor, "3 features"] | None


class Recogniser:
    """Recognises views that are on the device; it owns nothing that changes."""

    def __init__(
        self,
        retrieval: Retrieval,
        memory: DeviceMemory,
        places: DevicePlaces | None,
        condition: DeviceCondition | None,
        radius: float,
        count: int | None = None,
    ) -> None:
        if retrieval.mode == "off" or (retrieval.mode == "places") != (places is not None):
            raise ValueError(f"retrieval.mode is {retrieval.mode!r}; places are scored in mode 'places' alone")
        self.memory, self.places = memory, places
        self._condition = condition if retrieval.centred else None
        likely, wanted = (min(each, memory.size) for each in (VERIFIED, count or retrieval.candidates))
        self.packing = Packing(wanted, likely, places is not None, self._condition is not None)
        reach = retrieval.support_radius or radius
        self.plain = PlainRecognition(retrieval, memory, places, self.packing, reach)
        self._aside = Aside(memory.device)
        self.steps: Steps = self.plain
        if runs_kernels(memory.device):
            from tmapr.device.fused_recognition import FusedRecognition

            if FusedRecognition.fits(retrieval, places, self.packing):
                self.steps = FusedRecognition(retrieval, memory, places, self.packing, reach)

    def recognise(self, descriptor: Float[Tensor, " dim"]) -> Found:
        """What a usable frame looks like, without what the views of its drive share."""
        return self.answer(self.ask(descriptor))

    def ask(self, descriptor: Float[Tensor, " dim"]) -> Asked:
        """What ridge and memory are asked for a frame."""
        prepared = self.prepare(descriptor)
        return Asked(prepared, self.places.spread(prepared.view) if self.places else None)

    def answer(self, asked: Asked) -> Found:
        """What a frame looks like for which that is asked."""
        prepared, scores, observed = asked.prepared, None, None
        # The memory is read meanwhile: places have small steps to take after the ridge is read.
        with self._aside.begin():
            if self.places and asked.rows is not None:
                observed = self.places.observe(asked.rows)
                scores = self.places.conclude(prepared.view, observed)
        products = self.memory.multiply(prepared.queries)
        self._aside.join()
        return self.steps.conclude(prepared, products, scores, observed)

    def prepare(self, descriptor: Float[Tensor, " dim"]) -> Prepared:
        """The view under the map's condition, and what the memory is multiplied with."""
        return self.steps.prepare(descriptor, self._condition.recall() if self._condition else None)
