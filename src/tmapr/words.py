"""The words in which a frame is answered: what is wrong with it, what was said of it, how far to trust the answer."""

from enum import StrEnum


class Fault(StrEnum):
    """Why an image cannot be used."""

    FROZEN = "frozen"
    EMPTY = "empty"
    SATURATED = "saturated"
    INVALID = "invalid"


class Reason(StrEnum):
    """What the tracking said of a frame; exactly one per frame."""

    ACCEPTED = "accepted"
    RELOCALIZED = "relocalized"
    NO_CANDIDATE = "no candidate"
    FAULTY_FRAME = "faulty frame"
    REPEATED_STAMP = "repeated stamp"
    OLDER_STAMP = "older stamp"
    LOOKS_DIFFERENT = "looks different"
    OUT_OF_BOUNDS = "out of bounds"
    FAR_FROM_APR = "far from apr"
    FAR_FROM_BELIEF = "far from belief"
    JUMPS = "jumps"
    UNCONFIRMED = "unconfirmed"
    AMBIGUOUS = "ambiguous"
    OFF_MAP = "off the map"


class Status(StrEnum):
    """How far the estimate can be trusted."""

    LOCALIZED = "localized"
    APR_ONLY = "apr only"
    PREDICTING = "predicting"
    LOST = "lost"
