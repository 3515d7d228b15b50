"""Whether the working tree finds what a kept commit found: percepts, maps, states, estimates, errors and tables.

    python benchmarks/same_results.py                            # compare; exit 1 if something differs
    python benchmarks/same_results.py --expect 'paper/errors/*'  # a difference that is intended
    python benchmarks/same_results.py --make b4aa333             # make the reference anew, of that commit

Compared is content, item by item and bit by bit, under names such as png16/map/memory.descriptors, whatever holds it.
What may differ is said in `FREE` and `INTENDED` and nowhere else; what a later commit adds is not compared. All that is
known of files stands below `# Reading`: a commit that changes a format changes that part alone.
Every command runs in one process with one thread; a minute and a half of one core, and a little more to compile.
"""

import argparse
import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "benchmarks/rows/same_results.json.gz"
PACKAGES = ("numpy", "scipy", "numba", "onnxruntime", "opencv-python-headless", "torch")
INTENDED: dict[str, str] = {}
"""Patterns of items that differ from the reference on purpose, and why; empty again with the next reference."""

Items = Iterator[tuple[str, str]]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--make", metavar="COMMIT", help="make the reference of this commit")
    asked.add_argument("--expect", metavar="PATTERN", nargs="+", default=[], help="items that are meant to differ")
    asked.add_argument("--record", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.record:
        with tempfile.TemporaryDirectory() as home:
            given.record.write_text(json.dumps(dict(record_all(Path(home)))))
    elif given.make:
        make_reference(given.make)
    else:
        kept = json.loads(gzip.decompress(REFERENCE.read_bytes()))
        intended = INTENDED | dict.fromkeys(given.expect, "expected")
        sys.exit(compare(kept, run_tree(ROOT), intended, describe_machine()))


def make_reference(commit: str) -> None:
    """Run the product of a commit, with this script and these inputs, and keep what it found."""
    name = subprocess.run(["git", "rev-parse", commit], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit, "src", "tests"], check=True, capture_output=True, cwd=ROOT)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        kept = {"commit": name.strip(), "machine": describe_machine(), "items": run_tree(Path(folder))}
    REFERENCE.write_bytes(gzip.compress(json.dumps(kept, indent=0, ensure_ascii=False).encode(), mtime=0))
    print(f"{REFERENCE.relative_to(ROOT)}: {len(kept['items'])} items of {commit}")


def run_tree(tree: Path) -> dict[str, str]:
    """Every item that the product in a tree makes, in a process of its own."""
    paths = os.pathsep.join(map(str, (tree / "src", tree / "tests/support", tree / "tests", ROOT / "benchmarks")))
    environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "300", "TZ": "UTC"}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "items.json"
        subprocess.run([sys.executable, __file__, "--record", file], check=True, env=environment)
        return json.loads(file.read_text())


