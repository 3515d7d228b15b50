"""Learning beside localizing: after each answer, while the next frame is perceived; a frame waits for one turn of it.

It learns after the same frames whether they come fast or slowly, so that a drive that is replayed learns the same.
While lessons wait to be written down, and a kill would lose more than may be lost, nothing is learned.
"""

import logging
import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tmapr.live.gauges import Gauge
from tmapr.localizer import Localizer
from tmapr.places.lessons import Lesson
from tmapr.types import Estimate

_tell = logging.getLogger("tmapr").warning


@runtime_checkable
class Journal(Protocol):
    """Where lessons are written down."""

    @property
    def ready(self) -> bool:
        """Whether another lesson may be learned: those before it are written, up to as many as may be lost."""

    def note(self, number: int, stamp: int, lessons: Sequence[Lesson]) -> None:
        """Write down what was learned after a frame; it waits for no disk."""

    def note_rollback(self, number: int, stamp: int) -> None:
        """Write down that everything learned by oneself was given up."""


class Learner:
    """A thread that teaches a localizer from its own estimates."""

    def __init__(self, localizer: Localizer, journal: Journal | None = None) -> None:
        self.gauge = Gauge("learning")
        self.lessons = 0
        self.paused = 0
        """Frames after which nothing was learned because the journal had no time."""
        self._localizer, self._journal = localizer, journal
        self._task: tuple[int, Estimate] | None = None
        self._changed = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="tmapr learning", daemon=True)
        self._thread.start()

    def rest(self) -> None:
        """Wait until what the last frame taught is learned."""
        with self._changed:
            while self._task is not None:
                self._changed.wait()

    def give(self, number: int, estimate: Estimate) -> None:
        """Learn what is due after a frame, from now on."""
        with self._changed:
            self._task = number, estimate
            self._changed.notify_all()

    def close(self) -> None:
        """Finish the last turn."""
        self.rest()
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._task is None and not self._ending:
                    self._changed.wait()
                task = self._task
            if task is None:
                return
            with self.gauge.working():
                self._learn(*task)
            with self._changed:
                self._task = None
                self._changed.notify_all()

    def _learn(self, number: int, estimate: Estimate) -> None:
        if self._journal and not self._journal.ready:
            self.paused += 1
            return
        before = self._localizer.rollbacks
        try:
            lessons = self._localizer.teach(estimate)
        except Exception as error:  # an exhausted state is the learner's misfortune
            said = f"learning stopped after frame {number}: {' '.join(str(error).split())}"
            if said != self.gauge.note:
                self.gauge.note = said
                _tell(said)
            return
        self.lessons += len(lessons)
        if self._journal and self._localizer.rollbacks > before:
            self._journal.note_rollback(number, estimate.stamp)
        if self._journal and lessons:
            self._journal.note(number, estimate.stamp, lessons)
