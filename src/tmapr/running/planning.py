"""Experiments that nobody wrote a file for: from recordings alone, or from a map and recordings to localize in it."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.artifacts.results import read_whole, renewing, share_file
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.config.load import override_tree
from tmapr.config.tree import as_tree, from_tree
from tmapr.data.bag import Topics
from tmapr.data.drives import find_recording
from tmapr.data.opening import refuse_absent
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment, dump_experiment, read_experiment

_TOPICS = "data.topics."
_BESIDE_MAP = "keypoints.npz"


def plan_experiment(references: Sequence[Path], tests: Sequence[Path] = (), name: str | None = None) -> Experiment:
    """The first recordings are mapped and the others localized, with default settings; they are not opened.

    A path is that of anything `tmapr.data.opening.open_path` recognises. Sequences are named after them.
    """
    paths = [_require(path) for path in (*references, *tests)]
    if not references:
        raise InputError("there is no recording to be mapped; name one")
    names = name_paths(paths)
    mapped, asked = names[: len(references)], names[len(references) :]
    lying = _place_together(dict(zip(names, paths, strict=True)))
    roles = {"data.reference": tuple(mapped), "data.test": tuple(asked)}
    # Not by their constructors: what a user can mend is refused in one line.
    return changed(Experiment(), {"name": name or make_name(mapped[0]), **lying, **roles})


def name_paths(paths: Sequence[Path], taken: Sequence[str] = ()) -> list[str]:
    """A name for each recording: its own without a suffix, with its folder's where two would have the same."""
    names = [_find_stem(path) for path in paths]
    wished = Counter(name.casefold() for name in (*names, *taken))
    found = list[str]()
    for path, name in zip(paths, names, strict=True):
        longer = f"{path.absolute().parent.name}-{name}" if wished[name.casefold()] > 1 else name
        used = {each.casefold() for each in (*found, *taken)}
        numbered = (longer, *(f"{longer}-{number}" for number in range(2, len(used) + 3)))
        found.append(next(each for each in numbered if each.casefold() not in used))
    return found


def make_name(text: str) -> str:
    """A name that an experiment may have."""
    return re.sub(r"^[^\w]+", "", re.sub(r"[^\w.-]+", "-", text)) or "experiment"


def plan_drive(
    home: RunFolder,
    sources: Sequence[Path],
    run: Path | None = None,
    overrides: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Experiment, RunFolder]:
    """The map's experiment with recordings to localize in place of its own, and the run folder for their results.

    Topics among the overrides are those of the recordings. `seed_run` gives the folder the map.
    """
    _require_map(home)
    if not sources:
        raise InputError("there is no recording to localize; name one")
    paths = [_require(path) for path in sources]
    chosen = [text for text in overrides if text.strip().startswith(_TOPICS)]
    others = [text for text in overrides if text not in chosen]
    mapped = read_experiment(home.experiment, others, tell).with_head(home)
    names = name_paths(paths, _list_learned(mapped.data))
    folder = RunFolder(run or Path("runs") / make_name(names[0]))
    lying = dict(zip(names, map(str, paths), strict=True))
    data = _ask_about(mapped.data, lying, _override(mapped.data.topics, chosen) if chosen else None)
    experiment = changed(mapped, {"name": make_name(folder.path.absolute().name), "data": data})
    _refuse_others(home, folder, experiment)
    return experiment, folder


def plan_own_drive(
    home: RunFolder,
    names: Sequence[str],
    run: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Experiment, RunFolder]:
    """The same for sequences of percepts that a program made itself, and saves in the folder."""
    _require_map(home)
    mapped = read_experiment(home.experiment, (), tell)
    folder = RunFolder(run or Path("runs") / make_name(names[0]))
    experiment = changed(
        mapped,
        {"name": make_name(folder.path.absolute().name), "data.stream": (), "data.test": tuple(names)},
    )
    _refuse_others(home, folder, experiment)
    return experiment, folder


def _require_map(home: RunFolder) -> None:
    if not home.map.exists() or not home.experiment.exists():
        raise InputError(f"{home.path}: holds no map; make one with `tmapr map EXPERIMENT`, or name another run folder")


