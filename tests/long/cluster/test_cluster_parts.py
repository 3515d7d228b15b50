"""A map made in parts by one process: its percepts are those of `tmapr map`, byte for byte, and work is done once."""

import shutil

import numpy as np
import pytest

from clustered import PART, digest_results, digest_tree, find_files, map_walk, read_walk
from commandline import command
from tmapr.artifacts.arrays import load_arrays
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.lock import writing
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.cluster import work
from tmapr.cluster.encoding import plan_encoding
from tmapr.cluster.mapping import encode_share
from tmapr.cluster.orders import read_order
from tmapr.cluster.workers import Alone
from tmapr.cluster.workshop import Workshop
from tmapr.exceptions import InputError
from tmapr.places.repeating import Views, forget_all, repeat
from tmapr.running.encoding import Encoding
from tmapr.running.running import run_experiment
from tmapr.system import Map
from tmapr.traverses import gather
from tmapr.types import Fault
from walked import view


class Counting(Alone):
    """Works alone, and remembers what it was asked for."""

    def __init__(self, fails_after=None):
        self.asked = []
        self._fails_after = fails_after

    def carry_out(self, orders, watch):
        self.asked += [order.stage for order in orders]
        if self._fails_after is not None and orders:
            super().carry_out(orders[: self._fails_after], watch)
            raise KeyboardInterrupt
        super().carry_out(orders, watch)


