"""Thumbnails: frames as the perceiver sees them, small and inside the page.

A page may come to be written where the images are not: then it says so and is a page without pictures. An image is
shown only if it has the stamp of the frame that the run was made from, since data sets are moved and recorded anew.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np
from jaxtyping import UInt8

from tmapr.artifacts.images import Counts
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.image import Image
from tmapr.types import Fault, Frame

THUMBNAIL = (128, 160)
"""The most rows and columns of one."""

_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 60]

Picture = UInt8[np.ndarray, "_ _"]


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures that were found, by row, and in words why there are none."""

    found: Mapping[int, Picture]
    absent: str | None = None


def read_pictures(
    experiment: Experiment, name: str, stamps: Mapping[int, int], box: tuple[int, int] = THUMBNAIL
) -> Pictures:
    """Pictures of the rows of a sequence that have a stamp here; a damaged image is missing, a missing one no error."""
    if not stamps:
        return Pictures({})
    at = f"at {experiment.data.root}"
    found: dict[int, Picture] = {}
    try:
        # One pass, and no frame is kept: those of a bag hold their images.
        for row, frame in _wanted(experiment, name, stamps):
            if frame.stamp != stamps[row]:
                return Pictures({}, f"images of {name} {at} are of another recording")
            picture = _picture(frame, experiment.perception.image, box)
            if picture is not None:
                found[row] = picture
    except (InputError, OSError):
        return Pictures({}, f"images of {name} are not {at}")
    return Pictures(found, None if found else f"images of {name} {at} cannot be read")


def data_uri(picture: Picture) -> str:
    """The picture as a JPEG that needs no file."""
    _, encoded = cv2.imencode(".jpg", picture, _QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(encoded.tobytes()).decode()}"


class Album:
    """The pictures of a page, each kept once; whoever shows one knows its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, picture: Picture) -> int:
        """The number of a picture, which is added if it is new."""
        return self._numbers.setdefault(data_uri(picture), len(self._numbers))

    @property
    def uris(self) -> list[str]:
        """All pictures in the order of their numbers."""
        return list(self._numbers)


def _wanted(experiment: Experiment, name: str, stamps: Mapping[int, int]) -> Iterator[tuple[int, Frame]]:
    frames = islice(open_data(experiment.data, name), max(stamps) + 1)
    return ((row, frame) for row, frame in enumerate(frames) if row in stamps)


def _picture(frame: Frame, image: Image, box: tuple[int, int]) -> Picture | None:
    try:
        counts = frame.image()
        picture = image.prepare(counts, _fitting(image, counts, box), "area")
    except InputError:
        return None
    return None if isinstance(picture, Fault) else picture


def _fitting(image: Image, counts: Counts, box: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the image in its own proportions, inside the box and never enlarged."""
    rows, columns = image.cropped(*counts.shape)
    share = min(1.0, box[0] / rows, box[1] / columns)
    return max(1, round(rows * share)), max(1, round(columns * share))
