"""What a fleet promises."""

import pytest

import tmapr
from fleet_world import compare_with_one_learner, drive
from tmapr.exceptions import InputError
from tmapr.fleet.documents import Push, PushedFile, Release, name_document
from tmapr.fleet.merging import list_waiting, merge
from tmapr.fleet.parts import name_part
from tmapr.fleet.publishing import publish
from tmapr.fleet.pulling import pull
from tmapr.fleet.pushing import push
from tmapr.journal.runs import changing_run
from tmapr.journal.undoing import unlearn

NOWHERE = "0" * 64


def bring(fleet, folder):
    """Pull the newest release, and the folder."""
    pull(fleet, "newest", folder)
    return folder


def assert_one_learner(folder, lessons):
    assert max(compare_with_one_learner(folder, lessons)) < 1e-8


def make_release(**changes):
    return Release(**{"map": "m", "settings": "s", "lessons": 0, "last": "", "files": (), **changes})


def make_push(release, *parts):
    files = (PushedFile(name="state.npz", bytes=5 * len(parts), sha256=NOWHERE, parts=parts),) if parts else ()
    return Push(release=release, lessons=1, last="", files=files)


def test_a_release_is_named_by_its_content(open_as):
    made = open_as("publisher").publish(make_release())
    assert made.name == name_document(make_release())


def test_published_twice_it_is_one_release(open_as):
    fleet = open_as("publisher")
    assert fleet.publish(make_release()) == fleet.publish(make_release())
    assert len(fleet.list_releases()) == 1


def test_later_releases_come_later(open_as):
    fleet = open_as("publisher")
    names = [fleet.publish(make_release(map=f"{number}")).name for number in range(12)]
    assert [each.name for each in open_as("robot1").list_releases()] == names


def test_a_release_of_an_unknown_parent_is_refused(open_as):
    with pytest.raises(InputError):
        open_as("publisher").publish(make_release(parent=NOWHERE))
    assert open_as("robot1").list_releases() == []


def test_pushed_twice_it_is_one_push(open_as, published):
    robot = open_as("robot1")
    part = robot.send(b"state")
    first = robot.push(make_push(published.name, part))
    assert robot.push(make_push(published.name, part)) == first
    assert robot.list_pushes() == [first]


def test_what_was_pushed_is_there_for_who_asks_later(open_as, published):
    robot = open_as("robot1")
    robot.push(make_push(published.name, robot.send(b"state")))
    publisher = open_as("publisher")
    (received,) = publisher.list_pushes()
    assert received.robot == "robot1"
    assert publisher.fetch(received.robot, received.push.files[0].parts[0]) == b"state"


def test_a_push_is_refused_until_its_parts_are_there(open_as, published):
    robot = open_as("robot1")
    with pytest.raises(InputError, match="not sent"):
        robot.push(make_push(published.name, name_part(b"state")))
    assert robot.find_missing([name_part(b"state")]) == [name_part(b"state")]
    assert robot.list_pushes() == []


def test_a_part_of_another_robot_is_not_ones_own(open_as, published):
    open_as("robot2").send(b"state")
    with pytest.raises(InputError, match="not sent"):
        open_as("robot1").push(make_push(published.name, name_part(b"state")))


def test_a_push_of_an_unknown_release_is_refused(open_as):
    robot = open_as("robot1")
    with pytest.raises(InputError):
        robot.push(make_push(NOWHERE, robot.send(b"state")))


@pytest.mark.parametrize("name", ["../robot1", "", "Robot", "a/b", "a" * 64, "ä"])
def test_a_name_leads_to_no_other_folder(open_as, name):
    with pytest.raises(InputError, match="cannot be a robot's name"):
        open_as(name)
    with pytest.raises(InputError, match="has no part"):
        open_as("robot1").fetch(name, NOWHERE)


def test_the_fleet_knows_who_localizes_with_what(open_as, published):
    robot = open_as("robot1")
    robot.note_pulled(published.name)
    told = {each.name: each.release for each in open_as("publisher").list_robots()}
    assert told == {"robot1": published.name}


def test_a_pulled_folder_localizes_as_the_published_one(open_as, published, mapped, tmp_path):
    folder = bring(open_as("robot1"), tmp_path / "robot")
    assert (folder / "map.npz").read_bytes() == (mapped / "map.npz").read_bytes()
    assert tmapr.load(folder).stages.map_digest == published.release.map


def test_what_is_here_is_not_pulled_again(open_as, published, tmp_path):
    robot = open_as("robot1")
    _, first = pull(robot, "newest", tmp_path / "robot")
    _, second = pull(robot, "newest", tmp_path / "robot")
    assert first > 0
    assert second == 0


def test_a_release_of_the_same_map_brings_only_what_was_learned(open_as, published, learned, tmp_path):
    robot = open_as("robot1")
    bring(robot, tmp_path / "robot")
    made = publish(open_as("publisher"), learned[0])
    _, came = pull(robot, "newest", tmp_path / "robot")
    files = {file.name: file.bytes for file in made.release.files}
    assert came == files["state.npz"]
    assert_one_learner(tmp_path / "robot", learned[1])


