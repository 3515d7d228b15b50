"""Every number of the route tracker, with its unit and its meaning.

They were chosen once, on rendered worlds in even styles, for all maps. Lengths that a map has of its own, such as the
spacing of its references or its speed, are measured from it and are no numbers here.
"""

from pydantic import Field, model_validator

from tmapr.config import Settings

Speeds = tuple[float, ...]


class RouteModel(Settings):
    """How a camera moves along a mapped route, leaves it and comes back, and what a view of it proves."""

    cell: float = Field(0.5, gt=0, le=100, description="least length of a cell of the route, metres")
    cells_per_spacing: float = Field(2.0, ge=1, le=16, description="cells from one reference to the next, at most")
    loop_gap: float = Field(3.0, gt=0, description="spacings within which the ends of a traverse meet")
    longest_step: float = Field(50.0, ge=1, description="spacings between two references: farther ones were not driven")
    new_view: float = Field(0.25, gt=0, le=1, description="share of what separates unrelated references: another view")

    speeds: Speeds = Field(
        (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.3, 2.0, 3.5, 8.0),
        description="in mapped speeds, rising; 0 is standing",
    )
    speed_spread: float = Field(1.0, gt=0, description="deviation of a drive's speed from the mapped one, octaves")
    backwards: float = Field(0.02, ge=0, le=1, description="how likely a backward speed is beside the same forwards")
    views_standing: float = Field(0.1, gt=0, description="rate of new views of a camera that stands, 1/s")
    views_weight: float = Field(0.25, ge=0, le=1, description="power to which a new view, or none, tells the speed")
    speed_change: float = Field(0.4, ge=0, description="rate of going over to a neighbouring speed, 1/s")
    speed_leap: float = Field(0.05, ge=0, description="rate of going over to any speed, 1/s")
    longest_gap: float = Field(60.0, gt=0, le=600, description="seconds unseen after which the camera may be anywhere")
    motion_error: float = Field(0.1, gt=0, lt=1, description="share by which a way or a turn may be wrong")

    start_off: float = Field(0.2, gt=0, lt=1, description="probability that a drive starts off the map, or not as told")
    leave: float = Field(0.001, ge=0, description="rate of leaving the map, 1/m")
    come_back: float = Field(0.01, gt=0, description="rate of coming back to it, anywhere, 1/m")
    dropped: float = Field(1e-6, ge=0, lt=0.01, description="probability of 64 cells that is left out of the filter")
    null_block: float = Field(25.0, gt=0, description="metres of a block of the null map, driven the other way round")
    null_way: float = Field(5e3, gt=0, description="metres of the null map at most; of a longer one, parts")

    similarity_weight: float = Field(2.0, gt=0, description="of a reference's similarity, per deviation")
    place_weight: float = Field(1.0, ge=0, description="of the classifier's score of its place, per deviation")
    blind: float = Field(0.1, gt=0, lt=1, description="share of views that show nothing of their place")
    view: float = Field(5.0, gt=0, description="metres after which a view tells anew: nearer ones err together")

    proof: float = Field(7.0, description="nats by which the map has to explain a drive better than its null map")
    proof_kept: float = Field(4.0, description="the same of a drive that was proven in the last frame")
    proof_length: float = Field(30.0, gt=0, description="metres after which a proof has faded to 1/e")
    slack: float = Field(1.5, ge=1, description="of the way driven: a place farther from the last one was jumped to")
    beside: float = Field(1.0, gt=0, description="deviation of the camera from the mapped way, metres")

    undirected: float = Field(0.6, gt=0, description="metres that reckoning errs a metre without a direction")
    unseen_turn: float = Field(0.4, gt=0, description="deviation of the turn of a view in which none was seen, radians")
    mapped_heading: float = Field(0.1, gt=0, description="deviation of a mapped direction, radians")
    another_way: float = Field(0.5, gt=0, description="between two streets, radians; a direction in more doubt is none")
    deviations: float = Field(2.5, gt=0, description="of dead reckoning, from which on it contradicts a place")
    believed: float = Field(12.0, ge=0, description="radii to follow a contradicted place for, at most; 0: for none")
    settled: float = Field(0.25, gt=0, description="radii by which a proven place, or a mapped direction, may be off")
    followed: float = Field(0.2, gt=0, lt=1, description="share of a mapped direction that a proven place brings")

    head_most: float = Field(100.0, gt=0, description="views after which older errors of a pose head fade")
    head_new: float = Field(0.1, gt=0, le=1, description="share of a view that is new to a pose head: it errs alike")
    same_odometry: int = Field(10, ge=1, description="views in which odometry that never changes is no measurement")

    @model_validator(mode="after")
    def _check_speeds(self) -> "RouteModel":
        rising = all(a < b for a, b in zip(self.speeds, self.speeds[1:], strict=False))
        if len(self.speeds) < 3 or not rising or 0.0 not in self.speeds or 1.0 not in self.speeds:
            raise ValueError(f"speeds: must rise, with 0 and 1 among them, got {list(self.speeds)}")
        return self
