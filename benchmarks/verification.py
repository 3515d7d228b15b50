"""What local verification costs a frame, where it runs and where it does not, and how often it runs.

    python benchmarks/verification.py [--data FOLDER]

Gardens Point, day → night, and KAIST, visible → LWIR: each frame of the query goes through `observe` twice, in two
localizers of one map, with its picture at hand and without; keypoints are found when they are asked for. Times are of
one run on one machine; the order of the two alternates. The last line is JSON.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

from measure import wilson
from real_sets import REAL, open_images
from tmapr.artifacts.images import read_image
from tmapr.keypoints import Once
from tmapr.localizer import Localizer
from tmapr.perception.image import Image
from tmapr.perception.keypoints import KeypointFinder
from tmapr.system import System, build, make_map
from tmapr.types import Estimate, Percept

_PAIRS = {"gardens": ("day_right", "night_right"), "kaist": ("visible", "lwir")}
_WARM_UP = 10


def time_observe(localizer: Localizer, percept: Percept) -> tuple[float, Estimate]:
    """Milliseconds, and the estimate."""
    began = perf_counter()
    estimate = localizer.observe(percept)
    return 1000 * (perf_counter() - began), estimate


def compare(place: str, data: Path) -> dict[str, float]:
    """Print and return what one drive says."""
    mapped, query = open_images(place, *_PAIRS[place])(data)
    environment, find, image = make_map(System(), mapped), KeypointFinder(), Image()
    looking, plain = build(System(), environment), build(System(), environment)
    pictures = [read_image(path) for path in sorted((data / place / _PAIRS[place][1]).glob("*.jpg"))]
    more, ran = [], []
    for row, (percept, counts) in enumerate(zip(query.percepts, pictures, strict=True)):
        seen = replace(percept, keypoints=Once(lambda counts=counts: find(counts, image)))
        asked = [(looking, seen), (plain, replace(percept, keypoints=None))]
        timed = [time_observe(*each) for each in (asked if row % 2 else asked[::-1])]
        (with_look, estimate), (without, _) = timed if row % 2 else timed[::-1]
        more.append(with_look - without)
        compared = estimate.recognition.comparison if estimate.recognition else None
        ran.append(compared is not None and compared.local is not None)
    cost, did = np.array(more[_WARM_UP:]), np.array(ran[_WARM_UP:])
    share, bounds = float(did.mean()), wilson(int(did.sum()), len(did))
    told = {"share": share, "more_ms": float(np.median(cost[did])), "p95_ms": float(np.percentile(cost[did], 95))}
    idle = float(np.median(cost[~did])) if (~did).any() else 0.0
    print(f"{place}: runs on {share:.2f} of {len(did)} frames [{bounds.low:.2f} {bounds.high:.2f}];", end=" ")
    print(f"there {told['more_ms']:.1f} ms more in the median, p95 {told['p95_ms']:.1f}; elsewhere {idle:.2f} ms")
    return told | {"idle_ms": idle}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=REAL, help="folder of the real sets")
    given = parser.parse_args()
    print(json.dumps({"benchmark": "verification", "found": {place: compare(place, given.data) for place in _PAIRS}}))


if __name__ == "__main__":
    main()
