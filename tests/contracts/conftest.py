"""Who runs the command in contracts: a service user without a home, in a folder that all users reach."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tmapr

PACKAGE = Path(tmapr.__file__).parent
NOBODY = 65534


@pytest.fixture
def abroad():
    """A folder that any user can reach, which pytest's own are not."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def service(abroad):
    """How a service user starts a program: a package that it cannot write to, and no home."""
    site = abroad / "site"
    shutil.copytree(PACKAGE, site / "tmapr", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*site.rglob("*"), site):
        path.chmod(0o555 if path.is_dir() else 0o444)
    prefix = ()
    if os.getuid() == 0:  # to whom nothing is read-only
        prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        if not shutil.which("setpriv"):
            pytest.skip("root cannot become somebody else without setpriv")
    yield {"site": site, "prefix": prefix, "HOME": "/nonexistent"}
    assert not list(site.rglob("__pycache__"))
    for path in (site, *site.rglob("*")):
        path.chmod(0o755)
