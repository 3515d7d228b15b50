"""What whole ways share: the package as it is installed, one browser, one run and its page."""

import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from browsing import start_browser, written
from filmed import filmed_run
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    started = start_browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def filmed(tmp_path_factory):
    """A finished run with images; read-only."""
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("filmed")).path)


@pytest.fixture(scope="session")
def report(filmed):
    """Its page."""
    return written(filmed.folder.path / "page.html", render_page([filmed]))


ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
PINS = re.findall(r"^([\w.-]+)==", (ROOT / "requirements/demo.txt").read_text(), re.MULTILINE)
BAGS = ("rosbags", "apsw", "backports.zstd", "lz4", "ruamel.yaml")
"""The extra of that name."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The package as it is published, made of a copy of the source tree."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", out, source], check=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """An environment that has the wheel, and linked from this one what `make demo` pins and bags need, and no more."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    subprocess.run([*PIP[:3], "--python", home / "bin/python", *PIP[3:], "install", "--no-deps", wheel], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in (*PINS, *BAGS):
        link_package(name, packages)
    return home


def link_package(name, packages):
    """Bring what a package installed here into other site-packages; tools that built ours may be gone."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for top in {Path(file).parts[0] for file in found.files} - {"..", "__pycache__"}:
        if not (packages / top).exists():
            (packages / top).symlink_to(found.locate_file(top))