def describe_machine() -> dict[str, str]:
    """What the last bits of a result depend on, beside the product."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    fields = dict(tuple(part.strip() for part in line.split(":", 1)) for line in reversed(lines) if ":" in line)
    processor = " ".join(fields.get(name, "?") for name in ("model name", "cpu family", "model"))
    return {"processor": processor} | {name: version(name) for name in PACKAGES}


def compare(kept: dict, found: dict[str, str], intended: dict[str, str], machine: dict[str, str]) -> int:
    """Print what differs from the reference; 1 if something does that is not meant to."""
    items = kept["items"]
    others = [f"{key} {was}, here {machine[key]}" for key, was in kept["machine"].items() if machine[key] != was]
    if others:
        print(f"the reference was made with {'; '.join(others)}: last bits may differ. Make it anew here:")
        print(f"  python benchmarks/same_results.py --make {kept['commit'][:7]}")
    different = [name for name in items if found.get(name) != items[name]]
    excused = {name: why for name in different for pattern, why in intended.items() if fnmatch(name, pattern)}
    for name in different:
        why = f" [intended: {excused[name]}]" if name in excused else ""
        print(f"{name}{why}\n    was {items[name]}\n    is  {found.get(name, 'not there')}")
    same = f"{len(items) - len(different)} of {len(items)} items are the same as of {kept['commit'][:7]}"
    print(f"{same}; {len(excused)} differ as intended; {len(found.keys() - items)} are new")
    return int(len(different) > len(excused))


def record_all(home: Path) -> Items:
    """Every item, made in a folder."""
    from same_inputs import CASES, write_experiments, write_recordings

    os.chdir(home)
    for name, drive in write_recordings(home, command).items():
        yield f"city/{name}/images", describe(np.array(drive.images))
        yield f"city/{name}/poses", describe(drive.poses)
    write_experiments(home)
    for name, case in CASES.items():
        if begun := case.begun or case.root:
            shutil.copytree(begun, name, symlinks=True)
        if case.trains:
            command("train", f"{name}.toml", "--run", name, "--quiet")
        command("map", f"{name}.toml", "--run", name, "--quiet")
        command("run", f"{name}.toml", "--run", name, "--quiet", *case.options)
        yield from read_finished(name)
    command("ablate", "png16.toml", "--run", "png16", "--quiet")
    yield from read_tables("png16", "loops", "system")
    yield from record_live()
    yield from record_learned()
    command("upkeep", "extend", "png16", "dusk", "--out", "extended", "--quiet")
    command("run", "extended/experiment.toml", "--run", "extended", "--quiet")
    yield from read_finished("extended")
    command("upkeep", "drop", "extended", "--box", "20,-30,60,0", "--out", "dropped", "--quiet")
    yield from read_arrays(Path("dropped", "map.npz"), "dropped/map")


def record_live() -> Items:
    """A replay as fast as it goes, and on how many frames it says what `run` said."""
    told = drive_live("png16", "data/png16/night", "live")
    yield from ((f"live/estimates/night/{name}", describe_cells(cells)) for name, cells in told.items())
    yield from read_state("live")
    offline = read_estimates("png16", "night")
    for name in sorted(told.keys() & offline.keys()):
        pairs = list(zip(map(plain, told[name]), map(plain, offline[name]), strict=True))
        yield f"live/as_run/{name}", f"{sum(a == b for a, b in pairs)} of {len(pairs)} frames"


def record_learned() -> Items:
    """Two robots that teach themselves; then some of it is taken back, and joined."""
    for robot in ("dusk", "night"):
        drive_live("png16", f"data/png16/{robot}", f"robot_{robot}", "--learn", "fused", "--lose", "100000")
    stamps = read_estimates("fused", "dusk")["stamp_ns"]
    command("state", "merge", "png16", "robot_dusk", "robot_night", "--out", "merged", "--quiet")
    for name in ("unlearned", "rolled_back"):
        shutil.copytree("robot_dusk", name, symlinks=True)
    command("state", "unlearn", "unlearned", "--stamps", stamps[24], stamps[35], "--quiet")
    command("state", "rollback", "rolled_back", "--last", "6", "--quiet")
    for name in ("robot_dusk", "robot_night", "merged", "unlearned", "rolled_back"):
        yield from read_state(name)
    for name in ("merged", "unlearned"):
        told = drive_live("png16", "data/png16/night", name)
        yield from ((f"{name}/estimates/night/{column}", describe_cells(cells)) for column, cells in told.items())


def command(*arguments: object) -> str:
    """Run a command in this process; what it prints."""
    from commandline import command as run_command

    print("tmapr", *arguments, file=sys.stderr, flush=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed, patch.object(sys, "__stdout__", printed):  # live's
        code = run_command(*arguments)
    if code:
        sys.exit(f"tmapr {' '.join(map(str, arguments))}: exit {code}\n{printed.getvalue()[-2000:]}")
    return printed.getvalue()


# Reading: all that this script knows of files and their columns, keys and words.

FREE = re.compile(r"(^|[./])(\w+_ms|ms|made_by|\w+_sha256|source_\w+|contents|ledger|run)([./]|$)")
"""Parts of a name whose item is not compared: times, digests, what names files."""
RENAMED: dict[str, str] = {}
"""Words of today that had another name in the reference, as {"dead_reckoning": "predicting"}."""
SHOWN = ("lessons", "kinds", "places", "mapped_places", "journal_lessons", "taken_back", "removable")
LINES = {
    "stamp": "stamp_ns", "covariance.0": "cov_xx", "covariance.1": "cov_xy", "covariance.2": "cov_yy",
    "candidate.sequence": "reference_sequence", "candidate.reference": "reference", "candidate.x": "ref_x",
    "candidate.y": "ref_y", "candidate.similarity": "similarity",
}  # fmt: skip
"""Keys of a line of `live --json`, by the column that says the same."""


def read_finished(run: str) -> Items:
    """All that a finished run holds, once it is evaluated."""
    command("evaluate", run, "--quiet")
    yield from read_arrays(Path(run, "map.npz"), f"{run}/map")
    yield from read_state(run, shown=False)
    for path in sorted((*Path(run, "percepts").glob("*.npz"), *Path(run, "estimates").glob("*.npz"))):
        sequence, _, kind = path.stem.partition(".")  # night.npz, night.keypoints.npz, night.belief.npz
        yield from read_arrays(path, f"{run}/{kind or 'percepts'}/{sequence.replace('__', '/')}")
    for path in sorted(Path(run, "estimates").glob("*.csv")):
        for column, cells in read_estimates(run, path.stem).items():
            yield f"{run}/estimates/{path.stem.replace('__', '/')}/{column}", describe_cells(cells)
    for key, value in flatten(json.loads(Path(run, "errors.json").read_text())):
        yield f"{run}/errors/{key}", plain(value)
    yield from read_tables(run, "localization", "fusion")


def read_arrays(path: Path, name: str) -> Items:
    """The arrays of a file."""
    with np.load(path) as arrays:
        for member in sorted(set(arrays.files) - {"header"}):
            if not FREE.search(member):
                yield f"{name}/{member}", describe(arrays[member])


def read_state(run: str, *, shown: bool = True) -> Items:
    """What a run learned and believes and, if asked for, what `state show` counts."""
    yield from read_arrays(Path(run, "state.npz"), f"{run}/state")
    if shown:
        told = json.loads(command("state", "show", run, "--json"))
        for key, value in flatten({key: told[key] for key in SHOWN}):
            yield f"{run}/lessons/{key}", plain(value)


def read_estimates(run: str, sequence: str) -> dict[str, list]:
    """The cells of a table of estimates, by column."""
    header, *rows = csv.reader(Path(run, "estimates", f"{sequence}.csv").read_text().splitlines())
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def drive_live(mapped: str, source: str, run: str, *options: str) -> dict[str, list]:
    """Replay a recording; what was said of every frame, by the columns of a table of estimates."""
    lines = command("live", mapped, "--source", source, "--rate", "0", "--run", run, "--json", "--quiet", *options)
    rows = [{LINES.get(key, key): value for key, value in flatten(json.loads(line))} for line in lines.splitlines()]
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def read_tables(run: str, *tables: str) -> Items:
    """The cells of printed tables; lines that have not as many cells as the first are remarks."""
    for table in tables:
        header, *rows = (re.split(r"\s{2,}", line) for line in command("report", run, "--table", table).splitlines())
        for number, row in enumerate(row for row in rows if len(row) == len(header)):
            for place, (column, cell) in enumerate(zip(header, row, strict=True)):
                again = header[:place].count(column)
                if not FREE.search(column):
                    yield f"{run}/tables/{table}/{number}/{column}{f' {again + 1}' if again else ''}", plain(cell)


def flatten(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The leaves of a JSON tree, under paths with dots; an empty list or object is a leaf."""
    if isinstance(tree, dict | list) and tree:
        pairs: Iterable = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            if not FREE.search(str(key)):
                yield from flatten(value, f"{path}.{RENAMED.get(key, key)}".lstrip("."))
    else:
        yield path, tree


