"""Plausible bugs put into the sources one by one: each must be noticed by a test that `make test` runs.

python benchmarks/mutants.py                # all of mutant_table.py, minutes; the working tree is not touched
python benchmarks/mutants.py journal FLOOR  # those whose room or snippet holds one of these
python benchmarks/mutants.py --check        # only whether each snippet stands once in the sources

The same is done to the second version of the core that the tests hold against it.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from bisect import bisect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate, count
from pathlib import Path
from queue import SimpleQueue
from shutil import copy2, copytree
from typing import NamedTuple

from mutant_table import SOURCE, Changes

ROOT = Path(__file__).parents[1]
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
COMPILED = re.compile(r"^@(compiled|kernel|part)\b", re.MULTILINE)
"""Decorators of what numba compiles: its cache knows nothing of the other files that a function was compiled with."""
LEFT_OUT = ("runs", "data", "build")
PATIENCE = 300.0
"""Seconds after which tests hang, and have noticed."""

SECOND_VERSION: list[tuple[str, str, Changes]] = [
    ("second version", "test_second_version", [
        ("K - K @ X.T", "K + K @ X.T"),
        ("d + step, d - step", "d + step, d + step"),
        ("gamma + eta *", "gamma - eta *"),
        ("-score[allowed]", "score[allowed]"),
        ("1 - d / tau_p", "1 + d / tau_p"),
        ("d > n.tau_p + slack", "d > n.tau_p - slack"),
        ("moved = min(moved,", "moved = max(moved,"),
        ("q_p * dt**2, q_p * dt**2", "q_p * dt, q_p * dt"),
        ("max(r_l / max(c, 1e-4)", "max(r_l * max(c, 1e-4)"),
        ("z - H @ x", "z + H @ x"),
    ]),
]  # fmt: skip


class Mutant(NamedTuple):
    """A snippet of one file, and what it becomes."""

    room: str
    file: Path
    before: str
    after: str
    tests: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.room}, {self.file.name}: {self.before!r} → {self.after!r}"


def list_mutants(root: Path = ROOT) -> tuple[list[Mutant], list[str]]:
    """All mutants, their paths relative to the root; and in words those that cannot be applied."""
    tests = {path.stem: path for path in _find(root, "tests/**/test_*.py") if "long" not in path.parts}
    found, faults = list[Mutant](), list[str]()
    for table, where in ((SOURCE, "src/tmapr/**/*.py"), (SECOND_VERSION, "tests/**/second_version.py")):
        sources = Sources(root, _find(root, where))
        for room, names, changes in table:
            faults += [f"{room}: no test file {name}.py" for name in names.split() if name not in tests]
            killers = tuple(tests[name] for name in names.split() if name in tests)
            for before, after in changes:
                files = sources.find(before)
                if len(files) == 1:
                    found.append(Mutant(room, files[0], before, after, killers))
                else:
                    stands = f"{len(files)} times, {', '.join(map(str, files))}" if files else "nowhere"
                    faults.append(f"{room}: {before!r} must stand once, and stands {stands}")
    return found, faults


class Sources:
    """Files as one run of bytes: a snippet is looked for once, not in each of hundreds."""

    def __init__(self, root: Path, paths: Sequence[Path]) -> None:
        texts = [(root / path).read_bytes() for path in paths]
        self._paths, self._whole = paths, b"\0".join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, snippet: str) -> list[Path]:
        """The file of each place where it stands."""
        wanted, files, at = snippet.encode(), list[Path](), -1
        while (at := self._whole.find(wanted, at + 1)) >= 0:
            files.append(self._paths[bisect(self._starts, at) - 1])
        return files


def _find(root: Path, pattern: str) -> list[Path]:
    return sorted(path.relative_to(root) for path in root.glob(pattern))


@contextmanager
def put_in(mutant: Mutant, tree: Path, number: int) -> Iterator[None]:
    """Change a copy of the tree for a while."""
    path = tree / mutant.file
    times, text = path.stat(), path.read_bytes()
    path.write_bytes(text.replace(mutant.before.encode(), mutant.after.encode()))
    # Python and numba tell two versions of a file by size and time of change: no two have the same.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + number * 2_000_000_000))
    try:
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(tree: Path, file: Path, fresh: bool = False) -> str | None:
    """The first test that fails, or that they hang; None where all pass. `fresh`: nothing compiled before is used."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    with tempfile.TemporaryDirectory() as cache:
        if fresh:
            environment["NUMBA_CACHE_DIR"] = cache
        command = [sys.executable, *PYTEST, str(file)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(command, cwd=tree, env=environment, start_new_session=True, **pipes)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"hangs: more than {PATIENCE:g} s"
    if process.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", output, re.MULTILINE)
    if process.returncode != 1 or failed is None:
        raise RuntimeError(f"tests cannot be run:\n{output[-3000:]}")
    return failed[1]


def find_killer(mutant: Mutant, tree: Path, number: int) -> str | None:
    """The test that notices a mutant; its files are tried one after the other."""
    compiled = COMPILED.search((tree / mutant.file).read_text(encoding="utf-8")) is not None
    with put_in(mutant, tree, number):
        return next(filter(None, (run_tests(tree, test, compiled) for test in mutant.tests)), None)


def copy_tree(directory: Path) -> Path:
    """What tests need, with what numba compiled here before."""
    directory.mkdir()
    for path in ROOT.iterdir():
        if path.is_dir() and path.name not in LEFT_OUT and not path.name.startswith("."):
            copytree(path, directory / path.name)
        elif path.is_file():
            copy2(path, directory)
    return directory


def kill(mutants: Sequence[Mutant], workers: int) -> Iterator[tuple[Mutant, str | None]]:
    """Each mutant with the test that notices it, as they come."""
    numbers, trees = count(1), SimpleQueue[Path]()

    def try_one(mutant: Mutant) -> tuple[Mutant, str | None]:
        tree = trees.get()
        try:
            return mutant, find_killer(mutant, tree, next(numbers))
        finally:
            trees.put(tree)

    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(workers) as pool:
        for worker in range(workers):
            trees.put(copy_tree(Path(directory) / str(worker)))
        tree = trees.get()
        for file in sorted({test for mutant in mutants for test in mutant.tests}):
            if broken := run_tests(tree, file):
                sys.exit(f"without any mutant: {broken}")
        trees.put(tree)
        yield from pool.map(try_one, mutants)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only mutants whose room, file or snippet holds one of these")
    parser.add_argument("--check", action="store_true", help="only whether each can be applied")
    parser.add_argument("--workers", type=int, default=1, help="each with a copy of the tree")
    options = parser.parse_args()
    mutants, faults = list_mutants()
    if faults:
        sys.exit("\n".join(faults))
    chosen = [each for each in mutants if not options.names or any(name in str(each) for name in options.names)]
    if not chosen:
        sys.exit(f"no mutant holds {' or '.join(options.names)}")
    if options.check:
        print(f"{len(chosen)} mutants can be applied")
        return
    survivors = 0
    for mutant, killer in kill(chosen, options.workers):
        survivors += killer is None
        print(f"{mutant}: {killer or 'SURVIVES'}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants are killed")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
