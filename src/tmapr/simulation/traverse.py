"""One lap of a world under a weather: where the camera is at every frame, what stands there, and how it shines.

All of it follows from seeds, and none of it needs a renderer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from tmapr.config import changed
from tmapr.simulation.camera import Camera, Sensor
from tmapr.simulation.light import Appearance
from tmapr.simulation.route import RECORDED, Motion, Way, frame_times, sample_lap
from tmapr.simulation.scene import Scene
from tmapr.simulation.view import Viewpoint
from tmapr.simulation.weather import Weather
from tmapr.simulation.world import World
from tmapr.types import NANOSECONDS

Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = ("left", "right")

CAMERAS: Mapping[str, Camera] = MappingProxyType(
    {"campus": Camera(mount=1.1, baseline=0.12), "city": Camera(), "valley": Camera()}
)
"""Of each family: a robot's in corridors, a car's elsewhere."""

_DRIVING, _NOISE = 1, 2
"""What a traverse's seed is used for, apart from what stands in its world."""


@dataclass(frozen=True, slots=True)
class Traverse:
    """One lap of a world under a weather."""

    name: str
    weather: Weather
    seed: int
    """Of what stands there, how one drives, and the sensor's noise."""
    detour: bool = False
    frames: int = 600


@dataclass(frozen=True, slots=True)
class Passage:
    """A traverse ready to be drawn by either renderer."""

    scene: Scene
    appearance: Appearance
    times: Int[np.ndarray, " frames"]
    """Nanoseconds since the start."""
    positions: Float[np.ndarray, "frames 2"]
    """The vehicle's, between its cameras."""
    views: list[Viewpoint]
    camera: Camera
    """Its lag is that from one of these frames to the next."""
    noise: int

    def sensor(self) -> Sensor:
        """A sensor at the beginning of the traverse."""
        return Sensor(self.camera, self.noise)


def prepare_passage(
    world: World, traverse: Traverse, camera: Camera, side: Side | None = None, delay: float = 0.0
) -> Passage:
    """What a camera meets on a traverse; `delay` is in seconds after the vehicle's other camera."""
    motion, times = drive_lap(world, traverse)
    times = times + round(delay * NANOSECONDS)
    along = motion.distance_at(times / NANOSECONDS)
    positions, headings = motion.poses_at(along)
    sways = zip(motion.pitch.at(along).tolist(), motion.roll.at(along).tolist(), strict=True)
    poses = zip(positions, headings.tolist(), sways, strict=True)
    views = [Viewpoint(camera.eye(position, heading, side), heading, *sway) for position, heading, sway in poses]
    scene = world.scene(traverse.seed)
    # Images were left out between two of these: what lags from one to the next has passed through them.
    thinned = changed(camera, {"lag": camera.lag ** max(1, motion.duration / traverse.frames / RECORDED)})
    noise = np.random.SeedSequence([traverse.seed, _NOISE, SIDES.index(side) if side else 0]).generate_state(1)[0]
    return Passage(scene, Appearance.of(scene, traverse.weather), times, positions, views, thinned, int(noise))


def drive_lap(world: World, traverse: Traverse) -> tuple[Motion, Int[np.ndarray, " frames"]]:
    """How the traverse goes, and the nanoseconds of its frames since its start."""
    rng = np.random.default_rng([traverse.seed, _DRIVING])
    way = Way(world.detour if traverse.detour else world.route, world.turn)
    # Half a metre is what a lane allows, a third of the smallest turn what a corridor does.
    motion = sample_lap(way, world.speed, min(0.5, 0.3 * world.turn), rng)
    return motion, frame_times(motion.duration, traverse.frames, rng)
