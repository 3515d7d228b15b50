"""The map of a run folder goes to a store in shards, and comes from there into a run folder."""

from collections.abc import Callable
from pathlib import Path

from tmapr.artifacts.lock import writing
from tmapr.artifacts.results import read_whole, renewing
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import read_experiment
from tmapr.shards.loading import load_shards
from tmapr.shards.manifest import Manifest
from tmapr.shards.writing import write_shards
from tmapr.store.protocol import Store
from tmapr.system import Map


def export_map(run: Path, store: Store, tell: Callable[[str], None] = lambda _: None) -> Manifest:
    """Write the map of a run folder to a store; what the run has learned since stays where it is."""
    folder = RunFolder(run)
    if not folder.map.exists():
        raise InputError(f"{run}: holds no map.npz; make one with `tmapr map EXPERIMENT`")

    def read() -> Map:
        experiment = read_experiment(folder.experiment)
        return Map.load(folder.map, experiment.system, experiment.data.references)

    return write_shards(read_whole(folder, read), store, tell)


def install_map(run: Path, manifest: Manifest, home: Path) -> Map:
    """Give a run folder a pulled map in place of its own; what belongs to the old one goes with it, all at once."""
    folder = RunFolder(run)
    if not folder.experiment.exists():
        raise InputError(f"{run}: holds no experiment.toml, which says how its map is used; name a run folder")
    with writing(run):
        experiment = read_experiment(folder.experiment)
        environment = load_shards(manifest, home, experiment.system, experiment.data.references)
        experiment.perception.refuse_others(str(home), environment.origin)
        with renewing(folder) as staged:
            environment.save(staged.map)
            for stale in (staged.state, staged.provenance, staged.errors):
                stale.unlink(missing_ok=True)
    return environment
