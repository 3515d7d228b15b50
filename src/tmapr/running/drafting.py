"""A first experiment file for recordings: what was found in them as comments, and only what differs from the defaults.

Nothing that is there is written over.
"""

import csv
import io
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tmapr.artifacts.atomic import write_new_text
from tmapr.config import changed
from tmapr.config.dump import format_value
from tmapr.config.paths import to_folder
from tmapr.config.tree import as_tree
from tmapr.data.bag import GUESSED
from tmapr.data.drives import find_recording, recognize
from tmapr.data.folder import LIST
from tmapr.data.guessing import TopicChoice, guess_topics
from tmapr.data.messages import FIX, POSES
from tmapr.data.names import list_files, list_images, names_an_image, scan
from tmapr.data.opening import open_path
from tmapr.data.sequence import Sequence as Frames
from tmapr.data.stamps import format_stamps
from tmapr.data.summary import Summary, summarize
from tmapr.data.topics import TopicUse
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.types import Watch

_COLUMN = 48
_LISTED = 8
_NEEDED = "a map is made of positions"
_NEXT = """
# What one would change next: take away a `#`.
# adapt = ["dusk"]                              # drives with positions, learned from before anything is localized
# stream = ["evening"]                          # drives that are scored and learned from, in this order

# [perception.image]
# preset = "raw"                                # raw | ms2 | sthereo: how counts become pictures; see `tmapr preview`
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A recording, what it holds, and which topics of a bag are read."""

    path: Path
    sequence: Frames
    summary: Summary
    choice: TopicChoice | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """What was guessed."""
        return self.choice.lines if self.choice else ()


def look_at(
    paths: Sequence[Path], image: str | None = None, position: str | None = None, watch: Watch = iter
) -> list[Found]:
    """Go through recordings, the first of which is to be mapped: positions of the others must be of its kind."""
    found, frame, kinds = list[Found](), None, (FIX, *POSES)
    for path in paths:
        recording = find_recording(path)
        choice = guess_topics(recording, image, position, kinds) if recognize(recording) == "bag" else None
        if not found and choice and choice.kind:
            kinds = (FIX,) if choice.kind == FIX else (*POSES,)
        sequence = open_path(path, choice.topics if choice else GUESSED, frame=frame)
        summary = summarize(sequence, watch)
        next(iter(sequence)).image()  # what cannot be read is refused now
        found.append(Found(path, sequence, summary, choice))
        frame = frame or (summary.frame if summary.placed else None)
    chosen = [each.choice.topics for each in found if each.choice]
    if image is not None and image not in [topics.image for topics in chosen]:
        raise InputError(f"--image {image}: no bag among the recordings has images there; leave it out to see what has")
    if position is not None and position not in [topics.position for topics in chosen]:
        raise InputError(f"--position {position}: no bag has positions there; leave it out to see what has")
    return found


def choose_topics(experiment: Experiment, found: Sequence[Found]) -> Experiment:
    """With the topics of each bag; those that all bags have are said once."""
    names = (*experiment.data.references, *experiment.data.test)
    bags = {name: each.choice.topics for name, each in zip(names, found, strict=True) if each.choice}
    if len(set(bags.values())) == 1:
        return changed(experiment, {"data.topics": next(iter(bags.values()))})
    chosen = {name: as_tree(topics) for name, topics in bags.items() if topics != GUESSED}
    return changed(experiment, {"data.topics_of": chosen})


def describe_experiment(experiment: Experiment, found: Sequence[Found], file: Path) -> str:
    """The text of an experiment file."""
    data, names = experiment.data, (*experiment.data.references, *experiment.data.test)
    told = {name: str(each.summary) for name, each in zip(names, found, strict=True)}
    lines = ["# `tmapr config` with this file prints every setting. Paths are relative to this file."]
    lines += [f"name = {format_value(experiment.name)}", "", "[data]", *_write_places(data, file.parent)]
    lines += [_remark(f"reference = {format_value(data.reference)}", told[data.references[0]])]
    lines += ["test = [", *(_remark(f"    {format_value(name)},", told[name]) for name in data.test), "]"]
    if not data.test:
        lines[-2:] = [_remark("# test = []", "recordings to localize; or `tmapr run MAP --source PATH`")]
    lines += _write_topics(data, found)
    return "\n".join(lines) + "\n" + _NEXT


