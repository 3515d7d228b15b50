"""Frames become percepts: each image is prepared, then one pass of the network gives descriptor and pose.

What runs the network, torch or ONNX Runtime, is an `Engine`; everything else is the same for both and needs no torch.
Who prepares images as well, where the network is, is an `Eye`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped, UInt8

from tmapr.exceptions import InputError
from tmapr.keypoints import Keypoints, Once
from tmapr.perception.card import Card
from tmapr.perception.gyroscope import Gyroscope
from tmapr.perception.image import Image
from tmapr.perception.normaliser import Normaliser
from tmapr.types import Fault, Frame, Percept, Picture

BATCH = 8
GrayPicture = UInt8[np.ndarray, "height width"]
AnyPicture = Shaped[np.ndarray, "_ _"]
"""Of its own size, among others."""
_Found = tuple[np.ndarray, np.ndarray | None, float | None]


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


Inspect = Callable[[Shaped[np.ndarray, "height width"]], Fault | None]
"""Looks at each image in turn, before it is prepared, and says if it cannot be used."""


FindKeypoints = Callable[[Shaped[np.ndarray, "height width"], Image], Keypoints]
"""Of an image that is prepared as the settings say."""


class Prepared(NamedTuple):
    """What an eye is given of a frame, or why it is not; how far the picture moved; how to find its keypoints."""

    picture: Picture | Fault
    shift: float | None = None
    keypoints: Once | None = None


Engine = Callable[[UInt8[np.ndarray, "images height width"]], Outputs]
"""Runs a network on pictures."""


Prepare = Callable[[Shaped[np.ndarray, "..."]], Picture | Fault]
"""What an eye takes of an image, or why nothing is to be seen there; what is no image is refused."""


@dataclass(frozen=True, slots=True)
class MakePicture:
    """Prepares images here; it can be sent to another process."""

    image: Image
    size: tuple[int, int]

    def __call__(self, counts: Shaped[np.ndarray, "..."]) -> Picture | Fault:
        """The picture, or why there is none."""
        return self.image.prepare(counts, self.size, "area")


@runtime_checkable
class Eye(Protocol):
    """Prepares images and runs a network on them; how much of the preparation comes first is its own affair."""

    @property
    def prepare(self) -> Prepare:
        """What comes first: of one image alone, and safe to call from several threads."""

    def see(self, prepared: Sequence[AnyPicture]) -> Seen:
        """What the network says of one image or more."""


class PictureEye:
    """Pictures are made here, and an engine runs the network on them."""

    def __init__(self, image: Image, size: tuple[int, int], engine: Engine) -> None:
        self.prepare = MakePicture(image, size)
        self._engine = engine

    def see(self, prepared: Sequence[AnyPicture]) -> Seen:
        """What the engine says of the pictures in one pass."""
        return Seen(self._engine(np.stack(prepared)), (None,) * len(prepared))


class _FullBatches:
    """An eye that is given as many images each time: the last one is repeated until the batch is full."""

    def __init__(self, eye: Eye, size: int) -> None:
        self.prepare = eye.prepare
        self._eye = eye
        self._size = size

    def see(self, prepared: Sequence[AnyPicture]) -> Seen:
        missing = max(0, self._size - len(prepared))
        return self._eye.see([*prepared, *repeat(prepared[-1], missing)]).take(len(prepared))


class Perceiver:
    """A network and how to feed it. Without an inspection and a gyroscope, which remember frames, it has no state."""

    def __init__(
        self,
        card: Card,
        image: Image,
        engine: Engine | Eye,
        inspect: Inspect | None = None,
        gyroscope: Gyroscope | None = None,
        find_keypoints: FindKeypoints | None = None,
    ) -> None:
        if card.input is None or card.dimension is None:
            raise ValueError("a perceiver's card says how large its pictures and its descriptors are")
        self.card = card
        self.dimension = card.dimension
        self._image = image
        self._eye = engine if isinstance(engine, Eye) else PictureEye(image, card.input.size, engine)
        self._inspect = inspect
        self._gyroscope = gyroscope
        self._find_keypoints = find_keypoints
        self._normaliser = Normaliser(card.apr.center, card.apr.scale) if card.apr else None

    def with_inspection(self, inspect: Inspect) -> "Perceiver":
        """The same network for one stream of frames, each inspected first and compared with the one before."""
        return Perceiver(self.card, self._image, self._eye, inspect, Gyroscope(), self._find_keypoints)

    def with_full_batches(self, size: int = BATCH) -> "Perceiver":
        """The same network, given as many pictures in every pass of a stream.

        Torch multiplies few rows in another order than many, so the last bits of a percept tell how many images went
        through with it. Given equal batches they do not, and a frame encoded again alone is what it was.
        """
        filled = _FullBatches(self._eye, size)
        return Perceiver(self.card, self._image, filled, self._inspect, self._gyroscope, self._find_keypoints)

    def __call__(self, frame: Frame) -> Percept:
        """The percept of one frame. An image that cannot be used gives a fault, never an exception."""
        return self.batch([frame])[0]

    def batch(self, frames: Sequence[Frame]) -> list[Percept]:
        """The percepts of several frames in one pass."""
        return self._perceive(frames, [self._prepare(frame) for frame in frames])

    def stream(self, frames: Iterable[Frame], batch: int = BATCH) -> Iterator[Percept]:
        """The percepts of a recording; the next images are read and prepared while the network works."""
        remaining = iter(frames)
        with ThreadPoolExecutor(max_workers=1) as reader:
            waiting = reader.submit(self._take_next, remaining, batch)
            while (taken := waiting.result())[0]:
                waiting = reader.submit(self._take_next, remaining, batch)
                yield from self._perceive(*taken)

    def look(self, counts: Shaped[np.ndarray, "..."]) -> tuple[Fault | None, float | None]:
        """Inspect the next image of the stream: why it cannot be used, and how far it moved since the last one.

        Faulty images are compared too: each that can be read is the last one to the next, whatever it shows.
        """
        fault = self._inspect(counts) if self._inspect else None
        # Without what the crop leaves out: a frame around the scene stands still in every turn.
        return fault, self._gyroscope.measure(self._image.cut(counts)) if self._gyroscope else None

    def _take_next(self, frames: Iterator[Frame], count: int) -> tuple[list[Frame], list[Prepared]]:
        taken = list(islice(frames, count))
        return taken, [self._prepare(frame) for frame in taken]

    def _prepare(self, frame: Frame) -> Prepared:
        try:
            counts = frame.image()
        except InputError:  # a damaged file is one frame's misfortune; counts of a wrong kind are everybody's
            return Prepared(Fault.INVALID)
        fault, shift = self.look(counts)
        picture = fault or self._eye.prepare(counts)
        # Counts are kept until somebody asks: the second picture is made then or never.
        find = self._find_keypoints
        return Prepared(picture, shift, Once(partial(find, counts, self._image)) if find else None)

    def _perceive(self, frames: Sequence[Frame], prepared: Sequence[Prepared]) -> list[Percept]:
        pictures = [picture for picture, *_ in prepared if not isinstance(picture, Fault)]
        seen = iter(self._unpack(*self._eye.see(pictures))) if pictures else iter(())
        percepts = []
        for frame, (picture, shift, keypoints) in zip(frames, prepared, strict=True):
            found = picture if isinstance(picture, Fault) else next(seen)
            percepts.append(
                Percept(frame.stamp, np.zeros(self.dimension), fault=found, motion=frame.motion)
                if isinstance(found, Fault)
                else Percept(frame.stamp, *found, motion=frame.motion, shift=shift, keypoints=keypoints)
            )
        return percepts

    def _unpack(self, outputs: Outputs, faults: tuple[Fault | None, ...]) -> list[_Found | Fault]:
        """Descriptor, position in metres and heading of each image, in float64, or its fault.

        Descriptors have the digits that a file keeps of them: what is said of a frame does not tell whether its percept
        was kept meanwhile.
        """
        descriptors = _scale_rows(_scale_rows(outputs.descriptors.astype(float)).astype(np.float32).astype(float))
        if self._normaliser is None or outputs.positions is None or outputs.headings is None:
            return [fault or (descriptor, None, None) for fault, descriptor in zip(faults, descriptors, strict=True)]
        positions = self._normaliser.metres(outputs.positions.astype(float))
        angles = np.arctan2(outputs.headings[:, 1].astype(float), outputs.headings[:, 0].astype(float))
        poses = zip(descriptors, positions, angles.tolist(), strict=True)
        return [fault or pose for fault, pose in zip(faults, poses, strict=True)]


def _scale_rows(descriptors: Float[np.ndarray, "images dim"]) -> Float[np.ndarray, "images dim"]:
    """To length 1; a row of nothing stays."""
    return descriptors / np.maximum(np.linalg.norm(descriptors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
