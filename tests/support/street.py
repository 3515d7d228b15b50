"""The one run of the suite: the street that comes with the package, mapped at noon, localized at night by commands."""

import fcntl
import os
import shutil
from pathlib import Path

from commandline import command
from tmapr.data.sample import locate_sample

EXPERIMENT = """name = "street"
data = { root = "data", reference = "noon", test = ["night"] }
places = { projection = { dimension = 64 }, mixture = { dimension = 8 } }
"""
COMMANDS = (
    ("map", "street.toml"),
    ("run", "street.toml"),
    ("evaluate", "runs/street"),
    ("report", "runs/street"),
    ("show", "runs/street"),
    ("film", "runs/street", "--width", "480", "--to", "6", "--quiet"),
    ("export", "runs/street", "--out", "track.geojson"),
)


def make_street(home: Path) -> Path:
    """street.toml, data/noon and data/night, runs/street with all that commands make of it, and what was exported."""
    shutil.copytree(locate_sample(), home / "data")
    (home / "street.toml").write_text(EXPERIMENT)
    before = Path.cwd()
    os.chdir(home)
    try:
        for words in COMMANDS:
            assert command(*words) == 0, words
    finally:
        os.chdir(before)
    return home


def make_once(home: Path, make) -> Path:
    """What `make` makes in a folder, once for all processes of the tests."""
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "whole").exists():
            make(home / "made")
            (home / "whole").touch()
    return home / "made"


def list_contents(home: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and its time: other ones, and somebody wrote there."""
    found = ((path, path.lstat()) for path in sorted(home.rglob("*")) if not path.is_dir())
    return {str(path.relative_to(home)): (state.st_size, state.st_mtime_ns) for path, state in found}
