"""Every number of the online half at both ends of its range: a drive stays finite, or is refused in one line."""

import warnings
from typing import get_args

import jaxtyping
import numpy as np
import pytest

from tmapr.artifacts.percepts import Recording
from tmapr.config import Settings, changed
from tmapr.config.settings import LARGEST, SMALLEST
from tmapr.exceptions import TmaprError
from tmapr.experiment import Experiment
from tmapr.places.projection import Projection
from tmapr.running.progressive import adapt, localize
from tmapr.system import System, build, make_map

COSTLY = {"places.projection.dimension": 2048, "places.mixture.dimension": 4096}
"""What would take a gigabyte at its upper end, and what is tried instead."""


def list_numbers(model, path=""):
    """The path and the field of every number."""
    for name, field in model.model_fields.items():
        kinds = {each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)}
        inner = next((each for each in kinds if issubclass(each, Settings)), None)
        if inner:
            yield from list_numbers(inner, f"{path}{name}.")
        elif kinds & {int, float}:
            yield f"{path}{name}", field, int in kinds


def find_ends(field, whole):
    """The smallest and the largest value that a field takes."""
    told = {
        key: value
        for each in field.metadata
        for key in ("ge", "gt", "le", "lt")
        if (value := vars_of(each, key)) is not None
    }
    nudge = 1 if whole else None
    low = told.get("ge", -LARGEST if "gt" not in told else None)
    high = told.get("le", LARGEST if "lt" not in told else None)
    if low is None:
        low = told["gt"] + nudge if whole else max(np.nextafter(told["gt"], np.inf), SMALLEST)
    if high is None:
        high = told["lt"] - nudge if whole else np.nextafter(told["lt"], -np.inf)
    return [int(low), int(high)] if whole else [float(low), float(high)]


def vars_of(constraint, key):
    return getattr(constraint, key, None)


NUMBERS = [
    (path, end)
    for path, field, whole in list_numbers(System)
    if path != "tracking.gates.bounds"
    for end in find_ends(field, whole)
]


@pytest.fixture(scope="module", autouse=True)
def unchecked():
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def record(name, seed, shift):
    """A street driven once, 20 frames of it with a pose head."""
    rng = np.random.default_rng(seed)
    truth = np.column_stack([np.linspace(0, 120, 24), np.full(24, shift)])
    looks = np.cos(truth[:, :1] / 9 + np.arange(12) * 0.7) + 0.1 * rng.normal(size=(24, 12))
    heads = np.where(np.arange(24)[:, None] % 5, truth + rng.normal(size=truth.shape), np.nan)
    stamps = np.arange(24) * 10**9
    return Recording.from_arrays(
        name, stamps, looks / np.linalg.norm(looks, axis=1)[:, None], truth=truth, positions=heads
    )


SMALL = System(places={"projection": Projection(dimension=16).model_dump()})
NOON, DUSK, NIGHT = record("noon", 1, 0.0), record("dusk", 2, 1.0), record("night", 3, -1.0)


def drive_through(values):
    """Map, adapt and localize with these settings; the estimates must be usable."""
    system = changed(SMALL, values)
    with warnings.catch_warnings(action="error"):
        localizer = build(system, make_map(system, NOON))
        adapt(localizer, DUSK, range(len(DUSK)))
        progress = localize(localizer, NIGHT, range(len(NIGHT)))
    for estimate in progress.estimates:
        assert np.isfinite(estimate.belief.mean).all()
        np.linalg.cholesky(estimate.belief.covariance)


def afford(path, end):
    return min(end, COSTLY.get(path, end))


@pytest.mark.parametrize("method", ["route", "paper"])
@pytest.mark.parametrize(("path", "end"), NUMBERS, ids=[f"{path}={end:g}" for path, end in NUMBERS])
def test_a_drive_stays_finite_at_the_ends_of_a_range(path, end, method):
    drive_through({path: afford(path, end), "tracking.method": method, "labels.mode": "fused"})


def test_a_drive_stays_finite_with_many_settings_at_their_ends(rng):
    for case in range(24):
        chosen = {path: afford(path, end) for path, end in NUMBERS if rng.random() < 0.2}
        told = {"labels.mode": "fused", "tracking.method": ("route", "paper")[case % 2]}
        told["fusion.noise"] = ("paper", "acceleration")[case // 2 % 2]
        told["places.projection.dimension"] = 16
        try:
            drive_through(chosen | told)
        except Exception as error:
            raise AssertionError(f"{error}: {chosen | told}") from error


@pytest.mark.parametrize(
    ("path", "field", "whole"),
    list(list_numbers(Experiment)),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_out_of_all_proportion_is_refused(path, field, whole):
    path = path.removeprefix("system.")
    for size in (1e13, 1e-13) if not whole else (10**13,):
        with pytest.raises(TmaprError):
            changed(Experiment(), {path: size})