def write_stub(reference: Found) -> str | None:
    """Where a map could not be made for want of positions: what to fill in, and a table to fill it into."""
    path = find_recording(reference.path)
    if reference.summary.placed:
        return None
    kind = recognize(path)
    if kind not in ("folder", "video"):
        return f"{path}: has no positions, and {_NEEDED}; `tmapr import {path} FOLDER`, then fill in FOLDER/{LIST}"
    table = path / LIST if kind == "folder" else path.with_suffix(".csv")
    if os.path.lexists(table):
        return f"{table}: fill in its columns x,y in metres, or lon,lat in degrees; {_NEEDED}"
    guessed = ""
    if kind == "folder" and list_images(path)[1] is None:
        guessed = " and the stamps, which are guessed to be 0.1 s apart"
    try:
        write_new_text(table, _list_frames(reference.sequence), "fill in its positions")
    except OSError as error:
        raise InputError(
            f"{table}: cannot be written ({error.strerror}); {_NEEDED}, so copy the recording to where it can"
        ) from None
    return f"{table}: fill in x,y in metres, or lon,lat in degrees under these names{guessed}; {_NEEDED}"


def _list_frames(sequence: Frames) -> str:
    """A row for each frame, without its position."""
    taken = [(frame.stamp, frame.file) for frame in sequence]
    stamps = format_stamps(np.array([stamp for stamp, _ in taken], np.int64))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["stamp", *(["file"] if taken[0][1] else []), "x", "y"])
    for stamp, (_, file) in zip(stamps, taken, strict=True):
        writer.writerow([stamp, *([file.name] if file else []), "", ""])
    return text.getvalue()


def _write_places(data: Data, folder: Path) -> Iterator[str]:
    """Where the recordings lie, unless it is where they would be looked for."""
    root = to_folder(data.root, folder)
    if data.sources:
        sources = {name: to_folder(path, folder) for name, path in data.sources.items()}
        yield f"sources = {format_value(sources)}"
    elif root != Data().root:
        yield f"root = {format_value(root)}"


def _write_topics(data: Data, found: Sequence[Found]) -> Iterator[str]:
    """What is in bags, and what is read of them where there is a choice."""
    bags = [(each.path, each.choice.uses) for each in found if each.choice]
    for path, uses in bags:
        yield f"# {_print(str(path))}:"
        yield from (f"#   {_print(_describe_use(use))}" for use in uses)
    if bags and data.topics == GUESSED and not data.topics_of:
        read = {role: use.topic.name for use in bags[0][1] for role in use.roles}
        yield f"# topics = {format_value(read)}"
    if data.topics != GUESSED:
        yield f"topics = {format_value(data.topics)}"
    if data.topics_of:
        yield f"topics_of = {format_value(data.topics_of)}"


def _describe_use(use: TopicUse) -> str:
    told = f"{use.topic}{f' {use.encoding}' if use.encoding else ''}"
    return f"{told}: {', '.join(use.roles) or use.remark}"


def _remark(entry: str, remark: str) -> str:
    return f"{entry:<{_COLUMN}}# {_print(remark)}"


def _print(text: str) -> str:
    """On one line: the names of topics are a stranger's."""
    return "".join(each if each.isprintable() else "?" for each in text)


def refuse_collection(path: Path) -> None:
    """Refuse a folder that holds recordings and is none, with what there is."""
    if not path.is_dir() or recognize(path) != "folder" or _is_recording(path):
        return
    inside = [each for each in _list_folders(path) if _is_recording(each)]
    inside = inside or [each for folder in _list_folders(path) for each in _list_folders(folder) if _is_recording(each)]
    if not inside:
        raise InputError(f"{path}: holds no images, no bag and no video; name a recording")
    named, more = shlex.join(map(str, inside[:2])), f" and {len(inside) - _LISTED} more" * (len(inside) > _LISTED)
    listed = ", ".join(str(each.relative_to(path)) for each in inside[:_LISTED])
    raise InputError(
        f"{path}: is no recording but holds {listed}{more}; name them, the one to be mapped first: `tmapr init {named}`"
    )


def _list_folders(path: Path) -> list[Path]:
    try:
        return [path / name for name in sorted(each.name for each in scan(path) if each.name[0] != ".")]
    except InputError:  # a file, or closed to us
        return []


def _is_recording(path: Path) -> bool:
    if recognize(path) != "folder":
        return True
    try:
        return path.is_dir() and (os.path.lexists(path / LIST) or any(map(names_an_image, list_files(path))))
    except InputError:
        return False
