"""`tmapr fleet`: versions of a map for all robots, and what each of them learned, brought together."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Quiet, make_teller, needs
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.fleet.protocol import Fleet
    from tmapr.fleet.telling import FleetTold

fleet = typer.Typer(
    help="A map for a fleet of robots: publish it, pull it, push what was learned, merge that.",
    no_args_is_help=True,
)
Address = Annotated[str, typer.Argument(metavar="URL", help="postgresql://USER@HOST/DATABASE, or a folder")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="a run folder")]
Robot = Annotated[str | None, typer.Option(metavar="NAME", help="of a folder: who this is (default: the host's name)")]
Insecure = Annotated[bool, typer.Option("--insecure", help="speak to a host that does not prove who it is")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@fleet.command()
def migrate(
    address: Address,
    store: Annotated[str, typer.Option(metavar="WHERE", help="where maps lie: a folder, s3://…, gs://…, az://…")] = "",
    to: Annotated[str | None, typer.Option(metavar="VERSION", help="of the tables (default: the newest)")] = None,
    discard: Annotated[bool, typer.Option("--discard", help="going back, lose what later tables hold")] = False,
    insecure: Insecure = False,
    quiet: Quiet = False,
) -> None:
    """Make the tables of a fleet, or bring them to this program's version; of a folder, make it a fleet."""
    with needs("fleet"):
        from tmapr.fleet.connecting import is_server, name_address
        from tmapr.fleet.folder import found_fleet
        from tmapr.fleet.migrating import migrate as bring

        if not is_server(address):
            found_fleet(Path(address))
            _say(f"{address}: is a fleet; whoever may write there may change all of it", quiet)
            return
        version = bring(address, to, store=store, discard=discard, insecure=insecure)
    _say(f"{name_address(address)}: tables of version {version}", quiet)


@fleet.command()
def enrol(
    address: Address,
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the robot")],
    role: Annotated[Literal["robot", "publisher"], typer.Option(help="what the login may do")] = "robot",
    insecure: Insecure = False,
) -> None:
    """Make a login for a robot, or for who publishes; prints its password, which nobody can read again."""
    with needs("fleet"):
        from tmapr.fleet.enrolling import enrol as make

        typer.echo(make(_demand_server(address), name, role, insecure=insecure))


@fleet.command()
def retire(
    address: Address,
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the robot")],
    insecure: Insecure = False,
    quiet: Quiet = False,
) -> None:
    """Take a login's rights away; what it pushed stays."""
    with needs("fleet"):
        from tmapr.fleet.enrolling import retire as end

        end(_demand_server(address), name, insecure=insecure)
    _say(f"{name}: may no longer log in; what it pushed stays", quiet)


@fleet.command()
def publish(
    address: Address,
    run: Run,
    shards: Annotated[bool, typer.Option("--shards", help="in shards: robots pull only those that changed")] = False,
    insecure: Insecure = False,
    quiet: Quiet = False,
) -> None:
    """Let all robots have the map of a run folder, with what it has learned."""
    with _opening(address, None, insecure) as opened:
        from tmapr.fleet.publishing import publish as release
        from tmapr.fleet.publishing import publish_shards

        make = publish_shards if shards else release
        made = make(opened, run, tell=make_teller(quiet))
    _say(f"{made.name}: version {made.number}, {made.release.lessons} lessons", quiet)


@fleet.command()
def pull(
    address: Address,
    to: Annotated[Path, typer.Option(metavar="DIR", help="the run folder that is to hold it")],
    version: Annotated[str, typer.Option("--map", metavar="NAME", help="of a version, or its first digits")] = "newest",
    discard: Annotated[bool, typer.Option("--discard", help="give up what was learned there and not pushed")] = False,
    robot: Robot = None,
    insecure: Insecure = False,
    quiet: Quiet = False,
) -> None:
    """Get a version of the map; until all of it is here and checked, the one from before stays in use."""
    with _noting(to), _opening(address, robot, insecure) as opened:
        from tmapr.fleet.pulling import pull as bring

        pulled, came = bring(opened, version, to, discard=discard, tell=make_teller(quiet))
        _say(f"{to}: version {pulled.number} ({pulled.name[:12]}), {came / 1e6:.1f} MB came", quiet)
        try:
            opened.note_pulled(pulled.name)
        except InputError as error:  # the map is here all the same
            make_teller(quiet)(f"the fleet was not told: {error}")


