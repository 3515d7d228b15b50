"""What a drive's decisions over time are worth: when it says that it knows where it is, and whether that is so."""

from tmapr.artifacts.documents import Document


class Decisions(Document):
    """Of one drive. Metres, and shares of frames; None where there is nothing to count or it never happened."""

    frames: int
    """With a true position."""
    on_map: int
    """Of them, those as near to a reference as right is to wrong."""
    localized: float | None
    """Share of the frames on the map that were `localized`."""
    wrong: int
    """Frames that were `localized` and farther from the truth than the tolerance."""
    wrong_metres: float
    """Driven in the longest unbroken stretch of such frames."""
    recovered_after: float | None
    """Driven on the map from the disturbance's end, or from the start, until first `localized` and right."""
    coverage95: float
    """Share of frames with the truth inside the stated 95 % ellipse."""
    rmse: float | None
    """Of the estimate, on the map."""
    first_right: float | None
    """Share of the frames on the map whose first candidate is right."""
    global_right: float | None
    """The same of the most similar reference of the whole map."""
    off_map: int
    """Frames farther than 20 m from every reference, but for those beside a twin."""
    off_localized: int
    """Of them, those that were `localized`."""
    twin_frames: int = 0
    """Off the map beside a street that copies a mapped one, house for house."""
    twin_localized: int = 0
    tolerance: float | None = None
    """Metres from the truth up to which an estimate is right."""


class AskedDrive(Decisions):
    """What a method made of one case of a study: a drive, at a rate, disturbed or foreign."""

    drive: str
    every: int
    """Every so many frames were shown."""
    disturbance: str | None = None
    away: bool = False
    """Whether nothing of it shows the map."""
    localized_on_map: int
    """Frames on the map that were `localized`."""
    wrong_on_map: int
    """Of them, those farther from the truth than the tolerance."""
    median_m: float | None
    """Of the error, of the `localized` frames on the map; None without one, as all that follow."""
    first_median_m: float | None
    """Of the plain first candidate's error, on the same frames."""
    localized_rmse: float | None
    localized_coverage95: float | None
    """Share of them with the truth inside the stated 95 % ellipse."""


class Machine(Document):
    """Where something was computed."""

    processor: str
    cores: int
    python: str
    numpy: str
    numba: str


class MadeBy(Document):
    """What a row follows from; with the same source, settings and data it is not computed again."""

    commit: str | None
    """Of the checkout; None outside of one."""
    dirty: bool
    """Whether the sources differed from the commit."""
    source: str
    """Digest of the source that can change the row, comments and docstrings apart."""
    settings: str
    data: str
    """Digest of what the world is made from, or of the files of a real set, and of what is asked."""
    machine: Machine


class StudyRow(Document):
    """What a method did in one world, or on one real set, of a study."""

    name: str
    kind: str
    """The family; a real set is one of its own."""
    style: int | None
    seed: int | None
    spacing: float
    """Metres from reference to reference."""
    drives: dict[str, AskedDrive]
    made_by: MadeBy
