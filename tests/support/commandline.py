"""The command `tmapr`, run in the tests' own process."""

import sys

from tmapr.cli.main import run


def command(*arguments):
    """Run the command line; the exit code."""
    before = sys.argv
    sys.argv = ["tmapr", *map(str, arguments)]
    try:
        run()
    except SystemExit as stopped:
        return stopped.code or 0
    finally:
        sys.argv = before
    return 0
