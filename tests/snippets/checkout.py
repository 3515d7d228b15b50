"""A home that looks like a checkout after its set-up, so that `make` and the scripts run in it and spoil nothing."""

import os
import re
import shutil
import sys
from pathlib import Path

from blocks import ROOT

_COPIED = ("benchmarks", "experiments", "examples", "requirements", "docs", "Makefile", "pyproject.toml", "README.md")
_LINKED = ("src", "tests", ".git")


def make_checkout(home: Path) -> Path:
    """Copies of what scripts write beside, links to the rest, and an environment that counts as set up."""
    for name in _COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, home / name)
    for name in _LINKED:
        (home / name).symlink_to(ROOT / name)
    _link_environment(home / ".venv")
    real = ROOT.parent / "shared"
    if real.is_dir() and not (beside := home.parent / "shared").exists():
        beside.symlink_to(real)
    return home


def _link_environment(folder: Path) -> None:
    """The environment of these tests under the name that the pages have for it; make finds nothing to install."""
    folder.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (folder / name).symlink_to(Path(sys.prefix) / name)
    for mark in set(re.findall(r"\.venv/([\w-]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)) - {"bin"}:
        (folder / mark).touch()


def shell_environment() -> dict[str, str]:
    """What a shell needs to find these sources and this environment, also below a make of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    paths = {"PATH": str(Path(sys.prefix) / "bin"), "PYTHONPATH": str(ROOT / "src")}
    return kept | {name: os.pathsep.join(filter(None, (first, kept.get(name)))) for name, first in paths.items()}
