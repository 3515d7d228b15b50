"""A recording goes through a localizer frame by frame: localized, adapted to, or recognised once and replayed.

Recognising a frame costs milliseconds, judging and filtering a tenth of one: gates and filter can be tried on a
recognised drive again and again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from jaxtyping import Bool, Float

from tmapr.artifacts.arrays import Arrays
from tmapr.artifacts.percepts import Recording
from tmapr.clock import Timeline
from tmapr.fusion.capf import Fusion
from tmapr.localizer import Localizer
from tmapr.retrieval.memory import Memory
from tmapr.tracking import Tracker, Tracking, make_tracker
from tmapr.types import Estimate, Recognition


@dataclass(frozen=True, slots=True)
class Progress:
    """One estimate per frame; whether A_t was updated after it; and what both cost in seconds."""

    estimates: tuple[Estimate, ...]
    learned: Bool[np.ndarray, " frames"]
    step_seconds: Float[np.ndarray, " frames"]
    update_seconds: Float[np.ndarray, " updates"]
    ranked: tuple[tuple[int, ...], ...]
    """Of each frame, the rows of M₀ that it looks most like, best first; none if it cannot be used."""


def localize(localizer: Localizer, recording: Recording, rows: Iterable[int]) -> Progress:
    """Observe the given frames in turn; labels come as the localizer's settings say."""
    estimates, learned, steps, updates, ranked = [], [], [], [], []
    for row in rows:
        truth = recording.truth[row] if recording.known[row] else None
        began = perf_counter()
        estimate = localizer.observe(recording.percepts[row])
        observed = perf_counter()
        lessons = localizer.teach(estimate, truth)
        taught = perf_counter()
        estimates.append(estimate)
        learned.append(bool(lessons))
        steps.append(observed - began)
        if lessons:
            updates.append(taught - observed)
        ranked.append(_rank(localizer, estimate))
    seconds = np.array(steps), np.array(updates)
    return Progress(tuple(estimates), np.array(learned, dtype=bool), *seconds, tuple(ranked))


def _rank(localizer: Localizer, estimate: Estimate) -> tuple[int, ...]:
    """What a frame looks most like; one that came too late to move anything is looked at for this alone."""
    if estimate.percept.fault:
        return ()
    return (estimate.recognition or localizer.recognise(estimate.percept)).ranked


def adapt(localizer: Localizer, recording: Recording, rows: Iterable[int]) -> int:
    """Learn the given frames with their true positions; the estimate stays where it is. Returns how many."""
    count = 0
    for row in rows:
        if recording.known[row] and not recording.percepts[row].fault:
            localizer.learn(recording.percepts[row], recording.truth[row])
            count += 1
    return count


@dataclass(frozen=True, slots=True)
class RecognisedDrive:
    """A recording, what was recognised in each usable frame, and the map."""

    recording: Recording
    recognitions: tuple[Recognition | None, ...]
    memory: Memory
    learned: Arrays = field(default_factory=dict)
    """What the tracking had learned before it."""

    @property
    def mapped(self) -> Float[np.ndarray, "refs 2"]:
        """The positions of the references."""
        return self.memory.positions

    def replay(self, tracking: Tracking, fusion: Fusion) -> list[Estimate]:
        """The estimates with these gates and this filter: those of a localizer, bit for bit.

        What the views of the drive share is what the route filter that recognised it took for views of the map.
        """
        return self.follow(make_tracker(tracking, fusion, self.memory))

    def follow(self, tracker: Tracker) -> list[Estimate]:
        """The estimates of a tracker that is told what was learned before."""
        if self.learned:
            tracker.restore_learned(self.learned)
        estimates, clock = [], Timeline()
        for seen, recognition in zip(self.recording.percepts, self.recognitions, strict=True):
            percept = replace(seen, stamp=clock.place(seen.stamp))
            estimate = tracker.answer_late(percept)
            if estimate is None:
                estimate = tracker.advance(percept, recognition) if recognition else tracker.pass_over(percept)
            estimates.append(replace(estimate, percept=seen))
        return estimates


def recognise_drive(localizer: Localizer, recording: Recording) -> RecognisedDrive:
    """Localize every frame and keep what was recognised; nothing is learned."""
    drive = localizer.fork()
    learned = drive.tracker.learned()
    seen = tuple(drive.observe(each).recognition for each in recording.percepts)
    return RecognisedDrive(recording, seen, localizer.memory, learned)
