"""Place recognition on real thermal images under two skies: METU-VisTIR, cloudy → sunny.

`python benchmarks/real_images.py [--sheet PNG]` encodes 40 cloudy frames of seven places and, as distractors, 10 indoor
ones, with the default perceiver as it is shipped, then looks up each of 29 sunny frames of five places. It prints the
share right with Wilson's interval and, as its last line, JSON. Five places are evidence, not a benchmark. Nothing was
tuned here: encoder, layer and grid are those of the design, measured before on the same images.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float, Int, UInt8

from measure import wilson
from tmapr.artifacts.images import read_image, write_png
from tmapr.artifacts.sheet import draw_contact_sheet
from tmapr.exceptions import InputError
from tmapr.perception.image import Image
from tmapr.perception.opening import open_perceiver
from tmapr.perception.settings import Perception
from tmapr.types import Fault, Frame, Percept

DATA = Path(__file__).parents[2] / "shared/data/metu_vistir"
PIXELS = (32, 40)


@dataclass(frozen=True)
class Shots:
    """Images of one condition; the scene's folder is the place."""

    paths: list[Path]

    @property
    def places(self) -> list[str]:
        """The place of every image."""
        return [path.parent.name for path in self.paths]

    def pictures(self) -> list[UInt8[np.ndarray, "height width"]]:
        """As the encoder sees them, at full size."""
        image = Image()
        prepared = [image.prepare(counts := read_image(path), counts.shape) for path in self.paths]
        return [picture for picture in prepared if not isinstance(picture, Fault)]


def shots(data: Path, *conditions: str) -> Shots:
    paths = [path for condition in conditions for path in sorted((data / condition).glob("*/*.jpg"))]
    if not paths:
        raise InputError(f"{data}: has no images of {', '.join(conditions)}; name the folder with --data")
    return Shots(paths)


def perceive(given: Shots, settings: Perception) -> list[Percept]:
    """Percepts in the order of the images, which are their stamps."""
    frames = [Frame("", row, row, partial(read_image, path)) for row, path in enumerate(given.paths)]
    return list(open_perceiver(settings, "cpu").stream(frames))


def described(given: Shots, settings: Perception) -> Float[np.ndarray, "images dim"]:
    """Unit descriptors by the perceiver."""
    return np.array([percept.descriptor for percept in perceive(given, settings)])


def as_pixels(given: Shots) -> Float[np.ndarray, "images dim"]:
    """The floor: prepared pictures themselves, small, without their mean, at unit length."""
    small = np.array(
        [cv2.resize(p, PIXELS[::-1], interpolation=cv2.INTER_AREA).ravel() for p in given.pictures()], float
    )
    small -= small.mean(axis=1, keepdims=True)
    return small / np.linalg.norm(small, axis=1, keepdims=True)


def sheet(queries: Shots, references: Shots, best: Int[np.ndarray, " queries"], right: Sequence[bool]) -> np.ndarray:
    """Query and match side by side, in the order of the queries."""
    seen, mapped = queries.pictures(), references.pictures()
    cells = []
    for row, match in enumerate(best):
        verdict = "right" if right[row] else "WRONG"
        cells.append((f"sunny {queries.places[row]}", seen[row]))
        cells.append((f"{references.places[match]}: {verdict}", mapped[match]))
    return draw_contact_sheet(cells, columns=10, width=128)


def main() -> None:
    parser = argparse.ArgumentParser(description="Look up real sunny thermal images among cloudy ones.")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with cloudy/, sunny/ and indoor/")
    parser.add_argument("--sheet", type=Path, help="write a contact sheet of the matches")
    given = parser.parse_args()
    references, queries = shots(given.data, "cloudy", "indoor"), shots(given.data, "sunny")
    print(f"METU-VisTIR, {len(queries.paths)} sunny queries, {len(references.paths)} cloudy and indoor references")
    settings, found = Perception(), {}
    ways = {
        "pixels": (as_pixels(queries), as_pixels(references)),
        "default perceiver": (described(queries, settings), described(references, settings)),
    }
    for name, (asked, mapped) in ways.items():
        best = (asked @ mapped.T).argmax(axis=1)
        right = [queries.places[row] == references.places[match] for row, match in enumerate(best)]
        bounds = wilson(sum(right), len(right))
        print(f"  {name:<20} {sum(right):>3} of {len(right)} right, 95 % interval {bounds.low:.2f}–{bounds.high:.2f}")
        same = np.equal.outer(queries.places, references.places)
        cosines = asked @ mapped.T
        own, other = (float(np.where(mask, cosines, -1).max(axis=1).mean()) for mask in (same, ~same))
        print(f"  {'':<20} best cosine in the mean: {own:.2f} to the right place, {other:.2f} to a wrong one")
        found[name] = {"right": sum(right), "queries": len(right), "low": bounds.low, "high": bounds.high}
    if given.sheet:
        write_png(given.sheet, sheet(queries, references, best, right))
        print(f"  {given.sheet}")
    print(json.dumps({"benchmark": "real_images", "found": found}))


if __name__ == "__main__":
    main()