def seed_run(home: RunFolder, folder: RunFolder, experiment: Experiment) -> None:
    """Give a run folder the map of another and what was encoded for it, under a second name; nothing is copied.

    All at once: whoever is killed leaves the folder as it was, or ready to run.
    """
    with writing(folder.path):
        if _has_map(home, folder) and folder.provenance.exists():
            return
        with renewing(folder) as staged:
            read_whole(home, lambda: _share(home, staged, experiment.data))
            write_text(staged.experiment, dump_experiment(experiment, folder.path))
            for stale in (staged.state, staged.provenance, staged.errors):
                stale.unlink(missing_ok=True)


def _share(home: RunFolder, staged: RunFolder, data: Data) -> None:
    share_file(home.map, staged.map)
    known = [(home.map.with_name(_BESIDE_MAP), staged.map.with_name(_BESIDE_MAP))]
    for name in (*data.references, *data.adapt):
        known += [(home.percepts(name), staged.percepts(name)), (home.keypoints(name), staged.keypoints(name))]
    for source, target in known:
        if source.exists():
            share_file(source, target)


def _has_map(home: RunFolder, folder: RunFolder) -> bool:
    """Whether the folder has this map, or a later one of changed images; a map that was made since is taken over."""
    if not folder.map.exists():
        return False
    return os.path.samefile(home.map, folder.map) or folder.map.stat().st_mtime_ns >= home.map.stat().st_mtime_ns


def _refuse_others(home: RunFolder, folder: RunFolder, experiment: Experiment) -> None:
    """Results of something else, or another map, are not written over; this map alone is what a refusal left."""
    if not folder.experiment.exists():
        return
    left = not folder.provenance.exists() and folder.map.exists() and os.path.samefile(home.map, folder.map)
    if left and not os.path.samefile(home.path, folder.path):
        return
    there, wanted = read_experiment(folder.experiment).data, experiment.data
    same = (there.reference, there.adapt, there.scored) == (wanted.reference, wanted.adapt, wanted.scored)
    places = [{name: os.path.realpath(data.sources.get(name, "")) for name in data.test} for data in (there, wanted)]
    if not same or places[0] != places[1]:
        raise InputError(f"{folder.path}: holds the results of another experiment; name another folder with --run")


def _list_learned(data: Data) -> list[str]:
    roles = {role: names for role, names in data.roles.items() if role not in ("stream", "test")}
    return [name for names in roles.values() for name in names]


def _override(topics: Topics, overrides: Iterable[str]) -> Topics:
    tree = {"data": {"topics": as_tree(topics)}}
    override_tree(tree, overrides)
    return from_tree(Topics, tree["data"]["topics"], "--set data.topics")


def _ask_about(data: Data, lying: Mapping[str, str], topics: Topics | None) -> Data:
    """The data with these recordings to be localized, and no others."""
    learned = {*_list_learned(data)}
    sources = {name: path for name, path in data.sources.items() if name in learned} | dict(lying)
    topics_of = {name: each for name, each in data.topics_of.items() if name in learned}
    if topics:
        topics_of |= dict.fromkeys(lying, topics)
    drives = {drive: tuple(name for name in names if name in learned) for drive, names in data.drives.items()}
    return changed(
        data,
        {
            "sources": sources,
            "topics_of": {name: as_tree(each) for name, each in topics_of.items()},
            "drives": {drive: names for drive, names in drives.items() if names},
            "stream": (),
            "test": tuple(lying),
        },
    )


def _require(path: Path) -> Path:
    """The recording that a path stands for; one that is not there is refused."""
    found = find_recording(path)
    refuse_absent(found)
    return path if found != path and found.is_dir() else found  # one camera of a drive keeps its name


def _find_stem(path: Path) -> str:
    named = path if path.name not in ("", "..") else path.resolve()
    if not named.exists():  # one camera of a drive
        return f"{named.parent.name}-{named.name}"
    return named.stem if named.is_file() else named.name


def _place_together(paths: Mapping[str, Path]) -> dict[str, object]:
    """Where sequences lie: in one folder by their names, or each by its path."""
    roots = {path.parent for path in paths.values()}
    if len(roots) == 1 and all(_is_found(path, name) for name, path in paths.items()):
        return {"data.root": str(roots.pop())}
    return {"data.sources": {name: str(path) for name, path in paths.items()}}


def _is_found(path: Path, name: str) -> bool:
    """Whether the name alone leads there from its folder."""
    return path.name not in ("", "..") and find_recording(path.with_name(name)) == path