@pytest.fixture
def home(walked, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(walked, tmp_path / "home", symlinks=True)
    text = (walked / "walk.toml").read_text().replace(str(walked), str(tmp_path / "home"))
    (tmp_path / "home/walk.toml").write_text(text)
    return tmp_path / "home"


def test_percepts_and_keypoints_are_those_of_mapping_in_turn_byte_for_byte(walked):
    in_turn, in_parts = (digest_tree(walked / run / "percepts") for run in ("turn", "alone"))
    assert in_parts == in_turn


def test_an_image_is_compared_with_the_last_of_the_part_before(walked):
    percepts = Recording.load(walked / "alone/percepts/noon.npz").percepts
    assert [percepts[row].fault for row in (6, 7, PART)] == [Fault.INVALID, None, Fault.FROZEN]


def test_m0_u_and_g_are_those_of_mapping_in_turn(walked):
    in_turn, in_parts = (load_arrays(walked / run / "map.npz", "map", 1)[1] for run in ("turn", "alone"))
    assert in_parts.keys() == in_turn.keys()
    for name in in_turn:
        if not name.startswith("initial.ridge.") and name != "lessons.weights":
            np.testing.assert_array_equal(in_parts[name], in_turn[name], err_msg=name)


def test_the_map_notes_the_weights_that_k_and_w_are_of(walked):
    environment = Map.load(walked / "alone/map.npz", read_walk(walked).system)
    traverses = gather([Recording.load(walked / "alone/percepts/noon.npz")])
    lessons, settings, fitted = environment.lessons, environment.places, environment.fitted
    views = Views(traverses.descriptors, traverses.positions, lessons.weights[lessons.order])
    again, _ = repeat(settings, fitted, forget_all(settings, fitted, environment.initial), views)
    ridge = environment.classifier().ridge
    np.testing.assert_allclose(again.ridge.weights, ridge.weights, atol=1e-8 * np.abs(ridge.weights).max())
    np.testing.assert_allclose(again.ridge.covariance, ridge.covariance, atol=1e-8 * np.abs(ridge.covariance).max())


def test_nothing_of_the_work_is_left(walked):
    assert not (walked / "alone/jobs").exists()


def test_the_map_localizes(home):
    folder = RunFolder(home / "alone")
    run_experiment(read_walk(home), folder)
    assert folder.estimates("night").exists()


def test_an_interrupted_map_goes_on_and_is_the_same(home):
    told, workers = [], Counting(fails_after=1)
    with pytest.raises(KeyboardInterrupt) as stopped:
        map_walk(home, "again", workers)
    assert "1 of 2 parts are encoded and kept; the same command goes on" in stopped.value.__notes__
    workers = Counting()
    folder = map_walk(home, "again", workers, told=told)
    assert told == ["1 of 2 parts are encoded already"]
    assert workers.asked == ["encode", "sum", "sum"]
    assert digest_results(folder) == digest_results(RunFolder(home / "alone"))


def test_an_order_that_is_done_is_not_done_again(home):
    folder = RunFolder(home / "again")
    encoding = Encoding(read_walk(home), folder)
    (orders,) = plan_encoding(read_walk(home), Workshop.of(folder), encoding, "cpu", PART).values()
    assert [(order.begin, order.end) for order in orders] == [(0, 8), (8, 16)]
    work.perform(orders[0].as_json())
    made = Workshop.of(folder).part(orders[0].key)
    before = made.stat()
    work.perform(orders[0].as_json())
    assert made.stat() == before


def test_parts_of_a_recording_that_has_changed_are_others(home):
    def plan():
        folder = RunFolder(home / "again")
        planned = plan_encoding(read_walk(home), Workshop.of(folder), Encoding(read_walk(home), folder), "cpu", PART)
        return [order.key for order in planned["noon"]]

    before = plan()
    assert plan() == before
    write_frame(home / "data/noon/03.png", view(3, seed=42))
    assert not set(plan()) & set(before)


def test_percepts_that_are_there_are_not_encoded_again(home):
    workers = Counting()
    (home / "alone/map.npz").unlink()
    map_walk(home, "alone", workers)
    assert workers.asked == ["sum", "sum"]


def test_shares_of_an_array_make_what_one_command_makes(home):
    folder, experiment = RunFolder(home / "shares"), read_walk(home)
    done = [encode_share(experiment, folder, Encoding(experiment, folder), (k, 3), "cpu", iter) for k in (1, 2, 3)]
    assert done == [1, 0, 0]  # of 512 frames each there is one part
    assert command("map", home / "walk.toml", "--run", home / "shares", "--cluster", "1", "--quiet") == 0
    assert digest_tree(home / "shares/percepts") == digest_tree(home / "turn/percepts")


def test_shares_may_be_encoded_while_somebody_writes_the_folder(home):
    with writing(home / "shares"):
        assert command("map", home / "walk.toml", "--run", home / "shares", "--job", "1/1", "--quiet") == 0
    assert len(find_files(home / "shares/jobs/parts")) == 2  # percepts and keypoints


def test_an_order_of_another_version_is_refused(home, tmp_path):
    line = '{"stage": "sum", "tmapr": "0.0.1", "workshop": "/", "key": "a"}'
    with pytest.raises(InputError, match=r"has tmapr \S+, the order is of 0\.0\.1; install one version everywhere"):
        read_order(line)


def test_a_worker_that_does_not_see_the_run_folder_says_so(home):
    folder = RunFolder(home / "again")
    planned = plan_encoding(read_walk(home), Workshop.of(folder), Encoding(read_walk(home), folder), "cpu", PART)
    shutil.rmtree(folder.path)
    with pytest.raises(InputError, match=r"does not see .*/again/jobs; the run folder must lie on a file system"):
        work.perform(planned["noon"][0].as_json())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--cluster", "everywhere"], "--cluster everywhere: allowed are local, pool, a number of processes"),
        (["--cluster", "0"], "--cluster 0: must be within 1 and 1024 processes"),
        (["--job", "4/3"], "--job 4/3: must be K/N with K from 1 to N, as 3/16"),
        (["--job", "1/3", "--cluster", "2"], "--job: goes without --cluster and --force"),
        (
            ["--cluster", "1", "--set", "places.attenuation.mode=minimax"],
            "mapping in parts needs a ridge solution, which the minimax recursion is not",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line_and_nothing_is_written(walked, tmp_path, options, told, capsys):
    assert command("map", walked / "walk.toml", "--run", tmp_path / "run", *options) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()
