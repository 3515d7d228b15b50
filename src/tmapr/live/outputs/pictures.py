"""A thermal image as a message: to the last bit, or as small as a log of hours can bear."""

from typing import Literal

import cv2

from tmapr.exceptions import InputError
from tmapr.live.events import Answer
from tmapr.live.messages import Frames, Message, header
from tmapr.perception.image import Image
from tmapr.reports.film.colours import list_heat
from tmapr.types import HIGHEST_COUNTS, Fault, Picture

Pictures = Literal["small", "raw", "none"]
"""`small`: JPEG in thermal colours, stretched frame by frame; `raw`: the counts; `none`: no pictures."""
PICTURE_TOPICS = {
    "small": ("~/image/compressed", "sensor_msgs/msg/CompressedImage"),
    "raw": ("~/image", "sensor_msgs/msg/Image"),
}
_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 80]
_STRETCH = Image(clip_limit=0.0)


def show_picture(answer: Answer, pictures: Literal["small", "raw"], frames: Frames) -> Message | None:
    """The frame's image; None where it has none, or none with anything in it."""
    try:
        counts = answer.frame.image()
    except InputError:
        return None
    if counts.ndim != 2 or counts.dtype not in HIGHEST_COUNTS:
        return None
    value = _tell_counts(counts) if pictures == "raw" else _tell_colours(counts)
    if value is None:
        return None
    topic, kind = PICTURE_TOPICS[pictures]
    return Message(topic, kind, {"header": header(answer, frames.base), **value})


def _tell_counts(counts: Picture) -> dict[str, int | str | Picture]:
    height, width = counts.shape
    ordered = counts.astype(counts.dtype.newbyteorder("<"))
    return {
        "height": height,
        "width": width,
        "encoding": f"mono{8 * counts.itemsize}",
        "is_bigendian": 0,
        "step": width * counts.itemsize,
        "data": ordered.view("uint8").ravel(),
    }


def _tell_colours(counts: Picture) -> dict[str, str | Picture] | None:
    try:
        levels = _STRETCH.prepare(counts, counts.shape)
    except InputError:  # a few pixels are no picture
        return None
    if isinstance(levels, Fault):
        return None
    _, encoded = cv2.imencode(".jpg", cv2.applyColorMap(levels, list_heat()[:, None]), _QUALITY)
    return {"format": "jpeg", "data": encoded.ravel()}
