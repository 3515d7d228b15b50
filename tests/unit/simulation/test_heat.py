"""Temperatures against an independent solver, against closed forms, and against what thermographers see."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from panels import EAST, NORTH, SOUTH, WEST, panel, street, wall
from tmapr.simulation.heat import (
    STEP,
    STEPS,
    Exposure,
    Faces,
    cut_slabs,
    expose_faces,
    group_exposures,
    settle,
    solve_day,
    solve_temperatures,
)
from tmapr.simulation.materials import MATERIALS, Stuff
from tmapr.simulation.scene import Behind, join_scenes
from tmapr.simulation.weather import NAMED, Weather, air_temperature, wet_bulb_temperature

CLEAR = Weather()
MINUTES = np.arange(0, 24, 1 / 60)
SECONDS = STEP * np.arange(1, STEPS + 1)
FREEZING = 273.15


def at(weather, *parts):
    return solve_temperatures(join_scenes(parts), weather)


def above_air(weather, *parts):
    return at(weather, *parts) - air_temperature(weather, weather.hour)


def cut(*parts, weather=CLEAR):
    exposure = Exposure.of(join_scenes(parts))
    return cut_slabs(exposure), expose_faces(exposure, weather)


def integrated(slab, face, start, days):
    """The same node equations through the last day, by scipy's stiff solver with its own steps."""
    nodes, surfaces = slab.capacity.shape
    clock = STEP * np.arange(STEPS + 1)
    gain, back_gain = (np.vstack([rows, rows[:1]]) for rows in (face.gain, face.back_gain))

    def slope(seconds, flat):
        T = flat.reshape(nodes, surfaces)
        flux = slab.conductance * np.diff(T, axis=0)
        into = np.zeros_like(T)
        into[:-1] += flux
        into[1:] -= flux
        for surface in range(surfaces):
            now = seconds % (STEP * STEPS)
            into[0, surface] += np.interp(now, clock, gain[:, surface])
            into[-1, surface] += np.interp(now, clock, back_gain[:, surface])
        into[0] -= face.exchange * T[0] + face.emittance * T[0] ** 4
        into[-1] -= face.back_exchange * T[-1]
        return (into / slab.capacity).ravel()

    end = days * STEP * STEPS
    times = end - STEP * STEPS + SECONDS
    start = np.broadcast_to(start, (nodes, surfaces)).ravel()
    solution = solve_ivp(slope, (0, end), start, method="LSODA", t_eval=times, rtol=1e-6, atol=1e-4, max_step=1800)
    return np.roll(solution.y.reshape(nodes, surfaces, STEPS)[0].T, 1, axis=0)


@pytest.mark.parametrize(
    "part",
    [
        panel(Stuff.ASPHALT),
        panel(Stuff.PAINTED_METAL, behind=Behind.ITSELF),
        wall(Stuff.BRICK, EAST),
        wall(Stuff.GLASS, SOUTH, Behind.OUTDOORS, indoors=True),
    ],
    ids=["asphalt", "metal roof", "brick wall", "window from inside"],
)
def test_an_independent_solver_agrees_through_a_day(part):
    slab, face = cut(part)
    start = np.array([285.0])
    np.testing.assert_allclose(settle(slab, face, start, days=2), integrated(slab, face, start, days=2), atol=0.1)


def test_a_thick_slab_follows_a_sine_as_the_half_space_does():
    slab, face = cut(panel(Stuff.SOIL))
    soil, angle = MATERIALS[Stuff.SOIL], 2 * np.pi * np.arange(STEPS) / STEPS
    gain = (15 * 290 + 100 * np.cos(angle))[:, None]
    linear = Faces(
        gain, np.array([15.0]), np.zeros(1), face.back_exchange * np.full((STEPS, 1), 290.0), face.back_exchange
    )
    admittance = np.sqrt(2j * np.pi / 86400 * soil.conductivity * soil.heat_capacity)
    expected = 290 + np.real(100 / (15 + admittance) * np.exp(1j * angle))
    np.testing.assert_allclose(settle(slab, linear, days=6)[:, 0], expected, atol=0.1)


def test_under_constant_forcing_as_much_heat_enters_in_front_as_leaves_behind():
    slab, face = cut(panel(Stuff.CONCRETE, behind=Behind.ROOM))
    steady = replace(
        face,
        gain=np.tile(face.gain.mean(axis=0), (STEPS, 1)),
        back_gain=np.tile(face.back_gain.mean(axis=0), (STEPS, 1)),
    )
    front = settle(slab, steady, days=1)[0]
    enters = steady.gain[0] - steady.exchange * front - steady.emittance * front**4
    resistance = 1 / face.back_exchange + (1 / slab.conductance).sum(axis=0)
    leaves = (front - steady.back_gain[0] / face.back_exchange) / resistance
    np.testing.assert_allclose(enters, leaves, rtol=1e-6)


def test_a_sheet_loses_by_night_what_it_gained_by_day():
    slab, face = cut(panel(Stuff.CONCRETE, behind=Behind.ITSELF), panel(Stuff.METAL, behind=Behind.ITSELF))
    front = settle(slab, face, days=8)
    np.testing.assert_allclose(
        (face.gain - face.exchange * front - face.emittance * front**4).mean(axis=0), 0, atol=0.1
    )


