"""What a localizer is survives a restart; maps and states of other settings or maps are read or refused."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import tmapr
from taught import DIM, METHODS, SMALL, SYSTEM, restarted, traverse
from tmapr.artifacts.arrays import digest, load_arrays, save_arrays
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.percepts import Recording
from tmapr.config import changed, dump_toml
from tmapr.exceptions import InputError, StateError
from tmapr.experiment import Experiment
from tmapr.labels import Labels
from tmapr.perception.settings import Perception
from tmapr.places.projection import Projection
from tmapr.running.progressive import localize
from tmapr.stages import STATE_KIND, STATE_VERSION
from tmapr.system import Map, System, build, make_map, resume
from tmapr.tracking import Gates, Tracking


@pytest.fixture(scope="module")
def elsewhere():
    """Another map of the same settings."""
    return make_map(SYSTEM, traverse(5, "noon"))


LEARNED = ("classifier.", "lessons.", "track.labelled", "track.head")


def unlearned(localizer):
    """Everything but the classifier, and what labels said of evidence."""
    return {name: array for name, array in localizer.arrays().items() if not name.startswith(LEARNED)}


def test_a_restored_localizer_is_described_by_the_same_arrays(tracked, block):
    told = tracked.arrays()
    assert told["track.proof"].any()
    again = build(SYSTEM, block)
    again.restore(told, "route")
    assert again.arrays().keys() == told.keys()
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, told[name], err_msg=name)


# Thirty frames around the frozen shutter, so that labels are held, missing and due.
OWN = Perception(encoder="own")
ROWS = range(210, 240)
LABELS = {
    "off": Labels(),
    "truth": Labels(mode="truth", delay=5),
    "fused": Labels(mode="fused", max_semi_axis=20.0, min_margin=0.0),
}
TEACHES = {("route", "truth"), ("paper", "truth"), ("paper", "fused")}
"""The route filter's own past takes longer: see `test_student.py`."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("stop", [1, 8, 17])
def test_stopping_and_continuing_equals_never_stopping(method, labels, stop, block, stream, run):
    system = changed(METHODS[method], {"labels": LABELS[labels]})
    steady, stopped = build(system, block), build(system, block)
    whole = localize(steady, stream, ROWS)
    assert whole.learned.any() == ((method, labels) in TEACHES)
    first = localize(stopped, stream, ROWS[:stop])
    continued = restarted(stopped, system, run)
    second = localize(continued, stream, ROWS[stop:])
    for estimate, expected in zip(first.estimates + second.estimates, whole.estimates, strict=True):
        np.testing.assert_array_equal(estimate.belief.mean, expected.belief.mean)
        np.testing.assert_array_equal(estimate.belief.covariance, expected.belief.covariance)
        assert (estimate.verdict, estimate.status) == (expected.verdict, expected.status)
    assert digest(continued.arrays()) == digest(steady.arrays())


def test_saving_to_a_new_folder_makes_one_that_is_all_that_loading_needs(tracked, stream, run, tmp_path_factory):
    write_text(run / "experiment.toml", dump_toml(Experiment(perception=OWN, system=SYSTEM)))
    tracked.save(run)
    new = tmp_path_factory.mktemp("elsewhere") / "to" / "new"
    tmapr.load(run).save(new)
    shutil.rmtree(run)
    again = tmapr.load(new)
    left, right = again.observe(stream.percepts[30]), tracked.observe(stream.percepts[30])
    np.testing.assert_array_equal(left.belief.covariance, right.belief.covariance)


def test_a_run_folder_without_a_state_starts_from_the_map(block, run):
    write_text(run / "experiment.toml", dump_toml(Experiment(perception=OWN, system=SYSTEM)))
    assert digest(tmapr.load(run).arrays()) == digest(build(SYSTEM, block).arrays())


def test_without_a_map_nothing_is_saved_or_loaded(tracked, tmp_path):
    with pytest.raises(InputError, match=r"map\.npz"):
        tracked.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"map\.npz.*`tmapr map"):
        tmapr.load(tmp_path)


def test_a_state_of_another_map_or_other_settings_is_refused(tracked, block, elsewhere, run):
    tracked.save(run)
    other = System(places=SMALL.model_copy(update={"ridge": 3.0}))
    for system, place in ((SYSTEM, elsewhere), (other, block)):
        with pytest.raises(InputError, match=r"state\.npz: belongs to another map"):
            resume(system, place, run / "state.npz")


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"cell": 10.0}, r"places\.cell = 15\.0 \(now 10\.0\).*`tmapr map`"),
        ({"projection": Projection(dimension=65)}, r"places\.projection\.dimension = 64"),
        ({"use": ("mixture",)}, r"places\.use = \['unscented', 'mixture', 'attenuation'\]"),
    ],
)
def test_a_map_made_with_other_places_is_refused_with_what_differs(changes, difference, run):
    with pytest.raises(InputError, match=rf"map\.npz: .*{difference}"):
        Map.load(run / "map.npz", System(places=SMALL.model_copy(update=changes)))


