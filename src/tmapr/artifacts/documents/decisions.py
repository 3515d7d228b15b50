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
