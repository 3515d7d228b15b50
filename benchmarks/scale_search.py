"""Search in maps that are larger than memory: places within a filter's reach, and a lost robot among a million.

    python benchmarks/scale_search.py --folder DIR [--references 10000,100000,1000000] [--queries N] [--out FILE]

Rendered descriptors, multiplied (scale_maps.py), 2000 numbers of float16 in shards on disk, warm, on two cores. Frames
are robots' all over the country, one after the other: hardly any finds its shards open. One thread answers them and its
processor's time counts, as in measure.py; the clock's is beside it. A lost robot has two threads, and the clock counts.
Every size is made and measured in a process of its own. Resident memory is counted as Linux does: what is backed by
files and may be dropped at any time apart from what is not. The exact first candidate is found by comparing a query
with every reference. A million references take 6 GB in DIR while they are measured; they are removed afterwards.
"""

import argparse
import json
import os
import platform
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, thread_time
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
from jaxtyping import Float, Float32, Int

from measure import Metric, conclude, show, wilson
from scale_maps import render_laps, write_country
from tmapr.shards.loading import open_rows
from tmapr.shards.manifest import Manifest, read_manifest
from tmapr.shards.searching import SHORTLIST, ShardedMemory
from tmapr.store.folder import FolderStore
from tmapr.store.names import MANIFESTS

SIZES = (10_000, 100_000, 1_000_000)
REACH = 100.0
"""Metres around where the filter thinks that it is, which is off by some metres."""
OFF, CORES = 5.0, 2
FRAME_MS, LOST_S, RESIDENT_MB, EXACT = 4.0, 2.0, 1000.0, 0.99
"""Bounds: of a frame, of a global search, of memory that no file backs, of first candidates that are the exact ones."""

Result = TypeVar("Result")


def make(folder: Path, references: int) -> dict[str, float]:
    """Write the map, if it is not there; seconds and bytes."""
    home, begun = folder / f"map-{references}", perf_counter()
    if not (home / MANIFESTS).exists():
        write_country(render_laps(folder / "laps.npz"), references, home)
    total = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    return {"made_s": perf_counter() - begun, "disk_mb": total / 1e6}


def measure(folder: Path, references: int, queries: int) -> dict[str, float]:
    """All figures of one size."""
    home = folder / f"map-{references}"
    (name,) = (path.stem for path in (home / MANIFESTS).iterdir())
    manifest = read_manifest(FolderStore(home), name)
    descriptors, positions = _choose_queries(home, queries)
    begun = perf_counter()
    memory = ShardedMemory(manifest, home)
    found: dict[str, float] = {"open_s": perf_counter() - begun, "places": manifest.place_count}
    found["shards"] = len(manifest.shards)
    found |= _time_frames(memory, descriptors, positions)
    found |= {f"frame_{name}": value for name, value in _resident().items()}
    begun = perf_counter()
    codes = memory.open_codes()
    found["codes_s"] = perf_counter() - begun
    del codes  # what was in memory while they were made is not what a robot has that starts with them
    return found


