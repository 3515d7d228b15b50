"""Real traverses with invented positions as rows of the same table: Gardens Point, KAIST, St Lucia.

Gardens Point and KAIST are images in the folder layout, encoded by the default perceiver; St Lucia is a stream of
descriptors, two metres a sampled frame. There is no pose head, and nothing is adapted to.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from proving import HOME
from proving_rows import Row, judge_drive, load_current, name_settings
from streams import streams
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.evaluation.decisions import Mapped
from tmapr.experiment import Data, Experiment
from tmapr.running.encoding import Encoding
from tmapr.running.progressive import recognise_drive
from tmapr.system import System, build, make_map
from tmapr.types import NANOSECONDS

REAL = HOME.parent / "shared/data"
_METRES, _SECONDS = 2.0, 0.2
"""From one sampled frame of a stream to the next: a car at 10 m/s."""

Pair = tuple[Recording, Recording]


def gather_real(folder: Path, data: Path) -> Iterator[Row]:
    """The rows that are kept, or, where the data is at hand, new ones."""
    for name, load in SETS.items():
        path = folder / f"{name}.json"
        if not path.exists() and data.is_dir():
            _run_set(name, *load(data)).save(path)
        if path.exists():
            yield load_current(path)
        else:
            print(f"{name}: neither {path.name} nor {data} is there; left out")


def _run_set(name: str, reference: Recording, query: Recording) -> Row:
    system = System()
    environment = make_map(system, reference)
    drive = recognise_drive(build(system, environment), query)
    mapped = Mapped(environment.memory.positions[environment.memory.order])
    found = judge_drive(drive, drive.replay(system.tracking, system.fusion), environment.memory, mapped)
    return Row(
        name=name,
        kind="real",
        style=None,
        seed=None,
        spacing=mapped.spacing,
        settings=name_settings(system),
        drives={"night": found},
    )


def open_images(place: str, reference: str, query: str) -> Callable[[Path], Pair]:
    """Opens two drives of a place, encoded by the default perceiver."""

    def load(data: Path) -> Pair:
        roles = Data(root=str(data / place), reference=reference, test=(query,))
        encoding = Encoding(Experiment(name=place, data=roles), RunFolder(HOME / "runs/proving" / place))
        pair = encoding.recording(reference), encoding.recording(query)
        encoding.publish()
        return pair

    return load


def open_stream(name: str) -> Callable[[Path], Pair]:
    """A stream of descriptors, by how its name begins."""

    def load(data: Path) -> Pair:
        stream = next(each for each in streams(data / "descriptors", "rp768") if each.name.startswith(name))

        def record(name: str, descriptors: np.ndarray, positions: np.ndarray) -> Recording:
            stamps = np.rint(np.arange(len(descriptors)) * _SECONDS * NANOSECONDS).astype(np.int64)
            return Recording.from_arrays(name, stamps, descriptors, truth=_METRES * positions)

        return (
            record("reference", stream.reference, stream.reference_positions),
            record("query", stream.test, stream.test_positions),
        )

    return load


SETS: dict[str, Callable[[Path], Pair]] = {
    "real-gardens-night": open_images("gardens", "day_right", "night_right"),
    "real-gardens-day-left": open_images("gardens", "day_right", "day_left"),
    "real-kaist-lwir": open_images("kaist", "visible", "lwir"),
    "real-st-lucia": open_stream("St Lucia"),
}
