"""Pictures inside a page, as addresses that need no file, and side by side under one caption."""

import base64
from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import UInt8

from tmapr.artifacts.images import Picture
from tmapr.reports.drawing.markup import element, escape

_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 60]

PagePicture = UInt8[np.ndarray, "_ _"]


def encode_jpeg(picture: PagePicture) -> str:
    """The picture as a JPEG that needs no file."""
    _, encoded = cv2.imencode(".jpg", picture, _QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(encoded.tobytes()).decode()}"


def encode_png(picture: Picture) -> str:
    """A gray or RGB picture, to the last bit, as an address that needs no file."""
    ordered = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR) if picture.ndim == 3 else picture
    _, encoded = cv2.imencode(".png", ordered, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return f"data:image/png;base64,{base64.b64encode(encoded.tobytes()).decode()}"


def panels(parts: Sequence[str], caption: str) -> str:
    """Pictures side by side under one caption."""
    row = element("div", {"class": f"panels of-{len(parts)}"}, *parts)
    return element("figure", {}, row, element("figcaption", {}, escape(caption)))


def panel(picture: str, words: str, role: str = "neutral") -> str:
    """A picture's markup and the words beneath it."""
    return element("div", {"class": f"panel {role}"}, picture, element("p", {}, escape(words)))


def photograph(picture: PagePicture | None, words: str) -> str:
    """A photograph, or words in its place."""
    if picture is None:
        return element("p", {"class": "missing"}, "no picture")
    height, width = picture.shape
    return element("img", {"src": encode_jpeg(picture), "alt": words, "width": str(width), "height": str(height)})
