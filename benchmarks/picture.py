"""The README's picture: a night frame, the noon frame that it was matched with, and the drive on the map.

`make demo`, then `python benchmarks/picture.py`, writes docs/images/overview.png from what lies in runs/demo.
"""

import argparse
import csv
from pathlib import Path

import cv2
import matplotlib as mpl
import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OUT = Path(__file__).parents[1] / "docs/images/overview.png"
FRAME = 44
"""Of 600: where the two pictures are taken."""
SCALE = 50
"""Metres of the bar beside the map."""
MAPPED, NIGHT, FUSED, POSE_HEAD = "#d9d9e0", "#222222", "#0072b2", "#e69f00"


def read_columns(path: Path, *names: str) -> Float[np.ndarray, "rows columns"]:
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([[float(row[name] or "nan") for name in names] for row in csv.DictReader(file)])


def read_picture(sequence: Path, row: int) -> UInt8[np.ndarray, "height width"]:
    """A frame between its 1st and 99th percentile, with contrast that is local, as an encoder is given it."""
    with (sequence / "frames.csv").open(encoding="utf-8", newline="") as file:
        path = sequence / list(csv.DictReader(file))[row]["file"]
    counts = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    low, high = np.percentile(counts, (1, 99))
    stretched = (np.clip((counts - low) / (high - low), 0, 1) * 255).astype(np.uint8)
    return cv2.createCLAHE(clipLimit=2.0).apply(stretched)


def show_picture(axes: Axes, picture: UInt8[np.ndarray, "height width"], title: str) -> None:
    axes.imshow(picture, cmap="gray", aspect="equal")
    axes.set_title(title, loc="left")
    axes.axis("off")


def draw_drive(axes: Axes, run: Path, row: int) -> None:
    noon, night = (read_columns(run / f"data/{name}/frames.csv", "x", "y") for name in ("noon", "night"))
    fused, posed = (read_columns(run / "estimates/night.csv", *names) for names in (("x", "y"), ("apr_x", "apr_y")))
    axes.plot(*noon.T, color=MAPPED, linewidth=10, solid_capstyle="round", label="mapped at noon")
    axes.plot(*night.T, color=NIGHT, linewidth=3, label="the night drive as it was")
    axes.plot(*fused.T, color=FUSED, linewidth=1.6, label=f"as tmapr has it: RMSE {rmse(fused, night):.2f} m")
    axes.plot(*posed.T, ".", color=POSE_HEAD, markersize=3, label=f"pose head alone: RMSE {rmse(posed, night):.1f} m")
    axes.plot(*night[row], "o", color="white", markeredgecolor=FUSED, markeredgewidth=2.5, markersize=10)
    left, bottom = noon.min(axis=0)
    axes.plot([left, left + SCALE], [bottom, bottom], color=NIGHT, linewidth=2)
    axes.annotate(f"{SCALE} m", (left + SCALE / 2, bottom + 3), ha="center")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.legend(loc="upper right", frameon=False, markerscale=2)


def rmse(positions: Float[np.ndarray, "rows 2"], truth: Float[np.ndarray, "rows 2"]) -> float:
    return float(np.sqrt(np.nanmean(((positions - truth) ** 2).sum(axis=1))))


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the README's picture.")
    parser.add_argument("--run", type=Path, default=Path("runs/demo"), help="what `make demo` made")
    parser.add_argument("--frame", type=int, default=FRAME, help="the night frame that is shown")
    parser.add_argument("--out", type=Path, default=OUT, help="the picture to write")
    given = parser.parse_args()
    matched = read_columns(given.run / "estimates/night.csv", "ref_x", "ref_y")[given.frame]
    mapped = read_columns(given.run / "data/noon/frames.csv", "x", "y")
    nearest = int(np.hypot(*(mapped - matched).T).argmin())
    mpl.rcParams.update({"font.size": 11, "axes.titlesize": 11})
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    parts = figure.subplot_mosaic([["night", "drive"], ["noon", "drive"]], width_ratios=(1, 2.6))
    show_picture(parts["night"], read_picture(given.run / "data/night", given.frame), "seen at night …")
    show_picture(parts["noon"], read_picture(given.run / "data/noon", nearest), "… and found in the map of noon")
    draw_drive(parts["drive"], given.run, given.frame)
    figure.savefig(given.out, dpi=110)
    print(f"{given.out}: {given.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
