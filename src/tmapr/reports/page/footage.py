"""Which frames of a page's sequences are shown, and their thumbnails: a page holds so many pictures and no more.

A page may come to be written where the images are not: then it says so and is a page without pictures. An image is
shown only if it has the stamp of the frame that the run was made from, since data sets are moved and recorded anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Float, Int

from tmapr.artifacts.images import Counts
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, open_data
from tmapr.perception.image import Image
from tmapr.reports.drawing.pictures import PagePicture, encode_jpeg
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.retrieval.memory import Memory
from tmapr.types import Fault, Frame

MOST_PICTURES = 600
"""What a page holds of frames and of their matches together, at most."""

THUMBNAIL = (128, 160)
"""The most rows and columns of one."""

_SAMPLES = 8

WORST = 6
"""How many of the worst frames are shown, each of another stretch."""

_APART = 10
"""Frames between two of them, at least: neighbours show the same thing twice."""


class AbsentError(InputError):
    """There are no such images here: why not."""


@dataclass(frozen=True, slots=True)
class FramePictures:
    """The pictures that were found, by row, and in words why there are none."""

    found: Mapping[int, PagePicture]
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class Footage:
    """The frames of a sequence that can be pointed at, with the pictures of them and of their matches.

    `matched` has the row in the map's memory that a frame was judged by; pictures of matches are by that row.
    """

    rows: Int[np.ndarray, " shown"]
    matched: Mapping[int, int]
    queries: FramePictures
    matches: FramePictures
    worst: tuple[int, ...] = ()
    """The rows with the largest errors, the worst first; where nobody knows these, the least certain."""

    @property
    def samples(self) -> list[int]:
        """A few rows with pictures, evenly spread; not the first, where the map has another mark."""
        seen = [row for row in self.rows.tolist() if row in self.queries.found]
        places = (np.arange(_SAMPLES) + 0.5) / _SAMPLES * len(seen)
        return list(dict.fromkeys(seen[place] for place in places.astype(int).tolist())) if seen else []

    @property
    def absent(self) -> list[str]:
        """In words, which pictures there are not."""
        return [pictures.absent for pictures in (self.queries, self.matches) if pictures.absent]

    @classmethod
    def of(cls, run: ReportedRun, sequence: ReportedSequence, frames: int) -> "Footage":
        """At most so many frames, and at most as many pictures of matches."""
        worst = choose_worst(sequence)
        rows = choose_rows(sequence.misled, frames, worst)
        judged, places = sequence.table.references, sequence.table.reference_positions.values
        matched = {
            row: run.memory.find(int(judged.values[row]), places[row]) for row in rows.tolist() if judged.known[row]
        }
        queries = read_pictures(
            run.experiment, sequence.name, {row: int(sequence.table.stamps[row]) for row in rows.tolist()}
        )
        return cls(rows, matched, queries, read_references(run, matched.values()), tuple(worst))


class Album:
    """The pictures of a page, each kept once; whoever shows one knows its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def add(self, picture: PagePicture) -> int:
        """Keeps a picture that is new; its number either way."""
        return self._numbers.setdefault(encode_jpeg(picture), len(self._numbers))

    @property
    def uris(self) -> list[str]:
        """All pictures in the order of their numbers."""
        return list(self._numbers)


def read_pictures(
    experiment: Experiment, name: str, stamps: Mapping[int, int], box: tuple[int, int] = THUMBNAIL
) -> FramePictures:
    """Pictures of the rows of a sequence that have a stamp here; a damaged image is missing, a missing one no error."""
    found: dict[int, PagePicture] = {}
    try:
        for row, picture in stream_pictures(experiment, name, stamps, box):
            if picture is not None:
                found[row] = picture
    except AbsentError as absent:
        return FramePictures({}, str(absent))
    unread = f"images of {name} at {experiment.data.root} cannot be read"
    return FramePictures(found, None if found or not stamps else unread)


def stream_pictures(
    experiment: Experiment, name: str, stamps: Mapping[int, int], box: tuple[int, int] = THUMBNAIL
) -> Iterator[tuple[int, PagePicture | None]]:
    """The same one after another, for whoever keeps none; a damaged image is None, images that are not there are told.

    One pass, and no frame is kept: those of a bag hold their images.
    """
    if not stamps:
        return
    at = f"at {experiment.data.root}"
    try:
        for row, frame in _select_frames(experiment, name, stamps):
            if frame.stamp != stamps[row]:
                raise AbsentError(f"images of {name} {at} are of another recording")
            yield row, read_picture(frame, experiment.perception.image, box)
    except AbsentError:
        raise
    except (InputError, OSError):
        raise AbsentError(f"images of {name} are not {at}") from None


