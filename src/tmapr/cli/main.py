"""The command `tmapr`."""


def run() -> None:
    """Entry point."""
