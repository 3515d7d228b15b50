"""The values that travel between the stages: Frame → Percept → PlaceScores → Recognition → Verdict → Belief → Estimate.

SI units, radians, float64; stamps are integer nanoseconds since the epoch: a float64 second resolves only 238 ns.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import hypot, isnan, nan, sqrt
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Shaped

from tmapr.geodesy import LOCAL_FRAME
from tmapr.geodesy import CoordinateFrame as CoordinateFrame
from tmapr.keypoints import LazyKeypoints
from tmapr.words import Fault as Fault
from tmapr.words import Reason as Reason
from tmapr.words import Status as Status

NANOSECONDS = 1_000_000_000
FARTHEST = 1e8
"""Metres: more than twice around the Earth is no position."""
LATEST = 2**62
"""Nanoseconds: so that the difference of two stamps fits 64 bits too."""
RANKED = 10
"""References that are named for each frame, best first: Recall@10 asks for no more."""

HIGHEST_COUNTS = {np.dtype(np.uint8): (255,), np.dtype(np.uint16): (16383, 65535)}
"""The highest counts that an image's depth can hold; thermal cameras put 14 bits into 16."""
Picture = Shaped[np.ndarray, "height width"]
"""Counts of a thermal camera, 8 or 16 bits."""
Watch = Callable[[Sequence[int]], Iterable[int]]
"""Iterates over frames and may show how far it is."""


@dataclass(frozen=True, slots=True)
class Odometry:
    """What sensors beside the camera say of its motion at a frame's stamp, in the vehicle's own axes.

    Instantaneous: `speed` forward in m/s, negative in reverse, and `yaw_rate` in rad/s, positive to the left.
    """

    speed: float | None = None
    yaw_rate: float | None = None

    @classmethod
    def from_numbers(cls, speed: float, yaw_rate: float) -> "Odometry | None":
        """From a file's numbers, in which NaN means that there is none."""
        told = [None if isnan(value) else value for value in (speed, yaw_rate)]
        return None if told == [None, None] else cls(*told)

    @property
    def numbers(self) -> tuple[float, float]:
        """For a file: NaN where there is none."""
        return nan if self.speed is None else self.speed, nan if self.yaw_rate is None else self.yaw_rate


@dataclass(frozen=True, slots=True)
class Frame:
    """One camera image, read on demand, and what was recorded beside it; `file` holds the image and nothing else."""

    sequence: str
    index: int
    stamp: int
    image: Callable[[], Picture]
    position: Float[np.ndarray, "2"] | None = None
    heading: float | None = None
    file: Path | None = None
    motion: Odometry | None = None

    def __repr__(self) -> str:
        where = "" if self.position is None else f", at {_name_position(self.position)}"
        return f"Frame({self.sequence!r} {self.index}, stamp {self.stamp}{where})"


@dataclass(frozen=True, slots=True)
class Percept:
    """What perception says of one frame: a unit descriptor and, with a trained pose head, a pose.

    `motion` is the frame's, passed on; the paper's method makes no use of it. `shift` is how far the picture moved to
    the right since the last image, in widths; None where nobody could tell. `keypoints` are found when asked for.
    """

    stamp: int
    descriptor: Float[np.ndarray, " dim"]
    position: Float[np.ndarray, "2"] | None = None
    heading: float | None = None
    fault: Fault | None = None
    motion: Odometry | None = None
    shift: float | None = None
    keypoints: LazyKeypoints | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        pose = "" if self.position is None else f", pose head at {_name_position(self.position)}"
        fault = f", {self.fault}" if self.fault else ""
        return f"Percept(stamp {self.stamp}, {np.size(self.descriptor)} dimensions{pose}{fault})"