def read_references(run: ReportedRun, rows: Iterable[int], box: tuple[int, int] = THUMBNAIL) -> FramePictures:
    """Pictures of references by their rows in the map's memory; each traverse is gone through once."""
    memory, found, absent = run.memory, dict[int, PagePicture](), list[str]()
    for name, wanted in group_by_traverse(memory, rows).items():
        stamps = {int(memory.frames[row]): int(memory.stamps[row]) for row in wanted}
        pictures = read_pictures(run.experiment, name, stamps, box)
        found |= {row: pictures.found[frame] for row in wanted if (frame := int(memory.frames[row])) in pictures.found}
        absent += [pictures.absent] if pictures.absent else []
    return FramePictures(found, "; ".join(absent) or None)


def choose_rows(wrong: Bool[np.ndarray, " n"], most: int, asked: Sequence[int] = ()) -> Int[np.ndarray, " shown"]:
    """Rows to show: those asked for, then evenly spread over all, but wrong matches first, up to half of the room."""
    wanted = np.array(asked[:most], dtype=np.int64)
    special = np.union1d(wanted, _spread(np.setdiff1d(np.flatnonzero(wrong), wanted), max(0, most // 2 - len(wanted))))
    others = np.setdiff1d(np.arange(len(wrong)), special)
    return np.sort(np.concatenate([special, _spread(others, most - len(special))]))


def choose_worst(sequence: ReportedSequence) -> list[int]:
    """The frames with the largest errors, one of each stretch; where nobody knows these, the least certain."""
    errors = sequence.errors(sequence.fused)
    return find_peaks(np.where(errors.known, errors.values, 0.0) if errors.known.any() else sequence.semi_axes, WORST)


def find_peaks(values: Float[np.ndarray, " n"], most: int) -> list[int]:
    """Rows of the largest values, one of each stretch, which ends where less than half of its largest is left.

    Each is the largest of its neighbourhood too: the flank of a peak is no peak.
    """
    around = np.lib.stride_tricks.sliding_window_view(np.pad(values, _APART), 2 * _APART + 1)
    left, peaks = np.where(values >= around.max(axis=1), values, 0.0), list[int]()
    while len(peaks) < most and left.any():
        peak = int(left.argmax())
        peaks.append(peak)
        below = np.flatnonzero(values < values[peak] / 2)
        # A stretch that reaches an end of the drive is bounded by it.
        start, stop = max(below[below < peak], default=-1) + 1, min(below[below > peak], default=len(values))
        left[max(0, min(start, peak - _APART)) : max(stop, peak + _APART + 1)] = 0.0
    return peaks


def share_frames(sequences: int) -> int:
    """How many frames of each sequence of a page can be shown, each with its match."""
    return max(1, MOST_PICTURES // (2 * max(1, sequences)))


def group_by_traverse(memory: Memory, rows: Iterable[int]) -> dict[str, list[int]]:
    """The rows of each traverse, in order and each once."""
    groups: dict[str, list[int]] = {}
    for row in sorted(set(rows)):
        groups.setdefault(str(memory.sequences[row]), []).append(row)
    return groups


def _spread(rows: Int[np.ndarray, " n"], most: int) -> Int[np.ndarray, " kept"]:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]


def _select_frames(experiment: Experiment, name: str, stamps: Mapping[int, int]) -> Iterator[tuple[int, Frame]]:
    frames = islice(open_data(experiment.data, name), max(stamps) + 1)
    return ((row, frame) for row, frame in enumerate(frames) if row in stamps)


def read_picture(frame: Frame, image: Image, box: tuple[int, int]) -> PagePicture | None:
    """A frame as the network is given it, in a box; None where its image is damaged or shows nothing."""
    try:
        counts = frame.image()
        picture = image.prepare(counts, _fit_size(image, counts, box), "area")
    except InputError:
        return None
    return None if isinstance(picture, Fault) else picture


def _fit_size(image: Image, counts: Counts, box: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the image in its own proportions, inside the box and never enlarged."""
    rows, columns = image.size_after_crop(*counts.shape)
    share = min(1.0, box[0] / rows, box[1] / columns)
    return max(1, round(rows * share)), max(1, round(columns * share))
