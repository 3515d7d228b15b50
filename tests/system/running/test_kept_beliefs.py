"""A run keeps what the route filter believed beside its estimates; the paper's method believes nothing of the kind."""

import numpy as np
import pytest

from made_up import run_block, write_block
from tmapr.exceptions import InputError
from tmapr.running.finished import FinishedRun
from tmapr.running.progressive import localize
from tmapr.system import resume
from tmapr.types import RouteBelief


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_block(home, size=40.0)
    return home


def test_beliefs_are_those_of_the_localizer_and_go_with_the_paper_s_method(home):
    folder = run_block(home)
    run = FinishedRun.load(folder)
    trial = run.trial("night")
    again = localize(
        resume(run.experiment.system, run.environment, folder.state), trial.recording, range(len(trial.recording))
    )
    assert len(trial.beliefs) == len(again.estimates)
    nothing = RouteBelief(np.nan, np.nan, np.zeros(0, np.int64), np.zeros(0))  # of a frame that places nothing
    routes = [estimate.route or nothing for estimate in again.estimates]
    for frame, route in enumerate(routes):
        references, masses = trial.beliefs.after(frame)
        assert references.tolist() == route.rows.tolist()
        np.testing.assert_allclose(masses, route.masses, atol=0.004)
    np.testing.assert_array_equal(trial.table.p_place.values, [route.p_place for route in routes])
    np.testing.assert_array_equal(trial.table.p_off_map.values, [route.p_off_map for route in routes])

    run_block(home, "tracking.method='paper'")
    assert not folder.beliefs("night").exists()
    trial = FinishedRun.load(folder).trial("night")
    assert trial.beliefs is None
    assert not trial.table.p_place.known.any()


def test_beliefs_of_other_frames_than_the_estimates_are_refused(home):
    folder = run_block(home, "data.adapt=[]", "data.test=['night', 'dusk']")
    folder.beliefs("night").write_bytes(folder.beliefs("dusk").read_bytes())
    frames = len(FinishedRun.load(folder).trial("dusk").beliefs)
    with pytest.raises(InputError, match=rf"night.belief.npz: has {frames} frames, the estimates have \d+; run again"):
        FinishedRun.load(folder).trial("night")
