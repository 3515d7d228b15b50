"""A robot goes on with what it has: its map stale, only half here, damaged on its way, or nobody there to ask."""

import json
import shutil
from multiprocessing import get_context
from signal import SIGKILL

import pytest

import tmapr
from commandline import command
from fleet_world import compare_with_one_learner, drive, make_run, record
from tmapr.artifacts.lock import writing
from tmapr.exceptions import InputError
from tmapr.fleet.documents import ReleasedFile
from tmapr.fleet.folder import Fleet, found_fleet
from tmapr.fleet.keeping import list_half, list_unsound, read_pulled, tell_without_network
from tmapr.fleet.parts import cut, describe_file
from tmapr.fleet.publishing import publish
from tmapr.fleet.pulling import pull
from tmapr.fleet.pushing import push


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A fleet in a folder with one release, and a run folder that pulled it."""
    home = tmp_path_factory.mktemp("first")
    found_fleet(home / "fleet")
    fleet = Fleet(home / "fleet", "publisher")
    publish(fleet, make_run(home / "mapped"))
    pull(fleet, "newest", home / "robot")
    return home


@pytest.fixture
def home(first, tmp_path):
    """A copy of both, to be changed."""
    shutil.copytree(first, tmp_path / "home", symlinks=True)
    return tmp_path / "home"


@pytest.fixture
def robot(home):
    return home / "robot"


@pytest.fixture
def newer(home, learned):
    """A second release, of the same map with lessons."""
    return publish(Fleet(home / "fleet", "publisher"), learned[0])


def find_state(home, release):
    """The first part of its state in the fleet's folder."""
    (state,) = (file for file in release.release.files if file.name == "state.npz")
    return home / "fleet/objects" / state.parts[0][:2] / state.parts[0]


def localize(folder):
    """Some frames with what a run folder has; where they are."""
    localizer = tmapr.load(folder).new_drive()
    return [localizer.observe(percept).position.tolist() for percept in record(50, "noon").percepts[:5]]


def tell(folder, capsys, *options):
    capsys.readouterr()
    assert command("fleet", "status", folder, "--json", *options) == 0
    return json.loads(capsys.readouterr().out)


def test_a_stale_map_is_used_and_said_to_be(home, robot, newer, capsys):
    before = localize(robot)
    told = tell(robot, capsys, "--fleet", home / "fleet")
    assert told["stale"] is True
    assert told["newest"] == newer.name
    assert localize(robot) == before
    assert "stale" in tell_without_network(robot)


def test_a_half_pulled_map_is_not_used_and_said_to_be(home, robot, newer, capsys):
    before, held = localize(robot), read_pulled(robot)
    find_state(home, newer).unlink()
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert f"keeps version 1 ({held.name[:12]})" in capsys.readouterr().err
    assert read_pulled(robot) == held
    assert localize(robot) == before
    assert tell(robot, capsys)["half"] == [newer.name]
    assert "only a part is here" in tell_without_network(robot)


def test_a_pull_goes_on_from_what_came(home, robot, newer):
    part = find_state(home, newer)
    shutil.move(part, home / "away")
    with pytest.raises(InputError):
        pull(Fleet(home / "fleet", "robot1"), "newest", robot)
    shutil.move(home / "away", part)
    pulled, _ = pull(Fleet(home / "fleet", "robot1"), "newest", robot)
    assert pulled.name == newer.name
    assert list_half(robot) == []


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 300_000])
def test_a_part_with_a_bad_hash_is_never_used(home, robot, newer, damage, capsys):
    before = localize(robot)
    find_state(home, newer).write_bytes(damage)
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "has another content; it is not used" in capsys.readouterr().err
    assert localize(robot) == before
    assert read_pulled(robot).number == 1


def test_a_release_that_was_changed_is_never_used(home, robot, newer, capsys):
    path = home / "fleet/releases/000002.json"
    path.write_text(path.read_text().replace('lessons\\":30', 'lessons\\":31'))
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "has another content" in capsys.readouterr().err
    assert read_pulled(robot).number == 1


def test_without_a_network_the_robot_goes_on_and_says_so(home, robot, capsys):
    before = localize(robot)
    shutil.move(home / "fleet", home / "gone")
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "keeps version 1" in capsys.readouterr().err
    assert localize(robot) == before
    assert "no such folder now" in tell(robot, capsys, "--fleet", home / "fleet")["offline"]
    assert "no such folder now" in tell(robot, capsys)["offline"]
    assert "could not be asked" in tell_without_network(robot)


def test_an_address_of_a_server_is_refused_without_its_password(robot, capsys):
    for verb in (("pull", "--to", robot), ("push", robot), ("publish", robot), ("status",)):
        assert command("fleet", verb[0], "postgresql://robot1:secret@127.0.0.1:1/fleet", *verb[1:]) == 2
        told = capsys.readouterr().err
        assert "is no folder" in told
        assert "secret" not in told
    assert tell(robot, capsys)["offline"] is not None


def test_the_first_publish_makes_an_empty_or_new_folder_a_fleet(home, capsys):
    (home / "empty").mkdir()
    for name in ("empty", "new/fleet"):
        assert command("fleet", "publish", home / name, home / "mapped") == 0
        assert "is a fleet from now on" in capsys.readouterr().out
        assert command("fleet", "publish", home / name, home / "mapped") == 0
        assert "from now on" not in capsys.readouterr().out
        assert [each.number for each in Fleet(home / name).list_releases()] == [1]


@pytest.mark.parametrize("verb", ["publish", "pull"])
def test_a_folder_of_other_things_is_not_made_a_fleet(home, robot, verb, capsys):
    words = [home / "mapped"] if verb == "publish" else ["--to", robot]
    before = sorted((home / "mapped").iterdir())
    assert command("fleet", verb, home / "mapped", *words) == 2
    assert "no fleet" in capsys.readouterr().err
    assert sorted((home / "mapped").iterdir()) == before


