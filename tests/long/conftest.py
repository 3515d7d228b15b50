"""What long tests share: the installed package, a browser, one run and its page, a service user without a home."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tmapr
from browsing import start_browser
from repository import ROOT
from street import make_once, make_street
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    started = start_browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def filmed(tmp_path_factory):
    """The run of the street; read-only."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return ReportedRun.load(make_once(shared / "street", make_street) / "runs/street")


@pytest.fixture(scope="session")
def report(filmed):
    """Its page."""
    return filmed.folder.path / "report/index.html"


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
PINS = re.findall(r"^([\w.-]+)==", (ROOT / "requirements/demo.txt").read_text(), re.MULTILINE)
BAGS = ("rosbags", "apsw", "backports.zstd", "lz4", "ruamel.yaml")
"""The extra of that name."""


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """The wheel and an environment that has it, made once for all processes of the tests: first use compiles it."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "published"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "whole").exists():
            install(build_wheel(home), home / "environment")
            (home / "whole").touch()
    return home


@pytest.fixture(scope="session")
def wheel(published):
    """The package as it is published."""
    (made,) = published.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def installed(published):
    """An environment that has the wheel, and linked from this one what `make demo` pins and bags need, and no more."""
    return published / "environment"


def build_wheel(home):
    """Of a copy of the source tree."""
    source = home / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", home, source], check=True)
    (made,) = home.glob("*.whl")
    return made


def install(wheel, home):
    venv.create(home, symlinks=True)
    subprocess.run([*PIP[:3], "--python", home / "bin/python", *PIP[3:], "install", "--no-deps", wheel], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in (*PINS, *BAGS):
        link_package(name, packages)


def link_package(name, packages):
    """Bring what a package installed here into other site-packages; tools that built ours may be gone."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for top in {Path(file).parts[0] for file in found.files} - {"..", "__pycache__"}:
        if not (packages / top).exists():
            (packages / top).symlink_to(found.locate_file(top))


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
