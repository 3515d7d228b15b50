"""How large a shard should be: how fast a map is pulled in shards of several sizes.

    python benchmarks/scale_shards.py --folder DIR [--references 50000]

A map of 2000 numbers a reference, made up, is cut into shards that hold so many megabytes of descriptors, and pulled
from folder to folder, hashed, written and flushed. A change in one place brings its shard again, whole. Sizes take
turns, and the folders are removed.
"""

import argparse
import shutil
from pathlib import Path
from time import perf_counter

import numpy as np

from measure import Metric, conclude, show
from tmapr.shards.pulling import fetch
from tmapr.store.folder import FolderStore
from tmapr.store.names import digest_of, name_object

MEGABYTES = (1, 2, 4, 8, 16, 32)
ROW = 4000
"""Bytes of a reference."""
TURNS = 3


def write_objects(store: FolderStore, references: int, megabytes: int) -> list[tuple[str, int]]:
    """Objects of random bytes, as incompressible as descriptors."""
    rng, size, left, names = np.random.default_rng(megabytes), megabytes << 20, references * ROW, []
    while left > 0:
        content = rng.bytes(min(size, left))
        names.append((digest_of(content), len(content)))
        store.write(name_object(names[-1][0]), content)
        left -= size
    return names


def time_pull(store: FolderStore, home: Path, names: list[tuple[str, int]]) -> float:
    """Seconds that it takes to fetch, check and write all of them to an empty folder."""
    shutil.rmtree(home, ignore_errors=True)
    here, begun = FolderStore(home), perf_counter()
    for sha256, size in names:
        here.write(name_object(sha256), fetch(store, sha256, size))
    return perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--references", type=int, default=50_000)
    given = parser.parse_args()
    stores = {size: FolderStore(given.folder / f"store-{size}") for size in MEGABYTES}
    names = {size: write_objects(store, given.references, size) for size, store in stores.items()}
    seconds: dict[int, list[float]] = {size: [] for size in MEGABYTES}
    for _ in range(TURNS):
        for size, store in stores.items():
            seconds[size].append(time_pull(store, given.folder / "home", names[size]))
    found = []
    for size in MEGABYTES:
        rate = given.references * ROW / 1e6 / float(np.median(seconds[size]))
        found.append(Metric(f"shards of {size} MB: {len(names[size])} objects, pulled at", rate, "MB/s", "higher"))
    show(f"{given.references} references", found)
    for folder in (*(store.folder for store in stores.values()), given.folder / "home"):
        shutil.rmtree(folder)
    conclude("scale_shards", found, {"references": given.references, "turns": TURNS})


if __name__ == "__main__":
    main()
