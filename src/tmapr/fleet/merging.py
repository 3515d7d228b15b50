"""What the robots of a fleet learned from one release becomes the next: exactly as if one had learned all of it.

Of each robot its last push counts, which holds what it sent before. K and W are those of one learner to rounding;
`journal.joining` does it, as for run folders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tmapr.artifacts.results import share_file
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.fleet.documents import Published, Received
from tmapr.fleet.parts import fill
from tmapr.fleet.protocol import Fleet
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


def list_waiting(fleet: Fleet) -> dict[str, list[Received]]:
    """The last push of each robot on each release, of those that no release was made of yet."""
    done = {name for each in fleet.list_releases() for name in each.release.merged}
    waiting: dict[str, dict[str, Received]] = {}
    for received in fleet.list_pushes():
        waiting.setdefault(received.push.release, {})[received.robot] = received
    left = {release: list(last.values()) for release, last in waiting.items()}
    return {release: last for release, last in left.items() if any(each.name not in done for each in last)}


def merge(
    fleet: Fleet,
    wanted: str,
    out: Path,
    *,
    without: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Merged:
    """Join the last push of every robot on a release in a new run folder, and publish that."""
    base = choose(fleet.list_releases(), wanted, fleet.address)
    waiting = {each.robot: each for each in fleet.list_pushes(base.name) if each.robot not in without}
    last = sorted(waiting.values(), key=lambda each: each.robot)
    if not last:
        raise InputError(f"{fleet.address}: no robot has pushed what it learned from the version {base.name[:12]} yet")
    with TemporaryDirectory(prefix="tmapr-merge-") as scratch:
        home = Path(scratch)
        pull(fleet, base.name, home / "base", tell=tell)
        robots = [_bring(fleet, each, home / "base", home / each.robot) for each in last]
        joined = join(home / "base", robots, out)
    published = publish_learned(fleet, out, base, [each.name for each in last], tell=tell)
    return Merged(published, joined, tuple(each.robot for each in last))


def _bring(fleet: Fleet, received: Received, base: Path, run: Path) -> Path:
    """A run folder as the robot's was when it pushed."""
    run.mkdir()
    for name in ("map.npz", "experiment.toml", BESIDE_MAP):
        if (base / name).exists():
            share_file(base / name, run / name)
    for file in received.push.files:
        fill(run / file.name, file, lambda name, _: fleet.fetch(received.robot, name), fleet.address)
    if not RunFolder(run).state.exists():
        raise InputError(f"{fleet.address}: the push {received.name[:12]} of {received.robot} holds no state")
    return run
