"""A microbolometer camera: from the radiance of a scene to 14-bit counts with the faults of a real sensor.

Without noise, lag and blur a pixel is linear in radiance, as a bolometer is, and stated in kelvins at 300 K:

    counts = offset + gain · v · (L − L₃₀₀) / (dL/dT)₃₀₀,    v = 1 in the middle … 1 − vignetting in the corners.

The shutter is as warm as the housing, taken to be 300 K, and so is what the housing sends where the lens loses light:
a scene of 300 K is flat, and the corners lose contrast, not counts.
"""

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32, UInt16
from pydantic import Field, model_validator

from tmapr.config import Settings

RADIANCE_AT_300 = 54.9335
"""W/(m² sr): a black body of 300 K between 8 and 14 µm."""
SLOPE_AT_300 = 0.83782
"""W/(m² sr K): its derivative by temperature."""
HIGHEST = 16383
"""The largest count of 14 bits."""


class Camera(Settings):
    """One of two equal cameras, side by side. Kelvins are those of a black body near 300 K."""

    width: int = Field(320, ge=8, le=4096, description="pixels")
    height: int = Field(256, ge=8, le=4096, description="pixels")
    focal: float = Field(200.0, gt=0, description="focal length in pixels; the principal point is in the middle")
    mount: float = Field(1.7, gt=0, le=100, description="height of the lens above the ground, metres")
    tilt: float = Field(0.0, ge=-1, le=1, description="of the optical axis above the horizon, radians")
    baseline: float = Field(0.3, ge=0, le=10, description="from the left to the right camera, metres")
    gain: float = Field(40.0, gt=0, le=1000, description="counts per kelvin at 300 K")
    offset: float = Field(7800.0, ge=0, le=HIGHEST, description="counts of a scene of 300 K")
    gain_spread: float = Field(0.01, ge=0, le=0.1, description="from camera to camera, as a share of the gain")
    offset_spread: float = Field(0.75, ge=0, le=20, description="from camera to camera, kelvins")
    netd: float = Field(0.05, ge=0, le=10, description="noise of a pixel from frame to frame, kelvins")
    fixed_pattern: float = Field(0.04, ge=0, le=10, description="of single pixels, new at every shutter, kelvins")
    column_noise: float = Field(0.04, ge=0, le=10, description="of whole columns, new at every shutter, kelvins")
    row_noise: float = Field(0.02, ge=0, le=10, description="of whole rows, new at every shutter, kelvins")
    stripe_memory: float = Field(
        100.0, gt=0, description="seconds over which column and row noise turn into others of the same size"
    )
    drift: float = Field(
        0.3, ge=0, le=20, description="random walk of the whole image in the first minute after a shutter, kelvins"
    )
    vignetting: float = Field(0.1, ge=0, lt=1, description="share of the contrast that is lost in the corners")
    distortion: float = Field(
        0.0, ge=0, le=1, description="by which the lens magnifies the middle against the corners, as a share: a barrel"
    )
    blur: float = Field(0.7, ge=0, le=20, description="standard deviation of the optics' point spread, pixels")
    lag: float = Field(0.15, ge=0, lt=1, description="share of the frame before that remains in a frame")
    nuc_every: float = Field(60.0, ge=0, description="from shutter to shutter, seconds; 0: the shutter never closes")
    nuc_freeze: float = Field(0.4, ge=0, description="seconds a shutter takes; the last frame is repeated meanwhile")

    @model_validator(mode="after")
    def _check_shutter(self) -> "Camera":
        if 0 < self.nuc_every <= self.nuc_freeze:
            raise ValueError(f"nuc_freeze must be less than nuc_every, {self.nuc_every} s, got {self.nuc_freeze} s")
        return self

    def eye(
        self, position: Float[np.ndarray, "2"], heading: float, side: Literal["left", "right"] | None = None
    ) -> Float[np.ndarray, "3"]:
        """Where a lens is when the middle between the two is above a position."""
        sideways = {"left": 0.5, "right": -0.5, None: 0.0}[side] * self.baseline
        left = np.array([-math.sin(heading), math.cos(heading)])
        return np.append(position + sideways * left, self.mount)

    def bending(self) -> tuple[Float32[np.ndarray, "height width"], Float32[np.ndarray, "height width"]]:
        """From where in a straight image each pixel comes: columns and rows. The corners stay where they are."""
        rows, columns = np.mgrid[: self.height, : self.width].astype(float)
        right, down = columns - (self.width - 1) / 2, rows - (self.height - 1) / 2
        outward = (right**2 + down**2) / (right[0, 0] ** 2 + down[0, 0] ** 2)
        factor = (1 + self.distortion * outward) / (1 + self.distortion)
        straight = (factor * right + (self.width - 1) / 2, factor * down + (self.height - 1) / 2)
        return straight[0].astype(np.float32), straight[1].astype(np.float32)

    def transmission(self) -> Float32[np.ndarray, "height width"]:
        """Share of the contrast that reaches each pixel; falls with the squared distance from the middle."""
        rows = np.arange(self.height)[:, None] - (self.height - 1) / 2
        columns = np.arange(self.width) - (self.width - 1) / 2
        squared = rows**2 + columns**2
        return (1 - self.vignetting * squared / squared[0, 0]).astype(np.float32)


