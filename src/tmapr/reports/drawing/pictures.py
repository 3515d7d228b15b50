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


def panels(parts: Sequence[str], caption: str, above: str = "") -> str:
    """Pictures side by side under one caption; or one drawing as wide as all of them, and its words beneath."""
    row = element("div", {"class": f"panels of-{len(parts)}"}, above, *parts)
    return element("figure", {}, row, element("figcaption", {}, escape(caption)))


def panel(picture: str, words: str, role: str = "neutral", more: str = "") -> str:
    """A picture's markup and the words beneath it, in one line or two."""
    told = (element("p", {}, escape(line)) for line in (words, more) if line)
    return element("div", {"class": f"panel {role}"}, picture, *told)


def photograph(picture: PagePicture | None, words: str) -> str:
    """A photograph, or words in its place."""
    if picture is None:
        return element("p", {"class": "missing"}, "no picture")
    height, width = picture.shape
    return element("img", {"src": encode_jpeg(picture), "alt": words, "width": str(width), "height": str(height)})
