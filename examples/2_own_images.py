"""Localize with images of your own: a folder is mapped, then a camera's frames are localized one by one.

    python examples/2_own_images.py

A traverse is a folder with images and frames.csv: stamp,file and, for the one that is mapped, x,y.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tmapr
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder
from tmapr.evaluation.running import map_experiment
from tmapr.experiment import Data, Experiment
from tmapr.gating import Gating

FRAMES, STEP, HEIGHT, WIDTH = 40, 24, 128, 160


def record(folder: Path, contrast: float, rng: np.random.Generator) -> None:
    # 1. Your camera goes here: 40 images of 16 bits along a wall, 2 m and 0.1 s apart.
    wall = np.kron(np.random.default_rng(1).normal(size=(8, (WIDTH + FRAMES * STEP) // 16)), np.ones((16, 16)))
    rows = ["stamp,file,x,y"]
    for row in range(FRAMES):
        seen = 3500 + contrast * wall[:, row * STEP : row * STEP + WIDTH] + rng.normal(0, 4, (HEIGHT, WIDTH))
        write_frame(folder / f"{row:03}.png", seen.astype(np.uint16))
        rows.append(f"{1_700_000_000 + row / 10:.1f},{row:03}.png,{2.0 * row},0.0")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")


def main() -> None:
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as directory:
        home = Path(directory)
        record(home / "noon", contrast=300.0, rng=rng)
        record(home / "night", contrast=80.0, rng=rng)

        # 2. The reference traverse is encoded and becomes a map. `tmapr map` does the same from a TOML file.
        data = Data(root=directory, reference="noon")
        map_experiment(Experiment(data=data, gating=Gating(min_similarity=0.5)), RunFolder(home / "run"))

        # 3. Frames are localized as they come: from a folder, a bag, or a driver that makes `tmapr.types.Frame`s.
        localizer = tmapr.load(home / "run")
        frames = list(tmapr.open_sequence(home / "night"))
        estimates = [localizer.step(frame) for frame in frames]

    errors = [np.hypot(*(e.position - f.position)) for e, f in zip(estimates, frames, strict=True)]
    last = estimates[-1]
    print(f"{last.status}, {last.verdict.reason}, at {np.round(last.position, 1).tolist()}")
    print(f"median error {np.median(errors):.2f} m over {len(errors)} frames")


if __name__ == "__main__":
    main()