@fleet.command()
def push(address: Address, run: Run, robot: Robot = None, insecure: Insecure = False, quiet: Quiet = False) -> None:
    """Send all that was learned in a pulled run folder, or in its live drives; sent twice, it is one push."""
    with _noting(run), _opening(address, robot, insecure) as opened:
        from tmapr.fleet.pushing import push as send

        received = send(opened, run, make_teller(quiet))
    _say(f"{received.name}: {received.push.lessons} lessons of {received.robot}, received {received.received}", quiet)


@fleet.command()
def merge(
    address: Address,
    out: Annotated[Path, typer.Option(metavar="DIR", help="the run folder to make")],
    version: Annotated[str, typer.Option("--map", metavar="NAME", help="that robots learned from")] = "newest",
    without: Annotated[list[str] | None, typer.Option(metavar="ROBOT", help="leave out; may be repeated")] = None,
    insecure: Insecure = False,
    quiet: Quiet = False,
) -> None:
    """Join what all robots learned from a version, exactly as if one had learned it, and publish the next."""
    with _opening(address, None, insecure) as opened:
        from tmapr.fleet.merging import list_waiting
        from tmapr.fleet.merging import merge as join

        merged = join(opened, version, out, without=without or (), tell=make_teller(quiet))
        left = list_waiting(opened)
    made = merged.published
    _say(f"{made.name}: version {made.number}, {merged.joined.lessons} lessons of {len(merged.robots)} robots", quiet)
    for name, pushes in left.items():
        _say(f"{len(pushes)} robots pushed what they learned from {name[:12]}; --map {name[:12]} merges that", quiet)


@fleet.command()
def status(
    where: Annotated[str, typer.Argument(metavar="URL|RUN", help="a fleet, or a run folder that was pulled")],
    of: Annotated[str | None, typer.Option("--fleet", metavar="URL", help="of RUN: ask there what is newest")] = None,
    robot: Robot = None,
    insecure: Insecure = False,
    as_json: AsJson = False,
) -> None:
    """Say which versions and robots there are; of a run folder, whether its map is stale, half here, bad or offline."""
    from tmapr.artifacts.run import RunFolder

    if "://" not in where and RunFolder(Path(where)).release.exists():
        _tell_robot(Path(where), of, robot, insecure, as_json)
        return
    with _opening(where, robot, insecure) as opened:
        from tmapr.fleet.telling import tell_fleet

        told = tell_fleet(opened)
    typer.echo(told.as_json(indent=2) if as_json else "\n".join(_describe(told)))


def _tell_robot(run: Path, of: str | None, robot: str | None, insecure: bool, as_json: bool) -> None:
    from tmapr.fleet.keeping import find_home
    from tmapr.fleet.protocol import UnreachableError
    from tmapr.fleet.telling import describe_robot, tell_robot

    _, pulled = find_home(run)
    if of is None:
        told = tell_robot(run, pulled, None)
    else:
        try:
            with _opening(of, robot, insecure) as opened:
                told = tell_robot(run, pulled, opened)
        except UnreachableError as error:
            told = tell_robot(run, pulled, error)
    typer.echo(told.as_json(indent=2) if as_json else "\n".join(describe_robot(told)))


def _describe(told: "FleetTold") -> Iterator[str]:
    yield f"{told.address}: {len(told.releases)} versions, {len(told.robots)} robots"
    for release in told.releases:
        waiting = f"; {release.waiting} robots wait to be merged" if release.waiting else ""
        yield f"  version {release.number} {release.name[:12]}  {release.lessons} lessons  {release.published}{waiting}"
    for robot in told.robots:
        held = f"{robot.release[:12]}{' (stale)' if robot.stale else ''}" if robot.release else "no version"
        yield f"  {robot.name}  {held}  {robot.pushes} pushes  heard {robot.heard or 'never'}"


@contextmanager
def _opening(address: str, robot: str | None, insecure: bool) -> "Iterator[Fleet]":
    with needs("fleet"):
        from tmapr.fleet.opening import opening

        with opening(address, robot, insecure=insecure) as opened:
            yield opened


@contextmanager
def _noting(run: Path) -> Iterator[None]:
    """Why it failed is kept in the run folder, where whoever begins a drive reads it."""
    from tmapr.fleet.keeping import SHOWN, note_tried, read_pulled

    try:
        yield
    except InputError as error:
        pulled = read_pulled(run) if run.is_dir() else None
        if pulled is None:
            raise
        note_tried(run, str(error))
        raise InputError(f"{error}; {run} keeps version {pulled.number} ({pulled.name[:SHOWN]})") from None


def _demand_server(address: str) -> str:
    from tmapr.fleet.connecting import is_server

    if not is_server(address):
        raise InputError(f"{address}: a folder knows no logins; anybody who may write there is one of the fleet")
    return address


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(line)
