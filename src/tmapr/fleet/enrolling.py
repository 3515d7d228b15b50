"""Robots and publishers get a login of their own, and lose it again; what they sent stays."""

import re
import secrets
from typing import TYPE_CHECKING, Literal

from tmapr.exceptions import InputError
from tmapr.fleet.connecting import check_version, connect, name_address, speaking

if TYPE_CHECKING:
    from psycopg.sql import Composable

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_RESERVED = ("pg_", "tmapr_", "postgres")
_CONNECTIONS = 8
"""A robot needs one, and one that hangs may not keep others out."""

RoleName = Literal["robot", "publisher"]


def enrol(address: str, name: str, role: RoleName = "robot", *, insecure: bool = False) -> str:
    """Make a login for a robot, or for who publishes; its password, which nobody can read afterwards."""
    from psycopg import errors, sql

    _check_name(name)
    password = secrets.token_urlsafe(24)
    with connect(address, insecure=insecure) as connection, speaking(name_address(address)):
        check_version(connection, name_address(address))
        # The server never sees the password itself, so that no log of its statements has it.
        kept = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
        try:
            with connection.transaction():
                connection.execute("SET LOCAL ROLE tmapr_admin")
                connection.execute(
                    sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT {} IN ROLE {}").format(
                        sql.Identifier(name), sql.Literal(kept), sql.Literal(_CONNECTIONS), _group(role)
                    )
                )
                if role == "robot":
                    connection.execute("INSERT INTO tmapr.robots (name) VALUES (%s)", [name])
        except (errors.DuplicateObject, errors.UniqueViolation):
            raise InputError(f"{name}: is enrolled already, or another login has that name; choose another") from None
    return password


def retire(address: str, name: str, *, insecure: bool = False) -> None:
    """Take a login's rights away; what it sent stays, and its name is not given to another."""
    from psycopg import errors, sql

    _check_name(name)
    with connect(address, insecure=insecure) as connection, speaking(name_address(address)):
        check_version(connection, name_address(address))
        gone = sql.Identifier(name)
        try:
            with connection.transaction():
                connection.execute("SET LOCAL ROLE tmapr_admin")
                connection.execute(sql.SQL("REVOKE tmapr_robot, tmapr_publisher FROM {}").format(gone))
                connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(gone))
        except errors.UndefinedObject:
            raise InputError(f"{name}: there is no such login; `tmapr fleet status URL` lists the robots") from None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.startswith(_RESERVED):
        raise InputError(
            f"{name[:80]!r}: cannot be a robot's name; take small letters, digits and _, a letter first, 63 at most,"
            f" and none that begins with {', '.join(_RESERVED)}"
        )


def _group(role: RoleName) -> "Composable":
    from psycopg import sql

    return sql.Identifier({"robot": "tmapr_robot", "publisher": "tmapr_publisher"}[role])