def test_a_version_is_pulled_by_its_first_digits(open_as, published, learned, tmp_path):
    publish(open_as("publisher"), learned[0])
    pulled, _ = pull(open_as("robot1"), published.name[:8], tmp_path / "robot")
    assert pulled.name == published.name


def test_what_is_not_there_cannot_be_pulled(open_as, published, tmp_path):
    with pytest.raises(InputError, match="0 versions"):
        pull(open_as("robot1"), "0123456789", tmp_path / "robot")
    assert not (tmp_path / "robot").exists()


def test_the_merge_equals_one_learner(open_as, published, tmp_path):
    lessons = []
    for number in range(3):
        robot = open_as(f"robot{number}")
        folder = bring(robot, tmp_path / f"robot{number}")
        lessons += drive(folder, range(10 + 5 * number), seed=20 + number)
        push(robot, folder)
    merged = merge(open_as("publisher"), "newest", tmp_path / "merged")
    assert merged.joined.lessons == len(lessons) == 45
    assert_one_learner(tmp_path / "merged", lessons)
    bring(open_as("robot0"), tmp_path / "robot0")
    assert_one_learner(tmp_path / "robot0", lessons)


def test_of_each_robot_the_last_push_counts(open_as, published, tmp_path):
    robot = open_as("robot1")
    folder = bring(robot, tmp_path / "robot")
    lessons = drive(folder, range(12))
    push(robot, folder)
    lessons += drive(folder, range(12, 20))
    push(robot, folder)
    merge(open_as("publisher"), "newest", tmp_path / "merged")
    assert_one_learner(tmp_path / "merged", lessons)


def test_the_journal_of_a_robot_lets_its_lessons_be_unlearned_after_the_merge(open_as, published, tmp_path):
    robot = open_as("robot1")
    folder = bring(robot, tmp_path / "robot")
    lessons = drive(folder, range(12))
    push(robot, folder)
    merged = merge(open_as("publisher"), "newest", tmp_path / "merged")
    assert merged.joined.journaled == len(lessons)


def test_what_waits_to_be_merged_is_known(open_as, published, tmp_path):
    robot, publisher = open_as("robot1"), open_as("publisher")
    folder = bring(robot, tmp_path / "robot")
    drive(folder, range(12))
    received = push(robot, folder)
    assert list_waiting(publisher) == {published.name: [received]}
    merge(publisher, "newest", tmp_path / "merged")
    assert list_waiting(publisher) == {}


def test_what_comes_late_is_merged_into_the_newest(open_as, published, tmp_path):
    """One robot pushes, is merged, learns on and pushes late; one is late altogether; one learned from the newest."""
    publisher, lessons = open_as("publisher"), []
    robots = [open_as(f"robot{number}") for number in range(3)]
    folders = [bring(robot, tmp_path / f"{number}") for number, robot in enumerate(robots)]
    for number in (0, 2):
        lessons += drive(folders[number], range(10), seed=30 + number)
        push(robots[number], folders[number])
    merge(publisher, "newest", tmp_path / "second")
    bring(robots[2], folders[2])
    for number in range(3):
        lessons += drive(folders[number], range(40, 60), seed=30 + number)
        push(robots[number], folders[number])
    merged = merge(publisher, "newest", tmp_path / "third")
    assert merged.joined.lessons == len(lessons) == 80
    assert_one_learner(tmp_path / "third", lessons)
    assert list_waiting(publisher) == {}
    with pytest.raises(InputError, match="no robot has pushed anything since"):
        merge(publisher, "newest", tmp_path / "fourth")


def test_what_a_robot_takes_back_after_it_was_merged_is_taken_back_of_the_newest(open_as, published, tmp_path):
    robot, publisher = open_as("robot1"), open_as("publisher")
    folder = bring(robot, tmp_path / "robot")
    lessons = drive(folder, range(12))
    push(robot, folder)
    merge(publisher, "newest", tmp_path / "second")
    with changing_run(folder) as run:
        unlearn(run, [lessons[3].name])
    push(robot, folder)
    merge(publisher, "newest", tmp_path / "third")
    assert_one_learner(tmp_path / "third", [*lessons[:3], *lessons[4:]])


def test_a_robot_may_be_left_out_of_a_merge(open_as, published, tmp_path):
    lessons = {}
    for name in ("robot1", "robot2"):
        robot = open_as(name)
        folder = bring(robot, tmp_path / name)
        lessons[name] = drive(folder, range(9), seed=ord(name[-1]))
        push(robot, folder)
    kept, left = lessons
    merge(open_as("publisher"), "newest", tmp_path / "merged", without=[left])
    assert_one_learner(tmp_path / "merged", lessons[kept])
