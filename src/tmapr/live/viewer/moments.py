"""What the viewer shows of one frame, whether it was answered just now or is read back from a run."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tmapr.live.events import Answer, Timings
from tmapr.perception.image import Image
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.page.footage import read_picture
from tmapr.retrieval.memory import Memory
from tmapr.types import Reason, RouteBelief, Status, measure_semi_axis

BOX = (512, 640)
"""The most rows and columns of a picture: what most thermal cameras have."""
UNREADABLE = "this image cannot be used"


@dataclass(frozen=True, slots=True)
class Match:
    """The reference that a frame was judged by: its row in the map, and whether it was believed."""

    row: int
    similarity: float
    believed: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame; what nobody knows is None."""

    number: int
    stamp: int
    status: Status
    reason: Reason
    position: Float[np.ndarray, "2"]
    covariance: Float[np.ndarray, "2 2"]
    match: Match | None
    route: RouteBelief | None
    picture: PagePicture | None
    absent: str = UNREADABLE
    """Why there is no picture, where there is none."""
    truth: Float[np.ndarray, "2"] | None = None
    timings: Timings | None = None

    @property
    def semi_axis(self) -> float:
        """Longest semi-axis of the 95 % ellipse, in metres."""
        return measure_semi_axis(self.covariance)


def tell_answer(answer: Answer, memory: Memory, image: Image) -> Moment:
    """What is known of a frame that was answered just now."""
    estimate, candidate = answer.estimate, answer.estimate.candidate
    match = None
    if candidate is not None:
        row = memory.find(candidate.reference, candidate.position)
        match = Match(row, candidate.similarity, estimate.verdict.accepted)
    return Moment(
        number=answer.number,
        stamp=answer.stamp,
        status=estimate.status,
        reason=estimate.verdict.reason,
        position=estimate.position,
        covariance=estimate.covariance,
        match=match,
        route=estimate.route,
        picture=read_picture(answer.frame, image, BOX),
        truth=answer.frame.position,
        timings=answer.timings,
    )
