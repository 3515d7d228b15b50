"""Traverses of a rendered world: as sequences that are drawn while one passes over them, and as data sets on disk.

Everything follows from seeds: the same world, traverse and camera give the same bits on every pass. A data set is
restartable: its manifest says what it is made from and which of its traverses are whole.
"""

import re
import shutil
from collections import abc
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib.metadata import version as package_version
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Float32
from pydantic import Field, ValidationError

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.images import Counts
from tmapr.config import Settings, changed, differences
from tmapr.data.coordinates import tangent_plane, utm_grid
from tmapr.data.folder import write_folder
from tmapr.data.ms2 import write_ms2
from tmapr.data.poses import MAX_GAP
from tmapr.data.sequence import Sequence
from tmapr.data.stereo import list_names
from tmapr.data.sthereo import ZONE, write_sthereo
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES, read_bytes
from tmapr.simulation.camera import Camera
from tmapr.simulation.render import Renderer
from tmapr.simulation.streets import LEAST, Family, build_world
from tmapr.simulation.style import sample_style
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import SIDES, Passage, Side, Traverse, drive_lap, prepare_passage
from tmapr.simulation.weather import Weather
from tmapr.simulation.world import World
from tmapr.types import NANOSECONDS, CoordinateFrame, Frame, Watch

OutputLayout = Literal["ms2", "sthereo", "folder"]
Texture = Float32[np.ndarray, "texels 2"]

MANIFEST = "simulation.json"
FRAMES: Mapping[str, CoordinateFrame] = MappingProxyType(
    {
        "ms2": tangent_plane(127.36, 36.37),
        "sthereo": utm_grid(ZONE, 352_900.0, 4_026_400.0),
        "folder": CoordinateFrame(),
    }
)
"""What positions are relative to in each layout: points in Daejeon, where its real drives were recorded, or nothing."""

_YEAR = 1_672_531_200 * NANOSECONDS  # 2023
_UNTRIGGERED = 0.007
"""Seconds by which STheReO's right camera lags behind the left one."""

_SPARSE = 3
"""Frames for one pose in STheReO, at most."""

_FEWEST, _MOST = 2, 100_000
"""Frames of a traverse."""

_LONGEST = 10_000.0
"""Metres of a route."""

_NAME = re.compile(r"\w[\w-]{0,63}")


class Plan(Settings):
    """What a data set is made from, whichever traverses it has."""

    layout: OutputLayout = Field(description="ms2 | sthereo | folder")
    family: Family = Field("city", description="campus | city | valley")
    seed: int = Field(1, ge=0, description="of the world")
    aliasing: float = Field(0.3, ge=0, le=1, description="share of the world that is copies")
    length: float | None = Field(None, ge=80, le=_LONGEST, description="of the route, metres; none: the family's own")
    style: int = Field(0, ge=0, lt=2**32, description="of the world and the drives, see `style`")
    camera: Camera = Field(Camera(), description="of both sides")
    made_by: str = Field(f"tmapr {package_version('tmapr')}", description="another version may draw other images")

    def fit_style(self, frames: int) -> "Plan":
        """With its style's camera and, where no length was asked for, the route that so many frames cover."""
        style = sample_style(self.style, self.family)
        length = self.length or style.route_length(frames, LEAST[self.family])
        if length and length > _LONGEST:
            raise InputError(
                f"{frames} frames in style {self.style} are {length:.0f} m of route, more than {_LONGEST:.0f};"
                " ask for fewer frames, or give a --length"
            )
        return changed(self, {"camera": style.camera, "length": length})

    def build_world(self) -> World:
        """The world."""
        style = sample_style(self.style, self.family)
        return build_world(self.family, self.seed, aliasing=self.aliasing, length=self.length, style=style)

    def make_texture(self) -> Texture:
        """The texture of its surfaces."""
        style = sample_style(self.style, self.family)
        return make_texture(self.seed, style.relief, style.grain)


