"""Two commits on the same inputs: estimates, state, tables and figures must be the same bit for bit.

    python benchmarks/same_results.py fdac65f HEAD

Each commit runs demo --quick, ablate, calibrate, compare and report in a folder of its own, and once more with eight
candidates. What may differ is said here and nowhere else: how long something took (one value is put in its
place before anything is evaluated), digests of settings, keys and columns that a later commit adds, and `CHANGED`.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from os import environ
from pathlib import Path

import numpy as np

RUN = "runs/demo"
EXPERIMENT = f"{RUN}/demo.toml"
CONTEST = ("--models", "apr,atloc", "--trunks", "frozen", "--seeds", "1", "--set", "training.epochs=2")
FORMATS = ("text", "markdown", "latex", "json")
EIGHT = """
name = "eight"
data = { root = "runs/demo/data", reference = "noon", adapt = ["dusk"], test = ["night"] }
retrieval = { candidates = 8 }
"""
COMMANDS = {
    None: ("demo", "--quick", "--out", RUN),  # prints times; what it found is compared below
    "map.txt": ("map", "eight.toml"),
    "run.txt": ("run", "eight.toml"),
    "ablate.txt": ("ablate", EXPERIMENT, "--run", RUN),
    "calibrate.txt": ("calibrate", EXPERIMENT, "--run", RUN, "--out", "calibrated.toml"),
    "compare.txt": ("compare", EXPERIMENT, *CONTEST),
}
REPORTS = {
    "evaluate.txt": ("evaluate", RUN),
    "evaluate-eight.txt": ("evaluate", "runs/eight", "--quiet"),
    "page.txt": ("report", RUN),
    "several.txt": ("report", RUN, f"{RUN}/ablate/acil", "--out", "several.html"),
    **{f"runs.{form}": ("report", RUN, f"{RUN}/ablate/acil", "--format", form) for form in FORMATS[1:]},
    **{
        f"{table}.{form}": ("report", RUN, "--table", table, "--format", form)
        for table in ("localization", "fusion", "loops", "system")
        for form in FORMATS
    },
}
TIMED = re.compile(r"\d+ s\b|settings [0-9a-f]{12}")
CHANGED = {"runs/eight/errors.json": ("retrieval", "loops")}
"""What is taken from the candidate that ranked first, where fdac65f took the one that was judged."""

UNCOMPARED = ("step_ms", "update_ms", "settings_sha256", "evaluated_sha256", "made_by")


def run_commit(commit: str, home: Path) -> None:
    """Everything that a commit makes, in `home`; made in a folder of one name, since some files name it."""
    work, source = home.parent / "work", home.parent / f"source-{home.name}"
    source.mkdir()
    archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    work.mkdir()
    (work / "eight.toml").write_text(EIGHT)
    for name, command in COMMANDS.items():
        _run(source, work, name, command)
    for provenance in work.rglob("provenance.json"):
        _forget_times(provenance)
    for name, command in REPORTS.items():
        _run(source, work, name, command)
    work.rename(home)


def _run(source: Path, home: Path, name: str | None, command: tuple[str, ...]) -> None:
    print(f"{source.name}: tmapr {' '.join(command)}", flush=True)
    environment = environ | {"PYTHONPATH": str(source / "src"), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tmapr", *command],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{source.name}: tmapr {' '.join(command)}: {done.stderr[-2000:]}")
    if name:
        (home / name).write_text(TIMED.sub("…", done.stdout))


def _forget_times(provenance: Path) -> None:
    stated = json.loads(provenance.read_text())
    for timings in stated["sequences"].values():
        timings |= {"step_ms": {"p50": 1.0, "p95": 1.0, "max": 1.0}}
    provenance.write_text(json.dumps(stated))


def compare_files(before: Path, after: Path) -> Iterator[tuple[str, str | None]]:
    """Every file that the first commit made, and what differs in it."""
    for path in sorted(path for path in before.rglob("*") if path.is_file() and not path.is_symlink()):
        name = str(path.relative_to(before))
        if "cache/" in name:  # of the same bytes as what is trained from it
            continue
        other = after / name
        if not other.exists():
            yield name, "is not there"
        elif name.endswith(".npz"):
            yield name, _compare_arrays(path, other)
        elif name.endswith(".json") and "report" not in name:
            uncompared = (*UNCOMPARED, *CHANGED.get(name, ()))
            yield name, _compare_trees(json.loads(path.read_text()), json.loads(other.read_text()), uncompared)
        elif "estimates/" in name and name.endswith(".csv"):
            yield name, _compare_tables(path, other)
        elif name.endswith((".html", ".txt", ".toml", ".markdown", ".latex", ".text", ".tum", ".csv", ".svg")):
            yield name, _compare_text(path, other)
        else:
            yield name, None if path.read_bytes() == other.read_bytes() else "other bytes"


def _compare_arrays(path: Path, other: Path) -> str | None:
    with np.load(path) as a, np.load(other) as b:
        names = [name for name in a.files if name != "header"]
        different = [name for name in names if name not in b.files or a[name].tobytes() != b[name].tobytes()]
    return f"arrays {', '.join(different)}" if different else None


def _compare_trees(a: object, b: object, uncompared: tuple[str, ...], path: str = "") -> str | None:
    if isinstance(a, dict) and isinstance(b, dict):
        kept = [key for key in a if key not in uncompared]
        missing = [key for key in kept if key not in b]
        if missing:
            return f"{path}: has no {', '.join(missing)}"
        return next(filter(None, (_compare_trees(a[key], b[key], uncompared, f"{path}.{key}") for key in kept)), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return next(
            filter(None, (_compare_trees(x, y, uncompared, f"{path}.{place}") for place, (x, y) in pairs)), None
        )
    return None if a == b else f"{path}: {str(a)[:60]} became {str(b)[:60]}"


def _compare_tables(path: Path, other: Path) -> str | None:
    a, b = (list(csv.DictReader(each.read_text().splitlines())) for each in (path, other))
    if len(a) != len(b):
        return f"{len(a)} rows became {len(b)}"
    for line, (x, y) in enumerate(zip(a, b, strict=True), start=2):
        different = [name for name in x if x[name] != y.get(name)]
        if different:
            return f"line {line}: {', '.join(different)}"
    return None


def _compare_text(path: Path, other: Path) -> str | None:
    a, b = (TIMED.sub("…", each.read_text()).splitlines() for each in (path, other))
    for number, (x, y) in enumerate(zip_longest(a, b), start=1):
        if x != y:
            at = next((place for place, pair in enumerate(zip_longest(x or "", y or "")) if len(set(pair)) > 1), 0)
            return (
                f"line {number}, column {at}: {(x or '')[at - 20 : at + 40]!r} became {(y or '')[at - 20 : at + 40]!r}"
            )
    return None


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        before, after = Path(directory) / "before", Path(directory) / "after"
        for commit, home in zip(sys.argv[1:], (before, after), strict=True):
            run_commit(commit, home)
        found = dict(compare_files(before, after))
    different = {name: what for name, what in found.items() if what}
    for name, what in different.items():
        print(f"{name}: {what}")
    print(f"{len(found) - len(different)} of {len(found)} files are the same")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