def test_a_fleet_that_cannot_be_written_is_told_in_a_line(home, capsys):
    shutil.rmtree(home / "fleet/objects")
    (home / "fleet/objects").write_text("a file where a folder should be")
    assert command("fleet", "publish", home / "fleet", home / "mapped", "--quiet") == 2
    told = capsys.readouterr().err
    assert "cannot be written" in told
    assert told.count("\n") == 1


def test_bytes_that_rot_on_the_robot_are_seen_and_pulled_again(home, robot, capsys):
    path = (robot / "map.npz").resolve()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)
    assert tell(robot, capsys)["bad"] == ["map.npz"]
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 0
    assert list_unsound(robot, read_pulled(robot)) == []
    assert localize(robot)


def test_what_was_learned_and_not_sent_is_not_written_over(home, robot, newer, capsys):
    lessons = drive(robot, range(8))
    assert tell(robot, capsys)["unsent"] is True
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "fleet does not have" in capsys.readouterr().err
    assert max(compare_with_one_learner(robot, lessons)) < 1e-8
    assert command("fleet", "push", home / "fleet", robot) == 0
    assert tell(robot, capsys)["unsent"] is False
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 0
    assert read_pulled(robot).name == newer.name
    assert not (robot / "journal").exists()


def test_lessons_that_only_the_journal_has_are_not_written_over_either(home, robot, newer):
    drive(robot, range(8), save=False)
    with pytest.raises(InputError, match="fleet does not have"):
        pull(Fleet(home / "fleet", "robot1"), "newest", robot)


def test_they_can_be_given_up(home, robot, newer, learned):
    drive(robot, range(8))
    assert command("fleet", "pull", home / "fleet", "--to", robot, "--discard") == 0
    assert max(compare_with_one_learner(robot, learned[1])) < 1e-8


def test_a_drive_that_goes_on_keeps_its_map(home, robot, newer, capsys):
    tmapr.load(robot).new_drive().save(robot / "live")
    with writing(robot / "live"):
        assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "goes on with the map that it has" in capsys.readouterr().err
    assert read_pulled(robot).number == 1
    assert (robot / "live/map.npz").exists()


def test_what_live_drives_learned_is_pushed_and_the_next_begins_with_the_new_map(home, robot, newer):
    tmapr.load(robot).new_drive().save(robot / "live")
    lessons = drive(robot / "live", range(8))
    fleet = Fleet(home / "fleet", "robot1")
    with pytest.raises(InputError, match="fleet does not have"):
        pull(fleet, "newest", robot)
    assert push(fleet, robot).push.lessons == len(lessons)
    pull(fleet, "newest", robot)
    assert not (robot / "live").exists()


def test_a_map_that_this_program_cannot_read_is_not_switched_to(home, robot, capsys):
    other = make_run(home / "other")
    (other / "map.npz").write_bytes(b"of a later version")
    fleet = Fleet(home / "fleet", "publisher")
    held = read_pulled(robot)
    files = []
    for name in ("map.npz", "experiment.toml"):
        file = describe_file(ReleasedFile, name, other / name)
        for part in cut(other / name):
            fleet.keep(part)
        files.append(file)
    fleet.publish(held.release.model_copy(update={"files": tuple(files)}))
    assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert read_pulled(robot) == held
    assert localize(robot)


def switch_forever(folder, robot, names):
    while True:
        for name in names:
            pull(Fleet(folder, "robot1"), name, robot)


def test_whenever_a_pull_is_killed_one_release_is_there_whole(home, robot, newer, learned, rng):
    names, sizes = (read_pulled(robot).name, newer.name), (0, len(learned[1]))
    for wait in rng.uniform(0.02, 0.4, size=8):
        process = get_context("fork").Process(target=switch_forever, args=(home / "fleet", robot, names))
        process.start()
        process.join(wait)
        process.kill()
        process.join()
        assert process.exitcode == -SIGKILL
        held = read_pulled(robot)
        assert len(tmapr.load(robot).classifier.ledger.names) == sizes[names.index(held.name)]
        assert list_unsound(robot, held) == []
    pulled, _ = pull(Fleet(home / "fleet", "robot1"), "newest", robot)
    assert pulled.name == newer.name


def test_a_drive_begins_by_saying_what_it_goes_with(home, robot, newer, tmp_path, capsys):
    tell(robot, capsys, "--fleet", home / "fleet")
    command("run", robot, "--source", tmp_path / "nothing")
    assert f"version 1 ({read_pulled(robot).name[:12]}) of the fleet" in capsys.readouterr().err


def test_two_do_not_pull_into_one_folder(home, robot, newer, capsys):
    with writing(robot / ".fleet", lock=".pulling"):
        assert command("fleet", "pull", home / "fleet", "--to", robot) == 2
    assert "let the other pull end" in capsys.readouterr().err
    assert read_pulled(robot).number == 1


def test_a_run_of_ones_own_is_not_written_over(home, capsys):
    assert command("fleet", "pull", home / "fleet", "--to", home / "mapped") == 2
    assert "came from no fleet" in capsys.readouterr().err


def test_a_run_of_ones_own_cannot_be_pushed(home, capsys):
    assert command("fleet", "push", home / "fleet", home / "mapped") == 2
    assert "came from no fleet" in capsys.readouterr().err


def test_a_name_that_leads_elsewhere_is_no_release(home, robot):
    held = read_pulled(robot)
    text = held.release.as_json().replace('"map.npz"', '"../../map.npz"')
    with pytest.raises(ValueError, match="pattern"):
        type(held.release).model_validate_json(text)
