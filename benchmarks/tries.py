"""What a robot must not be able to do on the fleet's server, each as a try that says how it ended.

A try counts as refused if the server raised an error, or answered as if what was asked for were not there; and whoever
counts them looks at the tables before and after.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from postgres_server import Server
from tmapr.fleet.documents import Push, PushedFile, Release, name_text, write_document
from tmapr.fleet.enrolling import enrol
from tmapr.fleet.migrating import migrate
from tmapr.fleet.parts import name_part
from tmapr.fleet.postgres import PostgresFleet

Outcome = Literal["refused", "ALLOWED"]
_TABLES = ("fleet", "robots", "releases", "parts", "pushes", "pulled", "alembic_version")
_CONTENT = tuple(f"SELECT row::text FROM tmapr.{table} AS row ORDER BY 1" for table in _TABLES)
_CATALOGUE = (
    "SELECT relname, relacl::text, relrowsecurity FROM pg_class WHERE relnamespace::regnamespace::text !~ '^pg_t'"
    " ORDER BY oid",
    "SELECT rolname, rolsuper, rolcanlogin, rolcreaterole, rolpassword FROM pg_authid ORDER BY 1",
    "SELECT roleid, member FROM pg_auth_members ORDER BY 1, 2",
    "SELECT count(*) FROM pg_largeobject_metadata",
)


@dataclass
class Staged:
    """A fleet in which two robots have pushed."""

    server: Server
    database: str
    release: str
    passwords: dict[str, str] = field(default_factory=dict)
    other_part: str = ""

    def address(self, name: str) -> str:
        """Of somebody's login."""
        return self.server.address(name, self.passwords[name], self.database)

    def snapshot(self) -> list[Any]:
        """All that the tables hold, and who may do what."""
        import psycopg

        with psycopg.connect(self.server.address(database=self.database)) as connection:
            return [connection.execute(statement.encode()).fetchall() for statement in (*_CONTENT, *_CATALOGUE)]


def stage(server: Server, store: str, database: str = "tried") -> Staged:
    """Make such a fleet; its robots are tried1 and tried2, its publisher is trusted."""
    server.execute(f"CREATE DATABASE {database}")
    address = server.address(database=database)
    migrate(address, store=store, insecure=False)
    release = Release(map="m", settings="s", lessons=0, last="", files=())
    staged = Staged(server, database, name_text(write_document(release)))
    staged.passwords = {name: enrol(address, name) for name in ("tried1", "tried2")}
    staged.passwords["trusted"] = enrol(address, "trusted", "publisher")
    publisher = PostgresFleet(staged.address("trusted"))
    publisher.publish(release)
    publisher.close()
    for name in ("tried1", "tried2"):
        robot = PostgresFleet(staged.address(name))
        part = robot.send(name.encode())
        file = PushedFile(name="state.npz", bytes=len(name), sha256=part, parts=(part,))
        robot.push(Push(release=staged.release, lessons=1, last="", files=(file,)))
        robot.note_pulled(staged.release)
        robot.close()
    staged.other_part = name_part(b"tried2")
    return staged


def _attempt(connection: Any, statement: str, *given: object) -> Outcome:
    """Refused, if the server says no, finds nothing or changes nothing."""
    import psycopg

    try:
        cursor = connection.execute(statement.encode(), given or None)
        rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error:
        return "refused"
    return (
        "ALLOWED" if rows or cursor.rowcount > 0 or (cursor.description is None and cursor.rowcount < 0) else "refused"
    )


def _say(*statements: str) -> Callable[[Any, Staged], Outcome]:
    """A try that fails unless every statement passes."""

    def attempt(connection: Any, staged: Staged) -> Outcome:
        text = {"release": staged.release, "part": staged.other_part, "database": staged.database}
        outcomes = [_attempt(connection, statement.format(**text)) for statement in statements]
        return "refused" if "refused" in outcomes else "ALLOWED"

    return attempt


def _push_as(columns: str, values: str) -> Callable[[Any, Staged], Outcome]:
    """A sound push with something in it that is not the robot's to say."""

    def attempt(connection: Any, staged: Staged) -> Outcome:
        text = write_document(Push(release=staged.release, lessons=7, last="", files=()))
        statement = f"INSERT INTO tmapr.pushes (name, document, {columns}) VALUES (%s, %s, {values}) RETURNING name"
        return _attempt(connection, statement, name_text(text), text)

    return attempt


def _push_what_is_not_ones_own(connection: Any, staged: Staged) -> Outcome:
    file = PushedFile(name="state.npz", bytes=6, sha256=staged.other_part, parts=(staged.other_part,))
    text = write_document(Push(release=staged.release, lessons=7, last="", files=(file,)))
    statement = "INSERT INTO tmapr.pushes (name, document) VALUES (%s, %s) RETURNING name"
    return _attempt(connection, statement, name_text(text), text)


def _push_under_another_name(connection: Any, staged: Staged) -> Outcome:
    text = write_document(Push(release=staged.release, lessons=7, last="", files=()))
    statement = "INSERT INTO tmapr.pushes (name, document) VALUES (%s, %s) RETURNING name"
    return _attempt(connection, statement, "0" * 64, text)


