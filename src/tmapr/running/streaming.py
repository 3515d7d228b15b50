"""The streaming protocol: sequences in their order, each scored while A_t learns from its labels, which come late.

Each is a drive of its own: it is tracked anew, and what was learned is carried on. Labels that are still to come when a
drive ends are learned before the next one begins. Then all sequences so far are asked again, without learning: what
was forgotten shows, and what a sequence is worth once it is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tmapr.artifacts.documents.streams import StretchFigures
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.evaluation.stretches import measure_answers
from tmapr.localizer import Localizer
from tmapr.running.progressive import Progress, localize
from tmapr.system import Map, System, build, resume
from tmapr.types import Watch


@dataclass(frozen=True, slots=True)
class Passage:
    """A sequence as it went while it was learned, and then all up to it as the state answers that this left."""

    sequence: str
    progress: Progress
    asked_again: dict[str, StretchFigures]


@dataclass(frozen=True, slots=True)
class Stream:
    """Where the state is kept that one sequence leaves to the next, and the settings and the map that it belongs to."""

    system: System
    environment: Map
    folder: RunFolder
    watch: Watch = iter

    def follow(self, localizer: Localizer, recordings: Sequence[Recording]) -> Iterator[Passage]:
        """Go through the sequences; after each, state.npz is what a test would start from."""
        for count, recording in enumerate(recordings, start=1):
            localizer = localizer.fork()
            progress = localize(localizer, recording, self.watch(range(len(recording))))
            localizer.end_drive()
            localizer.fork().save(self.folder.map.parent)
            yield Passage(recording.sequence, progress, self._ask_again(recordings[:count]))

    def _ask_again(self, recordings: Sequence[Recording]) -> dict[str, StretchFigures]:
        """From the file, as a test begins: a drive that is asked shares nothing with the one that learns."""
        asked = resume(changed(self.system, {"labels.mode": "off"}), self.environment, self.folder.state)
        memory, threshold = self.environment.memory, self.system.tracking.gates.min_similarity
        figures = {}
        for recording in recordings:
            drive = asked.fork()
            answers = [drive.observe(recording.percepts[row]) for row in self.watch(range(len(recording)))]
            figures[recording.sequence] = measure_answers(answers, recording, memory, threshold)
        return figures


def build_learning(system: System, environment: Map) -> Localizer:
    """A localizer that learns as a stream does."""
    return build(changed(system, {"labels": system.labels.streamed}), environment)
