"""A drive told in messages: what each answer and each report says on which topic."""

import numpy as np

from tmapr.live.bearing import Compass
from tmapr.live.diagnostics import Diagnosis
from tmapr.live.events import Answer, Health
from tmapr.live.messages import (
    FIX,
    GPS,
    LATE,
    ODOMETRY,
    TF,
    TOPICS,
    Frames,
    Message,
    fix_place,
    tell_degrees,
    tell_track,
    tell_transform,
)
from tmapr.types import Status


class Speaker:
    """Remembers which way the robot faced and whether it is still known where it is; one for each who listens."""

    def __init__(self, frames: Frames | None = None) -> None:
        self.frames = frames or Frames()
        self._compass = Compass()
        self._diagnosis = Diagnosis()
        self._known = False
        self._status: Status | None = None

    def speak(self, answer: Answer) -> list[Message]:
        """What is to be published of a frame; every header has the camera's stamp.

        The odometry always, since its covariance says what it is worth; a fix and degrees only while `localized`; the
        transform from then on, also while `predicting`, until the drive is `lost` or has only the pose head. Of a frame
        that came too late nothing is said: the belief is of a later moment, which was told.
        """
        estimate = answer.estimate
        belief, self._status = estimate.belief, estimate.status
        finite = np.isfinite(belief.mean).all() and np.isfinite(belief.covariance).all()
        if not finite or estimate.verdict.reason in LATE:
            return []
        bearing = self._compass.follow(answer)
        self._known = estimate.status is Status.LOCALIZED or (self._known and estimate.status is Status.PREDICTING)
        values = {
            FIX: fix_place(answer, self.frames),
            ODOMETRY: tell_track(answer, bearing, self.frames),
            GPS: tell_degrees(answer, self.frames),
            TF: tell_transform(answer, bearing, self.frames) if self._known else None,
        }
        return [Message(topic, TOPICS[topic], value) for topic, value in values.items() if value is not None]

    def diagnose(self, health: Health, stamp: int) -> Message:
        """How the drive is doing; `stamp` is when that is said, since a camera that is silent has none."""
        return self._diagnosis.diagnose(health, self._status, stamp)
