"""One place of each rendered family through day, night and weather, as an encoder sees it, and the day of a street.

`python benchmarks/gallery.py` writes docs/images/campus.png, city.png, valley.png, styles.png and day.svg: the same
bits each time, from seeds. Camera, cars and people stand still: only the weather differs from picture to picture, or,
on the sheet of styles, the style of the world.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import UInt8, UInt16

from tmapr.artifacts.sheet import draw_contact_sheet
from tmapr.perception.image import Image
from tmapr.simulation.blocks import Builder, Finish, Wall
from tmapr.simulation.camera import CAMERAS
from tmapr.simulation.heat import solve_day
from tmapr.simulation.light import Appearance
from tmapr.simulation.materials import Stuff
from tmapr.simulation.record import Plan, draw_row
from tmapr.simulation.render import Renderer
from tmapr.simulation.scene import Behind, Scene
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse, prepare_passage
from tmapr.simulation.weather import NAMED, air_temperature
from tmapr.types import Fault

OUT = Path(__file__).parents[1] / "docs/images"
PLACES = {"campus": (1, 420), "city": (3, 170), "valley": (1, 530)}
"""Seed of the world, and the frame of 600 at which one stops."""
PASSING = 5
FRAMES = 600
STYLES = (1, 2, 3, 4)
WEATHERS = ("noon", "dusk", "night", "dawn", "rain", "winter-night")
SIZE = (256, 320)
FREEZING = 273.15
CELSIUS = range(0, 41, 10)
COLOURS = ("#444444", "#999999", "#1b9e77", "#e6ab02", "#d95f02", "#7570b3", "#66a6ff", "#000000")


def pictures(family: str) -> list[tuple[str, UInt8[np.ndarray, "256 320"]]]:
    """The place under every weather, with its name."""
    seed, frame = PLACES[family]
    texture = make_texture(seed)
    passage = prepare_passage(build_world(family, seed), Traverse("stop", NAMED["noon"], PASSING), CAMERAS[family])
    renderer, found = Renderer(passage.scene, passage.camera), []
    for name in WEATHERS:
        look = Appearance.of(passage.scene, NAMED[name])
        counts = passage.sensor().expose(renderer.radiance(passage.views[frame], look, texture), 0.0)
        found.append((name, prepared(f"{family}, {name}", counts)))
    return found


def styles() -> list[tuple[str, UInt8[np.ndarray, "256 320"]]]:
    """A frame of every family in each of a few styles, by day, with their names."""
    found = []
    for family, (seed, frame) in PLACES.items():
        for number in STYLES:
            plan = Plan(layout="folder", family=family, seed=seed, style=number).fit_style(FRAMES)
            stop = Traverse("stop", NAMED["noon"], PASSING, frames=FRAMES)
            passage, texture = prepare_passage(plan.build_world(), stop, plan.camera), plan.make_texture()
            renderer = Renderer(passage.scene, passage.camera)
            # The sensor bends, blurs and stripes; a second exposure shows how it lags.
            sensor = passage.sensor()
            for row in (frame - 1, frame):
                counts = sensor.expose(draw_row(renderer, passage, row, texture), 0.0)
            found.append((f"{family} {number}", prepared(f"{family}, style {number}", counts)))
    return found


def prepared(name: str, counts: UInt16[np.ndarray, "height width"]) -> UInt8[np.ndarray, "256 320"]:
    """As an encoder sees it."""
    picture = Image().prepare(counts, SIZE)
    if isinstance(picture, Fault):
        raise RuntimeError(f"{name}: the picture is {picture.value}")
    return picture


def street() -> tuple[Scene, list[str]]:
    """A patch of everything that a street is made of, and what each is."""
    builder, names = Builder(), []
    for name, stuff in (("asphalt", Stuff.ASPHALT), ("concrete", Stuff.CONCRETE), ("grass", Stuff.GRASS)):
        builder.ground((0, 0), (1, 1), Finish(stuff, 0.55, Behind.SOIL))
        names.append(name)
    for name, direction in (("brick, East", (0.0, 1.0)), ("brick, South", (1.0, 0.0)), ("brick, West", (0.0, -1.0))):
        Wall(np.zeros(2), np.array(direction), 1.0, 1.0).build(builder, Finish(Stuff.BRICK, 0.35, Behind.ROOM))
        names.append(name)
    builder.ground((0, 0), (1, 1), Finish(Stuff.PAINTED_METAL, 0.55))
    return builder.scene(), [*names, "car roof"]


def day() -> str:
    """Temperatures of a street through a clear spring day, drawn as an SVG."""
    scene, names = street()
    hours = np.linspace(0, 24, 145)
    curves = [*solve_day(scene, NAMED["noon"], hours).T, air_temperature(NAMED["noon"], hours)]
    parts = [f'<path d="M{x(0)} {y(value):.1f}H{x(24)}" stroke="#dddddd"/>' for value in CELSIUS]
    parts += [text(34, y(value) + 4, f"{value} °C", "end") for value in CELSIUS]
    parts += [text(x(hour), 318, f"{hour}:00", "middle") for hour in range(0, 25, 6)]
    for row, (name, curve, colour) in enumerate(zip([*names, "air"], curves, COLOURS, strict=True)):
        points = " ".join(f"{x(hour):.1f},{y(value):.1f}" for hour, value in zip(hours, curve - FREEZING, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(f'<path d="M535 {40 + 20 * row}h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(text(560, 44 + 20 * row, name, "start"))
    frame = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 330" font-family="sans-serif" font-size="11"'
    return "\n".join([f"<svg {frame}>", '<rect width="660" height="330" fill="white"/>', *parts, "</svg>\n"])


def x(hour: float) -> float:
    return 40 + 20 * hour


def y(celsius: float) -> float:
    return 20 + 280 * (CELSIUS[-1] - celsius) / (CELSIUS[-1] - CELSIUS[0])


def text(left: float, base: float, words: str, anchor: str) -> str:
    return f'<text x="{left:.1f}" y="{base:.1f}" text-anchor="{anchor}">{words}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of docs/simulation.md.")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write into")
    out = parser.parse_args().out
    sheets = {family: draw_contact_sheet(pictures(family), columns=3, width=320) for family in PLACES}
    sheets["styles"] = draw_contact_sheet(styles(), columns=len(STYLES), width=240)
    for name, sheet in sheets.items():
        path = out / f"{name}.png"
        cv2.imwrite(str(path), sheet[:, :, 0], [cv2.IMWRITE_PNG_COMPRESSION, 9])  # all of it is gray
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    (out / "day.svg").write_text(day(), encoding="utf-8")


if __name__ == "__main__":
    main()