CAMERAS: Mapping[str, Camera] = MappingProxyType(
    {"campus": Camera(mount=1.1, baseline=0.12), "city": Camera(), "valley": Camera()}
)
"""Of each family: a robot's in corridors, a car's elsewhere."""


class Sensor:
    """Owns what one camera remembers during one traverse. The same seed and exposures give the same bits."""

    def __init__(self, camera: Camera, seed: int) -> None:
        self._camera = camera
        self._rng = np.random.default_rng(seed)
        own_gain = camera.gain * (1 + camera.gain_spread * self._rng.standard_normal())
        own_offset = camera.offset + camera.gain * camera.offset_spread * self._rng.standard_normal()
        self._response = np.float32(own_gain / SLOPE_AT_300) * camera.transmission()
        self._level = np.float32(own_offset) - np.float32(RADIANCE_AT_300) * self._response
        self._grains = np.float32(camera.gain * camera.netd) * _normal_quantiles()
        self._work = np.empty_like(self._response)
        self._bending = camera.bending() if camera.distortion else None
        self._last: UInt16[np.ndarray, "height width"] | None = None
        self._now = 0.0
        self._calibrate(0)

    def expose(self, radiance: Float[np.ndarray, "height width"], seconds: float) -> UInt16[np.ndarray, "height width"]:
        """The next frame: radiance in W/(m² sr), time since the start of the traverse, which never runs backwards."""
        self._check(radiance, seconds)
        self._now = seconds
        if self._last is not None and self._shuttered(seconds):
            return self._last.copy()
        self._age(seconds)
        self._last = self._read_out(self._absorb(self._focus(radiance)))
        return self._last.copy()

    def _check(self, radiance: Float[np.ndarray, "height width"], seconds: float) -> None:
        if radiance.shape != self._work.shape:
            raise ValueError(f"radiance must be {self._work.shape}, as the camera is, got {radiance.shape}")
        # A NaN fails the first comparison. It would stay in the lag for ever.
        if not (radiance.min() >= 0 and radiance.max() < np.inf):
            raise ValueError(f"radiance must be finite and not negative, got {radiance.min()} … {radiance.max()}")
        if not self._now <= seconds < math.inf:
            raise ValueError(f"time must be finite and not run backwards, got {seconds} s after {self._now} s")

    def _stretch(self, seconds: float) -> int:
        """How many shutters there were."""
        return int(seconds // self._camera.nuc_every) if self._camera.nuc_every else 0

    def _shuttered(self, seconds: float) -> bool:
        stretch = self._stretch(seconds)
        return stretch > 0 and seconds - stretch * self._camera.nuc_every < self._camera.nuc_freeze

    def _calibrate(self, stretch: int) -> None:
        """The shutter removes what has drifted and leaves new errors of its own; the bolometers forget the scene."""
        camera = self._camera
        self._calibrated = stretch
        self._aged = stretch * camera.nuc_every
        self._walk = 0.0
        self._columns = self._draw(camera.column_noise, camera.width)
        self._rows = self._draw(camera.row_noise, camera.height)
        pattern = self._draw(camera.fixed_pattern, camera.height * camera.width)
        self._pattern = self._level + pattern.reshape(self._level.shape)
        self._residue: Float32[np.ndarray, "height width"] | None = None

    def _draw(self, kelvins: float, count: int) -> Float32[np.ndarray, " count"]:
        return np.float32(self._camera.gain * kelvins) * self._rng.standard_normal(count, dtype=np.float32)

    def _age(self, seconds: float) -> None:
        """Bring what drifts to this time; steps add up whatever the frame rate."""
        camera = self._camera
        if self._stretch(seconds) != self._calibrated:
            self._calibrate(self._stretch(seconds))
        elapsed = seconds - self._aged
        self._aged = seconds
        self._walk += camera.gain * camera.drift * math.sqrt(elapsed / 60) * self._rng.standard_normal()
        kept = math.exp(-elapsed / camera.stripe_memory)
        renewed = math.sqrt(1 - kept**2)
        self._columns = kept * self._columns + self._draw(renewed * camera.column_noise, camera.width)
        self._rows = kept * self._rows + self._draw(renewed * camera.row_noise, camera.height)

    def _focus(self, radiance: Float[np.ndarray, "height width"]) -> Float32[np.ndarray, "height width"]:
        """What the lens makes of a scene, in the work buffer."""
        if self._bending:
            import cv2

            radiance = cv2.remap(np.ascontiguousarray(radiance, np.float32), *self._bending, cv2.INTER_LINEAR)
        if not self._camera.blur:
            np.copyto(self._work, radiance, casting="same_kind")
            return self._work
        # Seven times as fast as SciPy's filter, which would take longer than all the rest of an exposure.
        import cv2

        cv2.GaussianBlur(np.ascontiguousarray(radiance, np.float32), (0, 0), self._camera.blur, dst=self._work)
        return self._work

    def _absorb(self, focused: Float32[np.ndarray, "height width"]) -> Float32[np.ndarray, "height width"]:
        """The bolometers' warmth: the new image and what remains of the frame before."""
        if self._residue is None:
            self._residue = focused.copy()
            return self._residue
        focused -= self._residue
        focused *= 1 - self._camera.lag
        self._residue += focused
        return self._residue

    def _read_out(self, absorbed: Float32[np.ndarray, "height width"]) -> UInt16[np.ndarray, "height width"]:
        counts = np.multiply(absorbed, self._response, out=self._work)
        counts += self._pattern
        counts += self._columns
        counts += (self._rows + np.float32(self._walk))[:, None]
        counts += self._noise()
        np.rint(counts, out=counts)
        np.clip(counts, 0, HIGHEST, out=counts)
        return counts.astype(np.uint16)

    def _noise(self) -> Float32[np.ndarray, "height width"]:
        """Each pixel's grain is one of 2¹⁶ equally likely ones, a seventh of the time of a generator's own normals."""
        pixels = self._level.size
        picked = self._rng.bit_generator.random_raw(-(-pixels // 4)).view(np.uint16)[:pixels]
        return self._grains.take(picked.reshape(self._level.shape))


@cache
def _normal_quantiles() -> Float32[np.ndarray, "65536"]:
    """Middles of 2¹⁶ equally likely slices of the normal distribution: variance 0.99998, none beyond 4.3."""
    from scipy.special import ndtri

    return ndtri((np.arange(65536) + 0.5) / 65536).astype(np.float32)
