"""What can go wrong, in two kinds: what the user can fix, and a state that must not be used any more."""


class TmaprError(Exception):
    """Base of everything this package raises on purpose; the message is one line with the way out."""


class InputError(TmaprError):
    """A file, a setting or a value the user can correct. The command line turns it into exit code 2."""


class StateError(TmaprError):
    """A learned state that is numerically exhausted or inconsistent; it is reported, never repaired."""
