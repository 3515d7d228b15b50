"""Real sets on which a head is watched while it learns from rendered worlds: what it forgets shows there first.

The folder holds metu_vistir (thermal, sunny among cloudy and indoor images), gardens (a path by day, by night and from
its other side) and kaist (a street in visible light, asked for in the long-wave infrared). What is chosen by looking at
them is no result on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float

from tmapr.artifacts.images import read_image
from tmapr.data.folder import read_folder
from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features
from tmapr.perception.glance import GrayPicture
from tmapr.perception.image import Image
from tmapr.perception.pooling import Joined
from tmapr.retrieval.condition import Condition
from tmapr.training.rendered import Encode
from tmapr.types import Fault

_FRAMES, _METRES = 2, 3.0
"""How far a match may be: along Gardens' path, where frame i of all drives is one place, and along KAIST's street."""

_WRITTEN = 0.01
"""Metres: positions are written with a few digits, and three metres are three."""

Right = Bool[np.ndarray, "asked mapped"]


@dataclass(frozen=True, slots=True)
class Recall:
    """R@1 by the plain cosine, and once the part that all frames of a condition share is removed."""

    plain: float
    centred: float


@dataclass(frozen=True, slots=True)
class RealSet:
    """Images to look up among others, as the encoder sees them, and which matches are right."""

    asked: Features
    mapped: Features
    right: Right

    def measure(self, descriptor: Joined) -> Recall:
        """How many of the asked have a right one as the nearest, as shares."""
        with torch.inference_mode():
            asked, mapped = (descriptor(side).cpu().numpy() for side in (self.asked, self.mapped))
        return Recall(self._share(asked @ mapped.T), self._share(compare_centred(asked, mapped)))

    def _share(self, similarity: Float[np.ndarray, "asked mapped"]) -> float:
        best = similarity.argmax(axis=1)
        return round(float(self.right[np.arange(len(best)), best].mean()), 3)


def compare_centred(
    asked: Float[np.ndarray, "asked dim"], mapped: Float[np.ndarray, "mapped dim"]
) -> Float[np.ndarray, "asked mapped"]:
    """Cosines as a localizer has them in one drive over the map, without what the views so far share."""
    condition, mean = Condition(), mapped.mean(axis=0)
    similarity = asked @ mapped.T
    for stamp, view in enumerate(asked):
        if shared := condition.recall(stamp):
            own, references = shared.remove(view), mapped - shared.weight * mean
            similarity[stamp] = references @ own / np.linalg.norm(references, axis=1) / np.linalg.norm(own)
        condition.note(view, stamp, 1.0)
    return similarity


def open_real_sets(folder: Path, encode: Encode, size: tuple[int, int]) -> dict[str, RealSet]:
    """All of them by name, encoded."""
    known: dict[str, Callable[[], RealSet]] = {
        "metu": lambda: _open_metu(folder / "metu_vistir", encode, size),
        "gardens_night": lambda: _open_drives(folder / "gardens", "day_right", "night_right", encode, size),
        "gardens_left_night": lambda: _open_drives(folder / "gardens", "day_left", "night_right", encode, size),
        "gardens_left": lambda: _open_drives(folder / "gardens", "day_right", "day_left", encode, size),
        "kaist": lambda: _open_drives(folder / "kaist", "visible", "lwir", encode, size),
    }
    return {name: load() for name, load in known.items()}


def _open_metu(folder: Path, encode: Encode, size: tuple[int, int]) -> RealSet:
    paths = {name: sorted(folder.glob(f"{name}/*/*.jpg")) for name in ("sunny", "cloudy", "indoor")}
    asked, mapped = paths["sunny"], [*paths["cloudy"], *paths["indoor"]]
    if not asked or not mapped:
        raise InputError(
            f"{folder}: needs images sunny/PLACE/*.jpg and cloudy/PLACE/*.jpg; name the folder around it with --real"
        )
    seen, shown = (encode(np.stack([_read_picture(path, size) for path in side])) for side in (asked, mapped))
    places = [np.array([path.parent.name for path in side]) for side in (asked, mapped)]
    return RealSet(seen, shown, np.equal.outer(*places))


def _open_drives(root: Path, mapped: str, asked: str, encode: Encode, size: tuple[int, int]) -> RealSet:
    """Two drives in the folder layout."""
    for name in (mapped, asked):
        if not (root / name).is_dir():
            raise InputError(f"{root / name}: no such folder; name the folder around {root.name} with --real")
    (seen, there), (shown, known) = (_read_drive(root, name, encode, size) for name in (asked, mapped))
    if root.name == "gardens":
        rows = np.abs(np.subtract.outer(np.arange(len(there)), np.arange(len(known))))
        return RealSet(seen, shown, rows <= _FRAMES)
    apart = np.linalg.norm(there[:, None] - known[None], axis=2)
    return RealSet(seen, shown, apart <= _METRES + _WRITTEN)


def _read_drive(
    root: Path, name: str, encode: Encode, size: tuple[int, int]
) -> tuple[Features, Float[np.ndarray, "frames 2"]]:
    frames = list(read_folder(root, name))
    pictures = [_prepare(frame.image(), size, str(frame.file)) for frame in frames]
    return encode(np.stack(pictures)), np.array([frame.position for frame in frames], float)


def _read_picture(path: Path, size: tuple[int, int]) -> GrayPicture:
    return _prepare(read_image(path), size, str(path))


def _prepare(counts: np.ndarray, size: tuple[int, int], where: str) -> GrayPicture:
    picture = Image().prepare(counts, size, "area")
    if isinstance(picture, Fault):
        raise ValueError(f"{where}: {picture}")
    return picture
