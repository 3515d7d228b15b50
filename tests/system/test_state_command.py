"""`tmapr state`: what was learned is shown, compared, taken back and joined, by the command alone."""

import json
import shutil

import numpy as np
import pytest

import tmapr
from commandline import command
from taught import (
    FUSED,
    assert_same_bits,
    begin,
    environment,
    follow,
    fresh,
    learned_arrays,
    traverse,
)
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.config import dump_toml
from tmapr.experiment import Experiment
from tmapr.journal.joining import join
from tmapr.journal.journal import FOLDER, Journal
from tmapr.journal.redo import redo
from tmapr.perception.settings import Perception
from tmapr.system import make_map

EXPERIMENT = Experiment(perception=Perception(encoder="own"), system=FUSED)
CONTENT = ("classifier.ridge.", "classifier.variation.", "classifier.mixtures.", "classifier.grid.")


def found(folder, made=None):
    """A run folder with a map and nothing else."""
    (made or environment()).save(folder / "map.npz")
    write_text(folder / "experiment.toml", dump_toml(EXPERIMENT))
    return folder


def teach(folder, rows, seed=2, save=True, **settings):
    """Drive in a run folder with its journal; the lessons."""
    localizer = tmapr.load(folder)
    redo(localizer, Journal.open(folder / FOLDER))
    with begin(localizer, folder / FOLDER, lose_at_most=100_000, **settings) as writer:
        lessons = follow(localizer, rows, writer, seed)
        if save:
            localizer.save(folder)
            writer.note_saved(localizer.classifier.ledger.last)
    return lessons


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A run that taught itself and was stopped cleanly, and its lessons."""
    folder = found(tmp_path_factory.mktemp("taught"))
    return folder, teach(folder, range(220))


@pytest.fixture
def run(taught, tmp_path):
    """A copy of it to be changed, and its lessons."""
    shutil.copytree(taught[0], tmp_path / "run", symlinks=True)
    return tmp_path / "run", taught[1]


def open_all(folder):
    localizer = tmapr.load(folder)
    redo(localizer, Journal.open(folder / FOLDER))
    return localizer


def content(localizer):
    return {name: array for name, array in localizer.arrays().items() if name.startswith(CONTENT)}


def solve(lessons, environment):
    """Batch ridge regression over what the map knows and some lessons: W by cell."""
    base = environment.classifier()
    A = np.linalg.inv(base.ridge.covariance)
    Q = A @ base.ridge.weights
    cells = [tuple(cell) for cell in base.grid.cells.tolist()]
    for lesson in lessons:
        if lesson.cell not in cells:
            cells.append(lesson.cell)
            Q = np.column_stack([Q, np.zeros(len(A))])
        A += lesson.rows.T @ (lesson.weights[:, None] * lesson.rows)
        Q[:, cells.index(lesson.cell)] += lesson.rows.T @ lesson.weights
    return dict(zip(cells, np.linalg.solve(A, Q).T, strict=True))


def assert_solves(localizer, lessons):
    expected, classifier = solve(lessons, environment()), localizer.classifier
    for cell, weights in zip(classifier.grid.cells.tolist(), classifier.ridge.weights.T, strict=True):
        np.testing.assert_allclose(weights, expected.get(tuple(cell), np.zeros(len(weights))), atol=1e-8)


def show(folder, capsys, *options):
    assert command("state", "show", folder, "--json", *options) == 0
    return json.loads(capsys.readouterr().out)


def test_show_counts_what_was_learned(taught, capsys):
    folder, lessons = taught
    told = show(folder, capsys, "--lessons", 3)
    imagined = sum(lesson.imagined for lesson in lessons)
    assert told["lessons"] == told["removable"] == told["journal_lessons"] == len(lessons)
    assert told["kinds"] == {"imagined": imagined, "own": len(lessons) - imagined}
    assert told["ahead"] == told["taken_back"] == 0
    assert [each["name"] for each in told["newest"]] == [f"{lesson.name:016x}" for lesson in lessons[-3:]]


def test_a_map_has_learned_nothing(tmp_path, capsys):
    told = show(found(tmp_path), capsys)
    assert told["lessons"] == told["journal_segments"] == 0
    assert told["saved"] is None


@pytest.mark.parametrize("number", [0, 7, -1])
def test_any_lesson_is_unlearned_as_if_it_had_never_been(run, number):
    folder, lessons = run
    gone = lessons[number]
    assert command("state", "unlearn", folder, f"{gone.name:016x}") == 0
    assert_solves(tmapr.load(folder), [lesson for lesson in lessons if lesson is not gone])


def test_lessons_of_a_time_are_unlearned(run, capsys):
    folder, lessons = run
    told = show(folder, capsys, "--lessons", len(lessons))["newest"]
    first, last = told[4]["stamp_ns"], told[15]["stamp_ns"]
    assert command("state", "unlearn", folder, "--stamps", first, last) == 0
    left = [lesson for lesson, each in zip(lessons, told, strict=True) if not first <= each["stamp_ns"] <= last]
    assert len(left) <= len(lessons) - 12
    assert_solves(tmapr.load(folder), left)


def test_what_is_unlearned_stays_so_when_the_run_goes_on(run):
    folder, lessons = run
    command("state", "unlearn", folder, f"{lessons[5].name:016x}")
    more = teach(folder, range(220, 300), save=False)
    assert_solves(open_all(folder), [lesson for lesson in (*lessons, *more) if lesson is not lessons[5]])


def test_unlearning_twice_is_refused_and_changes_nothing(run, capsys):
    folder, lessons = run
    name = f"{lessons[5].name:016x}"
    command("state", "unlearn", folder, name)
    before = learned_arrays(open_all(folder))
    assert command("state", "unlearn", folder, name) == 2
    assert "taken back already" in capsys.readouterr().err
    assert_same_bits(learned_arrays(open_all(folder)), before)


@pytest.mark.parametrize("given", ["0123456789abcdef", "xyz", "12", "-1"])
def test_what_is_no_lesson_is_refused(run, given, capsys):
    assert command("state", "unlearn", run[0], "--", given) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def never_learned(lessons, count):
    """A localizer that drove until so many lessons were learned, and no further."""
    localizer = fresh()
    for lesson in lessons[:count]:
        localizer.relearn(lesson, False)
    return localizer


@pytest.mark.parametrize("how", ["to", "before", "last"])
def test_going_back_is_as_if_the_later_lessons_had_never_been_bit_for_bit(run, how, capsys):
    folder, lessons = run
    told = show(folder, capsys, "--lessons", len(lessons))["newest"]
    count = next(number for number in range(10, len(told)) if told[number]["stamp_ns"] > told[number - 1]["stamp_ns"])
    option = {
        "to": ("--to", told[count - 1]["name"]),
        "before": ("--before", told[count]["stamp_ns"]),
        "last": ("--last", len(lessons) - count),
    }[how]
    assert command("state", "rollback", folder, *option) == 0
    assert "learned again" in capsys.readouterr().out
    assert_same_bits(content(tmapr.load(folder)), content(never_learned(lessons, count)))
    told = show(folder, capsys)
    assert (told["lessons"], told["taken_back"]) == (count, len(lessons) - count)


def test_going_back_unlearns_where_the_journal_begins_too_late(run, capsys):
    """The first segment is gone, as it is once a saved state contains it."""
    folder, lessons = run
    more = teach(folder, range(220, 420), most=60)
    kept = Journal.open(folder / FOLDER).lessons
    assert 10 < len(kept) < len(lessons) + len(more)
    capsys.readouterr()
    assert command("state", "rollback", folder, "--last", 5) == 0
    assert "unlearned" in capsys.readouterr().out
    assert_solves(tmapr.load(folder), [*lessons, *more][:-5])
    assert command("state", "rollback", folder, "--last", len(kept)) == 0
    assert command("state", "rollback", folder, "--last", 1) == 0
    assert "nothing to take back" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("rollback", "--last", "9"), ("unlearn", "{name}")])
def test_a_command_that_was_killed_before_it_saved_is_finished_by_who_opens_the_run_next(words, run):
    folder, lessons = run
    old = (folder / "state.npz").read_bytes()
    verb, *rest = (word.format(name=f"{lessons[4].name:016x}") for word in words)
    assert command("state", verb, folder, *rest) == 0
    (folder / "state.npz").write_bytes(old)
    left = lessons[:-9] if verb == "rollback" else [lesson for lesson in lessons if lesson is not lessons[4]]
    assert_solves(open_all(folder), left)
    more = teach(folder, range(220, 300), save=False)
    assert_solves(open_all(folder), [*left, *more])


def test_going_back_to_the_map_leaves_the_map(run):
    folder, _ = run
    assert command("state", "rollback", folder, "--all") == 0
    assert_same_bits(content(open_all(folder)), content(open_all(found(folder.parent / "new"))))
    assert teach(folder, range(100, 200)) is not None


@pytest.mark.parametrize("options", [(), ("--all", "--last", "3"), ("--to", "00", "--before", "5")])
def test_going_back_needs_one_word_on_how_far(run, options, capsys):
    assert command("state", "rollback", run[0], *options) == 2
    assert "say how far" in capsys.readouterr().err


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    """Two runs that began with one map, the second one killed, and all of their lessons."""
    tmp_path, folders, lessons = tmp_path_factory.mktemp("robots"), [], []
    for number, seed in enumerate((2, 5)):
        folders.append(found(tmp_path / f"robot{number}"))
        lessons += teach(folders[-1], range(150), seed, save=number == 0)
    return found(tmp_path / "base"), folders, lessons


def test_robots_are_joined_exactly_and_any_lesson_unlearned_in_the_result(robots, tmp_path, capsys):
    base, folders, lessons = robots
    out = tmp_path / "merged"
    assert command("state", "merge", base, *folders, "--out", out) == 0
    assert_solves(tmapr.load(out), lessons)
    capsys.readouterr()
    assert show(out, capsys)["removable"] == len(lessons)
    assert command("state", "unlearn", out, f"{lessons[-3].name:016x}", f"{lessons[2].name:016x}") == 0
    left = [lesson for number, lesson in enumerate(lessons) if number not in (2, len(lessons) - 3)]
    assert_solves(tmapr.load(out), left)
    assert_solves(open_all(out), left)


def test_a_joined_run_goes_on_with_a_journal_of_its_own(robots, tmp_path):
    base, folders, lessons = robots
    command("state", "merge", base, *folders, "--out", tmp_path / "merged")
    more = teach(tmp_path / "merged", range(100), save=False)
    assert more
    assert_solves(open_all(tmp_path / "merged"), [*lessons, *more])


def test_what_two_journals_hold_is_once_in_that_of_a_second_merge_and_what_was_taken_back_is_not(robots, tmp_path):
    base, (robot, _), lessons = robots
    command("state", "merge", base, robot, "--out", tmp_path / "first")
    later = shutil.copytree(robot, tmp_path / "later", symlinks=True)
    command("state", "unlearn", later, f"{lessons[2].name:016x}")
    joined = join(tmp_path / "first", [later], tmp_path / "second", held=[robot])
    names = [entry.name for entry in Journal.open(tmp_path / "second" / FOLDER).lessons]
    assert lessons[2].name not in names
    assert joined.journaled == joined.lessons == len(names)


def test_an_exported_state_is_joined_like_its_run(robots, tmp_path):
    """Only the journal has what the second robot learned."""
    base, folders, lessons = robots
    assert command("state", "export", folders[1], "--out", tmp_path / "sent.npz") == 0
    assert command("state", "merge", base, folders[0], tmp_path / "sent.npz", "--out", tmp_path / "merged") == 0
    assert_solves(tmapr.load(tmp_path / "merged"), lessons)


def test_runs_differ_in_what_only_one_of_them_learned(robots, capsys):
    base, folders, _ = robots
    assert command("state", "diff", base, folders[0], "--json") == 0
    told = json.loads(capsys.readouterr().out)
    first = len(open_all(folders[0]).classifier.ledger.names)
    assert (told["only_first"], told["only_second"], told["both"]) == (0, first, 0)
    ours, theirs = (open_all(each).classifier.ridge.weights for each in (base, folders[0]))
    expected = np.linalg.norm(theirs[:, : ours.shape[1]] - ours, axis=0)
    assert told["places"][0]["distance"] >= expected.max() - 1e-12
    assert command("state", "diff", folders[0], folders[0]) == 0
    assert "weights apart by 0 " in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["diff", "merge"])
def test_runs_of_different_maps_are_refused(verb, run, tmp_path, capsys):
    other = found(tmp_path / "other", make_map(FUSED, traverse(7, "noon")))
    more = ("--out", tmp_path / "merged") if verb == "merge" else ()
    assert command("state", verb, other, run[0], *more) == 2
    assert "another map" in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("words", [("unlearn", "{name}"), ("rollback", "--last", "3"), ("rollback", "--all")])
def test_a_run_that_is_being_driven_is_not_changed(words, run, capsys):
    folder, lessons = run
    before = learned_arrays(open_all(folder))
    with writing(folder):
        words = [word.format(name=f"{lessons[0].name:016x}") for word in words]
        assert command("state", words[0], folder, *words[1:]) == 2
    assert "is being written by process" in capsys.readouterr().err
    assert_same_bits(learned_arrays(open_all(folder)), before)


@pytest.mark.parametrize("verb", ["show", "unlearn", "rollback"])
def test_what_is_no_run_is_refused(verb, tmp_path, capsys):
    more = {"show": (), "unlearn": ("0123456789abcdef",), "rollback": ("--all",)}[verb]
    assert command("state", verb, tmp_path / "nowhere", *more) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "nowhere").exists()
