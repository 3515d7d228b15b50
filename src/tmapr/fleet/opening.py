"""Which fleet an address means: a PostgreSQL server, or a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tmapr.exceptions import InputError
from tmapr.fleet.connecting import is_server
from tmapr.fleet.protocol import Fleet


@contextmanager
def opening(address: str, robot: str | None = None, *, insecure: bool = False) -> Iterator[Fleet]:
    """The fleet at an address, for as long as it is used; in a folder a robot says who it is."""
    fleet = _open(address, robot, insecure=insecure)
    try:
        yield fleet
    finally:
        fleet.close()


def _open(address: str, robot: str | None, *, insecure: bool) -> Fleet:
    if not is_server(address):
        from tmapr.fleet.folder import FolderFleet

        return FolderFleet(Path(address), robot)
    from tmapr.fleet.postgres import PostgresFleet

    fleet = PostgresFleet(address, insecure=insecure)
    if robot not in (None, fleet.robot):
        fleet.close()
        raise InputError(f"{fleet.address}: knows who is who by their logins, and this one is {fleet.robot}")
    return fleet
