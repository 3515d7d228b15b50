"""Somebody else's descriptor as an engine: what it returns is looked at before anything is made of it."""

import numpy as np
from jaxtyping import Float, UInt8

from tmapr.exceptions import InputError
from tmapr.perception.card import Card, Descriptor, Input
from tmapr.perception.eyes import Outputs
from tmapr.perception.settings import SETTING, Perception
from tmapr.plugins import DESCRIPTORS, Describe, Offer, choose_offer, describe

_WIDEST = 1_000_000


class PluginEngine:
    """Runs a descriptor; a row that is no descriptor, or has another length than before, is refused."""

    def __init__(self, offer: Offer, run: Describe, dimension: int | None = None) -> None:
        self._offer = offer
        self._run = run
        self._dimension = dimension

    def __call__(self, pictures: UInt8[np.ndarray, "images height width"]) -> Outputs:
        """Descriptors of a batch."""
        with self._offer.blaming("describing pictures"):
            rows = np.asarray(self._run(pictures))
        return Outputs(self._check(rows, len(pictures)))

    def _check(self, rows: np.ndarray, count: int) -> Float[np.ndarray, "images dim"]:
        wanted = self._dimension or (rows.shape[1] if rows.ndim == 2 else 0)
        if rows.dtype.kind not in "fiu" or rows.shape != (count, wanted) or not 0 < wanted <= _WIDEST:
            told = f"{self._dimension} numbers, as before," if self._dimension else "numbers"
            raise self._offer.refuse(f"returned {describe(rows)} for {count} pictures; give a row of {told} for each")
        numbers = rows.astype(float)
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(numbers, axis=1)
        useless = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
        if useless.size:
            what = "zeros alone" if lengths[useless[0]] == 0 else "numbers that are not finite"
            raise self._offer.refuse(f"returned {what} for picture {useless[0]} of {count}; it has no direction")
        return numbers


def is_descriptor(settings: Perception) -> bool:
    """Whether settings name a plug-in that is a descriptor, and no encoder; one that is not installed is refused."""
    offer = settings.choose_plugin()
    return offer is not None and offer.entry.group == DESCRIPTORS


def open_descriptor(settings: Perception, device: str) -> tuple[Card, PluginEngine]:
    """The descriptor that settings name, tried on two made-up pictures: how long its rows are is seen from these."""
    offer = choose_offer(SETTING, settings.encoder, DESCRIPTORS)
    for key, given in {"head": settings.head, "apr": settings.apr}.items():
        if given:
            raise InputError(f"perception.{key} = {given!r}: {offer.title} is a whole descriptor; leave it out")
    if settings.descriptor != Descriptor():
        raise InputError(f"perception.descriptor: {offer.title} makes its descriptor itself; leave it out")
    if device not in ("auto", "cpu"):
        raise InputError(f"--device {device}: {offer.title} is called with NumPy arrays; leave it out")
    made = offer.build("perception", settings.options)
    if not callable(made):
        raise offer.refuse(f"its maker returned {describe(made)}, which cannot be called with pictures")
    dimension = PluginEngine(offer, made)(make_pictures(settings.size)).descriptors.shape[1]
    plain = Input(mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), size=settings.size)
    return Card(input=plain, dimension=dimension), PluginEngine(offer, made, dimension)


def make_pictures(size: tuple[int, int]) -> UInt8[np.ndarray, "2 height width"]:
    """Waves, finer in the second."""
    rows, columns = np.mgrid[: size[0], : size[1]]
    waves = [np.sin(rows / period) * np.cos(columns / (2 * period)) for period in (20, 7)]
    return np.array([127.5 * (1 + wave) for wave in waves]).astype(np.uint8)
