"""How warm surfaces are: heat conduction into each of them, driven by a day of sun, sky, wind, rain and rooms.

A surface is a slab, cut into nodes that lie closer together at its front. With c_i the heat capacity of a node and g_i
the conductance to the next one, the temperatures follow

    c_0 dT_0/dt = g_0 (T_1 − T_0) + gain(t) − exchange T_0 − emittance T_0⁴
    c_i dT_i/dt = g_i (T_i+1 − T_i) − g_i−1 (T_i − T_i−1)
    c_n dT_n/dt = back_gain(t) − back_exchange T_n − g_n−1 (T_n − T_n−1)

and the day repeats: what is asked for is the periodic solution. Surfaces do not know of one another; what stands around
one of them has the air's temperature.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.simulation.materials import of_each
from tmapr.simulation.scene import Behind, Scene
from tmapr.simulation.sun import irradiance, sunlight
from tmapr.simulation.weather import (
    Weather,
    air_temperature,
    room_temperature,
    sky_temperature,
    wet_bulb_temperature,
)

STEFAN_BOLTZMANN = 5.670374e-8
STEP = 600.0
"""s, of the integration and of tabulated gains"""
STEPS = 144
"""of a day; the first is midnight"""
_NODES = 8
_GROWTH = 1.8  # the first of 7 links is 1/75 of the depth: 4 mm of asphalt, where a step's heat reaches 15 mm
_ROOM_CONVECTION = 3.0
_RADIATIVE = 5.0  # 4σT³ at room temperature, where a face's true fourth power does not matter


@dataclass(frozen=True, slots=True)
class Exposure:
    """All that the temperature of a surface depends on, apart from the weather."""

    material: Int[np.ndarray, " surfaces"]
    normals: Float[np.ndarray, "surfaces 3"]
    sky_view: Float[np.ndarray, " surfaces"]
    indoors: Bool[np.ndarray, " surfaces"]
    behind: Int[np.ndarray, " surfaces"]
    power: Float[np.ndarray, " surfaces"]

    @classmethod
    def of(cls, scene: Scene) -> "Exposure":
        """The exposure of every surface of a scene."""
        return cls(scene.material, scene.normals, scene.sky_view, scene.indoors, scene.behind, scene.power)


@dataclass(frozen=True, slots=True)
class Slabs:
    """Nodes from the surface to its back."""

    capacity: Float[np.ndarray, "nodes surfaces"]
    """J/(m² K)"""
    conductance: Float[np.ndarray, "links surfaces"]
    """W/(m² K), from each node to the next"""


@dataclass(frozen=True, slots=True)
class Faces:
    """Heat into both faces at the steps of a day: what comes in any case, and what leaves by the face's temperature."""

    gain: Float[np.ndarray, "steps surfaces"]
    """W/m²"""
    exchange: Float[np.ndarray, " surfaces"]
    """W/(m² K)"""
    emittance: Float[np.ndarray, " surfaces"]
    """W/(m² K⁴)"""
    back_gain: Float[np.ndarray, "steps surfaces"]
    """W/m²"""
    back_exchange: Float[np.ndarray, " surfaces"]
    """W/(m² K)"""


def solve_temperatures(scene: Scene, weather: Weather) -> Float[np.ndarray, " surfaces"]:
    """Temperatures of the surfaces in K at the weather's hour."""
    return solve_day(scene, weather, np.array([weather.hour], dtype=float))[0]


def solve_day(
    scene: Scene, weather: Weather, hours: Float[np.ndarray, " hours"]
) -> Float[np.ndarray, "hours surfaces"]:
    """Temperatures in K at any hours of the weather's day; each distinct exposure is solved once."""
    exposure, which = group_exposures(Exposure.of(scene))
    cycle = settle(cut_slabs(exposure), expose_faces(exposure, weather))
    step = hours * 3600 / STEP
    before, share = np.floor(step).astype(int), (step % 1)[:, None]
    between = (1 - share) * cycle[before % STEPS] + share * cycle[(before + 1) % STEPS]
    return between[:, which]


