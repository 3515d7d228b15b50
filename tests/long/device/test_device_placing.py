"""A placer whose filter runs on a device says of every frame what the host's says, and goes on where it stopped."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from routes import SPEED, eight, lay, line, look, ring, shake
from second_streams import rendered_stream
from tmapr.device.filter import DeviceRouteFilter
from tmapr.device.placing import Ahead, DevicePlacer, split_numbers
from tmapr.device.views import Glimpse, ViewFilter
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.system import System, build, make_map
from tmapr.tracking.place import Placer
from tmapr.types import NANOSECONDS, Comparison, Odometry, Percept, Reason

CPU = torch.device("cpu")
RADIUS = 10.0
WAYS = {
    "a loop": (shake(ring(150), 1),),
    "an open way": (shake(line(140), 2),),
    "there and back": (shake(line(80), 3), shake(line(80, beside=1.5)[::-1], 5)),
    "a crossing": (shake(eight(150), 6),),
}
ROUTES = {name: lay(*way) for name, way in WAYS.items()}
MAPPED = {name: look(np.concatenate(way), np.random.default_rng(1)) for name, way in WAYS.items()}


def compare(mapped, descriptor, whole=True):
    cosines = mapped @ descriptor
    centre = np.median(cosines)
    similarity = (cosines - centre) / (1.4826 * np.median(np.abs(cosines - centre)))
    return Comparison(similarity, 0.1 * np.roll(similarity, 1), cosines if whole else None)


def film(name, rng, frames=200):
    """A drive along a way, with a stop, a jump, and a stretch that was never mapped; odometry for some of it."""
    way = np.concatenate(WAYS[name])
    at = 1.8 * np.arange(frames)
    at[60:75] = at[60]
    at[75:] += at[60] - at[75]
    at[120:] += 40.0
    spots = np.array([np.interp(at % (len(way) - 1), np.arange(len(way)), axis) for axis in way.T]).T
    spots[150:175] += [0.0, 300.0]
    seen = look(spots, rng, noise=0.1)
    seen[60:75] = seen[60]
    waits = np.round(1e9 * rng.uniform(0.1, 0.2, frames)).astype(np.int64)
    waits[100] *= 300
    told = [Odometry(speed=SPEED, yaw_rate=0.02) if 100 < n < 150 or n > 185 else None for n in range(frames)]
    return [
        Percept(int(stamp), view, position=spot + rng.normal(0.0, 3.0, 2), motion=motion)
        for stamp, view, spot, motion in zip(10**15 + np.cumsum(waits), seen, spots, told, strict=True)
    ]


def same_placing(found, wanted):
    assert (found.peak, found.new_view) == (wanted.peak, wanted.new_view)
    for name in ("p_place", "p_off_map", "share", "view_metres"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-9), name
    np.testing.assert_array_equal(found.rows, wanted.rows)
    np.testing.assert_array_equal(found.near, wanted.near)
    for name in ("masses", "position", "covariance"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-8, err_msg=name)


def same_view(found, wanted):
    assert (found is None) == (wanted is None)
    if found is not None:
        np.testing.assert_array_equal(found.rows, wanted.rows)
        np.testing.assert_allclose(found.masses, wanted.masses, atol=1e-9)
        assert found.metres == pytest.approx(wanted.metres)


def same_arrays(found, wanted):
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        if name != "reach":
            np.testing.assert_allclose(found[name], array, err_msg=name, rtol=0, atol=1e-9)
    # A mean, weighted by what is off the map: where that is next to nothing, by rounding.
    left = wanted["off"] > 1e-9
    np.testing.assert_allclose(found["reach"][left], wanted["reach"][left], rtol=1e-9)


def follow(placers, name, percepts, before=None):
    """What each placer says of each frame."""
    before = before or percepts[0]
    for percept in percepts:
        seconds = (percept.stamp - before.stamp) / NANOSECONDS
        compared = compare(MAPPED[name], percept.descriptor)
        for placer in placers:
            placer.note_motion(percept.motion, seconds)
            placer.note_turn(percept.motion and percept.motion.yaw_rate * seconds)
        yield percept, [placer.observe(percept, compared, percept.position) for placer in placers]
        before = percept


@pytest.mark.parametrize("name", WAYS)
def test_every_frame_of_a_drive_is_placed_as_on_the_host(name, rng):
    host, device = Placer(ROUTES[name], RADIUS), DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    for placer in (host, device):
        placer.head.expect(3.0)
    certain, new = 0, 0
    for _, (wanted, found) in follow((host, device), name, film(name, rng)):
        same_placing(found, wanted)
        same_view(device.view, host.view)
        certain, new = certain + (wanted.p_place > 0.95), new + wanted.new_view
    same_arrays(device.arrays(), host.arrays())
    # A drive on which nothing happens would prove nothing.
    assert 20 < certain < 180
    assert 60 < new < 180


def test_a_host_s_placer_and_a_device_s_take_over_from_each_other(rng):
    name = "a crossing"
    percepts = film(name, rng)
    whole, first = Placer(ROUTES[name], RADIUS), DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    wanted = [placings[0] for _, placings in follow((whole,), name, percepts)]
    for _ in follow((first,), name, percepts[:50]):
        pass
    host = Placer(ROUTES[name], RADIUS)
    host.restore(first.arrays())
    found = [placings[0] for _, placings in follow((host,), name, percepts[50:95], percepts[49])]
    last = DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    last.restore(host.arrays())
    found += [placings[0] for _, placings in follow((last,), name, percepts[95:], percepts[94])]
    for each, other in zip(found, wanted[50:], strict=True):
        same_placing(each, other)
    same_arrays(last.arrays(), whole.arrays())


def test_every_verdict_along_a_rendered_drive_is_the_host_s():
    """Laps of a rendered campus in four weathers: on the map and off it, and frames that look like nothing mapped."""
    stream, system = rendered_stream(), System(places=Places(projection=Projection(dimension=64)))
    environment = make_map(system, stream.reference)
    host, device = build(system, environment), build(system, environment)
    placer = device.tracker.placer
    device.tracker.placer = DevicePlacer(placer.route, placer.radius, device.classifier.dimension, CPU)
    told = []
    for percept in stream.percepts[::20]:
        wanted, found = host.observe(percept), device.observe(percept)
        assert (found.status, found.verdict.reason) == (wanted.status, wanted.verdict.reason)
        np.testing.assert_allclose(found.belief.mean, wanted.belief.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.belief.covariance, wanted.belief.covariance, rtol=1e-9, atol=1e-9)
        told.append(wanted.verdict.reason)
    assert {Reason.ACCEPTED, Reason.OFF_MAP} < set(told)
    same_arrays(device.tracker.placer.arrays(), host.tracker.placer.arrays())


def test_a_start_that_somebody_told_is_that_of_the_host():
    name = "a loop"
    host, device = Placer(ROUTES[name], RADIUS), DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    for placer in (host, device):
        placer.start_around(np.array([40.0, 3.0]), 5.0)
    same_arrays(device.arrays(), host.arrays())
    for one, other in zip(device.filter.list_modes(), host.filter.list_modes(), strict=True):
        np.testing.assert_allclose(one, other)


def test_local_matches_count_as_on_the_host(rng):
    name = "a loop"
    host, device = Placer(ROUTES[name], RADIUS), DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    for percept in film(name, rng)[:20]:
        matched = np.full(len(MAPPED[name]), np.nan)
        matched[rng.integers(len(matched), size=13)] = rng.uniform(-1.0, 4.0, 13)
        compared = replace(compare(MAPPED[name], percept.descriptor, whole=False), local=matched)
        wanted, found = (placer.observe(percept, compared, None) for placer in (host, device))
        same_placing(found, wanted)
    same_arrays(device.arrays(), host.arrays())


def glimpse_at(placer, percept, compared):
    """What a frame looks like there, as a graph finds it."""
    looks = (torch.tensor(each) for each in (percept.descriptor, compared.similarity, compared.place))
    cosine = None if compared.cosine is None else torch.tensor(compared.cosine)
    placer.send_local(compared)
    numbers = torch.tensor(placer.list_numbers(percept.stamp, 0.0, None))
    return Glimpse(*looks, cosine, placer.local, *split_numbers(numbers))


def test_a_frame_that_was_looked_at_ahead_is_placed_as_any(rng):
    name = "there and back"
    ahead, made = (DevicePlacer(ROUTES[name], RADIUS, 48, CPU) for _ in range(2))
    for percept in film(name, rng)[:30]:
        compared = compare(MAPPED[name], percept.descriptor, whole=False)
        told = torch.zeros_like(ahead.told)
        ahead.settle()
        ahead.look(glimpse_at(ahead, percept, compared), told)
        ahead.expect(Ahead(compared, told.numpy()))
        same_placing(*(placer.observe(percept, compared, None) for placer in (ahead, made)))
    same_arrays(ahead.arrays(), made.arrays())


def test_a_frame_that_is_dropped_was_never_there(rng):
    name = "a loop"
    device = DevicePlacer(ROUTES[name], RADIUS, 48, CPU)
    for _ in follow((device,), name, film(name, rng)[:10]):
        pass
    before = {name: array.copy() for name, array in device.arrays().items()}
    strange = Percept(10**16, look([[500.0, 500.0]], rng)[0])
    told = torch.zeros_like(device.told)
    device.look(glimpse_at(device, strange, compare(MAPPED[name], strange.descriptor)), told)
    assert told.any()
    for name, array in device.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_nothing_is_asked_of_the_host_while_a_frame_is_looked_at():
    """Tensors without content refuse every question: it would be a wait on a device, and no graph could be recorded."""
    empty = torch.device("meta")
    for route in (ROUTES["a loop"], ROUTES["there and back"]):
        views = ViewFilter(DeviceRouteFilter(route, empty), RADIUS)
        columns, number = torch.zeros(len(route), dtype=torch.float64, device=empty), torch.zeros((), device=empty)
        frame = Glimpse(
            descriptor=torch.zeros(48, dtype=torch.float64, device=empty),
            similarity=columns,
            place=columns,
            cosine=columns,
            local=columns,
            stamp=number.to(torch.int64),
            numbers=torch.zeros(7, dtype=torch.float64, device=empty),
        )
        state = views.begin(48)
        after, told = views.look(state, frame)
        assert [each.shape for each in after.belief] == [each.shape for each in state.belief]
        assert {each.dtype for each in (*after.belief, *told)} == {torch.float64}
        assert sum(map(len, told)) == 9 + 3 * len(route) + 2 * len(state.belief.off)
