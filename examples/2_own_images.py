"""Localize with images of your own: a folder is mapped, then a camera's frames are localized one by one.

    python examples/2_own_images.py

A traverse is a folder with images and frames.csv: stamp,file and, for the one that is mapped, x,y.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tmapr
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import Data, Experiment
from tmapr.running.running import map_experiment
from tmapr.simulation.camera import Camera
from tmapr.simulation.record import Plan, write_dataset
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather
from tmapr.types import Estimate, Frame


def record(home: Path) -> None:
    # 1. Your camera goes here: 80 images of 16 bits along a street, 2.5 m apart, three times a day.
    street = Plan(layout="folder", length=200.0, camera=Camera(width=160, height=128, focal=100.0))
    names = ("noon", "dusk", "night")
    traverses = [Traverse(name, find_weather(name), seed, frames=80) for seed, name in enumerate(names)]
    write_dataset(home, street, traverses)


def localize(run: Path, traverse: Path) -> list[tuple[Frame, Estimate]]:
    # 2. Frames are localized as they come: from a folder, a bag, or a driver that makes `tmapr.types.Frame`s.
    localizer = tmapr.load(run)
    return [(frame, localizer.step(frame)) for frame in tmapr.open_sequence(traverse)]


def main() -> None:
    with TemporaryDirectory() as directory:
        home, run = Path(directory) / "data", Path(directory) / "run"
        record(home)

        # 3. The reference traverse is encoded and becomes a map. `tmapr map` does the same from a TOML file.
        experiment = Experiment(data=Data(root=str(home), reference="noon"))
        map_experiment(experiment, RunFolder(run))

        # 4. A second traverse whose positions are known: its condition is learned, and kept beside the map.
        localizer = tmapr.load(run)
        for frame, estimate in localize(run, home / "dusk"):
            if frame.position is not None and not estimate.percept.fault:
                localizer.learn(estimate.percept, frame.position)
        localizer.save(run)

        # 5. The third is localized with it.
        night = localize(run, home / "night")

    errors = [np.hypot(*(estimate.position - frame.position)) for frame, estimate in night]
    last = night[-1][1]
    print(f"{last.status}, {last.verdict.reason}, at {np.round(last.position, 1).tolist()}")
    print(f"median error {np.median(errors):.2f} m over {len(errors)} frames")


if __name__ == "__main__":
    main()
