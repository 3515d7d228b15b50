"""The whole way of a frame: Percept → PlaceScores → Recognition → Verdict → Estimate.

`observe` never learns, `learn` never moves the estimate, and the reference memory never changes.
"""

from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import overload

import numpy as np
from jaxtyping import Float

from tmapr.artifacts.arrays import Arrays, put, save_arrays, take
from tmapr.clock import Timeline
from tmapr.exceptions import InputError
from tmapr.inputs import check_estimate, read_folder, read_frame, read_metres, read_percept, read_position, read_stamp
from tmapr.labels import Label, Teacher
from tmapr.places.classifier import Classifier
from tmapr.places.lessons import Lesson
from tmapr.recognising import get_view, recognise
from tmapr.retrieval.condition import Condition, Shared
from tmapr.retrieval.memory import Memory
from tmapr.stages import Perceive, Stages
from tmapr.tracking import RouteTracker, make_tracker
from tmapr.tracking.self_training import Student
from tmapr.types import CoordinateFrame, Estimate, Frame, Odometry, Percept, Picture, Recognition

_SHARPEST = 1e-6  # metres: the square of less would leave a covariance that is none


class Localizer:
    """Says where a camera is, frame by frame: owns the learned state A_t and the tracker, shares the map.

    Several threads may use one: each call is whole, and together they give what some order of them gives. A refused
    call changes nothing. `learn` waits for `observe`, not for the network of a `step`.
    """

    def __init__(self, stages: Stages, memory: Memory, classifier: Classifier, teacher: Teacher) -> None:
        self.memory = memory
        self.classifier = classifier
        self._stages = stages
        self._teacher = teacher
        self._perceive: Perceive | None = None
        self._changing = RLock()
        self._perceiving = RLock()
        """Taken first: frames are tracked in the order in which they were perceived."""
        self.tracker = make_tracker(stages.tracking, stages.fusion, memory)
        tracker = self.tracker if isinstance(self.tracker, RouteTracker) else None
        self._student = Student(tracker.route, memory) if tracker else None
        self.clock = Timeline()
        """The drive's own: beliefs are by it, whatever the camera's does."""
        self._drive = Condition()
        """What the views of this drive share."""
        self._localized: Percept | None = None
        """The last one."""
        self._lessons = Condition()
        """Of what is observed, and of labelled drives that are learned: they may be of another day."""

    def __repr__(self) -> str:
        traverses = ", ".join(sorted(set(self.memory.sequences.tolist())))
        return (
            f"Localizer({len(self.memory)} references in {self.memory.place_count} places of {traverses},"
            f" tracking {self._stages.tracking.method!r})"
        )

    @property
    def stages(self) -> Stages:
        """The settings of its stages, and the names that tie what it saves to its map."""
        return self._stages

    @property
    def frame(self) -> CoordinateFrame:
        """What the map's positions are relative to: those of labels have to be, too."""
        return self._stages.frame

    @property
    def rollbacks(self) -> int:
        """How often all that it taught itself was taken back, because labels contradicted what was seen."""
        return self._student.guard.rollbacks if self._student else 0

    def new_drive(self) -> "Localizer":
        """Begin another drive: what was learned stays, where the camera is has to be found anew. Gives itself."""
        with self._perceiving, self._changing:
            fresh = self.fork()
            self.tracker, self._student = fresh.tracker, fresh._student
            self._drive, self._lessons, self._perceive = fresh._drive, Condition(), None
            self.clock = fresh.clock
        return self

    def fork(self) -> "Localizer":
        """Another one for another drive at the same time: both learn into the same A_t."""
        with self._changing:
            other = Localizer(self._stages, self.memory, self.classifier, self._teacher)
            other._changing = self._changing
            if learned := self.tracker.learned():
                other.tracker.restore_learned(learned)
            other._student = self._student.begin_drive() if self._student else None
        return other

    @overload
    def step(self, image: Frame) -> Estimate: ...
    @overload
    def step(self, image: Picture, stamp: int, motion: Odometry | None = None) -> Estimate: ...
    def step(self, image: Frame | Picture, stamp: int | None = None, motion: Odometry | None = None) -> Estimate:
        """Localize a camera frame: a `Frame`, or an array of 8- or 16-bit counts and its stamp in nanoseconds.

        An array may be filled anew afterwards. `motion` is what odometry or a gyroscope says of the array's moment.
        """
        with self._perceiving:
            return self.observe(self.perceive(read_frame(image, stamp, motion)))

    def perceive(self, frame: Frame) -> Percept:
        """The first part of a `step`, for who has a thread for each: it waits for nothing that is learned."""
        if self._stages.begin_stream is None:
            raise InputError("this map was made from a program's own percepts; give them to `observe`")
        with self._perceiving:
            if self._perceive is None:
                self._perceive = self._stages.begin_stream()
            return self._perceive(frame)

    def observe(self, percept: Percept, arrived: int | None = None) -> Estimate:
        """Localize one percept. Older, repeated and faulty ones are answered with a reason, never refused.

        `arrived` is when a frame came that came just now, in nanoseconds of a clock that nobody sets.
        """
        percept = read_percept(percept, self.classifier.dimension)
        with self._changing:
            estimate = self._advance(replace(percept, stamp=self.clock.place(percept.stamp, arrived)))
            self._localized = percept
            return replace(estimate, percept=percept, frame=self._stages.frame)

    def _advance(self, percept: Percept) -> Estimate:
        if late := self.tracker.answer_late(percept):
            return late
        if percept.fault:
            return self.tracker.pass_over(percept)
        recognition = self._recognise_next(percept)
        estimate = self.tracker.advance(percept, recognition)
        self._remember(get_view(recognition, percept))
        self._drive.follow(estimate)
        return estimate

    def _recognise_next(self, percept: Percept) -> Recognition:
        return self._recognise(percept, self._drive.recall(percept.stamp), self._choose_here())

    def recognise(self, percept: Percept, count: int | None = None) -> Recognition:
        """What a usable frame looks like by now: as many references as are judged, or so many."""
        answering = self._student.choose(self.classifier) if self._student else self.classifier
        return self._recognise(percept, self._drive.recall(percept.stamp + self.clock.offset), answering, count)

    def _choose_here(self) -> Classifier:
        """The classifier that answers where the camera is believed to be."""
        if self._student is None or not isinstance(self.tracker, RouteTracker):
            return self.classifier
        return self._student.choose(self.classifier, self.tracker.filter.weigh_references)

    def _remember(self, view: Float[np.ndarray, " dim"]) -> None:
        """Keep a new view, as the classifier was given it, until later ones say where it was taken."""
        seen = self.tracker.view if isinstance(self.tracker, RouteTracker) else None
        if self._student and seen and self._teacher.mode == "fused":
            self._student.see(seen, view, self.classifier, self._weigh)

    def _weigh(self, classifier: Classifier, view: Float[np.ndarray, " dim"]) -> Float[np.ndarray, " refs"]:
        """The log-evidence of each reference along the route for a view under the map's condition."""
        if not isinstance(self.tracker, RouteTracker):
            raise ValueError("views are weighed along a route")
        return self.tracker.weigh(self._recognise(Percept(0, view), None, classifier))

    def _recognise(
        self, percept: Percept, shared: Shared | None, classifier: Classifier, count: int | None = None
    ) -> Recognition:
        return recognise(self._stages, self.memory, classifier, percept, shared, count)

    def learn(self, seen: Percept | Estimate, position: Float[np.ndarray, "2"], scored: bool = True) -> Lesson:
        """Adapt A_t to a frame whose position is known, now or long after it was seen.

        An estimate that `observe` gave is learned as its frame was seen then; percepts belong to a labelled drive and
        are learned in its order. How well a frame was recognised before teaches the tracking how far to believe others
        like it; a position that the localizer itself found proves nothing, so it is not `scored`.
        """
        observed = seen.recognition if isinstance(seen, Estimate) else None
        given = seen.percept if isinstance(seen, Estimate) else seen
        # What was localized last was read when it came.
        percept = given if given is self._localized else read_percept(given, self.classifier.dimension)
        if percept.fault:
            raise InputError(f"percept at {percept.stamp}: a faulty frame ({percept.fault}) cannot be learned from")
        label = read_position(position, f"percept at {percept.stamp}: its label")
        with self._changing:
            recognition = observed or self._recognise(
                replace(percept, keypoints=None), self._lessons.recall(percept.stamp), self.classifier
            )
            # Before it is learned: afterwards every frame looks like itself.
            new_view = scored and self.tracker.score_label(percept, recognition, label)
            if observed is None:
                self._lessons.note(percept.descriptor, percept.stamp, float(new_view))
            view = get_view(recognition, percept)
            lesson = self.classifier.learn(view, label)
            if self._student:
                self._student.guard.adopt(lesson, view)
            return lesson

    def unlearn(self, lesson: Lesson) -> None:
        """Take back what `learn` or `teach` returned, once, here or where this state was merged or saved to."""
        with self._changing:
            self.classifier.unlearn(lesson)
            if self._student:
                self._student.guard.unlearn(lesson)

    def teach(self, estimate: Estimate, truth: Float[np.ndarray, "2"] | None = None) -> list[Lesson]:
        """Learn what the labels' settings say is due after this frame."""
        check_estimate(estimate, self.classifier.dimension)
        known = None if truth is None else read_position(truth, f"estimate at {estimate.stamp}: its true position")
        with self._changing:
            if self._student and self._teacher.mode == "fused":
                return self._student.learn_due(self.classifier)
            return self._learn_labels(self._teacher.due(estimate, known))

    def relearn(self, lesson: Lesson, labelled: bool) -> None:
        """Learn once more what `teach` learned in this very state, or `learn`, if it was `labelled`: bit for bit."""
        with self._changing:
            if self._student and not labelled:  # the guard has to know it, whether it goes on learning or not
                self._student.relearn(lesson, self.classifier)
                return
            self.classifier.relearn(lesson)
            if self._student:
                self._student.guard.adopt(lesson, lesson.descriptor)

    def roll_back(self) -> None:
        """Take back all that it taught itself: what answered before the first such lesson is all that is known."""
        with self._changing:
            if self._student:
                self._student.roll_back(self.classifier)

    def end_drive(self) -> list[Lesson]:
        """Learn the true labels of this drive that are still to come; with the next drive nobody waits for them."""
        with self._changing:
            return self._learn_labels(self._teacher.hand_over())

    def _learn_labels(self, due: list[Label]) -> list[Lesson]:
        return [self.classifier.learn(seen.descriptor, position) for seen, position in due]

    def start_at(self, stamp: int, position: Float[np.ndarray, "2"], deviation: float) -> None:
        """Begin anew from a position somebody knows, give or take `deviation` metres."""
        start = read_stamp(stamp, "start"), read_position(position, "start: the position")
        metres = read_metres(deviation, "start: the deviation", _SHARPEST)
        with self._changing:
            self.tracker.start_at(*start, metres)
            self.clock = Timeline(start[0], start[0])
            if self._student:
                self._student.begin_anew()

    def expect_head(self, error: float | None) -> None:
        """Trust the pose head from the start as far as its validation says, by its error in metres."""
        if error is not None:
            with self._changing:
                self.tracker.expect_head(read_metres(error, "the pose head's error", 0.0))

    def save(self, directory: str | Path) -> None:
        """Write the state beside its map, or both and the settings to a folder without; a kill leaves old or new."""
        folder = read_folder(directory)
        if folder.is_file():
            raise InputError(f"{folder}: is a file; name a folder")
        if (folder / "map.npz").exists():
            self._save_state(folder)
        elif self._stages.found:
            self._stages.found(folder, self._save_state)
        else:
            raise InputError(f"{directory}: holds no map.npz; a state is only of use beside its map")

    def _save_state(self, folder: Path) -> None:
        save_arrays(folder / "state.npz", self._stages.head_state(), self.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes, as it is now: A_t, labels still due, the track, the past that is learned from."""
        with self._changing:
            taught = self._student.arrays() if self._student and self._student.used else {}
            return put("classifier.", self.classifier.arrays()) | put("own.", taught) | self.moment()

    def moment(self) -> dict[str, np.ndarray]:
        """The same without A_t and what the guard holds of it: what is small, and changes with every frame."""
        with self._changing:
            changing = put("labels.", self._teacher.arrays()) | put("track.", self.tracker.arrays())
            changing |= put("drive.", self._drive.arrays()) | put("lessons.", self._lessons.arrays())
            changing |= put("clock.", self.clock.arrays())
            if self._student and self._student.used:
                changing |= put("own.", self._student.moment())
            # Copies: the caller may write them to disk while the next frame is localized.
            return {name: np.array(array) for name, array in changing.items()}

    def restore(self, arrays: Arrays, method: str) -> None:
        """Continue from where `arrays` were taken; the classifier is given at construction.

        What another method carried from frame to frame means nothing here: then the drive starts anew.
        """
        with self._changing:
            self._teacher.restore(take(arrays, "labels."))
            self._lessons.restore(take(arrays, "lessons."))
            own = take(arrays, "own.")
            if self._student and own:
                self._student.restore(own, self.classifier)
            if method == self._stages.tracking.method:
                self.tracker.restore(take(arrays, "track."))
                self._drive.restore(take(arrays, "drive."))
                self.clock = Timeline.from_arrays(take(arrays, "clock."))
            elif self._student:
                self._student.begin_anew()
