"""A PostgreSQL server as a fleet. Who may do what is the server's to decide, see migrations/versions.

A push is acknowledged after its transaction is on the server's disk, also where somebody has set the server to answer
sooner. What was acknowledged and did not come back is pushed again, and is one row.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tmapr.exceptions import InputError
from tmapr.fleet.connecting import check_version, connect, name_address, speaking
from tmapr.fleet.documents import Published, Push, Received, Release, read_document, write_document
from tmapr.fleet.documents import name_text as name_of
from tmapr.fleet.parts import name_part
from tmapr.fleet.protocol import Robot
from tmapr.store import Store, open_store

_RELEASES = "SELECT name, number, publisher, published, document FROM tmapr.releases"
_PUSHES = "SELECT name, number, robot, received, document FROM tmapr.pushes"
_ROBOTS = """
SELECT robots.name, held.release, coalesce(sent.pushes, 0), greatest(held.pulled, sent.received)
FROM tmapr.robots AS robots
LEFT JOIN LATERAL (
    SELECT release, pulled FROM tmapr.pulled WHERE robot = robots.name ORDER BY number DESC LIMIT 1
) AS held ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS pushes, max(received) AS received FROM tmapr.pushes WHERE robot = robots.name
) AS sent ON true
ORDER BY robots.name
"""


class PostgresFleet:
    """A fleet on a server; one connection, for one thread."""

    def __init__(self, address: str, *, insecure: bool = False) -> None:
        self._name = name_address(address)
        self._connection = connect(address, insecure=insecure)
        try:
            check_version(self._connection, self._name)
            with speaking(self._name):
                self._connection.execute("SET synchronous_commit = on")
                self._connection.execute("SET search_path = pg_catalog, pg_temp")
                self._robot = str(self._query("SELECT session_user::text")[0][0])
        except BaseException:
            self._connection.close()
            raise

    @property
    def address(self) -> str:
        """Without a password."""
        return self._name

    @property
    def robot(self) -> str:
        """The login."""
        return self._robot

    def open_store(self) -> Store:
        """As the server names it."""
        with speaking(self._name):
            found = self._query("SELECT store FROM tmapr.fleet")
        if not found:
            raise InputError(f"{self._name}: names no store; say `tmapr fleet migrate URL --store WHERE`")
        return open_store(found[0][0])

    def list_releases(self) -> list[Published]:
        """All releases, the oldest first."""
        with speaking(self._name):
            rows = self._query(f"{_RELEASES} ORDER BY number")
        return [self._read_release(row) for row in rows]

    def publish(self, release: Release) -> Published:
        """Let all have a release."""
        text = write_document(release)
        with speaking(self._name):
            self._query(
                "INSERT INTO tmapr.releases (name, document) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING"
                " RETURNING name",
                [name_of(text), text],
            )
            (row,) = self._query(f"{_RELEASES} WHERE name = %s", [name_of(text)])
        return self._read_release(row)

    def find_missing(self, parts: Sequence[str]) -> list[str]:
        """Which of these the fleet does not have from this robot."""
        with speaking(self._name):
            held = {
                row[0]
                for row in self._query(
                    "SELECT sha256 FROM tmapr.parts WHERE robot = session_user AND sha256 = ANY(%s)", [list(parts)]
                )
            }
        return [part for part in dict.fromkeys(parts) if part not in held]

    def send(self, part: bytes) -> str:
        """Hand a part over; its name."""
        with speaking(self._name):
            self._query(
                "INSERT INTO tmapr.parts (content) VALUES (%b) ON CONFLICT (robot, sha256) DO NOTHING RETURNING sha256",
                [part],
            )
        return name_part(part)

    def push(self, push: Push) -> Received:
        """Hand over what was learned; returns when the server has it on its disk."""
        text = write_document(push)
        with speaking(self._name):
            self._query(
                "INSERT INTO tmapr.pushes (name, document) VALUES (%s, %s) ON CONFLICT (robot, name) DO NOTHING"
                " RETURNING name",
                [name_of(text), text],
            )
            (row,) = self._query(f"{_PUSHES} WHERE robot = session_user AND name = %s", [name_of(text)])
        return self._read_push(row)

    def list_pushes(self, release: str | None = None) -> list[Received]:
        """What was pushed and may be seen, the oldest first."""
        with speaking(self._name):
            rows = self._query(f"{_PUSHES} WHERE %s::text IS NULL OR release = %s ORDER BY number", [release, release])
        return [self._read_push(row) for row in rows]

    def fetch(self, robot: str, part: str) -> bytes:
        """A part that a robot sent."""
        with speaking(self._name):
            rows = self._query("SELECT content FROM tmapr.parts WHERE robot = %s AND sha256 = %s", [robot, part], True)
        if not rows or name_part(rows[0][0]) != part:
            raise InputError(f"{self._name}: the part {part[:12]} of {robot} is not there, or is another one")
        return bytes(rows[0][0])

    def note_pulled(self, release: str) -> None:
        """Say what this robot localizes with."""
        with speaking(self._name):
            self._query("INSERT INTO tmapr.pulled (release) VALUES (%s) RETURNING number", [release])

    def list_robots(self) -> list[Robot]:
        """The robots that may be seen."""
        with speaking(self._name):
            rows = self._query(_ROBOTS)
        return [Robot(name, held, pushes, _tell_time(heard)) for name, held, pushes, heard in rows]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _query(self, text: str, given: Sequence[Any] = (), binary: bool = False) -> list[tuple[Any, ...]]:
        # Statements are ours and values are never part of them: a name that is SQL stays a name.
        return self._connection.execute(text.encode(), given, binary=binary).fetchall()

    def _read_release(self, row: tuple[Any, ...]) -> Published:
        name, number, publisher, published, text = row
        release = read_document(Release, text, name, self._name)
        return Published(name, number, publisher, _tell_time(published) or "", release)

    def _read_push(self, row: tuple[Any, ...]) -> Received:
        name, number, robot, received, text = row
        return Received(name, number, robot, _tell_time(received) or "", read_document(Push, text, name, self._name))


def _tell_time(when: datetime | None) -> str | None:
    return None if when is None else when.astimezone(UTC).isoformat(timespec="milliseconds")
