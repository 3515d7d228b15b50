"""Branch coverage of src/tmapr by package, as a Markdown table, beside what is kept in benchmarks/rows/coverage.json.

    coverage run -m pytest -n 2 tests                    # pyproject.toml has its settings: branches, and every process
    python benchmarks/coverage_by_package.py             # exit 1 if a package fell
    python benchmarks/coverage_by_package.py --keep

A share is of lines and branches together, as `coverage report` has it. Files are named by what follows src/: data of
another checkout count if they are given, with its sources.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from coverage import Coverage, CoverageData
from coverage.exceptions import DataError

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks/rows/coverage.json"
SLACK = 0.5
"""Points by which a package may fall: threads and time-outs take other branches from run to run."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("data", nargs="*", type=Path, help="files that `coverage run` wrote (default: .coverage.*)")
    asked.add_argument("--keep", action="store_true", help="write benchmarks/rows/coverage.json")
    asked.add_argument("--source", type=Path, default=ROOT / "src", help="the sources that ran (default: src)")
    given = asked.parse_args()
    shares = measure(given.data or sorted(ROOT.glob(".coverage.*")), given.source)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() and not given.keep else {}
    print("| package | covered % | kept % |\n|---|---:|---:|")
    for name, share in shares.items():
        print(f"| {name} | {share:.1f} | {f'{kept[name]:.1f}' if name in kept else '–'} |")
    if given.keep:
        KEPT.write_text(json.dumps(shares, indent=1) + "\n")
    fell = [name for name, share in shares.items() if share < kept.get(name, 0.0) - SLACK]
    for name in fell:
        print(f"{name} fell from {kept[name]:.1f} % to {shares[name]:.1f} %")
    sys.exit(bool(fell))


def measure(files: list[Path], source: Path) -> dict[str, float]:
    """Percent of lines and branches that ran, by package in the order of their names, and of all."""
    with tempfile.TemporaryDirectory() as folder:
        joined = CoverageData(basename=f"{folder}/joined")
        for file in files:
            data = CoverageData(basename=str(file))
            try:
                data.read()
            except DataError as error:  # of a process that was killed, or of a full disk
                print(f"left out: {error}", file=sys.stderr)
                continue
            joined.update(data, map_path=lambda path: str(source / path.rpartition("/src/")[2]))
        joined.write()
        coverage = Coverage(data_file=f"{folder}/joined", config_file=False, branch=True)
        coverage.load()
        report = Path(folder) / "report.json"
        coverage.json_report(outfile=str(report), include=[f"{source}/tmapr/*"])
        found = json.loads(report.read_text())["files"]
    every, ran = Counter[str](), Counter[str]()
    for path, told in found.items():
        summary = told["summary"]
        for name in (name_package(path), "all"):
            every[name] += summary["num_statements"] + summary["num_branches"]
            ran[name] += summary["covered_lines"] + summary["covered_branches"]
    return {
        name: round(100 * ran[name] / every[name], 2) for name in sorted(every, key=lambda name: (name == "all", name))
    }


def name_package(path: str) -> str:
    """The folder of src/tmapr that a file lies in; `tmapr` where it lies in none."""
    first, *rest = path.replace("\\", "/").rpartition("tmapr/")[2].split("/")
    return first if rest else "tmapr"


if __name__ == "__main__":
    main()