@dataclass(frozen=True, slots=True)
class PlaceScores:
    """How well each place explains a descriptor, and `leverage`, the share of it that nothing learned explains.

    With G also the log-likelihood of each place, per dimension, and the probability that its mixtures give to it.
    """

    scores: Float[np.ndarray, " classes"]
    leverage: float
    log_likelihoods: Float[np.ndarray, " classes"] | None = None
    posterior: Float[np.ndarray, " classes"] | None = None

    def best(self, count: int) -> list[int]:
        """The places with the highest scores, best first; ties go to the older place."""
        return [int(place) for place in np.argsort(-self.scores, kind="stable")[:count]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reference frame that may be where the camera is.

    `similarity` is the plain cosine that the gates and the confidence use; `score` is what ranked it; `support` is the
    share of the best matches nearby; `margin` the gap to the best match elsewhere that ranks behind it.
    """

    reference: int
    position: Float[np.ndarray, "2"]
    place: int
    similarity: float
    score: float
    support: float
    margin: float
    sequence: str = ""
    """The reference traverse of which `reference` is a frame."""
    heading: float | None = None
    """Of the mapped route there, in radians; None where the traverse stood and recorded none."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a frame compares with every reference of M₀, in the order of its rows.

    `similarity` is the cosine in deviations from what references of this map usually reach in this frame, `place` what
    the classifier says of the reference's place, trusted as far as the frame's condition was learned; `local` says how
    far local matches exceed those of wrong references, NaN where none were looked for.
    """

    similarity: Float[np.ndarray, " refs"]
    place: Float[np.ndarray, " refs"]
    local: Float[np.ndarray, " refs"] | None = None


@dataclass(frozen=True, slots=True)
class Recognition:
    """What a frame looks like: references in rank order, none where nothing was searched or found."""

    candidates: tuple[Candidate, ...] = ()
    leverage: float | None = None
    constrained: bool = False
    """Whether places narrowed the search; `leverage` exists where they were scored."""
    comparison: Comparison | None = None
    view: Float[np.ndarray, " dim"] | None = None
    """The descriptor under the map's condition: what places were scored for, and what is learned of the frame."""
    ranked: tuple[int, ...] = ()
    """Rows of M₀ in rank order, ten at most: the candidates are the first of them."""

    @property
    def first(self) -> Candidate | None:
        """The reference that ranks first, before anything was judged."""
        return self.candidates[0] if self.candidates else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gates' answer. Confidence and innovation exist only where they were computed."""

    reason: Reason
    confidence: float | None = None
    innovation: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether the candidate corrects the filter."""
        return self.reason in (Reason.ACCEPTED, Reason.RELOCALIZED)


def measure_distance(a: Float[np.ndarray, "2"], b: Float[np.ndarray, "2"]) -> float:
    """Metres between two positions; NumPy takes five times as long to find out that there are only two."""
    (x, y), (u, v) = a.tolist(), b.tolist()
    return hypot(x - u, y - v)


def measure_semi_axis(covariance: Float[np.ndarray, "2 2"]) -> float:
    """Longest semi-axis of the 95 % ellipse: the larger eigenvalue of two, without a library's call."""
    (xx, xy), (_, yy) = covariance.tolist()
    return sqrt(CHI2_95 * (0.5 * (xx + yy) + hypot(0.5 * (xx - yy), xy)))


@dataclass(frozen=True, slots=True)
class Belief:
    """The filter's Gaussian over (x, y, vx, vy)."""

    stamp: int
    mean: Float[np.ndarray, "4"]
    covariance: Float[np.ndarray, "4 4"]

    @property
    def position(self) -> Float[np.ndarray, "2"]:
        """Where the camera is believed to be."""
        return self.mean[:2]

    @property
    def semi_axis(self) -> float:
        """Longest semi-axis of the 95 % position ellipse, in metres."""
        return measure_semi_axis(self.covariance[:2, :2])


CHI2_95 = 5.991464547107979
"""95 % quantile of the χ² distribution with two degrees of freedom."""


@dataclass(frozen=True, slots=True)
class RouteBelief:
    """Where on the mapped route the camera may be.

    The probability of the place that the estimate names, of being off the map, and of single references (rows of M₀),
    those of more than a thousandth.
    """

    p_place: float
    p_off_map: float
    rows: Int[np.ndarray, " likely"]
    masses: Float[np.ndarray, " likely"]
    new_view: bool = False
    """Whether the frame shows something else than the last one that counted."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer for one frame, and everything that led to it; `candidate` is the one that the verdict is about."""

    belief: Belief
    percept: Percept
    candidate: Candidate | None
    verdict: Verdict
    status: Status
    recognition: Recognition | None = None
    """None for a frame that was not looked at: a faulty or a late one."""
    nis: float | None = None
    """How surprising an accepted reference was: its innovation squared, in the filter's own deviations."""
    route: RouteBelief | None = None
    """Only the route filter has one."""
    frame: CoordinateFrame = LOCAL_FRAME
    """What the position is relative to."""

    def __repr__(self) -> str:
        where = f"{_name_position(self.position)} ± {self.belief.semi_axis:.2f} m"
        like = f" {self.candidate.sequence!r} {self.candidate.reference}" if self.candidate else ""
        return f"Estimate({self.status} at {where}, stamp {self.stamp}, {self.verdict.reason}{like})"

    @property
    def stamp(self) -> int:
        """When the position holds, by the drive's clock: later than the percept's stamp if that came too late."""
        return self.belief.stamp

    @property
    def position(self) -> Float[np.ndarray, "2"]:
        """Fused position in metres."""
        return self.belief.position

    @property
    def lon_lat(self) -> tuple[float, float] | None:
        """Longitude and latitude of the position in degrees (WGS 84), computed here; None in a local frame."""
        return self.frame.find_lon_lat(self.position)

    @property
    def covariance(self) -> Float[np.ndarray, "2 2"]:
        """Covariance of the position in square metres."""
        return self.belief.covariance[:2, :2]

    @property
    def heading(self) -> float | None:
        """In radians: the pose head's, or, without one, that of the mapped route at a reference accepted right now."""
        # It says the direction too: who drives the other way sees, and matches, another traverse or none.
        if self.percept.heading is not None or self.candidate is None:
            return self.percept.heading
        found = self.verdict.accepted and self.status is Status.LOCALIZED
        return self.candidate.heading if found else None


def _name_position(position: Float[np.ndarray, "2"]) -> str:
    return f"({', '.join(f'{coordinate:.2f}' for coordinate in position)})"
