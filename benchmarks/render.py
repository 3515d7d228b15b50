"""What a finished frame of the rendered world costs, in units of asking every surface which pixels see it.

`python benchmarks/render.py` prints a table and, as its last line, the same as JSON. A frame is 320x256 counts:
rasterised, shaded with texture and air, exposed by the sensor, and a 600th of the temperatures and radiances that a
traverse of 600 frames solves once. The unit, a rasteriser that leaves out no surface, and the one that leaves out what
lies beside the image run in the same rounds over the same views. Then finished
frames of other styles, in units of style 0's, with a 600th of all that a traverse needs before its first frame. A
missed bound is a non-zero exit code.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time

import numba
import numpy as np

from measure import Metric, conclude, in_turn, milliseconds, ratio, show
from tmapr.simulation.camera import CAMERAS
from tmapr.simulation.light import Appearance
from tmapr.simulation.record import Plan, draw_row
from tmapr.simulation.render import Renderer
from tmapr.simulation.streets import FAMILIES, build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Passage, Traverse, prepare_passage
from tmapr.simulation.weather import NAMED
from tmapr.types import NANOSECONDS

SEED = 1
FRAMES = 600
BOUND = 4.0
STYLES, STYLE_BOUND = range(21), 2.0
NOON = NAMED["noon"]


def whole(passage: Passage) -> Callable[[int], object]:
    """Draws and exposes the frame of a number, each later than the one before."""
    renderer, sensor, texture = Renderer(passage.scene, passage.camera), passage.sensor(), make_texture(SEED)

    def frame(number: int) -> object:
        radiance = draw_row(renderer, passage, number % FRAMES, texture)
        return sensor.expose(radiance, number * passage.times[-1] / FRAMES / NANOSECONDS)

    return frame


def measured(family: str, rounds: int) -> Iterator[Metric]:
    passage = prepare_passage(build_world(family, SEED), Traverse("noon", NOON, SEED, frames=FRAMES), CAMERAS[family])
    renderer, texture = Renderer(passage.scene, passage.camera), make_texture(SEED)
    asking = Renderer(passage.scene, passage.camera)
    asking._balls[:, 3] = np.inf  # no surface is beside the image: the unit stays what it was before any was left out
    contenders = {
        "unit": lambda number: asking.rasterise(passage.views[number % FRAMES]),
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
    yield Metric(name("the rasteriser, every surface asked"), milliseconds(seconds, "unit"), "ms")
    yield Metric(name("the rasteriser"), milliseconds(seconds, "rasteriser"), "ms")
    yield Metric(name("rasterised and shaded"), milliseconds(seconds, "radiance"), "ms")
    yield Metric(name("the physics of a traverse"), milliseconds(physics, "physics"), "ms")
    yield Metric(name("a finished frame"), milliseconds(seconds, "frame"), "ms")
    yield Metric(name("frame rate of one core"), 1e3 / milliseconds(seconds, "frame"), "Hz", "higher")
    bound = BOUND if family == "city" else None
    yield Metric(
        name("a finished frame against every surface asked"), ratio(seconds, "frame", "unit"), "×", bound=bound
    )


def styled(family: str, rounds: int) -> Iterator[Metric]:
    """What a finished frame of other styles costs against style 0's: the dearest of them, and their median."""
    frames, prepared = {}, {}
    for number in STYLES:
        plan = Plan(layout="folder", family=family, seed=SEED, style=number).fit_style(FRAMES)
        world = plan.build_world()
        began = thread_time()
        passage = prepare_passage(world, Traverse("noon", NOON, SEED, frames=FRAMES), plan.camera)
        prepared[number] = (thread_time() - began) / FRAMES
        frames[str(number)] = whole(passage)
    drawn = in_turn(frames, range(0, 7 * rounds, 7))
    seconds = {name: each + prepared[int(name)] for name, each in drawn.items()}
    ratios = {name: ratio(seconds, name, "0") for name in seconds if name != "0"}
    dearest = max(ratios, key=ratios.__getitem__)
    yield Metric(f"{family}: the dearest of {len(ratios)} styles, {dearest}", ratios[dearest], "×", bound=STYLE_BOUND)
    yield Metric(f"{family}: the median of {len(ratios)} styles", float(np.median(list(ratios.values()))), "×")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what drawing a frame of a rendered world costs.")
    parser.add_argument("--rounds", type=int, default=200, help="frames of each family")
    rounds = parser.parse_args().rounds
    metrics = []
    for family in FAMILIES:
        metrics += show(f"{family}, noon, 320x256", measured(family, rounds))
    for family in FAMILIES:
        metrics += show(f"{family}, a finished frame against style 0's", styled(family, rounds // 4))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    conclude("render", metrics, {"processor": platform.machine(), "cores": os.cpu_count()} | versions)
    sys.exit(any(metric.holds is False for metric in metrics))


if __name__ == "__main__":
    main()
