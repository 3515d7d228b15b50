"""Made-up maps of which it is known what looks like what: a view is what stands at a metre of some street."""

from pathlib import Path

import numpy as np

from tmapr.artifacts.percepts import Recording
from tmapr.config import dump_toml
from tmapr.experiment import Data, Experiment
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.source import MapSource
from tmapr.system import System, make_map

SYSTEM = System(places=Places(projection=Projection(dimension=16)))
DIMENSION, APART = 48, 4.0
START, INTERVAL = 1_600_000_000_000_000_000, 500_000_000


def see(metres):
    """Views along an endless street: every four metres something new, between them a mixture of two."""
    sights = np.random.default_rng(9).normal(size=(1000, DIMENSION)) + 0.7
    at = np.asarray(metres, dtype=float) / APART
    left, share = np.floor(at).astype(int), (at % 1)[:, None]
    views = (1 - share) * sights[left] + share * sights[left + 1]
    return views / np.linalg.norm(views, axis=1)[:, None]


def straight(length=400.0, spacing=2.0, at=(0.0, 0.0)):
    """Positions along x from a point."""
    along = np.arange(0.0, length, spacing)
    return np.column_stack([along, np.zeros_like(along)]) + np.array(at)


def record(name, positions, metres, start=START, **more):
    """A traverse of these positions, which sees these metres of the endless street; half a second a frame."""
    stamps = start + np.arange(len(positions)) * INTERVAL
    return Recording.from_arrays(name, stamps, see(metres), truth=positions, **more)


def copied(positions, here, there, back=False):
    """What one sees along x, where the stretch `there` looks like the stretch `here`, from its other end if `back`."""
    metres = positions[:, 0].copy()
    (start, stop), (from_, to) = here, there
    inside = (metres >= from_) & (metres < to)
    since = metres[inside] - from_
    metres[inside] = stop - since if back else start + since
    return metres


def survey(*recordings):
    """All that is found out about the map of these traverses."""
    return Atlas.of(MapSource(Path("map.npz"), make_map(SYSTEM, *recordings)))


def write_run(folder, *recordings, root="."):
    """A run folder that holds the map of these traverses, as `tmapr map` leaves one."""
    names = tuple(each.sequence for each in recordings)
    data = Data(root=str(root), reference=names if len(names) > 1 else names[0])
    folder.experiment.parent.mkdir(parents=True, exist_ok=True)
    folder.experiment.write_text(dump_toml(Experiment(name="surveyed", data=data, system=SYSTEM)))
    for each in recordings:
        each.save(folder.percepts(each.sequence))
    make_map(SYSTEM, *recordings).save(folder.map)
    return folder
