"""A run folder becomes a release: its map, its settings, its pose head and all that it has learned.

Parts go to the fleet first, and the release is published last: whoever finds it finds all of it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tmapr.artifacts.arrays import save_arrays
from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.run import HEAD, RunFolder, is_trained_head
from tmapr.config import changed
from tmapr.experiment import Experiment, dump_experiment, read_experiment
from tmapr.fleet.documents import Published, Release, ReleasedFile
from tmapr.fleet.folder import Fleet
from tmapr.fleet.parts import cut, describe_file, name_part
from tmapr.journal.redo import describe
from tmapr.journal.runs import LearnedRun, open_run
from tmapr.retrieval.keypoints import BESIDE_MAP

STATE = "state.npz"
Tell = Callable[[str], None]


def publish(fleet: Fleet, run: Path, *, tell: Tell = lambda _: None) -> Published:
    """Let all robots have what a run folder holds; published twice, it is one release."""
    found = open_run(run)
    with TemporaryDirectory(prefix="tmapr-release-") as scratch:
        files = _gather(found, Path(scratch))
        described = tuple(_write(fleet, name, path, tell) for name, path in files.items())
    return fleet.publish(_describe(found, described))


def publish_learned(
    fleet: Fleet, run: Path, parent: Published, merged: Sequence[str], *, tell: Tell = lambda _: None
) -> Published:
    """Let all robots have what was learned in a release: the next one differs from it in that alone."""
    found = open_run(run)
    kept = tuple(file for file in parent.release.files if file.name != STATE)
    with TemporaryDirectory(prefix="tmapr-release-") as scratch:
        state = _write(fleet, STATE, _write_state(found, Path(scratch)), tell)
    release = _describe(found, (*kept, state))
    return fleet.publish(release.model_copy(update={"parent": parent.name, "merged": tuple(merged)}))


def _describe(found: LearnedRun, files: tuple[ReleasedFile, ...]) -> Release:
    here = describe(found.localizer)
    return Release(map=here.map, settings=here.settings, lessons=here.lessons, last=here.last.hex(), files=files)


def _gather(found: LearnedRun, scratch: Path) -> dict[str, Path]:
    """The files of a release, by their names in it."""
    folder = found.folder
    experiment = read_experiment(folder.experiment).with_head(folder)
    heads, experiment = _gather_head(experiment, folder)
    write_text(scratch / "experiment.toml", dump_experiment(experiment, folder.path))
    files = {"experiment.toml": scratch / "experiment.toml", "map.npz": folder.map, **heads}
    if folder.map.with_name(BESIDE_MAP).exists():
        files[BESIDE_MAP] = folder.map.with_name(BESIDE_MAP)
    if describe(found.localizer).lessons:
        files[STATE] = _write_state(found, scratch)
    return files


def _write_state(found: LearnedRun, scratch: Path) -> Path:
    """All that was learned; where the camera was is nobody else's."""
    save_arrays(scratch / STATE, found.localizer.stages.head_state(), found.localizer.new_drive().arrays())
    return scratch / STATE


def _gather_head(experiment: Experiment, folder: RunFolder) -> tuple[dict[str, Path], Experiment]:
    """A pose head that was trained in some run folder travels with the map, whose settings then name it there."""
    named = experiment.perception.apr
    if not named or not is_trained_head(Path(named)):
        return {}, experiment
    head = Path(named)
    epoch = f"apr/{head.parent.name}"
    files = (head, head.with_suffix(".json"), head.with_name("training.json"))
    there = {f"{epoch}/{file.name}": file for file in files if file.is_file()}
    return there, changed(experiment, {"perception.apr": str(folder.path / epoch / HEAD)})


def _write(fleet: Fleet, name: str, path: Path, tell: Tell) -> ReleasedFile:
    file = describe_file(ReleasedFile, name, path)
    missing = {part for part in file.parts if not fleet.has(part)}
    for part in cut(path):
        if name_part(part) in missing:
            fleet.keep(part)
    tell(f"{name}: {len(missing)} of {len(file.parts)} parts were new")
    return file
