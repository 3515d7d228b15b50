"""The keypoints of an experiment's sequences, beside their percepts.

Keypoints of a frame follow from its image alone, and from how it is prepared. So a kept row stands for every frame with
that image, and a file is of a recording as it is now if it has the recording's images, row by row.
"""

import hashlib
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from tmapr.artifacts.keypoints import KeypointTable, save_keypoints
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.results import share_file
from tmapr.artifacts.run import SO_FAR, RunFolder, file_digest
from tmapr.artifacts.sources import Trust
from tmapr.config import settings_digest
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.keypoints import NOTHING, Keypoints, LazyKeypoints
from tmapr.perception.image import Image
from tmapr.perception.keypoints import SHIPPED, KeypointFinder
from tmapr.running.image_reader import ImageReader, Note
from tmapr.types import Frame, Picture, Watch


class KeypointCache:
    """Finds keypoints where they are missing or of other images, in files of their own until they are published."""

    def __init__(self, experiment: Experiment, folder: RunFolder, watch: Watch, trust: Trust) -> None:
        self._experiment = experiment
        self._image = experiment.perception.image
        self._believing = trust != "nothing"
        self._folder = folder
        self._watch = watch
        self._find = KeypointFinder()
        self._made: dict[str, Path] = {}
        self._known: dict[str, dict[str, LazyKeypoints]] = {}

    def locate(self, name: str) -> Path:
        """Where the keypoints of a sequence lie now, if there are any."""
        return self._made.get(name, self._folder.keypoints(name))

    def begin(self, name: str) -> ImageReader:
        """What images of a sequence are read through that are encoded now: keypoints that are missing are found."""
        if not wants_keypoints(self._experiment):
            return ImageReader(lambda _content, _counts: None)
        known = self._known[name] = self._load_known(name)
        return ImageReader(lambda content, counts: None if content in known else self._find_or_none(counts))

    def add(self, name: str, note: Note) -> None:
        """Keep keypoints that were found."""
        if note.keypoints is not None:
            self._known[name][note.content] = partial(_give, note.keypoints)

    def save_so_far(self, name: str) -> None:
        """Write what is known by now, so that an encoding that is interrupted goes on."""
        if known := self._known.get(name):
            rows = [give() for give in known.values()]
            save_keypoints(self._name_left(name), rows, list(known), name_maker(self._image), "")

    def renew(self, name: str, recording: Recording) -> None:
        """Bring the keypoints of a recording up to date with its images, which are as its percepts say."""
        if not wants_keypoints(self._experiment) or recording.sources is None:
            return
        found, left, wanted = self._known.pop(name, None), self._name_left(name), recording.sources.contents
        maker = name_maker(self._image)
        if self._believing and all(percept.keypoints or percept.fault for percept in recording.percepts):
            if name not in self._made:
                left.unlink(missing_ok=True)  # published, and then killed
            return
        kept = found or self._load_known(name)
        missing = sum(content not in kept for content in wanted)
        rows, steps = list[Keypoints](), iter(self._watch(range(missing)) if missing else ())
        try:
            for frame, content in zip(open_data(self._experiment.data, name), wanted, strict=True):
                if content not in kept:
                    next(steps, None)
                rows.append(kept[content]() if content in kept else find_in(self._find, frame, self._image))
        except KeyboardInterrupt as stop:
            if len(rows) > len(kept):
                save_keypoints(left, rows, wanted[: len(rows)], maker, "")
            stop.add_note(f"keypoints of {max(len(rows), len(kept))} of {len(wanted)} images of {name} are kept")
            raise
        next(steps, None)  # lets the bar end
        save_keypoints(left, rows, wanted, maker, "")
        self._made[name] = left

    def _load_known(self, name: str) -> dict[str, LazyKeypoints]:
        """Keypoints by their images, as far as they are kept and believed."""
        if not self._believing:
            return {}
        maker = name_maker(self._image)
        return {**_index_rows(self._name_left(name), maker), **_index_rows(self._folder.keypoints(name), maker)}

    def _name_left(self, name: str) -> Path:
        """Where those lie that are not published yet."""
        path = self._folder.keypoints(name)
        return path.with_name(f".{path.name}{SO_FAR}")

    def _find_or_none(self, counts: Picture) -> Keypoints:
        try:
            return self._find(counts, self._image)
        except InputError:  # a crop that leaves nothing of it
            return NOTHING

    def adopt(self, name: str, made: Path) -> None:
        """Take a file for the keypoints of a sequence, to be published with the others."""
        self._made[name] = made

    def share(self, staged: RunFolder) -> None:
        """Put what was made since into results that are being written."""
        for name, made in self._made.items():
            share_file(made, staged.keypoints(name))

    def forget(self) -> None:
        """All of it is published."""
        for made in self._made.values():
            made.unlink(missing_ok=True)
        self._made.clear()

    def __bool__(self) -> bool:
        """Whether there is something to publish."""
        return bool(self._made)


def wants_keypoints(experiment: Experiment) -> bool:
    """Whether its method verifies matches: no other pays for them."""
    return experiment.system.tracking.method == "route"


def find_in(find: KeypointFinder, frame: Frame, image: Image) -> Keypoints:
    """The keypoints of a frame."""
    try:
        return find(frame.image(), image)
    except InputError:  # as for percepts: a damaged file is one frame's misfortune
        return NOTHING


def attach_keypoints(recording: Recording, path: Path, image: Image) -> Recording:
    """The recording with keypoints from a file, read when they are asked for; without, if these are of other images."""
    if not path.exists() or recording.sources is None:
        return recording
    table = KeypointTable.load(path)
    if table.contents != recording.sources.contents or table.maker != name_maker(image):
        return recording
    percepts = tuple(
        percept if percept.fault else replace(percept, keypoints=partial(table.__getitem__, row))
        for row, percept in enumerate(recording.percepts)
    )
    return replace(recording, percepts=percepts)


def name_maker(image: Image) -> str:
    """A digest of what keypoints follow from beside the image: its preparation, and the network."""
    return hashlib.sha256(f"{settings_digest(image)} {_digest_network()}".encode()).hexdigest()


@cache
def _digest_network() -> str:
    return file_digest(SHIPPED)


def _give(keypoints: Keypoints) -> Keypoints:
    return keypoints


def _index_rows(path: Path, maker: str) -> dict[str, LazyKeypoints]:
    """Kept keypoints by their image; what an interruption left may be anything."""
    if not path.exists():
        return {}
    try:
        table = KeypointTable.load(path)
    except InputError:
        if path.name.endswith(SO_FAR):
            return {}
        raise
    if table.maker != maker:
        return {}
    return {content: partial(table.__getitem__, row) for row, content in enumerate(table.contents)}
