"""What a finished frame of the rendered world costs, in units of finding out which surface each pixel sees.

`python benchmarks/render.py` prints a table and, as its last line, the same as JSON. A frame is 320x256 counts:
rasterised, shaded with texture and air, exposed by the sensor, and a 600th of the temperatures and radiances that a
traverse of 600 frames solves once. The bare rasteriser runs in the same rounds over the same views. A missed bound is
a non-zero exit code.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numba
import numpy as np

from measure import Metric, conclude, in_turn, milliseconds, ratio, show
from tmapr.simulation.light import Appearance
from tmapr.simulation.render import Renderer
from tmapr.simulation.streets import FAMILIES, build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import CAMERAS, Passage, Traverse, prepare_passage
from tmapr.simulation.weather import NAMED
from tmapr.types import NANOSECONDS

SEED = 1
FRAMES = 600
BOUND = 4.0
NOON = NAMED["noon"]


def whole(passage: Passage) -> Callable[[int], object]:
    """Draws and exposes the frame of a number, each later than the one before."""
    renderer, sensor, texture = Renderer(passage.scene, passage.camera), passage.sensor(), make_texture(SEED)

    def frame(number: int) -> object:
        radiance = renderer.radiance(passage.views[number % FRAMES], passage.appearance, texture)
        return sensor.expose(radiance, number * passage.times[-1] / FRAMES / NANOSECONDS)

    return frame


def measured(family: str, rounds: int) -> Iterator[Metric]:
    passage = prepare_passage(build_world(family, SEED), Traverse("noon", NOON, SEED, frames=FRAMES), CAMERAS[family])
    renderer, texture = Renderer(passage.scene, passage.camera), make_texture(SEED)
    contenders = {
        "rasteriser": lambda number: renderer.rasterise(passage.views[number % FRAMES]),
        "radiance": lambda number: renderer.radiance(passage.views[number % FRAMES], passage.appearance, texture),
        "frame": whole(passage),
    }
    # In steps of seven frames, which have no common factor with a lap, the rounds see all of it.
    seconds = dict(in_turn(contenders, range(0, 7 * rounds, 7)))
    solving = {"physics": lambda _: Appearance.of(passage.scene, NOON), "rasteriser": contenders["rasteriser"]}
    physics = in_turn(solving, range(9))
    seconds["frame"] = seconds["frame"] + np.median(physics["physics"]) / FRAMES
    name = partial("{}: {}".format, f"{family}, {len(passage.scene)} surfaces")
    yield Metric(name("the rasteriser"), milliseconds(seconds, "rasteriser"), "ms")
    yield Metric(name("rasterised and shaded"), milliseconds(seconds, "radiance"), "ms")
    yield Metric(name("the physics of a traverse"), milliseconds(physics, "physics"), "ms")
    yield Metric(name("a finished frame"), milliseconds(seconds, "frame"), "ms")
    yield Metric(name("frame rate of one core"), 1e3 / milliseconds(seconds, "frame"), "Hz", "higher")
    bound = BOUND if family == "city" else None
    yield Metric(
        name("a finished frame against the rasteriser"), ratio(seconds, "frame", "rasteriser"), "×", bound=bound
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what drawing a frame of a rendered world costs.")
    parser.add_argument("--rounds", type=int, default=200, help="frames of each family")
    rounds = parser.parse_args().rounds
    metrics = []
    for family in FAMILIES:
        metrics += show(f"{family}, noon, 320x256", measured(family, rounds))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    conclude("render", metrics, {"processor": platform.machine(), "cores": os.cpu_count()} | versions)
    sys.exit(any(metric.holds is False for metric in metrics))


if __name__ == "__main__":
    main()