def group_exposures(exposure: Exposure) -> tuple[Exposure, Int[np.ndarray, " surfaces"]]:
    """The exposures that differ after rounding, and for every surface which of them is its own.

    A sky view is rounded to 0.05, a normal's parts to 0.02 and power to 1 W/m²: some tenths of a kelvin at noon.
    """
    columns = (
        exposure.material,
        *np.rint(exposure.normals.T * 50),
        np.rint(exposure.sky_view * 20),
        exposure.indoors,
        exposure.behind,
        np.rint(exposure.power),
    )
    rows, which = np.unique(np.stack(columns, axis=1).astype(int), axis=0, return_inverse=True)
    kinds = Exposure(rows[:, 0], rows[:, 1:4] / 50, rows[:, 4] / 20, rows[:, 5] == 1, rows[:, 6], rows[:, 7] / 1.0)
    return kinds, which


def cut_slabs(exposure: Exposure) -> Slabs:
    """Cut every surface into nodes; a sheet with nothing behind is cut at its middle, which no heat crosses."""
    thickness = of_each(exposure.material, lambda each: each.thickness)
    depth = np.where(exposure.behind == Behind.ITSELF, thickness / 2, thickness)
    shares = _GROWTH ** np.arange(_NODES - 1)
    links = np.outer(shares / shares.sum(), depth)
    extent = np.zeros((_NODES, len(depth)))
    extent[:-1] += links / 2
    extent[1:] += links / 2
    return Slabs(
        extent * of_each(exposure.material, lambda each: each.heat_capacity),
        of_each(exposure.material, lambda each: each.conductivity) / links,
    )


def expose_faces(exposure: Exposure, weather: Weather) -> Faces:
    """What a day of weather does to either face of the surfaces."""
    hours = np.arange(STEPS) * STEP / 3600
    air, room = air_temperature(weather, hours)[:, None], room_temperature(weather, hours)[:, None]
    sky, wet = sky_temperature(weather, hours)[:, None], wet_bulb_temperature(weather, hours)[:, None]
    emittance = STEFAN_BOLTZMANN * of_each(exposure.material, lambda each: each.emissivity)
    seen = exposure.sky_view * sky**4 + (1 - exposure.sky_view) * air**4
    blown = convection(weather) * air + wetting(weather) * wet
    gain = (
        emittance * np.where(exposure.indoors, room**4, seen)
        + np.where(exposure.indoors, _ROOM_CONVECTION * room, blown)
        + solar_gain(exposure, weather, hours)
        + exposure.power
    )
    behind = _back_exchange(weather)[exposure.behind]
    back = np.choose(exposure.behind, [room, air, weather.air, air])
    return Faces(gain, front_exchange(exposure, weather), emittance, behind * back, behind)


def solar_gain(
    exposure: Exposure, weather: Weather, hours: Float[np.ndarray, " hours"]
) -> Float[np.ndarray, "hours surfaces"]:
    """Sunlight that becomes heat at the surfaces, in W/m²: vapour takes its share first, and rooms get none."""
    share = of_each(exposure.material, lambda each: each.absorptance * (1 - each.evaporation))
    light = sunlight(weather.day, weather.latitude, weather.cover, hours)
    return np.where(exposure.indoors, 0.0, share) * irradiance(light, exposure.normals, exposure.sky_view)


def front_exchange(exposure: Exposure, weather: Weather) -> Float[np.ndarray, " surfaces"]:
    """W/(m² K) between the surfaces and what touches them: a room's air, or wind and rain."""
    return np.where(exposure.indoors, _ROOM_CONVECTION, convection(weather) + wetting(weather))


def convection(weather: Weather) -> float:
    """McAdams: W/(m² K) between a surface and the wind."""
    return 5.7 + 3.8 * weather.wind


