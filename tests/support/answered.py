"""Answers as a drive gives them: a real localizer's, and the same with what it said changed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

import tmapr
from tmapr.geodesy import CoordinateFrame
from tmapr.live.events import Answer, Health, Part, Pose, Scene, Timings
from tmapr.localizer import Localizer
from tmapr.types import Belief, Odometry, Reason, Status, Verdict

TIMINGS = Timings(queued=0.002, perception=0.031, waiting=0.0005, localization=0.004)
HEALTH = Health(
    seconds=12.5,
    taken=120,
    answered=115,
    dropped=5,
    lessons=7,
    rollbacks=1,
    parts=(
        Part("source", done=120),
        Part("perception", done=115, dropped=5),
        Part("viewer", done=3, dropped=80, busy=9.5, late=True, note="it hangs"),
    ),
)
WELL = Health(seconds=1.0, taken=10, answered=10, dropped=0, lessons=0, rollbacks=0, parts=(Part("source", done=10),))


def answer_drive(map_folder: Path) -> tuple[Scene, list[Answer]]:
    """Map the sample's noon and localize the beginning of its night."""
    localizer = tmapr.make_map(tmapr.locate_sample() / "noon", map_folder)
    return set_scene(localizer, map_folder), answer_night(localizer, 45)


def reload_drive(map_folder: Path, count: int) -> tuple[Scene, list[Answer]]:
    """The same in another process: as many frames of the night in the map that is there."""
    localizer = tmapr.load(map_folder).new_drive()
    return set_scene(localizer, map_folder), answer_night(localizer, count)


def set_scene(localizer: Localizer, map_folder: Path) -> Scene:
    return Scene(localizer, map_folder, map_folder / "live", "night")


def answer_night(localizer: Localizer, count: int) -> list[Answer]:
    frames = tmapr.open_sequence(tmapr.locate_sample() / "night", frame=localizer.frame)
    return [
        Answer(number, frame, localizer.step(frame), TIMINGS, lessons=number // 10)
        for number, frame in enumerate(islice(frames, count))
    ]


def say(
    answer: Answer,
    *,
    status: Status = Status.LOCALIZED,
    reason: Reason = Reason.ACCEPTED,
    mean: Sequence[float] | None = None,
    covariance: np.ndarray | None = None,
    heading: float | None = None,
    stamp: int | None = None,
    motion: Odometry | None = None,
    odometry: Pose | None = None,
    frame: CoordinateFrame | None = None,
) -> Answer:
    """The same answer, had the localizer said this; `heading` is the candidate's, of a system without a pose head."""
    estimate, belief = answer.estimate, answer.estimate.belief
    taken = answer.frame.stamp if stamp is None else stamp
    told = Belief(
        taken,
        belief.mean if mean is None else np.array(mean, dtype=float),
        belief.covariance if covariance is None else covariance,
    )
    changed = replace(
        estimate,
        belief=told,
        status=status,
        verdict=Verdict(reason, 0.99, 0.1),
        candidate=replace(estimate.candidate, heading=heading),
        percept=replace(estimate.percept, heading=None, stamp=taken, motion=motion),
        frame=estimate.frame if frame is None else frame,
    )
    return replace(answer, estimate=changed, frame=replace(answer.frame, stamp=taken), odometry=odometry)
