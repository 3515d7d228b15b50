"""Counts as temperatures, for people to look at: no stage of the method needs them.

The numbers are those of a black body in front of the lens: emissivity, air and reflections are not corrected for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, UInt

from tmapr.exceptions import InputError

_ZERO_CELSIUS = 273.15


@dataclass(frozen=True, slots=True)
class Planck:
    """A FLIR camera's calibration: T = B / ln(R / (counts − O) + F) kelvin."""

    R: float
    B: float
    F: float
    O: float  # noqa: E741 - the camera maker's letter

    def celsius(self, counts: UInt[np.ndarray, "height width"]) -> Float[np.ndarray, "height width"]:
        """Temperatures; NaN where the formula has no answer: not above O, or without a positive logarithm."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(self.R / (counts - self.O) + self.F)
            return np.where((counts > self.O) & (logarithm > 0), self.B / logarithm - _ZERO_CELSIUS, np.nan)


@dataclass(frozen=True, slots=True)
class LinearProfile:
    """Counts in equal steps of temperature."""

    kelvin_per_count: float
    celsius_at_zero: float = -_ZERO_CELSIUS

    def celsius(self, counts: UInt[np.ndarray, "height width"]) -> Float[np.ndarray, "height width"]:
        """Temperatures, whatever the counts."""
        return counts * self.kelvin_per_count + self.celsius_at_zero


Profile = Planck | LinearProfile

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "ms2": Planck(R=380747.0, B=1428.0, F=1.0, O=-88.539),
        "tlinear-high": LinearProfile(0.04),
        "tlinear-low": LinearProfile(0.4),
        "centikelvin": LinearProfile(0.01),
        "decikelvin": LinearProfile(0.1),
        "optris": LinearProfile(0.1, celsius_at_zero=-100.0),
    }
)
"""The FLIR A65s of MS2 with its authors' constants; FLIR's TLinear at either resolution; Boson and Lepton TLinear
(centikelvin); plain tenths of a kelvin; Optris, whose counts are tenths of a degree above −100 °C."""


def find_profile(name: str) -> Profile:
    """The profile of that name; a name that is unknown is refused with those that are."""
    if name not in PROFILES:
        raise InputError(f"no camera profile {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]
