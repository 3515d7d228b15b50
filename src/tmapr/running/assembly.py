"""Percepts in the making: kept rows and new ones, in the order of a recording's frames, written whenever asked."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from tmapr.artifacts.arrays import load_arrays
from tmapr.artifacts.percepts import KIND, VERSION, Recording
from tmapr.data.health import Detector
from tmapr.data.sequence import Sequence
from tmapr.data.survey import Survey
from tmapr.experiment import Experiment
from tmapr.perception.bulk import Readers, count_cores
from tmapr.perception.glance import Given, Shown
from tmapr.perception.perceiver import Perceiver
from tmapr.running.image_reader import ImageReader
from tmapr.running.renewal import Renewal
from tmapr.types import Frame, Odometry, Percept


class Assembly:
    """A recording that is being put together from kept rows and new percepts, in the order of its frames."""

    def __init__(
        self, name: str, now: Survey, experiment: Experiment, source: Path | None, precision: str | None = None
    ) -> None:
        """Without a precision nothing new will come, and it stays what it was."""
        kept = Recording.load(source) if source else None
        self._name = name
        self._now = now
        self._origin = experiment.perception.origin
        self._precision = precision or (kept.precision if kept else "float32")
        self._kept = kept.percepts if kept else ()
        # As the file has them: what is read is scaled to length 1, and would not be written back bit for bit.
        self._numbers = load_arrays(source, KIND, VERSION)[1]["descriptors"] if source else np.zeros((0, 0))
        self._contents = list(now.sources.contents)
        self.percepts = list[Percept]()
        self._descriptors = list[Float32[np.ndarray, " dim"]]()

    def __len__(self) -> int:
        return len(self._descriptors)

    def add(self, percept: Percept, content: str | None = None) -> None:
        """The next frame, as encoded now; the digest of its image, if that was not known."""
        if content:
            self._contents[len(self.percepts)] = content
        self._append(percept, percept.descriptor.astype(np.float32))

    def keep(self, row: int) -> None:
        """The next frame, by the row of the kept percepts."""
        self._append(self._kept[row], self._numbers[row])

    def _append(self, percept: Percept, descriptor: Float32[np.ndarray, " dim"]) -> None:
        place = len(self.percepts)
        motion = Odometry.from_numbers(*self._now.motion[place].tolist())
        # Without keypoints: until they are found, they hold on to the image.
        self.percepts.append(replace(percept, stamp=int(self._now.stamps[place]), motion=motion, keypoints=None))
        self._descriptors.append(descriptor)

    def save(self, path: Path) -> None:
        """Write what there is so far."""
        count, now = len(self._descriptors), self._now  # an interruption may lie between the two lists
        truth, headings = now.truth[:count], now.headings[:count]
        recording = Recording(
            self._name,
            tuple(self.percepts[:count]),
            truth,
            now.placed[:count],
            now.frame,
            self._origin,
            headings,
            replace(now.sources, contents=tuple(self._contents)).first(count),
            precision=self._precision,
        )
        recording.save(path, np.array(self._descriptors))


def stream_new(
    open_perceiver: Callable[[], Perceiver], sequence: Sequence, renewal: Renewal, reader: ImageReader
) -> Generator[Percept, None, None]:
    """The percepts that have to be made; where there are none, no perceiver is opened."""
    if renewal.encoded:
        perceiver = open_perceiver().with_inspection(Detector().inspect)
        yield from perceiver.stream(select_frames(sequence, renewal, reader), readers=Readers(count_cores()))


def select_frames(sequence: Sequence, renewal: Renewal, reader: ImageReader) -> Iterator[Given]:
    """The frames to encode; the image before each of them is shown, as if the whole stream had been seen.

    It is compared with one image, so the last that can be read is enough.
    """
    behind: list[Frame] = []
    for row, (frame, readable) in enumerate(zip(sequence, renewal.readable, strict=True)):
        if renewal.rows[row] < 0:
            yield from map(Shown, behind)
            yield reader.attach(row, frame)
            behind = []
        else:
            behind = [frame] if readable else [*behind, frame]