def test_the_answer_does_not_depend_on_the_start():
    slab, face = cut(*(panel(stuff) for stuff in Stuff))
    cold = settle(slab, face, np.full(len(Stuff), 260.0), days=16)
    np.testing.assert_allclose(settle(slab, face), cold, atol=0.05)


def test_equal_surfaces_solved_once_equal_each_solved_alone():
    parts = [panel(Stuff.ASPHALT), wall(Stuff.BRICK, WEST), panel(Stuff.ASPHALT), wall(Stuff.BRICK, EAST)]
    np.testing.assert_allclose(at(CLEAR, *parts), [float(at(CLEAR, part)[0]) for part in parts], rtol=1e-12)


def test_copies_are_one_exposure():
    exposure, which = group_exposures(Exposure.of(join_scenes([street(), street()])))
    assert len(exposure.material) == len(street())
    np.testing.assert_array_equal(which[: len(street())], which[len(street()) :])


@pytest.mark.parametrize(
    "other",
    [
        wall(Stuff.CONCRETE, SOUTH),
        wall(Stuff.BRICK, NORTH),
        panel(Stuff.BRICK, SOUTH, 0.3, Behind.ROOM),
        wall(Stuff.BRICK, SOUTH, Behind.OUTDOORS),
        panel(Stuff.BRICK, SOUTH, 0.45, Behind.ROOM, indoors=True),
        panel(Stuff.BRICK, SOUTH, 0.45, Behind.ROOM, power=50.0),
    ],
    ids=["material", "normal", "sky view", "behind", "indoors", "power"],
)
def test_surfaces_that_differ_are_not_taken_for_equal(other):
    warm = at(CLEAR, wall(Stuff.BRICK, SOUTH), other)
    assert abs(warm[1] - warm[0]) > 0.2


def test_rounding_exposures_costs_less_than_half_a_kelvin(rng):
    shares = rng.uniform(0.2, 1.0, 40)
    exposure = Exposure.of(join_scenes([panel(Stuff.ASPHALT, sky_view=float(share)) for share in shares]))
    exact = settle(cut_slabs(exposure), expose_faces(exposure, CLEAR))
    kinds, which = group_exposures(exposure)
    assert np.median(np.abs(settle(cut_slabs(kinds), expose_faces(kinds, CLEAR))[:, which] - exact).max(axis=0)) < 0.5


def test_the_cycle_passes_through_the_temperature_of_the_hour():
    scene = street()
    cycle = solve_day(scene, CLEAR, np.array([3.0, 12.0, 36.0]))
    np.testing.assert_allclose(cycle[1:], np.tile(solve_temperatures(scene, CLEAR), (2, 1)))


@pytest.mark.parametrize("stuff", [Stuff.BRICK, Stuff.CONCRETE])
def test_the_walls_that_face_east_south_and_west_peak_in_that_order(stuff):
    walls = join_scenes([wall(stuff, side) for side in (EAST, SOUTH, WEST)])
    east, south, west = MINUTES[solve_day(walls, CLEAR, MINUTES).argmax(axis=0)]
    assert 8 < east < south - 2 < west - 3 < 15


def test_thin_metal_and_concrete_change_places_exactly_twice_a_day():
    roofs = join_scenes([panel(Stuff.PAINTED_METAL, behind=Behind.ITSELF), panel(Stuff.CONCRETE)])
    metal, concrete = solve_day(roofs, CLEAR, MINUTES).T
    warmer = metal > concrete
    assert warmer[14 * 60]
    assert not warmer[2 * 60]
    assert np.count_nonzero(warmer != np.roll(warmer, 1)) == 2


def test_a_metal_roof_at_night_is_several_kelvin_below_the_air():
    assert -8 < above_air(NAMED["night"], panel(Stuff.PAINTED_METAL, behind=Behind.ITSELF))[0] < -3


@pytest.mark.parametrize("name", ["noon", "night", "rain", "winter-night"])
def test_a_partition_between_rooms_is_near_room_temperature(name):
    assert 18 < at(NAMED[name], wall(Stuff.PLASTER, NORTH, indoors=True))[0] - FREEZING < 21.5


def test_a_radiator_gives_its_power_to_air_and_walls():
    (radiator,) = at(CLEAR, panel(Stuff.PAINTED_METAL, NORTH, 0.0, Behind.ITSELF, indoors=True, power=200.0))
    given = 3.0 * (radiator - 294) + 0.9 * 5.670374e-8 * (radiator**4 - 294.0**4)
    assert given == pytest.approx(200, abs=1)


def test_rain_pulls_every_surface_to_the_wet_bulb():
    rain = NAMED["rain"]
    wet, dry = (
        np.abs(solve_temperatures(street(), weather) - wet_bulb_temperature(rain, rain.hour))
        for weather in (rain, replace(rain, rain=0.0))
    )
    assert np.all(wet < 0.6 * dry)
