"""`tmapr fleet`: versions of a map for all robots, and what each of them learned, brought together."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet, make_teller
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.fleet.folder import Fleet
    from tmapr.fleet.telling import FleetTold

fleet = typer.Typer(
    help="A map for a fleet of robots: publish it, pull it, push what was learned, merge that.",
    no_args_is_help=True,
)
Address = Annotated[str, typer.Argument(metavar="FLEET", help="the folder that is the fleet")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="a run folder")]
Robot = Annotated[str | None, typer.Option(metavar="NAME", help="who this is (default: the host's name)")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@fleet.command()
def publish(address: Address, run: Run, quiet: Quiet = False) -> None:
    """Let all robots have the map of a run folder, with what it has learned; an empty or new folder becomes a fleet."""
    from tmapr.fleet.folder import found_fleet, locate_fleet
    from tmapr.fleet.publishing import publish as release

    if found_fleet(locate_fleet(address)):
        _say(f"{address}: is a fleet from now on; whoever may write there may change all of it", quiet)
    made = release(_open(address), run, tell=make_teller(quiet))
    _say(f"{made.name}: version {made.number}, {made.release.lessons} lessons", quiet)


@fleet.command()
def pull(
    address: Address,
    to: Annotated[Path, typer.Option(metavar="DIR", help="the run folder that is to hold it")],
    version: Annotated[str, typer.Option("--map", metavar="NAME", help="of a version, or its first digits")] = "newest",
    discard: Annotated[bool, typer.Option("--discard", help="give up what was learned there and not pushed")] = False,
    robot: Robot = None,
    quiet: Quiet = False,
) -> None:
    """Get a version of the map; until all of it is here and checked, the one from before stays in use."""
    from tmapr.fleet.pulling import pull as bring

    with _noting(to):
        opened = _open(address, robot)
        pulled, came = bring(opened, version, to, discard=discard, tell=make_teller(quiet))
        _say(f"{to}: version {pulled.number} ({pulled.name[:12]}), {came / 1e6:.1f} MB came", quiet)
        try:
            opened.note_pulled(pulled.name)
        except InputError as error:  # the map is here all the same
            make_teller(quiet)(f"the fleet was not told: {error}")


@fleet.command()
def push(address: Address, run: Run, robot: Robot = None, quiet: Quiet = False) -> None:
    """Send all that was learned in a pulled run folder, or in its live drives; sent twice, it is one push."""
    from tmapr.fleet.pushing import push as send

    with _noting(run):
        received = send(_open(address, robot), run, make_teller(quiet))
    _say(f"{received.name}: {received.push.lessons} lessons of {received.robot}, received {received.received}", quiet)


@fleet.command()
def merge(
    address: Address,
    out: Annotated[Path, typer.Option(metavar="DIR", help="the run folder to make")],
    version: Annotated[str, typer.Option("--map", metavar="NAME", help="that robots learned from")] = "newest",
    without: Annotated[list[str] | None, typer.Option(metavar="ROBOT", help="leave out; may be repeated")] = None,
    quiet: Quiet = False,
) -> None:
    """Join what all robots learned from a version, exactly as if one had learned it, and publish the next."""
    from tmapr.fleet.merging import list_waiting
    from tmapr.fleet.merging import merge as join

    opened = _open(address)
    merged = join(opened, version, out, without=without or (), tell=make_teller(quiet))
    left = list_waiting(opened)
    made = merged.published
    _say(f"{made.name}: version {made.number}, {merged.joined.lessons} lessons of {len(merged.robots)} robots", quiet)
    for name, pushes in left.items():
        _say(f"{len(pushes)} robots pushed what they learned from {name[:12]}; --map {name[:12]} merges that", quiet)


@fleet.command()
def status(
    where: Annotated[str, typer.Argument(metavar="FLEET|RUN", help="a fleet, or a run folder that was pulled")],
    of: Annotated[str | None, typer.Option("--fleet", metavar="FLEET", help="of RUN: ask there what is newest")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which versions and robots there are; of a run folder, whether its map is stale, half here, bad or offline."""
    from tmapr.artifacts.run import RunFolder

    if "://" not in where and RunFolder(Path(where)).release.exists():
        _tell_robot(Path(where), of, as_json)
        return
    from tmapr.fleet.telling import tell_fleet

    told = tell_fleet(_open(where))
    typer.echo(told.as_json(indent=2) if as_json else "\n".join(_describe(told)))


def _tell_robot(run: Path, of: str | None, as_json: bool) -> None:
    from tmapr.fleet.folder import UnreachableError
    from tmapr.fleet.keeping import find_home
    from tmapr.fleet.telling import describe_robot, tell_robot

    _, pulled = find_home(run)
    if of is None:
        told = tell_robot(run, pulled, None)
    else:
        try:
            told = tell_robot(run, pulled, _open(of))
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


def _open(address: str, robot: str | None = None) -> "Fleet":
    from tmapr.fleet.folder import Fleet, locate_fleet

    return Fleet(locate_fleet(address), robot)


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


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(line)
