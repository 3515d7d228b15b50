"""A release comes to a robot: only what is not here yet, checked part by part, in use only when all of it is.

Whatever fails or is killed leaves the run folder as it was, localizing with the map that it has; the next pull goes on
from what came. What the robot has learned is not written over unless the fleet has it.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tmapr.artifacts.lock import refuse_links, writing
from tmapr.artifacts.results import renewing, share_file
from tmapr.artifacts.run import RESULTS, RunFolder
from tmapr.exceptions import InputError, TmaprError
from tmapr.experiment import load
from tmapr.fleet.documents import Published, Pulled
from tmapr.fleet.folder import Fleet
from tmapr.fleet.keeping import LIVE, find_incoming, list_learners, list_unsound, note_tried, read_pulled, tell_now
from tmapr.fleet.parts import fill, is_sound
from tmapr.journal.journal import FOLDER, LOCK
from tmapr.journal.redo import describe
from tmapr.journal.runs import open_run

NEWEST = "newest"
_LOCK = ".pulling"
_BUSY = "wait until it ends; it goes on with the map that it has"
_SHORTEST = 8
Tell = Callable[[str], None]


def pull(
    fleet: Fleet, wanted: str, to: Path, *, discard: bool = False, tell: Tell = lambda _: None
) -> tuple[Pulled, int]:
    """Let a run folder hold a release; which one, and how many bytes came.

    `discard` gives up what was learned there and not sent.
    """
    refuse_links(to)
    held = read_pulled(to)
    releases = fleet.list_releases()
    chosen = choose(releases, wanted, fleet.address)
    if held and held.name == chosen.name and not list_unsound(to, held):
        note_tried(to, "", (releases[-1].name, releases[-1].number))
        return held, 0
    _refuse_other_runs(to, held)
    pulled = Pulled(
        address=fleet.address, name=chosen.name, number=chosen.number, pulled=tell_now(), release=chosen.release
    )
    with writing(find_incoming(to).parent, "let the other pull end", _LOCK):
        came = _bring(fleet, chosen, to, held, tell)
        _switch(to, held, pulled, discard=discard)
    note_tried(to, "", (releases[-1].name, releases[-1].number))
    return pulled, came


def choose(releases: list[Published], wanted: str, where: str) -> Published:
    """The release that a name, its beginning or `newest` means."""
    if not releases:
        raise InputError(f"{where}: nothing was published yet; `tmapr fleet publish FLEET RUN` does")
    if wanted == NEWEST:
        return releases[-1]
    found = [each for each in releases if each.name.startswith(wanted)] if len(wanted) >= _SHORTEST else []
    if len(found) != 1:
        raise InputError(
            f"{where}: {len(found)} versions are called {wanted[:64]!r}; give {_SHORTEST} digits of one or more, or"
            f" {NEWEST}"
        )
    return found[0]


def _refuse_other_runs(to: Path, held: Pulled | None) -> None:
    if held is None and any((to / name).exists() for name in RESULTS):
        raise InputError(f"{to}: holds a run that came from no fleet; name a new folder")


def _bring(fleet: Fleet, chosen: Published, to: Path, held: Pulled | None, tell: Tell) -> int:
    """All files of a release, beside what is in use; how many bytes came."""
    incoming, came = find_incoming(to) / chosen.name, 0
    incoming.mkdir(parents=True, exist_ok=True)
    for file in chosen.release.files:
        path = incoming / file.name
        if is_sound(path, file):
            continue
        if held and not path.exists() and is_sound(to / file.name, file):
            path.parent.mkdir(parents=True, exist_ok=True)
            share_file(to / file.name, path)
            continue
        if path.exists() and path.stat().st_nlink > 1:  # shared with what is in use, which is not written into
            path.unlink()
        size = fill(path, file, fleet.read, fleet.address)
        tell(f"{file.name}: {size / 1e6:.1f} of {file.bytes / 1e6:.1f} MB came")
        came += size
    return came


def _switch(to: Path, held: Pulled | None, pulled: Pulled, *, discard: bool) -> None:
    """Let the folder be the release's, in one step."""
    incoming = find_incoming(to) / pulled.name
    names = [file.name for file in pulled.release.files]
    with ExitStack() as held_back:
        held_back.enter_context(writing(to, _BUSY))
        if held and not discard:
            for folder in list_learners(to):
                _refuse_unsent(folder, held)
        _place_heads(to, incoming, names)
        held_back.enter_context(_setting_aside(to, FOLDER, LOCK))
        held_back.enter_context(_setting_aside(to, LIVE))
        with renewing(RunFolder(to)) as staged:
            for name in (*RESULTS, "estimates"):
                _remove(staged.map.parent / name)
            for name in filter(RESULTS.__contains__, names):
                share_file(incoming / name, staged.map.parent / name)
            pulled.save(staged.release)
            load(staged.map.parent)  # what this program cannot read is not what it goes on with
    shutil.rmtree(find_incoming(to), ignore_errors=True)


def _refuse_unsent(folder: Path, held: Pulled) -> None:
    if not RunFolder(folder).state.exists() and not (folder / FOLDER).exists():
        return
    state = next((file for file in held.release.files if file.name == "state.npz"), None)
    if state and is_sound(RunFolder(folder).state, state) and not (folder / FOLDER).exists():
        return
    try:
        here = describe(open_run(folder).localizer)
    except TmaprError as error:
        raise InputError(
            f"{folder}: cannot be read, so what it learned is lost if you say --discard ({error})"
        ) from None
    if not held.is_known(here.last.hex(), here.lessons):
        raise InputError(
            f"{folder}: has learned what the fleet does not have; run `tmapr fleet push FLEET {folder}` first, or say"
            " --discard"
        )


def _place_heads(to: Path, incoming: Path, names: list[str]) -> None:
    """Before the switch, under names of their own; one of the same name that is in use is not replaced."""
    for name in names:
        if name in RESULTS:
            continue
        target = to / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            share_file(incoming / name, target)
        elif not os.path.samefile(target, incoming / name) and target.read_bytes() != (incoming / name).read_bytes():
            raise InputError(f"{target}: the release has another pose head of that name; pull into a new folder")


@contextmanager
def _setting_aside(to: Path, name: str, lock: str | None = None) -> Iterator[None]:
    """Without a folder of the map before, whose only writer this is; should the rest fail, it is there again."""
    folder, aside = to / name, to / f".{name}.removed"
    shutil.rmtree(aside, ignore_errors=True)
    if not folder.is_dir():
        yield
        return
    with writing(folder, _BUSY, lock) if lock else writing(folder, _BUSY):
        pass  # refused while a drive is on it
    if folder.is_dir():
        folder.rename(aside)
    try:
        yield
    except BaseException:
        if aside.is_dir():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
