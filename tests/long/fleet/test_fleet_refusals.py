"""Who may do what on the server: a robot reads releases and adds what is its own, and nothing else at all."""

import psycopg
import pytest

from tmapr.exceptions import InputError
from tmapr.fleet.documents import Release, write_document
from tmapr.fleet.enrolling import enrol, retire
from tmapr.fleet.postgres import PostgresFleet
from tmapr.fleet.protocol import RefusedError, UnreachableError
from tries import TRIES, stage

FOR_NOBODY = {
    *("push under another hash", "push another's part as one's own", "fill the disk with one part", "SQL in a name"),
    *("delete a map", "forge a push's number", "replace one's own push by conflict"),
}
"""What the tables refuse whoever says it."""
NOT_TRIED = {"run a program on the server", "write a file on the server", "stop another's session"}
"""By somebody who may, since these are not taken back."""


@pytest.fixture(scope="module")
def staged(server, tmp_path_factory):
    """A release, and two robots that have pushed."""
    return stage(server, str(tmp_path_factory.mktemp("store")))


@pytest.fixture
def robot(staged):
    with psycopg.connect(staged.address("tried1"), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("name", TRIES)
def test_a_robot_is_refused(robot, staged, name):
    before = staged.snapshot()
    assert TRIES[name](robot, staged) == "refused"
    assert staged.snapshot() == before


@pytest.mark.parametrize("name", sorted(set(TRIES) - FOR_NOBODY - NOT_TRIED))
def test_who_may_is_not_refused_so_the_tries_are_real(server, staged, name):
    with psycopg.connect(server.address(database=staged.database)) as owner:
        assert TRIES[name](owner, staged) == "ALLOWED"
        owner.rollback()


def test_a_robot_sees_its_own_pushes_and_no_others(robot, staged):
    assert robot.execute("SELECT DISTINCT robot FROM tmapr.pushes").fetchall() == [("tried1",)]
    assert robot.execute("SELECT DISTINCT robot FROM tmapr.parts").fetchall() == [("tried1",)]
    assert robot.execute("SELECT name FROM tmapr.robots").fetchall() == [("tried1",)]


def test_a_publisher_sees_all_pushes_and_changes_none(staged):
    with psycopg.connect(staged.address("trusted"), autocommit=True) as publisher:
        assert publisher.execute("SELECT count(DISTINCT robot) FROM tmapr.pushes").fetchone() == (2,)
        for statement in ("DELETE FROM tmapr.pushes", "UPDATE tmapr.releases SET document = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                publisher.execute(statement)


def test_a_publisher_cannot_give_a_release_another_name(staged):
    text = write_document(Release(map="m", settings="s", lessons=1, last="", files=()))
    with (
        psycopg.connect(staged.address("trusted"), autocommit=True) as publisher,
        pytest.raises(psycopg.errors.CheckViolation),
    ):
        publisher.execute("INSERT INTO tmapr.releases (name, document) VALUES (%s, %s)", ["0" * 64, text])


def test_a_name_that_is_sql_stays_a_name(database):
    robot = database.open("robot1")
    hostile = "x'; DROP TABLE tmapr.releases; --"
    with pytest.raises(InputError):
        robot.fetch(hostile, hostile)
    assert robot.list_pushes(hostile) == []
    assert robot.list_releases() == []
    with pytest.raises(InputError, match="cannot be a robot's name"):
        enrol(database.address, hostile)


def test_a_retired_robot_does_not_get_in(database, server):
    password = enrol(database.address, "leaving")
    retire(database.address, "leaving")
    with pytest.raises(RefusedError, match="not permitted to log in"):
        PostgresFleet(server.address("leaving", password))


def test_a_wrong_password_is_not_taken_for_a_broken_network(server):
    with pytest.raises(RefusedError, match="password authentication failed"):
        PostgresFleet(server.address("postgres", "wrong"))


def test_no_server_is_told_in_a_line():
    with pytest.raises(UnreachableError, match="cannot be reached"):
        PostgresFleet("postgresql://robot1:secret@127.0.0.1:1/fleet")


def test_passwords_are_in_no_message():
    with pytest.raises(UnreachableError) as caught:
        PostgresFleet("postgresql://robot1:secret@127.0.0.1:1/fleet")
    assert "secret" not in str(caught.value)


def test_a_name_is_enrolled_once(database):
    enrol(database.address, "twin")
    with pytest.raises(InputError, match="enrolled already"):
        enrol(database.address, "twin")


@pytest.mark.parametrize("name", ["postgres", "tmapr_admin", "pg_monitor", "Robot", "", "a" * 64, "ä"])
def test_names_of_others_are_not_given_to_robots(server, name):
    with pytest.raises(InputError, match="cannot be a robot's name"):
        enrol(server.address(), name)
