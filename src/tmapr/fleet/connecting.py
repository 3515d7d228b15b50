"""A connection to the fleet's PostgreSQL server: encrypted and proved where it leaves the machine.

Nothing that identifies is sent in plain text to another host, or to one that did not prove who it is, unless the user
said so. Whatever the server or its absence answers becomes one line.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from tmapr.exceptions import InputError
from tmapr.fleet.protocol import RefusedError, UnreachableError

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMES = ("postgresql://", "postgres://")
SCHEMA_VERSION = "2"
"""The tables that this program speaks to."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PROVED = "verify-full"
_TIMEOUT = 10
_KNOWN = ("password authentication failed", "not permitted to log in", "no password supplied", "pg_hba.conf rejects")
"""A server's words for somebody whom it does not let in; while connecting, no code says so."""


def is_server(address: str) -> bool:
    """Whether an address is that of a PostgreSQL server."""
    return address.startswith(SCHEMES)


def name_address(address: str) -> str:
    """The address without password and options, as it may be shown and kept."""
    told = _parse(address)
    host, port = told.get("host", ""), told.get("port", "5432")
    user = f"{quote(told['user'], safe='')}@" if "user" in told else ""
    return f"postgresql://{user}{quote(host, safe=',:[]')}:{port}/{quote(told.get('dbname', ''), safe='')}"


def connect(address: str, *, insecure: bool = False) -> "Connection":
    """A connection of which every statement stands for itself."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    told = _secure(_parse(address), name_address(address), insecure=insecure)
    told |= {"connect_timeout": str(_TIMEOUT), "application_name": "tmapr"}
    with speaking(name_address(address)):
        return psycopg.connect(make_conninfo("", **told), autocommit=True)


def _parse(address: str) -> dict[str, str]:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        told = {name: str(value) for name, value in conninfo_to_dict(address).items() if value is not None}
    except psycopg.Error:
        raise InputError(
            "the fleet's address cannot be read; write postgresql://USER@HOST:PORT/DATABASE, with %40 for an @ in it"
        ) from None
    if "host" not in told:
        raise InputError("the fleet's address names no host; write postgresql://USER@HOST:PORT/DATABASE")
    return told


def _secure(told: dict[str, str], name: str, *, insecure: bool) -> dict[str, str]:
    """With proof of the host asked for where nobody said otherwise."""
    hosts = [*told["host"].split(","), *told.get("hostaddr", "").split(",")]
    if all(not host or host.startswith("/") or host in _LOCAL for host in hosts) or insecure:
        return told
    mode = told.setdefault("sslmode", _PROVED)
    if mode != _PROVED:
        raise InputError(
            f"{name}: sslmode={mode} does not prove which host answers; leave it out or write sslmode={_PROVED} and"
            " sslrootcert=FILE, or say --insecure"
        )
    return told


def check_version(connection: "Connection", name: str) -> None:
    """Refuse a server whose tables this program does not know."""
    from psycopg import errors

    with speaking(name):
        try:
            found = connection.execute("SELECT version_num FROM tmapr.alembic_version").fetchone()
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            found = None
    version = found[0] if found else None
    if version is None:
        raise InputError(f"{name}: holds no fleet; make its tables with `tmapr fleet migrate URL`")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{name}: its tables are of version {version}, this program's of {SCHEMA_VERSION};"
            " run `tmapr fleet migrate URL`, or the tmapr that goes with them"
        )


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Around statements: what goes wrong with the server called `name` is told in a line."""
    import psycopg
    from psycopg import errors

    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise RefusedError(f"{name}: does not allow it ({_first_line(error)})") from None
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        raise
    except (psycopg.IntegrityError, psycopg.DataError, errors.RaiseException) as error:
        raise RefusedError(f"{name}: does not take it ({_first_line(error)})") from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if any(words in str(error) for words in _KNOWN):
            raise RefusedError(f"{name}: does not let this login in ({_first_line(error)})") from None
        raise UnreachableError(
            f"{name}: cannot be reached ({_first_line(error)}); what is here stays in use, try again later"
        ) from None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
