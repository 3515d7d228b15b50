"""One lap of a world under a weather: where the camera is at every frame, what stands there, and how it shines.

All of it follows from seeds, and none of it needs a renderer.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from tmapr.config import changed
from tmapr.config.settings import SMALLEST
from tmapr.simulation.camera import Camera, Sensor
from tmapr.simulation.light import Appearance
from tmapr.simulation.movers import Movers
from tmapr.simulation.route import RECORDED, Motion, Way, frame_times, sample_lap
from tmapr.simulation.scene import Scene, join_scenes
from tmapr.simulation.view import Viewpoint
from tmapr.simulation.weather import Weather
from tmapr.simulation.world import Corners, World
from tmapr.types import NANOSECONDS

Side = Literal["left", "right"]
SIDES: tuple[Side, ...] = ("left", "right")

Course = Literal["lap", "detour", "u-turn", "back"]
"""Once around; with a part off the mapped streets; with a part driven there, back and there; in the other direction."""

_DRIVING, _NOISE, _OFFSET = 1, 2, 4
"""What a traverse's seed is used for, apart from what stands and moves in its world."""


@dataclass(frozen=True, slots=True)
class Traverse:
    """One lap of a world under a weather."""

    name: str
    weather: Weather
    seed: int
    """Of what stands there, how one drives, and the sensor's noise."""
    course: Course = "lap"
    frames: int = 600


@dataclass(frozen=True, slots=True)
class Passage:
    """A traverse ready to be drawn by either renderer."""

    scene: Scene
    """Its last surfaces are the movers', at the start."""
    movers: Movers | None
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
    views = [
        Viewpoint(camera.eye(position, heading, side), heading, camera.tilt + pitch, roll)
        for position, heading, (pitch, roll) in poses
    ]
    scene, movers = world.scene(traverse.seed), world.movers(traverse.seed)
    if movers:
        scene = join_scenes([scene, movers.scene_at(0.0)])
    # Images were left out between two of these: what lags from one to the next has passed through them.
    lag = camera.lag ** max(1, motion.duration / traverse.frames / RECORDED)
    thinned = changed(camera, {"lag": lag if lag >= SMALLEST else 0.0})
    noise = np.random.SeedSequence([traverse.seed, _NOISE, SIDES.index(side) if side else 0]).generate_state(1)[0]
    return Passage(scene, movers, Appearance.of(scene, traverse.weather), times, positions, views, thinned, int(noise))


def drive_lap(world: World, traverse: Traverse) -> tuple[Motion, Int[np.ndarray, " frames"]]:
    """How the traverse goes, and the nanoseconds of its frames since its start."""
    rng = np.random.default_rng([traverse.seed, _DRIVING])
    way = Way(_lay_course(world, traverse.course), world.turn)
    # Half a metre is what a lane allows, a third of the smallest turn what a corridor does; turning takes the middle.
    turning = traverse.course == "u-turn"
    wander = 0.0 if turning else min(0.5, 0.3 * world.turn)
    aside = 0.0 if turning else float(np.random.default_rng([traverse.seed, _OFFSET]).uniform(-1, 1)) * world.offset
    motion = sample_lap(way, world.speed, wander, rng, aside)
    return motion, frame_times(motion.duration, traverse.frames, rng)


def _lay_course(world: World, course: Course) -> Float[np.ndarray, "laid 2"]:
    if course == "detour":
        return world.detour
    if course == "back":
        return world.route[::-1]
    return _turn_round(world.route, _TURNING * world.turn) if course == "u-turn" else world.route


def _turn_round(route: Corners, aside: float) -> Float[np.ndarray, "laid 2"]:
    """Half way, back to a quarter of the way, and on to the end; both turns are taken `aside` metres wide."""
    near, far = (len(route) - 1) // 4, (len(route) - 1) // 2
    turns = [(route[leg] + route[leg + 1]) / 2 for leg in (near, far)]
    returning = route[far:near:-1]
    wide = [aside * _left_of(*leg) for leg in ((returning[-1], turns[0]), (route[far], turns[1]))]
    ends = [[turn, turn + shift] for turn, shift in zip(turns, wide, strict=True)]
    return np.concatenate([route[: far + 1], ends[1], returning, ends[0], route[near + 1 :]])


def _left_of(start: Float[np.ndarray, "2"], stop: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2"]:
    ahead = (stop - start) / np.hypot(*(stop - start))
    return np.array([-ahead[1], ahead[0]])


_TURNING = 0.4
"""Of the radius of a turn: how far apart the ways to and from the end of a street are."""