def wetting(weather: Weather) -> float:
    """W/(m² K) between a surface and the water that runs over it and evaporates."""
    return float(40 * (1 - np.exp(-weather.rain / 2)))


def _back_exchange(weather: Weather) -> Float[np.ndarray, " kinds"]:
    """W/(m² K) at the back, by Behind: a room's air and walls, outdoor air and walls, half a metre of soil, nothing."""
    return np.array([_ROOM_CONVECTION + _RADIATIVE, convection(weather) + _RADIATIVE, 2.0, 0.0])


def settle(
    slab: Slabs, face: Faces, start: Float[np.ndarray, " surfaces"] | None = None, days: int = 3
) -> Float[np.ndarray, "steps surfaces"]:
    """Surface temperatures in K through the last of some equal days.

    The slabs begin evenly at `start`, or else in balance with the day's means, from where three days come within 0.05 K
    of the periodic solution for every material, whatever is behind it. Steps are of the second-order backward
    difference formula, which is right to 0.03 K where implicit Euler is to 0.15 K.
    """
    now = _balance(slab, face) if start is None else np.broadcast_to(start, slab.capacity.shape)
    elimination = _Elimination(slab, face, rate=1.5 / STEP)
    before, cycle = now, np.empty(face.gain.shape)
    for step in range(1, days * STEPS + 1):
        held = slab.capacity * ((2 / STEP) * now - (0.5 / STEP) * before)
        at = step % STEPS
        before, now = now, elimination.solve(held, face.gain[at], face.back_gain[at], 2 * now[0] - before[0])
        cycle[at] = now[0]
    return cycle


def _balance(slab: Slabs, face: Faces) -> Float[np.ndarray, "nodes surfaces"]:
    """Temperatures that the means of the day would lead to, if they lasted."""
    guess = np.full(face.exchange.shape, 290.0)
    still = np.zeros(slab.capacity.shape)
    return _Elimination(slab, face, rate=0.0).solve(still, face.gain.mean(axis=0), face.back_gain.mean(axis=0), guess)


class _Elimination:
    """The tridiagonal system of one step, eliminated from the back to the front.

    In this order everything but the front's own equation, the only one that is not linear, is the same in every step.
    """

    def __init__(self, slab: Slabs, face: Faces, rate: float) -> None:
        self._emittance = face.emittance
        pivots = rate * slab.capacity
        pivots[:-1] += slab.conductance
        pivots[1:] += slab.conductance
        pivots[0] += face.exchange
        pivots[-1] += face.back_exchange
        for node in range(len(pivots) - 2, -1, -1):
            pivots[node] -= slab.conductance[node] ** 2 / pivots[node + 1]
        self._pivots = pivots
        self._shares = slab.conductance / pivots[1:]

    def solve(
        self,
        held: Float[np.ndarray, "nodes surfaces"],
        gain: Float[np.ndarray, " surfaces"],
        back_gain: Float[np.ndarray, " surfaces"],
        guess: Float[np.ndarray, " surfaces"],
    ) -> Float[np.ndarray, "nodes surfaces"]:
        """Temperatures for right-hand sides in W/m²; the guess is for the front."""
        right = held.copy()
        right[0] += gain
        right[-1] += back_gain
        for node in range(len(right) - 2, -1, -1):
            right[node] += self._shares[node] * right[node + 1]
        right[0] = self._front(right[0], guess)
        for node in range(1, len(right)):
            right[node] = right[node] / self._pivots[node] + self._shares[node - 1] * right[node - 1]
        return right

    def _front(
        self, right: Float[np.ndarray, " surfaces"], guess: Float[np.ndarray, " surfaces"]
    ) -> Float[np.ndarray, " surfaces"]:
        """Newton's method for p T + e T⁴ = r; from 10 K away three steps reach a nanokelvin."""
        pivot, front = self._pivots[0], guess
        for _ in range(3):
            radiated = self._emittance * front**3
            front = (right + 3 * radiated * front) / (pivot + 4 * radiated)
        return front
