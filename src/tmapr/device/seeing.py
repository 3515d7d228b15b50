"""The eye of a way: an image is begun with before the host has judged it, and what it shows crosses with the rest."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from tmapr.device.crossing import Fetched
from tmapr.device.perceiving import DeviceEye, DevicePass
from tmapr.perception.eyes import AnyPicture, Seen
from tmapr.perception.normaliser import Normaliser
from tmapr.types import Picture


class Sight(NamedTuple):
    """An image on its way: the pass that sees it, and what crosses: a `descriptor`, and what else was `seen`."""

    image: Picture
    passed: DevicePass
    kept: Fetched
    fetched: Fetched
    """Behind what is kept: when this is here, so is that."""


@runtime_checkable
class BeginsWithImages(Protocol):
    """A way that may begin with an image."""

    def begin(self, eye: DeviceEye, normaliser: Normaliser | None, image: Picture) -> Sight | None:
        """See an image that was expected, and begin with all that follows from it; None if it was not."""


class WayEye:
    """Sees one image after the other."""

    abreast = 1
    begins = True

    def __init__(self, way: BeginsWithImages, eye: DeviceEye, normaliser: Normaliser | None) -> None:
        self._way, self._eye, self._normaliser = way, eye, normaliser
        self.takes_counts = eye.takes_counts
        self._begun: Sight | None = None

    def begin(self, image: Picture) -> None:
        """It will be asked to see this one next, unless the host finds that it cannot be used."""
        self._begun = self._way.begin(self._eye, self._normaliser, image)

    def see(self, prepared: Sequence[AnyPicture]) -> Seen:
        """What the network says."""
        begun, self._begun = self._begun, None
        if begun is None or begun.image is not prepared[0]:
            return self._eye.see(prepared)
        begun.fetched.wait()
        descriptor, rest = begun.kept["descriptor"][None], begun.fetched["seen"][None]
        return begun.passed.read_rest(descriptor, rest)._replace(finished=True)
