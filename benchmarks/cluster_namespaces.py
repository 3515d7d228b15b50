"""Two machines that are none: network namespaces with addresses of their own, a scheduler and workers in both.

`python benchmarks/cluster_namespaces.py WORLD --out FOLDER` maps the experiment of a rendered world by a Dask worker in
each of two namespaces, which reach each other by a pair of virtual cables only, and by one process. Map and shards must
be the same, byte for byte. It needs the rights of root, and says so.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tmapr.artifacts.run import RunFolder
from tmapr.cluster.mapping import ClusterMapping
from tmapr.cluster.network import DaskWorkers
from tmapr.cluster.workers import Alone, Workers
from tmapr.experiment import read_experiment
from tmapr.running.encoding import Encoding

SPACES = {"tmapr-near": "10.231.87.1", "tmapr-far": "10.231.87.2"}
NEAR, FAR = SPACES
ADDRESS = f"tcp://{SPACES[NEAR]}:8786"
FRAMES = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("world", type=Path, help="what `tmapr simulate` wrote")
    parser.add_argument("--out", type=Path, required=True, help="where run folders go; it is emptied")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        map_inside(given.world, given.out)
        return
    shutil.rmtree(given.out, ignore_errors=True)
    with ExitStack() as opened:
        try:
            opened.enter_context(cabling())
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"network namespaces cannot be made here: {error}")
        start_dask(opened)
        script = [sys.executable, __file__, str(given.world), "--out", str(given.out), "--inside"]
        subprocess.run(inside(NEAR, *script), check=True)
    map_world(given.world, given.out / "alone", Alone())
    found, wanted = (digest_tree(given.out / run) for run in ("spaces", "alone"))
    verdict = "the same" if found == wanted else "OTHERS"
    print(f"{len(wanted)} files of map, percepts and shards: {verdict}, byte for byte")
    sys.exit(found != wanted)


def inside(space: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", space, *command]


@contextmanager
def cabling() -> Iterator[None]:
    """Both namespaces, joined by a cable and by nothing else."""
    made = list[str]()
    try:
        for space in SPACES:
            subprocess.run(["ip", "netns", "add", space], check=True, capture_output=True)
            made.append(space)
        ends = {NEAR: "tmapr0", FAR: "tmapr1"}
        near, far = ("name", ends[NEAR], "netns", NEAR), ("name", ends[FAR], "netns", FAR)
        subprocess.run(["ip", "link", "add", *near, "type", "veth", "peer", *far], check=True, capture_output=True)
        for space, address in SPACES.items():
            subprocess.run(inside(space, "ip", "addr", "add", f"{address}/24", "dev", ends[space]), check=True)
            for device in ("lo", ends[space]):
                subprocess.run(inside(space, "ip", "link", "set", device, "up"), check=True)
        yield
    finally:
        for space in made:
            subprocess.run(["ip", "netns", "del", space], check=False)


def start_dask(opened: ExitStack) -> None:
    python, plain = (sys.executable, "-m"), "--no-dashboard"
    served = ("distributed.cli.dask_scheduler", "--host", SPACES[NEAR], "--port", "8786", plain)
    commands = [inside(NEAR, *python, *served)]
    for space, host in SPACES.items():
        worked = ("distributed.cli.dask_worker", ADDRESS, "--host", host, "--nthreads", "1", plain)
        commands.append(inside(space, *python, *worked))
    quiet = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for command in commands:
        process = opened.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL, env=quiet))
        opened.callback(process.terminate)


def map_inside(world: Path, out: Path) -> None:
    from distributed import Client

    with Client(ADDRESS, set_as_default=False) as client:
        client.wait_for_workers(len(SPACES), timeout=60)
        with closing(DaskWorkers(ADDRESS)) as workers:
            map_world(world, out / "spaces", workers)
        for worker, count in client.run(lambda dask_worker: dask_worker.state.executed_count).items():
            print(f"{worker}: {count} orders")


def map_world(world: Path, out: Path, workers: Workers) -> None:
    experiment, folder = read_experiment(world / "experiment.toml"), RunFolder(out / "run")
    mapping = ClusterMapping(experiment, folder, workers, "cpu", frames=FRAMES)
    mapping.make(Encoding(experiment, folder), str(out / "store"))


def digest_tree(root: Path) -> dict[str, str]:
    """Map, percepts and shards; a log has a clock in it."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix in ("", ".npz", ".json")]
    kept = [path for path in files if not path.name.startswith(".") and ".results" not in path.parts]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


if __name__ == "__main__":
    main()
