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


def refusal(capsys, *arguments):
    """The one line that a refused command says."""
    capsys.readouterr()
    assert command(*arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), said.err[:7]) == ("", 1, "tmapr: ")
    return said.err