def _forge_release(connection: Any, staged: Staged) -> Outcome:
    text = write_document(Release(map="forged", settings="s", lessons=0, last="", parent=staged.release, files=()))
    statement = "INSERT INTO tmapr.releases (name, document) VALUES (%s, %s) RETURNING name"
    return _attempt(connection, statement, name_text(text), text)


def _leave_the_name(connection: Any, _: Staged) -> Outcome:
    """SQL in a name, as values and in a document."""
    hostile = "'; DROP TABLE tmapr.releases; --"
    text = f'{{"kind":"push","release":"{hostile}","files":[]}}'
    statement = "INSERT INTO tmapr.pushes (name, document) VALUES (%s, %s) RETURNING name"
    found = _attempt(connection, "SELECT * FROM tmapr.pushes WHERE robot = %s", hostile)
    pushed = _attempt(connection, statement, name_text(text), text)
    return "refused" if found == pushed == "refused" else "ALLOWED"


TRIES: dict[str, Callable[[Any, Staged], Outcome]] = {
    "read another's state": _say("SELECT content FROM tmapr.parts WHERE sha256 = '{part}'"),
    "read another's pushes": _say("SELECT * FROM tmapr.pushes WHERE robot <> session_user"),
    "read another's pulls": _say("SELECT * FROM tmapr.pulled WHERE robot <> session_user"),
    "alter a map": _say("UPDATE tmapr.releases SET document = document WHERE name = '{release}'"),
    "delete a map": _say("DELETE FROM tmapr.releases"),
    "publish a map": _forge_release,
    "forge a version's number": _say("UPDATE tmapr.releases SET number = DEFAULT"),
    "forge the robot's name": _push_as("robot", "'tried2'"),
    "forge the time": _push_as("robot, received", "'tried1', '2000-01-01'"),
    "forge a push's number": _push_as("number", "1"),
    "push under another hash": _push_under_another_name,
    "push another's part as one's own": _push_what_is_not_ones_own,
    "send a part in another's name": _say("INSERT INTO tmapr.parts (robot, content) VALUES ('tried2', 'x')"),
    "update one's own acknowledged push": _say("UPDATE tmapr.pushes SET document = document"),
    "replace one's own push by conflict": _say(
        "INSERT INTO tmapr.pushes (name, document) SELECT name, document FROM tmapr.pushes"
        " ON CONFLICT (robot, name) DO UPDATE SET document = ''"
    ),
    "delete one's own push": _say("DELETE FROM tmapr.pushes"),
    "truncate": _say("TRUNCATE tmapr.parts CASCADE"),
    "drop a table": _say("DROP TABLE tmapr.pushes"),
    "create a table": _say("CREATE TABLE public.mine (x int)"),
    "create a table beside theirs": _say("CREATE TABLE tmapr.mine (x int)"),
    "create a temporary table": _say("CREATE TEMPORARY TABLE mine (x int)"),
    "create a function": _say("CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    "create a large object": _say("SELECT lo_create(0)"),
    "enrol a robot": _say("INSERT INTO tmapr.robots (name) VALUES ('forged')"),
    "say where maps lie": _say("UPDATE tmapr.fleet SET store = 's3://elsewhere'"),
    "pretend other tables": _say("UPDATE tmapr.alembic_version SET version_num = '9'"),
    "SQL in a name": _leave_the_name,
    "two statements in one": _say("SELECT 1; DROP TABLE tmapr.pushes"),
    "read the passwords": _say("SELECT rolpassword FROM pg_authid"),
    "switch row security off": _say("ALTER TABLE tmapr.pushes DISABLE ROW LEVEL SECURITY"),
    "read past row security": _say("SET row_security = off", "SELECT * FROM tmapr.pushes"),
    "drop a policy": _say("DROP POLICY own ON tmapr.pushes"),
    "disable the trigger": _say("ALTER TABLE tmapr.pushes DISABLE TRIGGER ALL"),
    "skip the triggers": _say("SET session_replication_role = replica"),
    "become the publisher": _say("SET ROLE tmapr_publisher"),
    "become the admin": _say("SET ROLE tmapr_admin"),
    "become another robot": _say("SET SESSION AUTHORIZATION tried2"),
    "grant oneself": _say("GRANT tmapr_publisher TO tried1"),
    "make a role": _say("CREATE ROLE forged LOGIN"),
    "change another's password": _say("ALTER ROLE tried2 PASSWORD 'known'"),
    "read a file of the server": _say("SELECT pg_read_file('PG_VERSION')"),
    "run a program on the server": _say("COPY (SELECT 1) TO PROGRAM 'true'"),
    "write a file on the server": _say("COPY (SELECT 1) TO '/tmp/forged'"),
    "stop another's session": _say(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()"
    ),
    "lock a table for all": _say("BEGIN", "LOCK TABLE tmapr.releases IN ACCESS EXCLUSIVE MODE"),
    "fill the disk with one part": _say(
        "INSERT INTO tmapr.parts (content) VALUES (decode(repeat('00', 4194305), 'hex'))"
    ),
}
"""By what a robot tries."""
