"""Which method follows the camera, and the settings of each."""

from pydantic import Field, field_validator, model_validator

from tmapr.config import Settings
from tmapr.plugins import PREFIX, TRACKING, Offer, Options, check_options, choose_offer, is_plugin
from tmapr.tracking.gates import Gates
from tmapr.tracking.model import RouteModel

_SETTING = "tracking.method"
ROUTE, PAPER = "route", "paper"


class Tracking(Settings):
    """The method and its parts."""

    method: str = Field(
        ROUTE, description="route: Bayes filter over the map | paper: gates | plugin:NAME: one installed"
    )
    options: Options = Field({}, description="of a plug-in, as its author names them")
    certainty: float = Field(0.9, gt=0.5, lt=1, description="route: least probability of a place that is localized")
    radius: float = Field(0.0, ge=0, description="route: metres around an estimate that are one place; 0: by the map")
    model: RouteModel = Field(RouteModel(), description="route: the numbers of the filter")
    gates: Gates = Field(Gates(), description="the paper's gates")

    @property
    def compares(self) -> bool:
        """Whether a frame is compared with every reference; the gates look at the best ones alone."""
        return self.method != PAPER

    def choose_plugin(self) -> Offer | None:
        """Who offers the method, if it is a plug-in's; one that is not installed is refused. Nothing is imported."""
        return choose_offer(_SETTING, self.method, TRACKING) if is_plugin(self.method) else None

    @field_validator("method")
    @classmethod
    def _check_method(cls, given: str) -> str:
        if given not in (ROUTE, PAPER) and not is_plugin(given):
            raise ValueError(f"{_SETTING}: should be '{ROUTE}', '{PAPER}' or '{PREFIX}NAME', got {given!r}")
        return given

    @model_validator(mode="after")
    def _check_plugin(self) -> "Tracking":
        check_options(_SETTING, self.method, self.options)
        return self
