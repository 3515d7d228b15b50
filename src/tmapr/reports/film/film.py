"""A film of a drive: which frames, what they show, and the file that holds them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from tmapr.artifacts.atomic import replacing
from tmapr.artifacts.letters import Pixels
from tmapr.exceptions import InputError
from tmapr.reports.film.cut import Cut
from tmapr.reports.film.footage import Reel, Shelf
from tmapr.reports.film.gif import GifWriter
from tmapr.reports.film.layout import USUAL, Layout
from tmapr.reports.film.moments import Story
from tmapr.reports.film.scenes import Scene
from tmapr.reports.film.webm import WebmWriter
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.types import Watch


@runtime_checkable
class FilmWriter(Protocol):
    """Takes frames one after another."""

    def write(self, pixels: Pixels) -> None:
        """The next frame."""

    def finish(self) -> None:
        """After the last one."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a kind of file is written, and the most frames a second that it is given unasked."""

    open: Callable[[IO[bytes], float], FilmWriter]
    rate: float


FORMATS: Mapping[str, Format] = {".webm": Format(WebmWriter, 25.0), ".gif": Format(GifWriter, 12.5)}
"""By the suffix of the file."""


@dataclass(frozen=True, slots=True)
class Film:
    """What was made."""

    path: Path
    frames: int
    seconds: float
    size: tuple[int, int]
    """Width and height in pixels."""


def find_format(path: Path) -> Format:
    """The format that a file's suffix asks for."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        given = path.suffix or "one without a suffix"
        raise InputError(f"--out {path}: a film is a {' or a '.join(FORMATS)} file, not {given}")
    return found


def make_film(run: ReportedRun, sequence: ReportedSequence, cut: Cut, path: Path, width: int, watch: Watch) -> Film:
    """Film a drive into a file, which is replaced when the film is whole; however long, it takes the same memory."""
    form, rows = find_format(path), cut.choose_rows(sequence.seconds)
    story = Story(run, sequence)
    shown = np.unique(rows).tolist()
    matched = {match.row for match in map(story.find_match, shown) if match is not None}
    with replacing(path) as stream, Shelf(path.parent) as shelf:
        reel = Reel(run, sequence, shown)
        scene = Scene(story, Layout.of(reel.shape or USUAL), width, reel, shelf)
        writer = form.open(stream, cut.rate)
        steps = chain(shelf.lay(run, matched), _shoot(scene, rows, writer))
        for _ in zip(watch(range(len(matched) + len(rows))), steps, strict=False):
            pass
        writer.finish()
    return Film(path, len(rows), cut.seconds, scene.size)


def _shoot(scene: Scene, rows: Int[np.ndarray, " frames"], writer: FilmWriter) -> Iterator[None]:
    """Frame after frame; one that is shown again is not drawn again."""
    for row, frames in groupby(rows.tolist()):
        pixels = scene.draw(row)
        for _ in frames:
            writer.write(pixels)
            yield
