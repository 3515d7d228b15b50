"""Learning beside localizing: after each answer, while the next frame is perceived; a frame waits for one turn of it.

It learns after the same frames whether they come fast or slowly, so that a drive that is replayed learns the same.
While lessons wait to be written down, and a kill would lose more than may be lost, nothing is learned; nor while a
whole state is written, which lets the journal forget its oldest lessons. A turn waits for no disk.
"""

import logging
import threading
import time

from tmapr.journal.moment import Moment
from tmapr.journal.redo import describe
from tmapr.live.events import Part
from tmapr.live.gauges import Gauge
from tmapr.live.keeper import Keeper, give_back_memory
from tmapr.localizer import Localizer
from tmapr.types import Estimate

_BETWEEN = 5.0
"""Seconds between two moments that are kept: after a kill the drive goes on from the last one."""
_tell = logging.getLogger("tmapr").warning


class Learner:
    """A thread that teaches a localizer from its own estimates, and lets what changes be kept."""

    def __init__(self, localizer: Localizer, keeper: Keeper, teaches: bool) -> None:
        self.gauge = Gauge("learning")
        self.lessons = 0
        self._localizer, self._keeper, self._teaches = localizer, keeper, teaches
        self._kept = time.monotonic()
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

    def read(self) -> list[Part]:
        """How learning and the journal are doing."""
        return [self.gauge.read(), *self._keeper.read()]

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._task is None and not self._ending:
                    self._changed.wait()
                task = self._task
            if task is None:
                return
            try:
                with self.gauge.working():
                    self._learn(*task)
            except Exception as error:  # an exhausted state is the learner's misfortune
                self._complain(f"learning failed after frame {task[0]}: {' '.join(str(error).split())}")
            with self._changed:
                self._task = None
                self._changed.notify_all()

    def _complain(self, said: str) -> None:
        if said != self.gauge.note:
            self.gauge.note = said
            _tell(said)

    def _learn(self, number: int, estimate: Estimate) -> None:
        journal = self._keeper.journal
        if self._teaches and not self._keeper.ready:
            journal.note_skipped(number)
        elif self._teaches:
            before = self._localizer.rollbacks
            lessons = self._localizer.teach(estimate)
            self.lessons += len(lessons)
            if self._localizer.rollbacks > before:
                journal.note_returned(number, describe(self._localizer))
            journal.note(number, estimate.stamp, lessons)
        if time.monotonic() - self._kept > _BETWEEN:
            self._kept = time.monotonic()
            journal.note_moment(Moment.of(self._localizer))
            give_back_memory()