def relocalize(folder: Path, references: int, queries: int) -> dict[str, float]:
    """A lost robot; in a process of its own, which finds the codes."""
    home = folder / f"map-{references}"
    (name,) = (path.stem for path in (home / MANIFESTS).iterdir())
    manifest = read_manifest(FolderStore(home), name)
    descriptors, _ = _choose_queries(home, queries)
    memory = ShardedMemory(manifest, home)
    codes = memory.open_codes()
    for descriptor in descriptors[:3]:
        memory.relocalize(descriptor, codes, cores=CORES)
    taken, rows = np.empty(len(descriptors)), np.empty(len(descriptors), np.int64)
    for number, descriptor in enumerate(descriptors):
        begun = perf_counter()
        rows[number] = memory.relocalize(descriptor, codes, cores=CORES).rows[0]
        taken[number] = perf_counter() - begun
    found = {"lost_p50_s": float(np.median(taken)), "lost_p95_s": float(np.percentile(taken, 95))}
    found |= {f"lost_{name}": value for name, value in _resident().items()}
    best = _search_everything(manifest, home, descriptors)
    exact = int((rows == best).sum())
    few = [row in codes.nearest(each, SHORTLIST // 10, CORES) for row, each in zip(best, descriptors, strict=True)]
    interval = wilson(exact, len(rows))
    found |= {"exact": exact / len(rows), "exact_low": interval.low, "exact_high": interval.high}
    return found | {"exact_of_a_tenth": float(np.mean(few))}


def _choose_queries(
    home: Path, queries: int
) -> tuple[Float[np.ndarray, "queries dim"], Float[np.ndarray, "queries 2"]]:
    with np.load(home / "queries.npz") as kept:
        some = np.linspace(0, len(kept["positions"]) - 1, min(queries, len(kept["positions"]))).astype(int)
        return kept["descriptors"][some].astype(float), kept["positions"][some]


def _time_frames(
    memory: ShardedMemory, descriptors: Float[np.ndarray, "queries dim"], positions: Float[np.ndarray, "queries 2"]
) -> dict[str, float]:
    """Frames of robots all over the country, one after the other; the second time round they count."""
    project, rng = memory.make_projector(), np.random.default_rng(0)
    centres = positions + OFF * rng.normal(size=positions.shape)
    stages, clock = np.empty((len(positions), 3)), np.empty(len(positions))
    references, places = [], []
    for _ in range(2):
        references.clear()
        for number, (descriptor, centre) in enumerate(zip(descriptors, centres, strict=True)):
            began, begun = perf_counter(), thread_time()
            features = project(descriptor[None])[0]
            lifted = thread_time()
            reach = memory.find_reach(centre, REACH)
            memory.score(features, reach)
            scored = thread_time()
            memory.search(descriptor, reach)
            stages[number] = np.diff([begun, lifted, scored, thread_time()])
            clock[number] = perf_counter() - began
            references.append(memory.count_references(reach))
            places.append(len(reach))
    together = 1e3 * stages.sum(axis=1)
    found = {f"frame_p{share}_ms": float(np.percentile(together, share)) for share in (50, 95, 99)}
    found["frame_clock_p50_ms"] = float(1e3 * np.median(clock))
    medians = 1e3 * np.median(stages, axis=0)
    found |= dict(zip(("lift_ms", "scores_ms", "search_ms"), medians.tolist(), strict=True))
    return found | {"reached_references": float(np.median(references)), "reached_places": float(np.median(places))}


def _search_everything(
    manifest: Manifest, home: Path, descriptors: Float[np.ndarray, "queries dim"]
) -> Int[np.ndarray, " queries"]:
    """The row with the highest cosine, by a product with every reference."""
    queries = descriptors.astype(np.float32)
    best, rows, begin = np.full(len(queries), -np.inf, np.float32), np.zeros(len(queries), np.int64), 0
    for shard in manifest.shards:
        widened: Float32[np.ndarray, "rows dim"] = open_rows(home, shard, manifest.dimension)["descriptors"].astype(
            "f4"
        )
        cosines = queries @ widened.T
        first = cosines.argmax(axis=1)
        highest = cosines[np.arange(len(queries)), first]
        better = highest > best
        best[better], rows[better] = highest[better], begin + first[better]
        begin += len(widened)
    return rows


def _resident() -> dict[str, float]:
    """Megabytes that are in memory now: of this process alone, and of files."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        name: int(fields[key].split()[0]) * 1.024e-3 for name, key in (("anon_mb", "RssAnon"), ("file_mb", "RssFile"))
    }


def _apart(task: Callable[..., Result], *given: object) -> Result:
    """In a process of its own, so that nobody counts another's memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *given).result()


def judge(references: int, found: dict[str, float]) -> list[Metric]:
    """The figures of one size as metrics."""
    size = f"{references:,}".replace(",", " ")
    return [
        Metric(f"{size}: place scores and gated search, median", found["frame_p50_ms"], "ms", bound=FRAME_MS),
        Metric(f"{size}: the same, 95 of 100", found["frame_p95_ms"], "ms", bound=FRAME_MS),
        Metric(f"{size}: the same by the clock, median", found["frame_clock_p50_ms"], "ms"),
        Metric(f"{size}: of it the lift", found["lift_ms"], "ms"),
        Metric(f"{size}: of it reach and scores of {found['reached_places']:.0f} places", found["scores_ms"], "ms"),
        Metric(f"{size}: of it {found['reached_references']:.0f} references", found["search_ms"], "ms"),
        Metric(f"{size}: resident while tracking", found["frame_anon_mb"], "MB", bound=RESIDENT_MB),
        Metric(f"{size}: of files, which may be dropped", found["frame_file_mb"], "MB"),
        Metric(f"{size}: global relocalization, median", found["lost_p50_s"], "s", bound=LOST_S),
        Metric(f"{size}: the same, 95 of 100", found["lost_p95_s"], "s", bound=LOST_S),
        Metric(f"{size}: first candidates that are the exact ones", found["exact"], "", "higher", EXACT),
        Metric(f"{size}: the same with a tenth of the shortlist", found["exact_of_a_tenth"], "", "higher"),
        Metric(f"{size}: resident while lost", found["lost_anon_mb"], "MB", bound=RESIDENT_MB),
        Metric(f"{size}: of files, which may be dropped", found["lost_file_mb"], "MB"),
        Metric(f"{size}: opened in", found["open_s"], "s"),
        Metric(f"{size}: codes made in", found["codes_s"], "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the maps are made; 6 GB for a million")
    parser.add_argument("--references", default=",".join(map(str, SIZES)), help="sizes of the maps")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    parser.add_argument("--keep", action="store_true", help="leave the maps where they are")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    metrics, rows = [], {}
    for references in (int(size) for size in given.references.split(",")):
        found = _apart(make, given.folder, references)
        found |= _apart(measure, given.folder, references, given.queries)
        found |= _apart(relocalize, given.folder, references, given.queries)
        rows[references] = {name: float(f"{value:.4g}") for name, value in found.items()}
        metrics += show(f"{references} references in {found['places']:.0f} places", judge(references, found))
        if not given.keep:
            shutil.rmtree(given.folder / f"map-{references}")
    notes = {"processor": platform.processor() or platform.machine(), "cores": CORES, "queries": given.queries}
    if given.out:
        given.out.write_text(json.dumps(notes | {"reach_m": REACH, "references": rows}, indent=2) + "\n")
    conclude("scale_search", metrics, notes)


if __name__ == "__main__":
    main()
