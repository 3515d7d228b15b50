"""`python -m tmapr`."""

from tmapr.cli.main import run

if __name__ == "__main__":
    run()
