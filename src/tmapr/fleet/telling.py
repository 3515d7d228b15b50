"""How it stands with a fleet, and with a robot of it: one line for each thing that somebody should know."""

from pathlib import Path

from tmapr.artifacts.documents import Document
from tmapr.exceptions import TmaprError
from tmapr.fleet.documents import Pulled
from tmapr.fleet.folder import Fleet, UnreachableError
from tmapr.fleet.keeping import SHOWN, list_half, list_learners, list_unsound, note_tried, read_tried
from tmapr.fleet.merging import list_waiting
from tmapr.journal.redo import describe
from tmapr.journal.runs import open_run


class RobotTold(Document):
    """What a robot's run folder holds."""

    run: str
    address: str
    release: str
    number: int
    pulled: str
    newest: str | None
    """The newest release that was heard of."""
    stale: bool
    half: tuple[str, ...]
    """Releases that are only half here, and not used."""
    bad: tuple[str, ...]
    """Files whose bytes are not those that were pulled."""
    offline: str | None
    """Why the fleet could not be asked; None if it was, or nobody tried."""
    unsent: bool | None
    """Whether the fleet lacks what was learned here; None where that cannot be told."""
    sent: str | None


class ReleaseTold(Document):
    """A release of a fleet."""

    name: str
    number: int
    published: str
    publisher: str
    lessons: int
    parent: str | None
    waiting: int
    """Robots whose last push on it is in no release yet."""


class MemberTold(Document):
    """A robot of a fleet."""

    name: str
    release: str | None
    pushes: int
    heard: str | None
    stale: bool


class FleetTold(Document):
    """How it stands with a fleet."""

    address: str
    releases: tuple[ReleaseTold, ...]
    robots: tuple[MemberTold, ...]


def tell_fleet(fleet: Fleet) -> FleetTold:
    """Its releases and robots."""
    releases, waiting = fleet.list_releases(), list_waiting(fleet)
    newest = releases[-1].name if releases else None
    return FleetTold(
        address=fleet.address,
        releases=tuple(
            ReleaseTold(
                name=each.name,
                number=each.number,
                published=each.published,
                publisher=each.publisher,
                lessons=each.release.lessons,
                parent=each.release.parent,
                waiting=len(waiting.get(each.name, ())),
            )
            for each in releases
        ),
        robots=tuple(
            MemberTold(
                name=each.name,
                release=each.release,
                pushes=each.pushes,
                heard=each.heard,
                stale=each.release != newest,
            )
            for each in fleet.list_robots()
        ),
    )


def tell_robot(run: Path, pulled: Pulled, fleet: Fleet | UnreachableError | None) -> RobotTold:
    """What a run folder holds, and how that compares with the fleet, if that can be asked."""
    offline = _ask(run, fleet)
    tried = read_tried(run)
    newest, number = (tried.newest, tried.number) if tried else (None, 0)
    if fleet is None and tried and tried.outcome:
        offline = tried.outcome
    return RobotTold(
        run=str(run),
        address=pulled.address,
        release=pulled.name,
        number=pulled.number,
        pulled=pulled.pulled,
        newest=newest,
        stale=number > pulled.number,
        half=tuple(list_half(run)),
        bad=tuple(list_unsound(run, pulled)),
        offline=offline,
        unsent=_is_unsent(run, pulled),
        sent=pulled.sent.received if pulled.sent else None,
    )


def describe_robot(told: RobotTold) -> list[str]:
    """The same in lines."""
    here = told.release[:SHOWN]
    lines = [f"{told.run}: version {told.number} ({here}) of {told.address}, pulled {told.pulled}"]
    if told.bad:
        lines.append(f"bad: {', '.join(told.bad)} is not what was pulled; run `tmapr fleet pull` again")
    if told.stale and told.newest:
        lines.append(f"stale: {told.newest[:SHOWN]} is newer; what is here goes on being used until it is pulled")
    if told.half:
        halves = ", ".join(name[:SHOWN] for name in told.half)
        lines.append(f"half: of {halves} only a part is here, and it is not used; run `tmapr fleet pull` again")
    if told.offline:
        lines.append(f"offline: {told.offline}")
    if told.unsent:
        lines.append(f"unsent: the fleet lacks what was learned here; run `tmapr fleet push FLEET {told.run}`")
    return lines


def _ask(run: Path, fleet: Fleet | UnreachableError | None) -> str | None:
    """Which release is the newest is noted; why the fleet could not be asked, if it could not."""
    if fleet is None:
        return None
    if isinstance(fleet, UnreachableError):
        note_tried(run, str(fleet))
        return str(fleet)
    releases = fleet.list_releases()
    if releases:
        note_tried(run, "", (releases[-1].name, releases[-1].number))
    return None


def _is_unsent(run: Path, pulled: Pulled) -> bool | None:
    try:
        here = describe(open_run(list_learners(run)[0]).localizer)
    except (TmaprError, IndexError):
        return None
    return not pulled.is_known(here.last.hex(), here.lessons)
