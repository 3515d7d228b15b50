"""The server itself: migrations, encrypted connections, and what is left after it was killed."""

import pytest

import fleet_load
from commandline import command
from fleet_load import Plan, run_load
from fleet_world import make_run
from postgres_server import find_binaries, serving
from secure_site import PEM
from tmapr.exceptions import InputError
from tmapr.fleet.connecting import SCHEMA_VERSION, connect, name_address
from tmapr.fleet.migrating import migrate
from tmapr.fleet.postgres import PostgresFleet
from tmapr.fleet.protocol import RefusedError, UnreachableError


@pytest.fixture
def empty(server):
    """An address of a database without tables."""
    server.execute("DROP DATABASE IF EXISTS empty WITH (FORCE)")
    server.execute("CREATE DATABASE empty")
    return server.address(database="empty")


def count_tables(server):
    return server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'tmapr'", "empty")[0][0]


def test_tables_go_up_and_down_again(server, empty):
    assert migrate(empty, store="somewhere", insecure=False) == SCHEMA_VERSION
    made = count_tables(server)
    assert migrate(empty, "1", discard=True, insecure=False) == "1"
    assert count_tables(server) == made - 1
    assert migrate(empty, insecure=False) == SCHEMA_VERSION
    assert count_tables(server) == made
    migrate(empty, "base", discard=True, insecure=False)
    assert count_tables(server) == 1


def test_going_back_has_to_be_meant(server, empty):
    migrate(empty, store="somewhere", insecure=False)
    with pytest.raises(InputError, match="--discard"):
        migrate(empty, "1", insecure=False)


def test_what_was_pushed_outlives_a_migration(server, database):
    made = database.open("robot1")
    part = made.send(b"kept")
    migrate(database.address, insecure=False)
    assert made.fetch("robot1", part) == b"kept"


def test_tables_of_another_version_are_refused_in_a_line(server, empty):
    migrate(empty, store="somewhere", insecure=False)
    migrate(empty, "1", discard=True, insecure=False)
    with pytest.raises(InputError, match=f"of version 1, this program's of {SCHEMA_VERSION}"):
        PostgresFleet(empty)


def test_tables_of_a_later_program_are_not_touched(server, empty):
    migrate(empty, store="somewhere", insecure=False)
    server.execute("UPDATE tmapr.alembic_version SET version_num = '7'", "empty")
    with pytest.raises(InputError, match="this program knows 1 to"):
        migrate(empty, insecure=False)


def test_a_database_without_tables_is_told_from_a_fleet(empty):
    with pytest.raises(InputError, match="holds no fleet"):
        PostgresFleet(empty)


def test_a_robot_cannot_migrate(server, database):
    robot = database.open("robot1")
    server.execute("ALTER ROLE robot1 PASSWORD 'known'")
    with pytest.raises(RefusedError):
        migrate(server.address("robot1", "known"), "1", discard=True, insecure=False)
    assert robot.list_releases() == []
    server.execute("ALTER ROLE robot1 PASSWORD NULL")


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_a_host_elsewhere_has_to_prove_who_it_is(mode):
    with pytest.raises(InputError, match="does not prove which host answers"):
        connect(f"postgresql://robot1@fleet.example/fleet?sslmode={mode}")


def test_a_second_host_is_looked_at_too():
    with pytest.raises(InputError, match="does not prove"):
        connect("postgresql://robot1@127.0.0.1,fleet.example/fleet?sslmode=prefer")


def test_an_address_says_what_is_wrong_with_it():
    with pytest.raises(InputError, match="names no host"):
        connect("postgresql:///fleet")


def test_an_address_is_shown_without_its_password():
    shown = name_address("postgresql://robot1:s%40cret@fleet.example:6000/fleet?sslmode=require")
    assert shown == "postgresql://robot1@fleet.example:6000/fleet"


@pytest.fixture(scope="module")
def encrypted():
    """A server with a certificate for 127.0.0.1."""
    binaries = [each for each in find_binaries() if b"ssl_cert_file" in (each / "postgres").read_bytes()]
    for each in binaries:
        try:
            with serving(each, certificate=PEM, settings=("fsync=off",)) as running:
                yield running
                return
        except RuntimeError as error:
            if "SSL is not supported" not in str(error):
                raise
    pytest.skip("no PostgreSQL server with TLS: install Debian's postgresql")


def test_a_host_that_proves_itself_is_spoken_to_encrypted(encrypted):
    proved = f"{encrypted.address()}?sslmode=verify-full&sslrootcert={PEM}"
    with connect(proved) as connection:
        assert connection.pgconn.ssl_in_use


def test_a_host_that_cannot_prove_itself_is_not_spoken_to(encrypted, tmp_path):
    other = f"{encrypted.address()}?sslmode=verify-full&sslrootcert={tmp_path / 'none.pem'}"
    with pytest.raises(UnreachableError):
        connect(other)


def test_a_host_under_another_name_is_not_spoken_to(encrypted):
    renamed = encrypted.address().replace("127.0.0.1", "localhost")
    with pytest.raises(UnreachableError):
        connect(f"{renamed}?sslmode=verify-full&sslrootcert={PEM}")


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path, monkeypatch):
    binaries = find_binaries()
    if not binaries:
        pytest.skip("no PostgreSQL server: install the package pgserver, or Debian's postgresql")
    monkeypatch.setattr(fleet_load, "OUTAGE", 0.2)
    with serving(binaries[-1]) as server:
        found = run_load(server, tmp_path, Plan(seconds=3.0, robots=2, features=64))
    assert found.lost == found.failures == found.unsound == 0
    assert found.acknowledged >= 2
    assert found.lessons == 5 * found.acknowledged
    assert max(found.K, found.W) < 1e-8


def test_the_command_goes_the_whole_way(server, database, tmp_path, capsys):
    """Publish, pull, push, merge and status, typed as a user does."""
    mapped, robot = make_run(tmp_path / "mapped"), tmp_path / "robot"
    assert command("fleet", "enrol", database.address, "typed") == 0
    login = server.address("typed", capsys.readouterr().out.strip())
    assert command("fleet", "enrol", database.address, "typist", "--role", "publisher") == 0
    publisher = server.address("typist", capsys.readouterr().out.strip())
    assert command("fleet", "publish", publisher, mapped) == 0
    assert command("fleet", "pull", login, "--to", robot) == 0
    fleet_load.load(robot).new_drive().save(robot)
    assert command("fleet", "push", login, robot) == 0
    assert command("fleet", "merge", publisher, "--out", tmp_path / "merged") == 0
    capsys.readouterr()
    assert command("fleet", "status", publisher) == 0
    told = capsys.readouterr().out
    assert "2 versions" in told
    assert "typed" in told
    assert "(stale)" in told
    assert command("fleet", "retire", database.address, "typed") == 0
    assert command("fleet", "pull", login, "--to", robot) == 2
    assert "does not let this login in" in capsys.readouterr().err
