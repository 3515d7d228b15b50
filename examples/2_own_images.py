"""Localize with images of your own: a folder is mapped, then a camera's frames are localized one by one.

    python examples/2_own_images.py

A traverse is a folder with images and frames.csv: stamp,file and, for the one that is mapped, x,y.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tmapr
from tmapr.simulation.camera import Camera
from tmapr.simulation.record import Plan, write_dataset
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather


def record(home: Path) -> None:
    # 1. Your camera goes here: 80 images of 16 bits along a street, 2.5 m apart, three times a day.
    street = Plan(layout="folder", length=200.0, camera=Camera(width=160, height=128, focal=100.0))
    names = ("noon", "dusk", "night")
    traverses = [Traverse(name, find_weather(name), seed, frames=80) for seed, name in enumerate(names)]
    write_dataset(home, street, traverses)


def main() -> None:
    with TemporaryDirectory() as directory:
        home, run = Path(directory) / "data", Path(directory) / "run"
        record(home)

        # 2. The reference traverse is encoded and becomes a map. `tmapr map` does the same from a TOML file.
        localizer = tmapr.make_map(home / "noon", run)

        # 3. A second one whose positions are known: its condition is learned. Another program would `tmapr.load(run)`.
        for frame in tmapr.open_sequence(home / "dusk"):
            estimate = localizer.step(frame)
            if frame.position is not None and not estimate.percept.fault:
                localizer.learn(estimate, frame.position)
        localizer.new_drive().save(run)

        # 4. The third is localized, frame by frame; a driver would give `step` its image and the image's stamp.
        night = [(frame, localizer.step(frame)) for frame in tmapr.open_sequence(home / "night")]

    errors = [np.hypot(*(estimate.position - frame.position)) for frame, estimate in night]
    last = night[-1][1]
    print(f"{last.status}, {last.verdict.reason}, at {np.round(last.position, 1).tolist()}")
    print(f"median error {np.median(errors):.2f} m over {len(errors)} frames")


if __name__ == "__main__":
    main()
