"""What goes along with a map: keypoints by row, the journal of what was learned; and files that say wrong things."""

from dataclasses import replace

import numpy as np
import pytest

import tmapr
from commandline import command
from kept_up import SYSTEM, held, mapped, traverse
from taught import FUSED, begin, environment, follow
from taught import traverse as taught_traverse
from tmapr.artifacts.arrays import load_arrays, save_arrays
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.run import RunFolder
from tmapr.config import dump_toml
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.journal.journal import FOLDER
from tmapr.journal.runs import open_run
from tmapr.journal.undoing import list_standing
from tmapr.keypoints import Keypoints
from tmapr.perception.settings import Perception
from tmapr.system import Map
from tmapr.upkeep.changing import drop, extend, join


def mark(number):
    """Keypoints by which a frame is told from all others."""
    points, looks = np.full((1, 2), number, dtype=np.uint16), np.full((1, 64), number % 100, dtype=np.int8)
    return Keypoints(points, looks)


def marked(name, base):
    """A traverse whose frames have keypoints that name them."""
    recording = traverse(name)
    percepts = [
        replace(percept, keypoints=lambda number=base + frame: mark(number))
        for frame, percept in enumerate(recording.percepts)
    ]
    return replace(recording, percepts=tuple(percepts))


BASES = {"noon": 0, "dusk": 1000, "rain": 2000}


def assert_marked(memory):
    for row in range(len(memory)):
        (point, *_) = memory.keypoints[row].points.tolist()
        assert point[0] == BASES[str(memory.sequences[row])] + memory.frames[row]


def with_keypoints(name):
    old = held(name)
    recording = marked(name, BASES[name])
    return replace(old, environment=old.environment.with_keypoints([recording]))


def test_keypoints_follow_their_references(tmp_path):
    longer = extend(SYSTEM, with_keypoints("noon"), [marked("dusk", BASES["dusk"])]).environment
    assert_marked(longer.memory)
    three = join(SYSTEM, replace(held("noon", "dusk"), environment=longer), with_keypoints("rain")).environment
    assert_marked(three.memory)
    names = ("noon", "dusk", "rain")
    whole = replace(held(*names), environment=three)
    cut = drop(SYSTEM, whole, three.memory.positions[:, 0] < 40.0, "the west").environment
    assert_marked(cut.memory)
    cut.save(tmp_path / "map.npz")
    assert_marked(Map.load(tmp_path / "map.npz", SYSTEM).memory)


def test_where_only_some_have_keypoints_the_others_have_none():
    longer = extend(SYSTEM, with_keypoints("noon"), [traverse("dusk")]).environment
    counts = {name: [] for name in ("noon", "dusk")}
    for row in range(len(longer.memory)):
        counts[str(longer.memory.sequences[row])].append(len(longer.memory.keypoints[row]))
    assert set(counts["noon"]) == {1}
    assert set(counts["dusk"]) == {0}


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A run that taught itself, with its journal and percepts."""
    folder = RunFolder(tmp_path_factory.mktemp("taught"))
    environment().save(folder.map)
    write_text(folder.experiment, dump_toml(Experiment(perception=Perception(encoder="own"), system=FUSED)))
    taught_traverse(1, "noon").save(folder.percepts("noon"))
    localizer = tmapr.load(folder.path)
    with begin(localizer, folder.path / FOLDER, lose_at_most=100_000) as writer:
        lessons = follow(localizer, range(150), writer)
        localizer.save(folder.path)
        writer.note_saved(localizer.classifier.ledger.last)
    return folder, lessons


def test_lessons_of_a_drive_can_be_taken_back_on_the_new_map(taught, tmp_path, capsys):
    folder, lessons = taught
    out = tmp_path / "cut"
    assert command("upkeep", "drop", folder.path, "--box", "-99,-99,40,99", "--out", out) == 0
    assert f"its {len(lessons)} lessons go along; {len(lessons)} of them can be unlearned" in capsys.readouterr().err
    assert [entry.name for entry in list_standing(open_run(out))] == [lesson.name for lesson in lessons]
    for lesson in lessons:
        assert command("state", "unlearn", out, f"{lesson.name:016x}", "--quiet") == 0
    cut = Map.load(out / "map.npz", FUSED).classifier()
    left = open_run(out).localizer.classifier
    np.testing.assert_allclose(left.ridge.weights[:, : len(cut.grid)], cut.ridge.weights, atol=1e-8)
    np.testing.assert_allclose(left.ridge.covariance, cut.ridge.covariance, atol=1e-8)


def test_a_drive_goes_on_learning_on_the_new_map(taught, tmp_path):
    folder, lessons = taught
    out = tmp_path / "cut"
    assert command("upkeep", "drop", folder.path, "--box", "-99,-99,20,99", "--out", out, "--quiet") == 0
    localizer = tmapr.load(out)
    with begin(localizer, out / FOLDER, lose_at_most=100_000) as writer:
        more = follow(localizer, range(150), writer, seed=3)
        localizer.save(out)
        writer.note_saved(localizer.classifier.ledger.last)
    assert more
    assert len(open_run(out).localizer.classifier.ledger.names) == len(lessons) + len(more)


WRONG = {
    "a lesson twice": lambda arrays: arrays["lessons.numbers"].__setitem__(0, 1),
    "a number that is none": lambda arrays: arrays["lessons.weights"].__setitem__((0, 0), np.nan),
    "a negative weight": lambda arrays: arrays["lessons.weights"].__setitem__((0, 0), -1.0),
    "too few": lambda arrays: arrays.update({"lessons.numbers": arrays["lessons.numbers"][:-1]}),
    "no weights": lambda arrays: arrays.pop("lessons.weights"),
    "none at all": lambda arrays: [arrays.pop(f"lessons.{name}") for name in ("numbers", "weights")],
    "weights of other points": lambda arrays: arrays.update({"lessons.weights": arrays["lessons.weights"][:, :2]}),
}


@pytest.mark.parametrize("case", WRONG)
def test_lessons_that_cannot_be_are_refused_in_a_line(case, tmp_path):
    path = tmp_path / "map.npz"
    mapped("noon").save(path)
    header, arrays = load_arrays(path, "map", 1)
    WRONG[case](arrays)
    save_arrays(path, header, arrays)
    with pytest.raises(InputError, match=r"map\.npz: .*run `tmapr map` again"):
        Map.load(path, SYSTEM)
