"""Where this checkout and what is shared beside it lie."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SUPPORT = Path(__file__).parent
SHARED = ROOT.parent / "shared/data"
