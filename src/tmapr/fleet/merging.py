"""What the robots of a fleet learned becomes the next release: exactly as if one had learned all of it.

Of each robot and each release it learned from, the last push counts, which holds what it sent before. A push that comes
late, from a release that was merged since, brings what it has beyond the one that was merged then: with A = K⁻¹,

    A = A_newest + Σ (A_last − A_merged),

where what was merged of a robot that had sent nothing yet is the release that it began with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tmapr.artifacts.results import share_file
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.fleet.documents import Published, Received
from tmapr.fleet.folder import Fleet
from tmapr.fleet.parts import fill
from tmapr.fleet.publishing import publish_learned
from tmapr.fleet.pulling import choose, pull
from tmapr.journal.joining import Joined, join
from tmapr.retrieval.keypoints import BESIDE_MAP


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of it."""

    published: Published
    joined: Joined
    robots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a robot has learned since it was merged last."""

    last: Received
    origin: Published
    """The release that it learned from."""
    held: Received | None
    """Its push that was merged already, if one was."""


def list_waiting(fleet: Fleet) -> dict[str, list[Received]]:
    """The last push of each robot on each release, where no release was made of it yet."""
    done = {name for each in fleet.list_releases() for name in each.release.merged}
    last = {(each.push.release, each.robot): each for each in fleet.list_pushes()}
    waiting: dict[str, list[Received]] = {}
    for (release, _), received in last.items():
        if received.name not in done:
            waiting.setdefault(release, []).append(received)
    return waiting


def list_changes(releases: Sequence[Published], pushes: Sequence[Received], base: Published) -> list[Change]:
    """What a release and those that it follows from have brought since, robot by robot."""
    named = {each.name: each for each in releases}
    chain = [base]
    while chain[-1].release.parent:
        chain.append(named[chain[-1].release.parent])
    merged = {name for each in chain for name in each.release.merged}
    changes = []
    for origin in reversed(chain):
        of_origin = [each for each in pushes if each.push.release == origin.name]
        held = {each.robot: each for each in of_origin if each.name in merged}
        last = {each.robot: each for each in of_origin}
        same = (origin.release.map, origin.release.settings) == (base.release.map, base.release.settings)
        changes += [
            Change(received, origin, held.get(robot))
            for robot, received in sorted(last.items())
            if same and received.name not in merged
        ]
    return changes


def merge(
    fleet: Fleet,
    wanted: str,
    out: Path,
    *,
    without: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Merged:
    """Join what all robots learned from a release, and from those before it, in a new run folder, and publish that."""
    releases = fleet.list_releases()
    base = choose(releases, wanted, fleet.address)
    changes = [each for each in list_changes(releases, fleet.list_pushes(), base) if each.last.robot not in without]
    if not changes:
        raise InputError(f"{fleet.address}: no robot has pushed anything since the version {base.name[:12]} was made")
    with TemporaryDirectory(prefix="tmapr-merge-") as scratch:
        home = Path(scratch)
        pull(fleet, base.name, home / "base", tell=tell)
        robots = [_bring(fleet, each.last, home) for each in changes]
        held = [_bring_held(fleet, each, base, home) for each in changes]
        joined = join(home / "base", robots, out, held)
    published = publish_learned(fleet, out, base, [each.last.name for each in changes], tell=tell)
    return Merged(published, joined, tuple(sorted({each.last.robot for each in changes})))


def _bring_held(fleet: Fleet, change: Change, base: Published, home: Path) -> Path | None:
    """What the base has of a robot already; None where that is all of the base."""
    if change.held:
        return _bring(fleet, change.held, home)
    if change.origin == base:
        return None
    pull(fleet, change.origin.name, home / change.origin.name)
    return home / change.origin.name


def _bring(fleet: Fleet, received: Received, home: Path) -> Path:
    """A run folder as the robot's was when it pushed."""
    run, base = home / f"{received.robot}-{received.name}", home / "base"
    run.mkdir()
    for name in ("map.npz", "experiment.toml", BESIDE_MAP):
        if (base / name).exists():
            share_file(base / name, run / name)
    for file in received.push.files:
        fill(run / file.name, file, lambda name, _: fleet.fetch(received.robot, name), fleet.address)
    if not RunFolder(run).state.exists():
        raise InputError(f"{fleet.address}: the push {received.name[:12]} of {received.robot} holds no state")
    return run
