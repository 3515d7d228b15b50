"""Photographs of pages for the documentation, taken by a browser without a window.

`python benchmarks/screenshots.py RUN BLIND` writes docs/images/report-1280.png and report-400.png of the first run,
report-unknown-400.png of the second, whose test sequence has no positions, and compare-1280.png of both together.
"""

import argparse
import tempfile
from pathlib import Path

import cv2
import numpy as np

from browser import browsing
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun

OUT = Path(__file__).parents[1] / "docs/images"
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Photograph the pages of two runs.")
    parser.add_argument("run", type=Path, help="a run with true positions")
    parser.add_argument("unknown", type=Path, help="a run of a sequence without positions")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write to")
    given = parser.parse_args()
    known, unknown = (ReportedRun.load(path) for path in (given.run, given.unknown))
    with tempfile.TemporaryDirectory() as folder:
        pages = {"report": [known], "report-unknown": [unknown], "compare": [known, unknown]}
        for name, runs in pages.items():
            (Path(folder) / f"{name}.html").write_text(render_page(runs), encoding="utf-8")
        for name, width in (("report", 1280), ("report", 400), ("report-unknown", 400), ("compare", 1280)):
            page, png = Path(folder) / f"{name}.html", given.out / f"{name}-{width}.png"
            photograph(page, width, png, act="" if name == "compare" else CHOOSE)


if __name__ == "__main__":
    main()
