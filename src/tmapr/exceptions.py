"""What can go wrong, in two kinds: what the user can fix, and a state that must not be used any more."""

import re

_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


class TmaprError(Exception):
    """Base of everything this package raises on purpose; the message is one line with the way out.

    Somebody else's file may say anything, and messages quote it: what would end the line becomes a space.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_BREAKS.sub(" ", message))


class InputError(TmaprError):
    """A file, a setting or a value the user can correct. The command line turns it into exit code 2."""


class StateError(TmaprError):
    """A learned state that is numerically exhausted or inconsistent; it is reported, never repaired."""
