"""Photographs of pages for the documentation, taken by a browser without a window.

After `make demo`, `python benchmarks/screenshots.py runs/demo` writes into docs/images: the run's page, its map's, that
of the same drive run without positions, and that of both runs together.
"""

import argparse
import csv
import shutil
import tempfile
from pathlib import Path

import cv2
import numpy as np

from browser import browsing
from tmapr.cli.map import map_reference
from tmapr.cli.run import run
from tmapr.cli.show import show
from tmapr.config import changed
from tmapr.experiment import dump_experiment
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun

OUT = Path(__file__).parents[1] / "docs/images"
PHOTOGRAPHS = ("report-1280", "report-400", "report-unknown-400", "compare-1280", "map-1280", "map-400")
MOST = 300_000
"""Bytes of a photograph, at most."""
TALL = {1280: 1340, 400: 1750}
"""How far down a page is photographed, by its width."""
_COLOURS = 128
CHOOSE = "document.querySelectorAll('.worst .show')[3]?.click(); document.activeElement.blur(); scrollTo(0, 0)"
"""Looks at one of the worst frames."""


def photograph(page: Path, width: int, png: Path, *, height: int | None = None, act: str = "") -> None:
    """Open a page at a width, do something on it, and write what it shows down to a height as a PNG of few bytes."""
    with browsing() as browser:
        browser.open(page, width=width)
        if act:
            browser.js(act)
        taken = browser.photograph(height=height or TALL[width])
        complaints = browser.complaints()
    if complaints:
        raise SystemExit(f"{page}: {complaints[0]}")
    png.write_bytes(reduce_colours(taken))
    print(f"{png}: {png.stat().st_size / 1000:.0f} kB")


def reduce_colours(taken: bytes) -> bytes:
    """The same picture with fewer shades, as a PNG that is as small as it gets; larger than allowed is an error."""
    picture = cv2.imdecode(np.frombuffer(taken, np.uint8), cv2.IMREAD_COLOR)
    step = 256 // _COLOURS
    # White stays white: shades are those of the upper end of each step.
    coarse = np.minimum(picture.astype(int) // step * step + step - 1, 255).astype(np.uint8)
    _, encoded = cv2.imencode(".png", coarse, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    if len(encoded) > MOST:
        raise SystemExit(f"a photograph of {len(encoded)} bytes; allowed are {MOST}")
    return encoded.tobytes()


def run_without_positions(known: ReportedRun, home: Path) -> Path:
    """The same traverses, of which the one that is localized has lost its positions, mapped and run anew."""
    data, (name, *_) = known.experiment.data, known.experiment.data.test
    shutil.copytree(data.root, home / "data")
    table = home / "data" / name / "frames.csv"
    with table.open(encoding="utf-8", newline="") as stream:
        rows = [(row["stamp"], row["file"]) for row in csv.DictReader(stream)]
    with table.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("stamp", "file"), *rows])
    file = home / "unknown.toml"
    renamed = {"name": "without-positions", "data.root": str(home / "data")}
    file.write_text(dump_experiment(changed(known.experiment, renamed), home), encoding="utf-8")
    map_reference(file, run=home / "run", quiet=True)
    run(file, run=home / "run", quiet=True)
    return home / "run"


def main() -> None:
    parser = argparse.ArgumentParser(description="Photograph the pages of a run and of its map.")
    parser.add_argument("run", type=Path, help="a run of a folder's sequences with true positions")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write to")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, known = Path(folder), ReportedRun.load(given.run)
        unknown = ReportedRun.load(run_without_positions(known, home))
        pages = {"report": [known], "report-unknown": [unknown], "compare": [known, unknown]}
        for name, runs in pages.items():
            (home / f"{name}.html").write_text(render_page(runs), encoding="utf-8")
        show(given.run, out=home / "map.html", quiet=True)
        for name, widths in {
            "report": (1280, 400),
            "report-unknown": (400,),
            "compare": (1280,),
            "map": (1280, 400),
        }.items():
            for width in widths:
                act = CHOOSE if name.startswith("report") else ""
                photograph(home / f"{name}.html", width, given.out / f"{name}-{width}.png", act=act)


if __name__ == "__main__":
    main()
