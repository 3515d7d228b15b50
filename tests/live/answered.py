"""Answers as a drive gives them: a real localizer's, and the same with what it said changed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import tmapr
from tmapr.geodesy import LOCAL_FRAME
from tmapr.live.events import Answer, Health, Part, Pose, Scene, Timings
from tmapr.types import Belief, Reason, Status, Verdict

TIMINGS = Timings(queued=0.002, perception=0.031, waiting=0.0005, localization=0.004)


def answer_drive(map_folder: Path) -> tuple[Scene, list[Answer]]:
    """Map the sample's noon and localize its night."""
    localizer = tmapr.make_map(tmapr.locate_sample() / "noon", map_folder)
    frames = tmapr.open_sequence(tmapr.locate_sample() / "night", frame=localizer.frame)
    answers = [
        Answer(number, frame, localizer.step(frame), TIMINGS, lessons=number // 10)
        for number, frame in enumerate(frames)
    ]
    return Scene(localizer, map_folder, map_folder / "live", "night"), answers


def say(
    answer: Answer,
    *,
    status: Status = Status.LOCALIZED,
    reason: Reason = Reason.ACCEPTED,
    mean: Sequence[float] | None = None,
    covariance: np.ndarray | None = None,
    heading: float | None = None,
    stamp: int | None = None,
    odometry: Pose | None = None,
    on_earth: bool = True,
) -> Answer:
    """The same answer, had the localizer said this; `heading` is the candidate's."""
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
        percept=replace(estimate.percept, heading=None, stamp=taken),
        frame=estimate.frame if on_earth else LOCAL_FRAME,
    )
    return replace(answer, estimate=changed, frame=replace(answer.frame, stamp=taken), odometry=odometry)


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
