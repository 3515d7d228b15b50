"""What `tmapr ablate` and `tmapr compare` left in a run folder, as values.

Both files may be older or newer than this reader: what it does not know is passed over, what is not there is None. A
value of another kind than promised, NaN among them, is refused.
"""

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, PositiveFloat, ValidationError

from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError


class Finding(BaseModel):
    """A part of such a file."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


class Gap(Finding):
    """A difference between two methods, its paired 95 % interval and what that says."""

    value: float
    low: float
    high: float
    verdict: str


class LoopFigures(Finding):
    """Loop recognition on a test sequence."""

    precision: float | None = None
    recall: float | None = None
    decision_recall: float | None = None
    f1: float | None = None
    accepted: int | float | None = None
    recall_at: dict[str, float | None] = {}


class Outcome(Finding):
    """A method on a test sequence; metres, over the frames that it places."""

    frames: int | float | None = None
    rmse: float | None = None
    mean: float | None = None
    median: float | None = None
    jumps: int | float | None = None
    coverage95: float | None = None
    loops: LoopFigures | None = None
    difference: Gap | None = None


class Variant(Finding):
    """A row of an ablation. The difference of a subset is its F1 less plain ACIL's, that of a system full's RMSE less
    its own.
    """

    key: str
    title: str
    kind: str
    test: dict[str, Outcome]


class MappedErrors(Finding):
    """The pose head's error on a sequence whose condition it was trained on, and the route's extent."""

    rmse: float
    extent: PositiveFloat


class PoseHead(Finding):
    """What the pose head reaches where it should be at its best."""

    mapped: dict[str, MappedErrors] = {}


class Ablation(Finding):
    """ablation.json."""

    kind: Literal["ablation"]
    experiment: str
    settings_sha256: str
    made_by: str = "an unknown version"
    alignment: str | None = None
    labels: str | None = None
    apr: PoseHead = PoseHead()
    rows: tuple[Variant, ...]


class Compared(Finding):
    """A method of a comparison; metres, means over its training seeds."""

    name: str
    about: str = ""
    seeds: int | None = None
    rmse: float | None = None
    mean: float | None = None
    median: float | None = None

    @property
    def title(self) -> str:
        """What tells it from the same method on another trunk."""
        return f"{self.name} ({self.about})" if self.about else self.name


class Comparison(Finding):
    """comparison.json."""

    test: dict[str, tuple[Compared, ...]] = {}


def load_ablation(run: Path) -> Ablation:
    """The ablation of a run folder."""
    path = RunFolder(run).ablated
    again = f"`tmapr ablate {run}/experiment.toml --run {run}`"
    if not path.exists():
        raise InputError(f"{run}: holds no ablation.json; make one with {again}")
    return _read(Ablation, path, again)


def load_comparison(folder: RunFolder) -> Comparison | None:
    """The comparison with other methods, if one was made."""
    path = folder.comparison / "comparison.json"
    return _read(Comparison, path, f"`tmapr compare {folder.experiment}`") if path.exists() else None


_File = TypeVar("_File", bound=Finding)


def _read(model: type[_File], path: Path, again: str) -> _File:
    try:
        return model.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}: {place or 'content'}: {first['msg']}; make it anew with {again}") from None
