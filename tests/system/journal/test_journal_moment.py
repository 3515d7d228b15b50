"""The small rest beside a journal: after a kill the drive goes on where it was."""

import pytest

from taught import FUSED, assert_same_bits, begin, follow, fresh, learned_arrays, traverse
from tmapr.artifacts.arrays import digest
from tmapr.journal.moment import FILE, Moment, go_on
from tmapr.system import build, make_map

KILLED, LATER = 150, 170


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A journal with a moment in the middle of it, and what the drive was then and at its end."""
    folder, localizer = tmp_path_factory.mktemp("killed"), fresh()
    with begin(localizer, folder, lose_at_most=100_000) as writer:
        follow(localizer, range(KILLED), writer)
        then = localizer.arrays()
        writer.note_moment(Moment.of(localizer))
        writer.flush()
        follow(localizer, range(KILLED, LATER), writer)
        end = localizer.arrays()
    assert len(then["classifier.ledger.names"]) + 5 < len(end["classifier.ledger.names"])
    return folder, then, end


def copy(killed, tmp_path):
    for path in killed[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_without_later_lessons_everything_is_as_it_was(tmp_path):
    localizer = fresh()
    with begin(localizer, tmp_path, lose_at_most=100_000) as writer:
        follow(localizer, range(KILLED), writer)
        writer.note_moment(Moment.of(localizer))
        writer.flush()
    again = fresh()
    go_on(again, tmp_path)
    assert digest(again.arrays()) == digest(localizer.arrays())
    for each in (again, localizer):
        follow(each, range(KILLED, LATER))
    assert digest(again.arrays()) == digest(localizer.arrays())


def test_later_lessons_are_learned_on_top_and_none_twice(killed):
    folder, then, end = killed
    again = fresh()
    done = go_on(again, folder)
    assert done.lessons == len(end["classifier.ledger.names"])
    assert_same_bits(learned_arrays(again), {name: end[name] for name in learned_arrays(again)})
    track = [name for name in then if name.startswith("track.")]
    assert_same_bits({name: again.arrays()[name] for name in track}, {name: then[name] for name in track})
    waiting = {vector.tobytes() for vector in then["own.due.vectors"]}
    assert {vector.tobytes() for vector in again.arrays()["own.due.vectors"]} < waiting
    follow(again, range(LATER, LATER + 30))
    names = again.classifier.ledger.names
    assert len(set(names.tolist())) == len(names) > done.lessons


def test_a_moment_of_before_the_saved_state_is_passed_over(killed):
    folder, _, end = killed
    localizer = fresh()
    follow(localizer, range(LATER))
    go_on(localizer, folder)
    assert digest(localizer.arrays()) == digest(end)


@pytest.mark.parametrize("damage", [lambda content: content[:1000], lambda content: b"no archive", lambda content: b""])
def test_a_moment_that_cannot_be_read_is_told_and_passed_over(killed, damage, tmp_path):
    folder, told, again = copy(killed, tmp_path), [], fresh()
    (folder / FILE).write_bytes(damage((folder / FILE).read_bytes()))
    go_on(again, folder, told.append)
    assert_same_bits(learned_arrays(again), {name: killed[2][name] for name in learned_arrays(again)})
    assert len(told) == 1
    assert FILE in told[0]


def test_a_moment_of_another_map_is_told_and_passed_over(killed, tmp_path):
    folder, told, again = copy(killed, tmp_path), [], fresh()
    other = build(FUSED, make_map(FUSED, traverse(7, "noon")))
    Moment.of(other).save(folder)
    go_on(again, folder, told.append)
    assert "another map" in told[0]


def test_a_torn_tail_is_told(killed, tmp_path):
    folder, told = copy(killed, tmp_path), []
    path = folder / "000001.journal"
    path.write_bytes(path.read_bytes()[:-5])
    go_on(fresh(), folder, told.append)
    assert "a lesson that was being written; it is lost" in told[0]
