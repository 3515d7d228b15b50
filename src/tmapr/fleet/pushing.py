"""What a robot has learned goes to its fleet: one push, acknowledged when the fleet cannot lose it any more.

A push's name is the hash of what was learned: the same sent twice, also because the answer was lost, is one. What the
fleet has already of the journal is not sent again. Nothing that the robot has changes but a note of the answer.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tmapr.artifacts.arrays import save_arrays
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.files import open_regular
from tmapr.fleet.documents import Push, PushedFile, Received, Sent
from tmapr.fleet.folder import Fleet
from tmapr.fleet.keeping import find_home, list_learners, note_tried
from tmapr.fleet.parts import cut, describe_file, name_part
from tmapr.journal.journal import FOLDER
from tmapr.journal.redo import describe
from tmapr.journal.runs import open_run


def push(fleet: Fleet, run: Path, tell: Callable[[str], None] = lambda _: None) -> Received:
    """Send all that a run folder has learned since its release; its journal lets single lessons be unlearned later."""
    home, pulled = find_home(run)
    learner = list_learners(run)[0] if run == home and list_learners(run) else run
    with TemporaryDirectory(prefix="tmapr-push-") as scratch:
        # The journal first: a state that has more than it is understood, a journal that has more would be redone.
        files = _copy_journal(learner, Path(scratch))
        found = open_run(learner)
        here = describe(found.localizer)
        if here.map != pulled.release.map:
            raise InputError(f"{learner}: is of another map than {home} holds; nothing was pushed")
        files["state.npz"] = Path(scratch) / "state.npz"
        save_arrays(files["state.npz"], found.localizer.stages.head_state(), found.localizer.arrays())
        described = tuple(describe_file(PushedFile, name, path) for name, path in files.items())
        missing = set(fleet.find_missing([part for file in described for part in file.parts]))
        for path in files.values():
            for part in cut(path):
                if name_part(part) in missing:
                    fleet.send(part)
    tell(f"{learner}: {here.lessons} lessons in {len(described)} files, {len(missing)} parts were new")
    document = Push(release=pulled.name, lessons=here.lessons, last=here.last.hex(), files=described)
    received = fleet.push(document)
    sent = Sent(name=received.name, last=here.last.hex(), lessons=here.lessons, received=received.received)
    pulled.model_copy(update={"sent": sent}).save(RunFolder(home).release)
    note_tried(home, "")
    return received


def _copy_journal(run: Path, scratch: Path) -> dict[str, Path]:
    """As it is now: a drive may be writing on."""
    files = {}
    for path in sorted((run / FOLDER).glob("*.journal")):
        copy = scratch / path.name
        with open_regular(path) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        files[f"{FOLDER}/{path.name}"] = copy
    return files
