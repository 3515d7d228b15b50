"""What half the bits cost in place recognition: R@1 of the default network in float16 against float32.

`python benchmarks/half_precision.py [--device cuda]` encodes real drives, each in every precision, as every command
does on a GPU, and looks each frame up among those of the other drive of the place: Gardens Point by night and from the
other side of the path, KAIST's thermal images among visible ones, METU-VisTIR under two skies, and the drives that the
package brings. Right is a frame within 5 m (two frames), of METU the same scene. The bound is on all queries together:
half a point.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float

from measure import Metric, conclude, show
from real_images import shots
from tmapr.artifacts.images import read_image
from tmapr.data.folder import read_folder
from tmapr.data.sample import locate_sample
from tmapr.gpu.encoder import GpuEncoder
from tmapr.perception.bulk import Readers, count_cores
from tmapr.perception.network import assemble
from tmapr.perception.perceiver import GPU_BATCH, Perceiver
from tmapr.perception.settings import Perception, Precision
from tmapr.types import Frame

DATA = Path(__file__).parents[2] / "shared/data"
KINDS: dict[Precision, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
}
WITHIN = 5.0
HALF_A_POINT = 0.5
Drive = list[Frame]


@dataclass(frozen=True)
class Trial:
    """Two drives of a place, and which frames of the map are right for which query."""

    mapped: Drive
    asked: Drive
    right: Bool[np.ndarray, "queries references"]


def open_drives(folder: Path, reference: str, query: str) -> Trial:
    """Two drives in the folder layout: right is what is near."""
    mapped, asked = list(read_folder(folder, reference)), list(read_folder(folder, query))
    where, there = (
        [np.full(2, np.nan) if f.position is None else f.position for f in each] for each in (asked, mapped)
    )
    away = np.linalg.norm(np.array(where)[:, None] - np.array(there)[None], axis=2)
    return Trial(mapped, asked, away <= WITHIN)


def open_scenes(folder: Path) -> Trial:
    """METU-VisTIR: right is the same scene."""
    mapped, asked = shots(folder, "cloudy", "indoor"), shots(folder, "sunny")
    drives = [[Frame("", n, n, partial(read_image, p)) for n, p in enumerate(each.paths)] for each in (mapped, asked)]
    return Trial(*drives, np.equal.outer(np.array(asked.places), np.array(mapped.places)))


TRIALS: dict[str, Callable[[Path], Trial]] = {
    "Gardens Point, day → night": lambda data: open_drives(data / "gardens", "day_right", "night_right"),
    "Gardens Point, right → left": lambda data: open_drives(data / "gardens", "day_right", "day_left"),
    "Gardens Point, left → night": lambda data: open_drives(data / "gardens", "day_left", "night_right"),
    "KAIST, visible → thermal": lambda data: open_drives(data / "kaist", "visible", "lwir"),
    "METU-VisTIR, cloudy → sunny": lambda data: open_scenes(data / "metu_vistir"),
    "shipped sample, noon → night": lambda _: open_drives(locate_sample(), "noon", "night"),
}


def describe(perceiver: Perceiver, drive: Drive) -> Float[np.ndarray, "frames dim"]:
    """Descriptors, no row for nothing: what cannot be used has zeros."""
    percepts = perceiver.with_full_batches().stream(drive, readers=Readers(count_cores()))
    return np.array([percept.descriptor for percept in percepts])


def count_right(trial: Trial, perceiver: Perceiver) -> tuple[int, Float[np.ndarray, "queries dim"]]:
    """How many queries find a right frame first, and their descriptors."""
    mapped, asked = describe(perceiver, trial.mapped), describe(perceiver, trial.asked)
    best = (asked @ mapped.T).argmax(axis=1)
    return int(trial.right[np.arange(len(asked)), best].sum()), asked


def open_perceivers(device: str) -> dict[Precision, Perceiver]:
    """The default network in every precision, float32 first."""
    settings = Perception()
    network, card = assemble(settings)
    eyes = {name: GpuEncoder(network, settings.image, settings.size, device, kind) for name, kind in KINDS.items()}
    return {name: Perceiver(card, settings.image, eye, at_once=GPU_BATCH) for name, eye in eyes.items()}


def compare(trial: Trial, perceivers: dict[Precision, Perceiver]) -> tuple[dict[Precision, int], list[Metric]]:
    """How many queries each precision finds, and the rows of the table."""
    found = {kind: count_right(trial, perceiver) for kind, perceiver in perceivers.items()}
    rows, whole = [], found["float32"][1]
    for kind, (count, seen) in found.items():
        rows.append(Metric(f"{kind}: R@1 of {len(seen)}", 100 * count / len(seen), "%", "higher"))
        cosines = (seen * whole).sum(axis=1)
        if kind != "float32":
            rows.append(Metric(f"{kind}: least cosine with float32", cosines[cosines > 0].min(), "", "higher"))
    return {kind: count for kind, (count, _) in found.items()}, rows


def main() -> None:
    parser = argparse.ArgumentParser(description="R@1 of half precision on real frames.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with gardens/, kaist/ and metu_vistir/")
    parser.add_argument("--trials", nargs="+", choices=TRIALS, default=list(TRIALS))
    given = parser.parse_args()
    perceivers = open_perceivers(given.device)
    right, queries, metrics = dict.fromkeys(perceivers, 0), 0, list[Metric]()
    for name in given.trials:
        trial = TRIALS[name](given.data)
        found, rows = compare(trial, perceivers)
        right = {kind: right[kind] + count for kind, count in found.items()}
        queries += len(trial.asked)
        metrics += show(name, rows)
    rates = {kind: 100 * count / queries for kind, count in right.items()}
    rows = [Metric(f"{kind}: R@1 of {queries}", rate, "%", "higher") for kind, rate in rates.items()]
    lost = {kind: rates["float32"] - rate for kind, rate in rates.items() if kind != "float32"}
    rows += [Metric(f"{kind}: points lost", value, "", bound=HALF_A_POINT) for kind, value in lost.items()]
    metrics += show("all together", rows)
    conclude("half_precision", metrics, {"device": given.device, "torch": torch.__version__, "queries": queries})


if __name__ == "__main__":
    main()
