"""Which method follows the camera, and the settings of each."""

from typing import Literal

from pydantic import Field

from tmapr.config import Settings
from tmapr.tracking.gates import Gates


class Tracking(Settings):
    """The method and its parts."""

    method: Literal["paper"] = Field("paper", description="paper: the gates below")
    gates: Gates = Field(Gates(), description="the paper's gates")
