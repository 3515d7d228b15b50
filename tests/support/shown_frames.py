"""Which frame of the street a picture shows, whatever its size, its contrast and its colours."""

import base64
from functools import cache

import cv2
import numpy as np

from tmapr.artifacts.images import read_image
from tmapr.perception.image import Image

SIZE = (40, 32)


def decoded(uri):
    """The picture inside a data URI."""
    head, content = uri.split(",")
    assert head == "data:image/jpeg;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(content), np.uint8), cv2.IMREAD_GRAYSCALE)


def seen_in(picture, sequence):
    """The number of the frame in a folder of the street that is most like a picture."""
    return int((list_frames(sequence) @ normalise(picture)).argmax())


@cache
def list_frames(sequence):
    """As the encoder sees them."""
    files = sorted((sequence / "images").iterdir())
    return np.stack([normalise(Image().prepare(read_image(file), (128, 160), "area")) for file in files])


def normalise(picture):
    small = cv2.resize(picture, SIZE, interpolation=cv2.INTER_AREA).astype(float).ravel()
    return (small - small.mean()) / np.linalg.norm(small - small.mean())
