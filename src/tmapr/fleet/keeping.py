"""What a run folder keeps of a fleet: the release that it holds, what it pulls just now, and how the last try went.

    RUN/release.json        which release this is, and what of it was sent back; replaced together with the map
    RUN/.fleet/incoming/    a release that is only half here; nobody localizes with it
    RUN/.fleet/tried.json   how the last pull or push went

Nothing here needs a network.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tmapr.artifacts.documents import Document
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.fleet.documents import Pulled, name_document
from tmapr.fleet.parts import is_sound

LIVE = "live"
"""Where `tmapr live RUN` keeps its drives."""
SHOWN = 12
"""Digits of a name that people read."""
_FOLDER = ".fleet"
_AGAIN = "tmapr fleet pull"


class Tried(Document):
    """RUN/.fleet/tried.json."""

    kind: Literal["tried"] = "tried"
    version: Literal[1] = 1
    when: str
    outcome: str
    """Empty if all went well; otherwise the line that was told."""
    newest: str | None = None
    """The newest release that was ever heard of, and its number."""
    number: int = 0


def find_incoming(run: Path) -> Path:
    """Where releases are that are half here."""
    return run / _FOLDER / "incoming"


def read_pulled(run: Path) -> Pulled | None:
    """Which release a run folder holds; None where it came from no fleet."""
    path = RunFolder(run).release
    if not path.exists():
        return None
    pulled = Pulled.load(path, _AGAIN)
    if name_document(pulled.release) != pulled.name:
        raise InputError(f"{path}: was changed since it was pulled; remove the folder and pull again")
    return pulled


def find_home(run: Path) -> tuple[Path, Pulled]:
    """The folder that was pulled, for it and for the folder of drives within it."""
    for folder in (run, run.absolute().parent):
        pulled = read_pulled(folder)
        if pulled:
            return folder, pulled
    raise InputError(f"{run}: came from no fleet; get a map with `tmapr fleet pull FLEET --to DIR`")


def list_learners(home: Path) -> list[Path]:
    """The run folders in which a pulled map was learned in: itself, and that of its live drives."""
    return [folder for folder in (home / LIVE, home) if RunFolder(folder).map.exists()]


def list_unsound(run: Path, pulled: Pulled) -> list[str]:
    """The files of a release that are gone or have other bytes than were pulled; what is learned may change."""
    unsound = [
        file.name
        for file in pulled.release.files
        if file.name not in ("state.npz", "experiment.toml") and not is_sound(run / file.name, file)
    ]
    if not RunFolder(run).map.exists() and "map.npz" not in unsound:
        unsound.append("map.npz")
    return unsound


def list_half(run: Path) -> list[str]:
    """The names of releases that are half here."""
    incoming = find_incoming(run)
    return sorted(path.name for path in incoming.iterdir()) if incoming.is_dir() else []


def note_tried(run: Path, outcome: str, newest: tuple[str, int] | None = None) -> None:
    """Keep how a pull or push went, for who asks later without a network."""
    before = read_tried(run)
    name, number = newest or ((before.newest, before.number) if before else (None, 0))
    Tried(when=tell_now(), outcome=outcome, newest=name, number=number).save(run / _FOLDER / "tried.json")


def read_tried(run: Path) -> Tried | None:
    """How the last pull or push went; None where nobody tried."""
    path = run / _FOLDER / "tried.json"
    try:
        return Tried.load(path, _AGAIN) if path.exists() else None
    except InputError:  # a courtesy: what cannot be read says nothing
        return None


def tell_without_network(run: Path) -> str | None:
    """One line for whoever begins a drive: which release it goes with, and what is the matter with it.

    Nothing is asked, and nothing large is read; None where the map came from no fleet.
    """
    try:
        pulled = read_pulled(run)
    except InputError as error:
        return str(error)
    if pulled is None:
        return None
    tried, half = read_tried(run), list_half(run)
    line = f"{run}: version {pulled.number} ({pulled.name[:SHOWN]}) of the fleet, pulled {pulled.pulled}"
    if tried and tried.number > pulled.number and tried.newest:
        line += f"; stale, {tried.newest[:SHOWN]} is newer"
    if half:
        line += f"; of {half[0][:SHOWN]} only a part is here, which is not used"
    if tried and tried.outcome:
        line += f"; the fleet could not be asked at {tried.when}"
    return line


def tell_now() -> str:
    """The time, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
