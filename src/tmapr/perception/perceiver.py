"""Frames become percepts: each image is prepared, then one pass of the network gives descriptor and pose.

What runs the network is an `Eye`: everything else is the same for all of them and needs no torch.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from tmapr.exceptions import InputError
from tmapr.keypoints import Keypoints, Once
from tmapr.perception.bulk import AT_ONCE, ONE, Readers, Reading, gather
from tmapr.perception.card import Card
from tmapr.perception.eyes import Engine, Eye, FullBatches, PictureEye, Seen
from tmapr.perception.glance import UNREADABLE, Chunk, Given, Glancer, RawCounts, Shown, read_or_none
from tmapr.perception.gyroscope import Gyroscope
from tmapr.perception.image import Image
from tmapr.perception.normaliser import Normaliser
from tmapr.types import Fault, Frame, Percept, Picture

BATCH = 8
"""Images in a pass: more leave a CPU's cache."""
GPU_BATCH = 64
"""On a GPU a pass takes as long for a few images as for many: starting its kernels is most of it."""
_Found = tuple[np.ndarray, np.ndarray | None, float | None]


Inspect = Callable[[Shaped[np.ndarray, "height width"]], Fault | None]
"""Looks at each image in turn, before it is prepared, and says if it cannot be used."""


FindKeypoints = Callable[[Shaped[np.ndarray, "height width"], Image], Keypoints]
"""Of an image that is prepared as the settings say."""


class Prepared(NamedTuple):
    """What an eye is given of a frame, or why it is not; how far the picture moved; how to find its keypoints."""

    picture: Picture | Fault
    shift: float | None = None
    keypoints: Once | None = None


