"""What runs a network: torch or ONNX Runtime on pictures, an `Engine`, or who prepares images as well, an `Eye`."""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped, UInt8

from tmapr.types import Fault

AnyPicture = Shaped[np.ndarray, "_ _"]
"""Of its own size, among others."""


class Outputs(NamedTuple):
    """What a network says of a batch; positions are normalised, headings are (cos, sin)."""

    descriptors: Float[np.ndarray, "images dim"]
    positions: Float[np.ndarray, "images 2"] | None = None
    headings: Float[np.ndarray, "images 2"] | None = None


class Seen(NamedTuple):
    """What an eye says of a batch; where there is a fault, what the network says means nothing."""

    outputs: Outputs
    faults: tuple[Fault | None, ...]

    def take(self, count: int) -> "Seen":
        """Of the first images alone."""
        parts = (None if part is None else part[:count] for part in self.outputs[1:])
        return Seen(Outputs(self.outputs.descriptors[:count], *parts), self.faults[:count])


Engine = Callable[[UInt8[np.ndarray, "images height width"]], Outputs]
"""Runs a network on pictures."""


@runtime_checkable
class Eye(Protocol):
    """Prepares images and runs a network on them, from counts as they are if it `takes_counts`, else from pictures."""

    takes_counts: bool

    def begin(self, prepared: Sequence[AnyPicture]) -> Callable[[], Seen]:
        """Begin with one image or more; the call that comes back gives what the network says, when it is there."""


class PictureEye:
    """Pictures are made here, and an engine runs the network on them."""

    takes_counts = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, prepared: Sequence[AnyPicture]) -> Callable[[], Seen]:
        """What the engine says of the pictures, in one pass when it is asked: there is no other processor."""
        return lambda: Seen(self._engine(np.stack(prepared)), (None,) * len(prepared))


class FullBatches:
    """An eye that is given as many images each time: the last one is repeated until the batch is full."""

    def __init__(self, eye: Eye, size: int) -> None:
        self._eye = eye
        self._size = size
        self.takes_counts = eye.takes_counts

    def begin(self, prepared: Sequence[AnyPicture]) -> Callable[[], Seen]:
        """What the eye says of a full batch, as far as it was asked for."""
        missing = max(0, self._size - len(prepared))
        finish = self._eye.begin([*prepared, *repeat(prepared[-1], missing)])
        return lambda: finish().take(len(prepared))
