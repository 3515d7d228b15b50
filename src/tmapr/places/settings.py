"""The settings of the place classifier: its cells, its ridge, and which of U, G and H are in use."""

from typing import Literal, get_args

from pydantic import Field, field_validator

from tmapr.config import Settings
from tmapr.places.attenuation import Attenuation
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.places.unscented import Unscented

Extension = Literal["unscented", "mixture", "attenuation"]


class Places(Settings):
    """The place classifier."""

    cell: float = Field(15.0, gt=0, description="g: side of a place's cell in metres")
    use: tuple[Extension, ...] = Field(
        ("unscented", "mixture", "attenuation"), description="extensions in use: any subset of U, G, H"
    )
    ridge: float = Field(0.1, ge=1e-6, le=1e6, description="λ: ridge of the analytic classifier")
    weight: float = Field(
        1.7,
        ge=1e-3,
        le=1e3,
        description="weight of a sample learned without U: as much as its points have with it, or the paper's 1",
    )
    projection: Projection = Projection()
    unscented: Unscented = Unscented()
    mixture: Mixture = Mixture()
    attenuation: Attenuation = Attenuation()

    @field_validator("use")
    @classmethod
    def _order_extensions(cls, use: tuple[Extension, ...]) -> tuple[Extension, ...]:
        # The same subset is the same setting, however it was written.
        return tuple(extension for extension in get_args(Extension) if extension in use)