def test_a_map_serves_any_other_gates_and_labels(run):
    system = System(places=SMALL, tracking=Tracking(gates=Gates(min_similarity=0.5)), labels=Labels(mode="fused"))
    assert len(Map.load(run / "map.npz", system).memory)


@pytest.mark.parametrize("spoil", [{"faults": ["frozen"] * 4}, {"truth": np.full((4, 2), np.nan)}])
def test_a_reference_without_a_usable_frame_is_refused(spoil, rng):
    given = {"truth": rng.normal(size=(4, 2))} | spoil
    reference = Recording.from_arrays("dark", np.arange(4), rng.normal(size=(4, DIM)), **given)
    with pytest.raises(InputError, match="dark: no frame has both a position and a usable image"):
        make_map(SYSTEM, reference)


def test_mapping_again_removes_the_state_of_the_old_map(tracked, block, run):
    tracked.save(run)
    block.save(run / "map.npz")
    assert not (run / "state.npz").exists()


def spoilt_state(tracked, run, change, system=SYSTEM, **header):
    """The state of a run with some of its arrays or its header changed."""
    tracked.save(run)
    found, arrays = load_arrays(run / "state.npz", STATE_KIND, STATE_VERSION)
    change(arrays)
    save_arrays(run / "state.npz", replace(found, **header), arrays)
    return lambda: resume(system, Map.load(run / "map.npz", system), run / "state.npz")


def set_nan(name):
    def change(arrays):
        arrays[name] = arrays[name] * np.nan

    return change


@pytest.mark.parametrize("name", ["track.belief.mean", "classifier.ridge.weights", "classifier.ridge.tiles"])
def test_a_state_with_numbers_that_are_not_finite_is_an_error_with_advice(name, tracked, run):
    resumed = spoilt_state(tracked, run, set_nan(name))
    with pytest.raises(StateError, match=rf"state\.npz: {name} holds numbers that are not finite; go back"):
        resumed()


PARTS = ("classifier.grid.cells", "labels.held", "classifier.ridge.tiles", "classifier.ledger.names", "clock.moments")
LACKING = [(method, part) for method in METHODS for part in PARTS]
LACKING += [
    ("route", f"track.{name}")
    for name in ("filter.off", "filter.null.mass", "proof", "turned", "head", "odometry.views")
]
LACKING += [("paper", "track.dissenters")]


@pytest.mark.parametrize(("method", "name"), LACKING)
def test_a_state_that_lacks_an_array_is_refused(method, name, block, stream, run):
    localizer = build(METHODS[method], block)
    localize(localizer, stream, range(10))
    resumed = spoilt_state(localizer, run, lambda arrays: arrays.pop(name), METHODS[method])
    with pytest.raises(InputError, match=rf"state\.npz: .*{name!r}"):
        resumed()


@pytest.mark.parametrize("count", [1, 7])
def test_a_state_whose_reckoned_position_has_another_length_is_refused(count, tracked, run):
    resumed = spoilt_state(tracked, run, lambda arrays: arrays.update({"track.reckoned": np.zeros(count)}))
    with pytest.raises(InputError, match=rf"track\.reckoned must not be float64 of shape \({count},\)"):
        resumed()


@pytest.mark.parametrize(("before", "after"), [("route", "paper"), ("paper", "route")])
def test_with_the_other_method_a_drive_starts_anew_and_what_was_learned_stays(before, after, block, stream, run):
    used = build(METHODS[before], block)
    localize(used, stream, range(30))
    used.learn(stream.percepts[30], stream.truth[30])
    resumed = restarted(used, METHODS[after], run)
    assert digest(resumed.classifier.arrays()) == digest(used.classifier.arrays())
    assert digest(unlearned(resumed)) == digest(unlearned(build(METHODS[after], block)))


def older_map(run, change):
    """The map of a run as a version with other settings would have written it."""
    header, arrays = load_arrays(run / "map.npz", "map", 1)
    change(header.notes["places"])
    save_arrays(run / "map.npz", replace(header, settings="0" * 64), arrays)


def test_a_map_from_before_a_setting_existed_is_read_with_its_default(run):
    older_map(run, lambda places: (places.pop("weight"), places["mixture"].pop("novelty")))
    assert len(Map.load(run / "map.npz", SYSTEM).memory)


@pytest.mark.parametrize(
    ("change", "places", "reason"),
    [
        (
            lambda old: old.pop("weight"),
            SMALL.model_copy(update={"weight": 1.0}),
            r"places\.weight = 1\.7 \(now 1\.0\)",
        ),
        (lambda old: old.update(forgetting=0.9), SMALL, r"places\.forgetting"),
    ],
    ids=["lacks what is changed now", "nobody knows"],
)
def test_a_map_with_other_settings_than_this_version_is_refused(change, places, reason, run):
    older_map(run, change)
    with pytest.raises(InputError, match=reason):
        Map.load(run / "map.npz", System(places=places))


def test_a_map_that_cannot_be_written_leaves_the_old_map_and_its_state(tracked, elsewhere, run):
    tracked.save(run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    broken = replace(elsewhere, fitted={"a": np.array([object()])})
    with pytest.raises(ValueError, match="Object arrays"):
        broken.save(run / "map.npz")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
