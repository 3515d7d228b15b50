"""APE and RPE of positions against evo on the same trajectories."""

import numpy as np
import pytest
from evo.core import metrics
from evo.core.trajectory import PoseTrajectory3D
from evo.core.units import Unit

from tmapr.evaluation.errors import position_errors
from tmapr.evaluation.pose_errors import Delta, relative_errors, summarize_poses

UNITS = {"frames": Unit.frames, "metres": Unit.meters}


@pytest.fixture
def drive(rng):
    """A winding way of 240 positions, and the same seen with noise and drift."""
    heading = np.cumsum(rng.normal(size=240) * 0.1)
    truth = 0.7 * np.cumsum(np.column_stack([np.cos(heading), np.sin(heading)]), axis=0)
    drift = np.cumsum(0.05 * rng.normal(size=(240, 2)), axis=0)
    return truth, truth + drift + 0.3 * rng.normal(size=(240, 2))


def evos(*tracks):
    """Positions with the axes of the map."""
    level, seconds = np.tile([1.0, 0.0, 0.0, 0.0], (len(tracks[0]), 1)), 0.1 * np.arange(len(tracks[0]))
    return tuple(PoseTrajectory3D(np.column_stack([track, np.zeros(len(track))]), level, seconds) for track in tracks)


def test_ape_is_that_of_evo(drive):
    metric = metrics.APE()
    metric.process_data(evos(*drive))
    found = position_errors(drive[1], drive[0])
    np.testing.assert_allclose(found, metric.error, atol=1e-12)
    assert summarize_poses(found).model_dump() == pytest.approx(metric.get_all_statistics(), rel=1e-12)


@pytest.mark.parametrize(("value", "unit"), [(1, "frames"), (7, "frames"), (1.0, "metres"), (10.0, "metres")])
def test_rpe_is_that_of_evo(drive, value, unit):
    metric = metrics.RPE(delta=value, delta_unit=UNITS[unit])
    metric.process_data(evos(*drive))
    found = relative_errors(*drive, Delta(value, unit))
    np.testing.assert_allclose(found, metric.error, atol=1e-12)
    assert summarize_poses(found).model_dump() == pytest.approx(metric.get_all_statistics(), rel=1e-12)


def test_no_shift_changes_a_relative_error(drive):
    truth, estimate = drive
    moved = relative_errors(truth, estimate + np.array([300.0, -200.0]), Delta(7, "frames"))
    np.testing.assert_allclose(moved, relative_errors(truth, estimate, Delta(7, "frames")), atol=1e-9)


def straight(count=60, spacing=0.1):
    """Even steps of a tenth of a metre, which add up to a metre only after rounding."""
    return np.column_stack([spacing * np.arange(count), np.zeros(count)])


def test_even_steps_end_a_pair_where_evo_ends_it(rng):
    truth, seen = rng.normal(size=(60, 2)), straight()
    metric = metrics.RPE(delta=1.0, delta_unit=Unit.meters)
    metric.process_data(evos(truth, seen))
    np.testing.assert_allclose(relative_errors(truth, seen, Delta(1.0, "metres")), metric.error, atol=1e-12)


@pytest.mark.parametrize("delta", [Delta(60, "frames"), Delta(99.0, "metres")])
def test_poses_that_are_never_so_far_apart_have_no_relative_error(delta):
    assert len(relative_errors(straight(), straight(), delta)) == 0


def test_errors_of_nothing_are_refused():
    with pytest.raises(ValueError, match="must not be empty"):
        summarize_poses(np.zeros(0))