Batch = Sequence[tuple[Frame, Prepared]]


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
        at_once: int = BATCH,
    ) -> None:
        if card.input is None or card.dimension is None:
            raise ValueError("a perceiver's card says how large its pictures and its descriptors are")
        self.card = card
        self.dimension = card.dimension
        self._image = image
        self._size = card.input.size
        self._eye = engine if isinstance(engine, Eye) else PictureEye(engine)
        self._inspect = inspect
        self._gyroscope = gyroscope
        self._find_keypoints = find_keypoints
        self._at_once = at_once
        self._normaliser = Normaliser(card.apr.center, card.apr.scale) if card.apr else None

    def with_inspection(self, inspect: Inspect) -> "Perceiver":
        """The same network for one stream of frames, each inspected first and compared with the one before."""
        find, count = self._find_keypoints, self._at_once
        return Perceiver(self.card, self._image, self._eye, inspect, Gyroscope(), find, count)

    def with_full_batches(self, size: int | None = None) -> "Perceiver":
        """The same network, given as many pictures in every pass of a stream.

        Torch multiplies few rows in another order than many, so the last bits of a percept tell how many images went
        through with it. Given equal batches they do not, and a frame encoded again alone is what it was.
        """
        find, count = self._find_keypoints, size or self._at_once
        filled = FullBatches(self._eye, count)
        return Perceiver(self.card, self._image, filled, self._inspect, self._gyroscope, find, count)

    def without_keypoints(self) -> "Perceiver":
        """The same network for many images, none of which has to be kept to look for keypoints in it."""
        return Perceiver(self.card, self._image, self._eye, self._inspect, self._gyroscope, at_once=self._at_once)

    def __call__(self, frame: Frame) -> Percept:
        """The percept of one frame. An image that cannot be used gives a fault, never an exception."""
        counts = read_or_none(frame.image)
        if counts is None or not self._eye.takes_counts or not self._image.takes(counts):
            return self._perceive([(frame, self._prepare(frame, counts))])[0]
        finish = self._eye.begin([counts])  # a GPU is at work while the host looks for frozen frames and turns
        prepared = self._prepare(frame, counts)
        faulty = isinstance(prepared.picture, Fault)
        return self._tell([(frame, prepared)], None if faulty else finish())[0]

    def batch(self, frames: Sequence[Frame]) -> list[Percept]:
        """The percepts of several frames in one pass."""
        return self._perceive([(frame, self._prepare(frame, read_or_none(frame.image))) for frame in frames])

    def stream(
        self, frames: Iterable[Given], batch: int | None = None, readers: Readers = ONE
    ) -> Generator[Percept, None, None]:
        """The percepts of a recording, but for frames that are only shown; images are read while the network works.

        The percepts are the same with any number of readers.
        """
        size = batch or self._at_once
        chunk = min(size, AT_ONCE)
        reading = Reading(frames, self._glancer, self._judge, readers, chunk)
        with closing(reading.pass_on(ahead=max(readers.ahead, size // chunk))) as passed:
            batches = gather(passed, size)
            ahead = size > BATCH
            yield from self._perceive_ahead(batches) if ahead else chain.from_iterable(map(self._perceive, batches))

    def _perceive_ahead(self, batches: Iterable[Batch]) -> Iterator[Percept]:
        """While a GPU works on some batches, what it said of those before is told; a CPU has no core left for that."""
        before: tuple[Batch, Callable[[], Seen | None]] | None = None
        for batch in batches:
            begun = batch, self._begin(batch)
            if before:
                yield from self._tell(before[0], before[1]())
            before = begun
        if before:
            yield from self._tell(before[0], before[1]())

    @property
    def _glancer(self) -> Glancer:
        return Glancer(
            self._image,
            self._size,
            compares=self._gyroscope is not None,
            prepares=not self._eye.takes_counts,
        )

    def _prepare(self, frame: Frame, counts: RawCounts | None) -> Prepared:
        glance = UNREADABLE if counts is None else self._glancer.glance(counts)
        ((_, prepared),) = self._judge(Chunk.compare([frame], [glance]))
        return prepared

    def _judge(self, chunk: Chunk) -> list[tuple[Frame, Prepared]]:
        """Inspect the next images of the stream and compare them with the last one; whatever is shown is left out.

        Faulty images are compared too: each that can be read is the last one to the next, whatever it shows.
        """
        seen = chunk.sights
        shifts = iter((self._gyroscope.join(seen[0], seen[-1]), *chunk.shifts) if self._gyroscope and seen else ())
        judged = list[tuple[Frame, Prepared]]()
        for given, (counts, picture, sight) in zip(chunk.given, chunk.glances, strict=True):
            fault = None if counts is None or self._inspect is None else self._inspect(counts)
            shift = next(shifts) if sight else None
            if isinstance(given, Shown):
                continue
            if counts is None:
                judged.append((given, Prepared(Fault.INVALID)))
                continue
            found = fault or picture
            if found is None or isinstance(found, InputError):
                raise found or ValueError("a frame that is to be encoded has a picture")
            # Counts are kept until somebody asks: the second picture is made then or never.
            find = self._find_keypoints
            keypoints = Once(partial(find, counts, self._image)) if find else None
            judged.append((given, Prepared(found, shift, keypoints)))
        return judged

    def _perceive(self, prepared: Batch) -> list[Percept]:
        return self._tell(prepared, self._begin(prepared)())

    def _begin(self, prepared: Batch) -> Callable[[], Seen | None]:
        """The network, which is not asked where there is no picture."""
        pictures = [picture for _, (picture, *_) in prepared if not isinstance(picture, Fault)]
        return self._eye.begin(pictures) if pictures else lambda: None

    def _tell(self, prepared: Batch, said: Seen | None) -> list[Percept]:
        seen = iter(self._unpack(said) if said else ())
        percepts = []
        for frame, (picture, shift, keypoints) in prepared:
            found = picture if isinstance(picture, Fault) else next(seen)
            percepts.append(
                Percept(frame.stamp, np.zeros(self.dimension), fault=found, motion=frame.motion)
                if isinstance(found, Fault)
                else Percept(frame.stamp, *found, motion=frame.motion, shift=shift, keypoints=keypoints)
            )
        return percepts

    def _unpack(self, seen: Seen) -> list[_Found | Fault]:
        """Descriptor, position in metres and heading of each image, in float64, or its fault.

        Descriptors have the digits that a file keeps of them: what is said of a frame does not tell whether its percept
        was kept meanwhile.
        """
        outputs, faults = seen
        descriptors = _finish(outputs.descriptors.astype(float))
        if self._normaliser is None or outputs.positions is None or outputs.headings is None:
            return [fault or (descriptor, None, None) for fault, descriptor in zip(faults, descriptors, strict=True)]
        positions = self._normaliser.metres(outputs.positions.astype(float))
        angles = np.arctan2(outputs.headings[:, 1].astype(float), outputs.headings[:, 0].astype(float))
        poses = zip(descriptors, positions, angles.tolist(), strict=True)
        return [fault or pose for fault, pose in zip(faults, poses, strict=True)]


def _finish(descriptors: Float[np.ndarray, "images dim"]) -> Float[np.ndarray, "images dim"]:
    """With as many digits as a file keeps."""
    return _scale_rows(_scale_rows(descriptors).astype(np.float32).astype(float))


def _scale_rows(descriptors: Float[np.ndarray, "images dim"]) -> Float[np.ndarray, "images dim"]:
    """To length 1; a row of nothing stays."""
    return descriptors / np.maximum(np.linalg.norm(descriptors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
