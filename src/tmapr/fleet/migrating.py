"""The tables of a fleet brought to a version, by alembic; before that the roles, which belong to the whole server.

One transaction: a migration that fails or is killed leaves the tables as they were.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tmapr.exceptions import InputError
from tmapr.fleet.connecting import SCHEMA_VERSION, connect, name_address, speaking

if TYPE_CHECKING:
    from psycopg import Connection

ADMIN, PUBLISHER, ROBOT = "tmapr_admin", "tmapr_publisher", "tmapr_robot"
_BASE = "base"
_SCRIPTS = Path(__file__).parent / "migrations"
_ROLES = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tmapr_admin') THEN
        CREATE ROLE tmapr_admin NOLOGIN CREATEROLE;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tmapr_publisher') THEN
        CREATE ROLE tmapr_publisher NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tmapr_robot') THEN
        CREATE ROLE tmapr_robot NOLOGIN;
    END IF;
END $$;
GRANT tmapr_publisher, tmapr_robot TO tmapr_admin WITH ADMIN OPTION;
CREATE SCHEMA IF NOT EXISTS tmapr AUTHORIZATION tmapr_admin;
REVOKE ALL ON SCHEMA tmapr FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
"""
_LARGE_OBJECTS = (
    *("lo_create(oid)", "lo_creat(integer)", "lo_from_bytea(oid, bytea)", "lo_put(oid, bigint, bytea)"),
    *("lo_open(oid, integer)", "lowrite(integer, bytea)", "lo_unlink(oid)", "lo_truncate(integer, integer)"),
)
"""Whoever may connect may otherwise fill the disk with these, in no table and under no policy."""


def migrate(address: str, to: str | None = None, *, store: str = "", discard: bool = False, insecure: bool) -> str:
    """Bring the tables to a version, the newest by default; the version that they have then.

    A store is where the parts of releases lie, and is said once. Going back loses what later tables hold, and so has to
    be said.
    """
    name = name_address(address)
    with connect(address, insecure=insecure) as connection:
        before = _read_version(connection, name)
        target = to or SCHEMA_VERSION
        if target not in (_BASE, *map(str, range(1, int(SCHEMA_VERSION) + 1))):
            raise InputError(f"{name}: there is no version {target}; versions are {_BASE}, 1 to {SCHEMA_VERSION}")
        known = int(before) if before else 0
        goal = 0 if target == _BASE else int(target)
        if known > int(SCHEMA_VERSION):
            raise InputError(f"{name}: its tables are of version {known}, this program knows 1 to {SCHEMA_VERSION}")
        if goal < known and not discard:
            raise InputError(f"{name}: going from version {known} to {target} loses what lies between; say --discard")
        if before is None and goal and not store:
            raise InputError(f"{name}: say where the parts of releases are to lie, --store FOLDER or an s3:// address")
        with speaking(name):
            if before is None:
                _prepare(connection)
            _step(connection, target, up=goal >= known)
            if store and goal:
                _set_store(connection, store)
    return target


def _read_version(connection: "Connection", name: str) -> str | None:
    from psycopg import errors

    with speaking(name):
        try:
            found = connection.execute("SELECT version_num FROM tmapr.alembic_version").fetchone()
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            return None
    return str(found[0]) if found else None


def _prepare(connection: "Connection") -> None:
    """Roles, schema, and what a fresh database allows to everybody; by a superuser, once."""
    from psycopg import sql

    database = sql.Identifier(connection.info.dbname)
    with connection.transaction():
        connection.execute(_ROLES)
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
        roles = sql.SQL(", ").join(map(sql.Identifier, (ADMIN, PUBLISHER, ROBOT)))
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, roles))
        for function in _LARGE_OBJECTS:
            connection.execute(
                sql.SQL("REVOKE EXECUTE ON FUNCTION pg_catalog.{} FROM PUBLIC").format(sql.SQL(function))
            )


def _step(connection: "Connection", target: str, *, up: bool) -> None:
    """Let alembic do it, without a file of settings: migrations/env.py takes the connection that it is given."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, pool
    from sqlalchemy.exc import DBAPIError

    connection.autocommit = False
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=pool.StaticPool)
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    try:
        with engine.connect() as bound:
            bound.exec_driver_sql("SET LOCAL ROLE tmapr_admin")
            config.attributes["connection"] = bound
            (command.upgrade if up else command.downgrade)(config, target)
            bound.commit()
    except DBAPIError as error:  # as psycopg said it
        raise (error.orig or error) from None
    connection.autocommit = True


def _set_store(connection: "Connection", store: str) -> None:
    connection.execute(
        "INSERT INTO tmapr.fleet (store) VALUES (%s) ON CONFLICT (one) DO UPDATE SET store = excluded.store", [store]
    )
