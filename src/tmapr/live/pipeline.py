"""A live drive: the source, perception, localization, learning and every sink in threads of their own.

    source ─▶ [line, drops the oldest] ─▶ perception ─▶ [line of one] ─▶ localization ─▶ outlets
                                                                             │  ▲
                                                                             ▼  │ a frame waits for one turn
                                                                           learning

Every frame that came is answered or counted as dropped. Nothing that a frame, a sink or a clock does ends the drive.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tmapr.live.events import Answer, Arrival, Health, Part, Scene, Source, Start, Telling, Timings
from tmapr.live.gauges import Blame, Durations, Gauge, mark_late
from tmapr.live.learner import Learner
from tmapr.live.outlet import Outlet
from tmapr.live.queueing import ClosedError, Line
from tmapr.localizer import Localizer
from tmapr.types import NANOSECONDS, Estimate, Fault, Frame, Percept, Status

_BETWEEN = 1.0
"""Seconds between two reports."""
_RESUMED = 600 * NANOSECONDS
"""After a longer pause a robot may be anywhere, and a clock that says less than none was set."""
_tell = logging.getLogger("tmapr").warning


@dataclass(frozen=True, slots=True)
class _Taken:
    """A frame from the source."""

    number: int
    arrival: Arrival
    since: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """A frame whose image is in memory, and what perception made of it."""

    number: int
    frame: Frame
    arrival: Arrival
    percept: Percept
    queued: float
    perception: float


class Pipeline:
    """One drive from its source to its sinks."""

    def __init__(
        self,
        localizer: Localizer,
        source: Source,
        learner: Learner,
        outlets: Sequence[Outlet] = (),
        capacity: int = 4,
        frames: int | None = None,
        more_parts: Callable[[], Sequence[Part]] = tuple,
    ) -> None:
        self.failure: Exception | None = None
        """Why the source ended, unless it ended as it should."""
        self.steps, self.perceptions = Durations(), Durations()
        self.statuses: dict[Status, int] = dict.fromkeys(Status, 0)
        self._localizer, self._source, self._outlets, self._learner = localizer, source, outlets, learner
        self._most, self._more_parts = frames, more_parts
        self._taken, self._answered, self._failed = 0, 0, 0
        self._came, self._seen = Line[_Taken](capacity), Line[_Seen](1)
        self._hints = deque[Start]()
        self._verified = False
        """Whether the last match was verified: then the next one's keypoints are found beforehand, beside the step."""
        self._began = time.monotonic()
        self._reading = Gauge("source", waits_for_work=False)
        self._perceiving, self._localizing = Gauge("perception"), Gauge("localization")
        self._blame = Blame()
        self._late: tuple[str, ...] = ()
        self._stopping, self._finished = threading.Event(), threading.Event()

    def run(self, scene: Scene) -> Health:
        """Drive until the source ends or somebody calls `stop`; an interruption stops it, too, and is raised then."""
        begun = list[Outlet]()
        try:
            for outlet in self._outlets:
                outlet.begin(scene)
                begun.append(outlet)
            self._drive()
        finally:
            health = self.measure_health()
            for outlet in begun:
                outlet.report(health)
            hung = [outlet.read().name for outlet in begun if not outlet.close()]
            if hung:
                _tell("%s: did not end in time and was left behind", ", ".join(hung))
        return self.measure_health()

    @property
    def clock_steps(self) -> int:
        """How often the camera's clock was set."""
        return self._localizer.clock.steps

    def stop(self) -> None:
        """Take no more frames; those that came are answered."""
        self._stopping.set()
        self._source.close()

    def measure_health(self) -> Health:
        """How it is doing now."""
        told = [self._source.read()] if isinstance(self._source, Telling) else []
        before = sum(part.dropped for part in told)  # they came, and did not come so far as here
        dropped = before + self._came.dropped + self._failed
        gauges = [self._perceiving, self._localizing, self._learner.gauge]
        blamed = self._blame.find(self._came.dropped, gauges)
        inner = [self._reading.read(self._came.dropped), self._perceiving.read(), self._localizing.read()]
        inner += self._learner.read()
        outer = [*told, *(outlet.read() for outlet in self._outlets), *self._more_parts()]
        parts = [*mark_late(inner, blamed), *outer]
        lessons = self._learner.lessons
        counts = before + self._taken, self._answered, dropped, lessons, self._localizer.rollbacks
        return Health(time.monotonic() - self._began, *counts, tuple(parts))

    def _drive(self) -> None:
        works = {"source": self._read, "perception": self._perceive, "localization": self._localize}
        threads = [threading.Thread(target=work, name=f"tmapr {name}", daemon=True) for name, work in works.items()]
        for thread in threads:
            thread.start()
        logging.getLogger("tmapr").info("%s: waits for frames", self._source.name)
        try:
            while not self._finished.wait(_BETWEEN):
                self._watch()
        except KeyboardInterrupt:
            self.stop()
            self._finished.wait()
            raise
        finally:
            self.stop()
            self._learner.close()

    def _watch(self) -> None:
        """Say which part is late, when it becomes so and when it no longer is."""
        health = self.measure_health()
        for name in health.late:
            if name not in self._late:
                part = next(each for each in health.parts if each.name == name)
                _tell("%s", _describe_late(part))
        for name in self._late:
            if name not in health.late:
                _tell("%s: in time again", name)
        self._late = health.late
        for outlet in self._outlets:
            outlet.report(health)

    def _read(self) -> None:
        try:
            for event in self._source:
                if self._stopping.is_set():
                    break
                if isinstance(event, Start):
                    self._hints.append(event)
                    continue
                self._reading.tick()
                if not self._taken:
                    self._resume(event.frame.stamp)
                self._came.put(_Taken(self._taken, event, time.monotonic()), wait=self._source.waits)
                self._taken += 1
                if self._taken == self._most:
                    break
        except ClosedError:
            pass
        except Exception as error:
            self.failure = error
            self._reading.note = f"{self._source.name}: {' '.join(str(error).split())}"
            _tell("%s; the drive ends here", self._reading.note)
        finally:
            self._came.close()

    def _resume(self, stamp: int) -> None:
        """Go on with the last drive if that ended shortly before; otherwise the place has to be found anew."""
        clock = self._localizer.clock
        if clock.last is not None and not 0 < stamp - clock.stamp < _RESUMED:
            self._localizer.new_drive()

    def _perceive(self) -> None:
        while True:
            try:
                taken = self._came.take()
            except ClosedError:
                break
            began = time.monotonic()
            with self._perceiving.working():
                frame = _hold(taken.arrival.frame)
                percept = self._perceive_one(frame)
            took = time.monotonic() - began
            self.perceptions.add(took)
            seen = _Seen(taken.number, frame, taken.arrival, percept, began - taken.since, took)
            self._seen.put(seen, wait=True)
        self._seen.close()

    def _perceive_one(self, frame: Frame) -> Percept:
        """What cannot be perceived is this frame's misfortune, whatever it is."""
        try:
            percept = self._localizer.perceive(frame)
            if self._verified and percept.keypoints is not None:
                percept.keypoints()
            return percept
        except Exception as error:
            self._perceiving.note = f"frame at {frame.stamp}: {' '.join(str(error).split())}"
            nothing = np.zeros(self._localizer.classifier.dimension)
            return Percept(frame.stamp, nothing, fault=Fault.INVALID, motion=frame.motion)

    def _localize(self) -> None:
        try:
            while True:
                self._answer(self._seen.take())
        except ClosedError:
            self._finished.set()

    def _answer(self, seen: _Seen) -> None:
        began = time.monotonic()
        self._learner.rest()
        rested = time.monotonic()
        try:
            with self._localizing.working():
                estimate = self._observe(seen.percept, seen.arrival.arrived)
        except Exception as error:
            self._failed += 1
            self._localizing.note = f"frame at {seen.frame.stamp}: {' '.join(str(error).split())}"
            _tell("%s; it is left out", self._localizing.note)
            return
        done = time.monotonic()
        lessons = self._learner.lessons
        self._learner.give(seen.number, estimate)
        timings = Timings(seen.queued, seen.perception, rested - began, done - rested)
        self.steps.add(timings.step)
        self.statuses[estimate.status] += 1
        self._answered += 1
        answer = Answer(seen.number, seen.frame, estimate, timings, seen.arrival.odometry, lessons)
        for outlet in self._outlets:
            outlet.offer(answer)

    def _observe(self, percept: Percept, arrived: int | None) -> Estimate:
        while self._hints:
            hint = self._hints.popleft()
            self._localizer.start_at(percept.stamp - 1, hint.position, hint.deviation)
        estimate = self._localizer.observe(percept, arrived)
        compared = estimate.recognition.comparison if estimate.recognition else None
        self._verified = compared is not None and compared.local is not None
        return estimate


def _hold(frame: Frame) -> Frame:
    """The frame with its image in memory; one that cannot be read stays as it is, and is found faulty."""
    try:
        counts = frame.image()
    except Exception:
        return frame
    return replace(frame, image=lambda: counts)


def _describe_late(part: Part) -> str:
    if part.busy:
        return f"{part.name}: late, it works on one frame for {part.busy:.1f} s"
    if part.name == "source":
        return f"source: silent for {part.idle:.1f} s"
    return f"{part.name}: late, frames had to be dropped for it"