def film(
    world: World,
    traverse: Traverse,
    camera: Camera,
    texture: Texture,
    frame: CoordinateFrame,
    side: Side | None = None,
    delay: float = 0.0,
) -> Sequence:
    """The traverse as a camera sees it; positions are the vehicle's, and `delay` is in seconds after its other camera.

    The sensor remembers, so a pass draws every frame in turn, whether or not its image is asked for.
    """
    passage = prepare_passage(world, traverse, camera, side, delay)
    name = f"{traverse.name}/{side}" if side else traverse.name

    def start() -> Iterator[Frame]:
        renderer, sensor = Renderer(passage.scene, camera), passage.sensor()
        for row, (view, since) in enumerate(zip(passage.views, passage.times.tolist(), strict=True)):
            image = sensor.expose(draw_row(renderer, passage, row, texture), since / NANOSECONDS)
            stamp, position = _start_stamp(traverse.weather) + since, passage.positions[row]
            yield Frame(name, row, stamp, _hold(image), position, view.heading)

    return Sequence(name, frame, traverse.frames, start)


def draw_row(renderer: Renderer, passage: Passage, row: int, texture: Texture) -> Float32[np.ndarray, "height width"]:
    """What enters the camera at a frame, with everything that moves where it is by then."""
    if passage.movers:
        renderer.move(passage.movers.scene_at(passage.times[row] / NANOSECONDS))
    return renderer.radiance(passage.views[row], passage.appearance, texture)


def write_dataset(out: Path, plan: Plan, traverses: abc.Sequence[Traverse], watch: Watch = iter) -> None:
    """Write traverses in the plan's layout; what the same plan has finished there before is left as it is."""
    _refuse_traverses(traverses)
    manifest = _open_manifest(out, plan)
    if not (missing := [traverse for traverse in traverses if manifest.lacks(traverse, out)]):
        return
    world, texture = plan.build_world(), plan.make_texture()
    sides = 1 if plan.layout == "folder" else len(SIDES)
    steps = iter(watch(range(sides * sum(traverse.frames for traverse in missing))))

    def film_side(traverse: Traverse, side: Side | None, delay: float) -> Sequence:
        sequence = film(world, traverse, plan.camera, texture, FRAMES[plan.layout], side, delay)
        return _draw_ahead(sequence, steps)

    manifest = manifest.begin(missing, out)
    try:
        for traverse in missing:
            _write_traverse(out, plan.layout, traverse, film_side, _sparseness(world, traverse))
            manifest = manifest.finish(traverse.name, out)
    except KeyboardInterrupt as stop:
        stop.add_note(f"{out}: {len(manifest.whole)} traverses are whole and kept; the same command goes on")
        raise
    next(steps, None)  # lets the bar end


class Manifest(Settings):
    """What a data set is made from, the traverses that were begun there, and those that are whole."""

    plan: Plan
    traverses: dict[str, Traverse] = Field({}, description="by name")
    whole: tuple[str, ...] = Field((), description="their names")

    def lacks(self, traverse: Traverse, out: Path) -> bool:
        """Whether the traverse is to be written; one that differs from what is there is refused."""
        if traverse.name in self.whole:
            there = asdict(self.traverses[traverse.name])
            _refuse_changes(out, differences(there, asdict(traverse), traverse.name))
            return False
        taken = [folder for folder in _folders(out, self.plan.layout, traverse.name) if folder.exists()]
        if taken and traverse.name not in self.traverses:
            raise InputError(f"{taken[0]}: is there already and was not simulated; remove it, or choose another name")
        return True

    def begin(self, traverses: abc.Sequence[Traverse], out: Path) -> "Manifest":
        """Save it to `out` with these traverses to come; what an earlier attempt left of them is removed."""
        for traverse in traverses:
            for folder in _folders(out, self.plan.layout, traverse.name):
                if folder.exists():
                    shutil.rmtree(folder)
        coming = {traverse.name: traverse for traverse in traverses}
        return Manifest(plan=self.plan, traverses=self.traverses | coming, whole=self.whole)._save(out)

    def finish(self, name: str, out: Path) -> "Manifest":
        """Save it to `out` with one more whole traverse."""
        return Manifest(plan=self.plan, traverses=self.traverses, whole=(*self.whole, name))._save(out)

    def _save(self, out: Path) -> "Manifest":
        write_text(out / MANIFEST, f"{self.model_dump_json(indent=1)}\n")
        return self


