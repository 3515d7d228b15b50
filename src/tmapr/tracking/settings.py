"""Which method follows the camera, and the settings of each."""

from typing import Literal

from pydantic import Field

from tmapr.config import Settings
from tmapr.tracking.gates import Gates


class Tracking(Settings):
    """The method and its parts."""

    method: Literal["route", "paper"] = Field("route", description="route: a Bayes filter over the map | paper: gates")
    certainty: float = Field(
        0.95, gt=0.5, lt=1, description="route: probability of one place from which on the camera is localized"
    )
    radius: float = Field(
        0.0, ge=0, description="route: metres around an estimate that are one place; 0: what the map says"
    )
    gates: Gates = Field(Gates(), description="the paper's gates")
