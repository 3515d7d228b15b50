"""The route filter on a device against the host's, belief by belief, and its motion against the compiled one."""

import numpy as np
import pytest
import torch

from routes import ROUTES, random_evidence, random_step
from tmapr.device.filter import DeviceRouteFilter, DeviceStep
from tmapr.tracking.filter import RouteFilter

CPU = torch.device("cpu")
RADIUS = 10.0


def put(number):
    return torch.tensor(float("nan") if number is None else number, dtype=torch.float64)


def put_step(step):
    return DeviceStep(put(step.seconds), put(step.change), put(step.metres))


def same_belief(found, host, atol=1e-12):
    np.testing.assert_allclose(found.mass[0].numpy(), host.on, rtol=0, atol=atol)
    np.testing.assert_allclose(found.mass[1].numpy(), host.mimic, rtol=0, atol=atol)
    np.testing.assert_allclose(found.off.numpy(), host.off, rtol=0, atol=atol)
    np.testing.assert_allclose(found.pace.numpy(), host.pace, rtol=0, atol=atol)
    assert float(found.begun) == pytest.approx(host._begun, abs=atol)
    # Metres up to a billion, and a mean weighted by what may be as small as rounding.
    np.testing.assert_allclose(found.reach.numpy(), host.reach, rtol=1e-9)


@pytest.mark.parametrize("name", ROUTES)
def test_every_belief_equals_the_host_s_after_every_step(name, rng):
    route = ROUTES[name]
    host, device = RouteFilter(route), DeviceRouteFilter(route, CPU)
    belief = device.restart()
    same_belief(belief, host)
    for view in range(60):
        step, evidence = random_step(rng), random_evidence(rng, len(route))
        arriving = host.predict(step)
        belief, came = device.predict(belief, put_step(step))
        np.testing.assert_allclose(came.numpy(), arriving, rtol=0, atol=1e-9)
        same_belief(belief, host, atol=1e-9)
        told = host.update(evidence, arriving)
        belief, whole = device.update(belief, torch.tensor(evidence), came)
        assert float(whole) == pytest.approx(told, abs=1e-9)
        if view % 3 == 0:
            odds = float(rng.uniform(-1.0, 1.0))
            host.weigh_map(odds)
            belief, _ = device.weigh_map(belief, put(odds))
        same_belief(belief, host, atol=1e-9)
        peak, around = device.find_peak(belief.where, RADIUS)
        expected = host.find_peak(RADIUS)
        assert (int(peak), float(around)) == (expected[0], pytest.approx(expected[1], abs=1e-9))
        assert float(belief.p_off) == pytest.approx(host.p_off, abs=1e-9)
        assert float(device.measure_view(belief.where)) == pytest.approx(host.metres_a_view, rel=1e-9)
