"""Scenes as a camera of some other spectrum would see them, so that a head learns what all spectra share.

What is bright is drawn at random: a material has one tone, each surface differs from it a little, light falls from one
direction, and the sky is as it happens. Shapes and borders are all that stays, and no temperature tells anything.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tmapr.simulation.camera import RADIANCE_AT_300
from tmapr.simulation.light import Appearance
from tmapr.simulation.materials import MATERIALS
from tmapr.simulation.scene import Scene

_CONTRAST = 8.0
"""W/(m² sr) from the darkest to the brightest: about ten kelvins, far above a sensor's noise."""
_OWN = 0.12
"""Deviation of a surface's tone from its material's, as a share of the contrast."""
_SHADE = 0.6
"""Of the light, that surfaces turned away from it miss at most."""
_HAZE = 0.004
"""1/m, at most."""


def change_spectrum(appearance: Appearance, scene: Scene, rng: np.random.Generator) -> Appearance:
    """The same scene with tones of its own."""
    tones = rng.uniform(size=len(MATERIALS))[scene.material] + _OWN * rng.standard_normal(len(scene))
    light = rng.normal((0.0, 0.0, 1.0))  # from above, more often than not
    facing = np.abs(scene.normals @ (light / np.linalg.norm(light)))
    tones = np.clip(tones, 0, 1) * (1 - rng.uniform(0, _SHADE) * (1 - facing))
    relief = rng.uniform(-0.15, 0.15, (2, len(MATERIALS)))[:, scene.material] * _CONTRAST
    horizon, zenith = rng.uniform(0.0, 1.2, 2)
    sky = _brighten(np.linspace(horizon, zenith, len(appearance.sky)))
    return replace(
        appearance,
        radiance=_brighten(tones),
        emissive_relief=relief[0],
        solar_relief=relief[1],
        sky=sky,
        air=float(sky[0]),
        extinction=float(rng.uniform(0, _HAZE)),
    )


def _brighten(tones: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    return RADIANCE_AT_300 + _CONTRAST * (tones - 0.5)
