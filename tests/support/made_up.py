"""Made-up drives: percepts along a block of streets, and runs of them."""

from dataclasses import dataclass, replace

import numpy as np

from descriptor_field import CONDITIONS, DescriptorField
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.experiment import read_experiment
from tmapr.fusion.capf import Fusion
from tmapr.places.classifier import Places
from tmapr.places.mixture import Mixture
from tmapr.places.projection import Projection
from tmapr.running.progressive import RecognisedDrive, recognise_drive
from tmapr.running.running import map_experiment, run_experiment
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, build, make_map
from tmapr.tracking import Gates, Tracking
from tmapr.types import Fault

BLOCK = """
name = "block"
perception.encoder = "own"
[data]
reference = "noon"
adapt = ["dusk"]
test = ["night"]
[places]
projection = { dimension = 64 }
[tracking.gates]
min_similarity = 0.4
"""


CAR_GATES = {"max_innovation": 20.0, "max_jump": 10.0, "max_speed": 20.0, "expiry": 10.0}
CAR_FUSION = {
    "velocity_noise": 1.0,
    "initial_speed": 10.0,
    "max_gap": 30.0,
    "correction_lifetime": 10.0,
    "correction_range": 15.0,
    "max_semi_axis": 10.0,
    "apr_variance": 9.0,
}
"""What the reference would say, in metres and seconds of a car: nothing is left to be fitted."""


def car_gates(**changes):
    """Gates that ask the same whatever was mapped."""
    return Gates(**CAR_GATES | changes)


def car_fusion(**changes):
    """The paper's filter, the same whatever was mapped."""
    return Fusion(**CAR_FUSION | {"noise": "paper"} | changes)


def paper_tracking(**gates):
    """The paper's method with gates that ask the same whatever was mapped."""
    return Tracking(method="paper", gates=car_gates(**gates))


def write_block(home, size):
    """Write a made-up block's experiment file, block.toml, and its percepts under runs/block."""
    (home / "block.toml").write_text(BLOCK)
    rng, world, corners = np.random.default_rng(5), DescriptorField.from_seed(5), block_loop(size, 0.6 * size)
    ways = {"noon": corners, "dusk": corners, "night": with_detour(corners, leg=2, depth=60.0)}
    for name, way in ways.items():
        recording = record_percepts(world, name, drive(way, speed=8.0, rng=rng), CONDITIONS[name], rng)
        recording.save(RunFolder(home / "runs/block").percepts(name))


def run_block(home, *overrides, folder=None):
    """Map and run the experiment of `write_block`; the run folder."""
    folder = folder or RunFolder(home / "runs/block")
    experiment = read_experiment(home / "block.toml", overrides)
    map_experiment(experiment, folder)
    run_experiment(experiment, folder)
    return folder


def thin_percepts(folder, step):
    """Keep every so many frames of what `write_block` wrote."""
    for path in folder.percepts_folder.iterdir():
        whole = Recording.load(path)
        kept = slice(None, None, step)
        replace(whole, truth=whole.truth[kept], known=whole.known[kept], percepts=whole.percepts[kept]).save(path)


@dataclass(frozen=True)
class NoonDetour:
    """A drive at noon that leaves its map for a while, recognised with some settings."""

    system: System
    environment: Map
    recording: Recording
    recognised: RecognisedDrive


def drive_noon_detour():
    """Map a block at noon, and recognise another drive with a detour."""
    places = Places(cell=15.0, projection=Projection(dimension=64), mixture=Mixture(dimension=8))
    tracking = Tracking(gates=Gates(min_similarity=0.7))
    system = System(places=places, tracking=tracking, fusion=Fusion(noise="acceleration"))
    world, corners = DescriptorField.from_seed(3, dimension=32), block_loop(120.0, 60.0)

    def record(seed, way):
        rng = np.random.default_rng(seed)
        return record_percepts(world, f"noon-{seed}", drive(way, 8.0, rng), CONDITIONS["noon"], rng)

    environment, recording = make_map(system, record(1, corners)), record(2, with_detour(corners, 2, 60.0))
    return NoonDetour(system, environment, recording, recognise_drive(build(system, environment), recording))


def with_detour(corners, leg, depth):
    """The same loop, leaving one leg at its third for a rectangle `depth` to the outside of it."""
    start, stop = corners[leg], corners[leg + 1]
    along = stop - start
    outside = depth * np.array([along[1], -along[0]]) / np.hypot(*along)
    bend = [start + along / 3, start + along / 3 + outside, start + 2 * along / 3 + outside, start + 2 * along / 3]
    return np.vstack([corners[: leg + 1], bend, corners[leg + 1 :]])


def record_percepts(field, name, drive, condition, rng):
    """Percepts along a drive: descriptors, a pose head with slow and fast errors, and one frozen shutter."""
    count = len(drive.stamps)
    slow = 4.0 * np.sin(np.linspace(0, 12, count)[:, None] + rng.uniform(0, 6, size=2))
    positions = drive.positions + slow + 2.0 * rng.normal(size=(count, 2))
    headings = drive.headings + 0.1 * rng.normal(size=count)
    frozen = slice(count // 2, count // 2 + 20)
    faults = ["" for _ in range(count)]
    faults[frozen] = [Fault.FROZEN.value] * 20
    return Recording.from_arrays(
        name,
        drive.stamps,
        field.descriptors(drive.positions, condition, rng),
        truth=drive.positions,
        positions=positions,
        headings=headings,
        faults=faults,
    )