def plain(value: object) -> str:
    """A value in one spelling: 1, 1.0 and "1.0" are the same, and so are an empty cell and null."""
    text = "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
    try:
        number = float(text)
    except ValueError:
        return RENAMED.get(text, text)
    if re.fullmatch(r"-?\d+", text):
        return str(int(text))  # a stamp is no float
    return str(int(number)) if number.is_integer() else repr(number)


def describe_cells(cells: list) -> str:
    """A column in a line: how often each word, or first and mean number, and a digest."""
    texts = [plain(cell) for cell in cells]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    if len(words := Counter(texts)) <= 6:
        return f"{', '.join(f'{count} {word or None}' for word, count in sorted(words.items()))} #{digest}"
    numbers = [float(text) for text in texts if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text)]
    return f"{len(numbers)} of {len(texts)}, first {texts[0]}, mean {np.mean(numbers) if numbers else 0:.9g} #{digest}"


def describe(array: np.ndarray) -> str:
    """An array in a line: shape, first and mean value, and a digest of all of them as int64, float64 or text."""
    if array.dtype.kind == "U":
        return f"{array.shape} {describe_cells(array.ravel().tolist())}"
    if array.dtype.kind == "f":
        values = np.where(np.isnan(array), np.nan, array.astype(np.float64) + 0.0)  # one NaN, one zero
    else:
        values = array.astype(np.int64)
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:12]
    some = values.ravel()[:1].tolist()
    known = values[np.isfinite(values)]
    return f"{array.shape} {values.dtype.kind}, first {some}, mean {known.mean() if known.size else 0:.9g} #{digest}"


if __name__ == "__main__":
    main()