def _refuse_traverses(traverses: abc.Sequence[Traverse]) -> None:
    names = [traverse.name for traverse in traverses]
    for traverse in traverses:
        if not _NAME.fullmatch(traverse.name):
            raise InputError(f"traverse {traverse.name!r}: a name has letters, digits, _ and -, 64 at most")
        if names.count(traverse.name) > 1:
            raise InputError(f"traverse {traverse.name!r} is there twice; give each a name of its own")
        if not _FEWEST <= traverse.frames <= _MOST:
            raise InputError(
                f"traverse {traverse.name!r}: frames is {traverse.frames}; it must be {_FEWEST} to {_MOST}"
            )


def _open_manifest(out: Path, plan: Plan) -> Manifest:
    """The manifest in a folder, or a new one if there is nothing yet."""
    path = out / MANIFEST
    if not path.exists():
        if out.exists() and list_names(out):
            raise InputError(f"{out}: is not empty and holds no {MANIFEST}; name a new folder, or empty this one")
        return Manifest(plan=plan)
    try:
        manifest = Manifest.model_validate_json(read_bytes(path, DOCUMENT_BYTES))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"{path}: {where or 'it'} cannot be read; remove {out}, or choose another folder") from None
    _refuse_changes(out, differences(manifest.plan.model_dump(), plan.model_dump(), "plan"))
    return manifest


def _refuse_changes(out: Path, changes: list[str]) -> None:
    if changes:
        raise InputError(f"{out}: was made with {changes[0]}; remove it, or choose another folder")


def _folders(out: Path, layout: OutputLayout, name: str) -> list[Path]:
    """All that a traverse has in a data set."""
    return [out / "sync_data" / name, out / "odom" / name] if layout == "ms2" else [out / name]


def _write_traverse(
    out: Path,
    layout: OutputLayout,
    traverse: Traverse,
    film_side: Callable[[Traverse, Side | None, float], Sequence],
    every: int,
) -> None:
    """Write what each camera sees; `every` is for how many frames STheReO has a pose."""
    if layout == "folder":
        write_folder(out / traverse.name, film_side(traverse, None, 0.0))
    elif layout == "ms2":
        for side in SIDES:
            write_ms2(out, f"{traverse.name}/{side}", film_side(traverse, side, 0.0))
    else:
        for side, delay in zip(SIDES, (0.0, _UNTRIGGERED), strict=True):
            write_sthereo(out, f"{traverse.name}/{side}", film_side(traverse, side, delay), every)


def _draw_ahead(sequence: Sequence, steps: Iterator[int]) -> Sequence:
    """The same frames, each drawn by a thread while the one before it is written, and a step for each."""

    def start() -> Iterator[Frame]:
        frames = iter(sequence)
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(next, frames, None)
            while (frame := coming.result()) is not None:
                coming = pool.submit(next, frames, None)
                yield frame
                next(steps)

    return replace(sequence, start=start)


def _sparseness(world: World, traverse: Traverse) -> int:
    """For how many frames there is a pose: few enough to be bridged, though intervals are up to a third longer."""
    motion, _ = drive_lap(world, traverse)
    return int(np.clip(0.75 * MAX_GAP * traverse.frames / motion.duration, 1, _SPARSE))


def _start_stamp(weather: Weather) -> int:
    """When a traverse under a weather begins, in nanoseconds since the epoch: on its day, by its clock."""
    return _YEAR + round((24 * weather.day + weather.hour) * 3600) * NANOSECONDS


def _hold(image: Counts) -> Callable[[], Counts]:
    return lambda: image
