"""The real descriptor streams: what was driven, and which frame of the reference each test frame shows."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Stream:
    """Unit descriptors and positions along a line, one unit per sampled frame."""

    name: str
    reference: Float[np.ndarray, "refs dim"]
    reference_positions: Float[np.ndarray, "refs 2"]
    adaptation: list[tuple[np.ndarray, np.ndarray]]
    test: Float[np.ndarray, "frames dim"]
    test_positions: Float[np.ndarray, "frames 2"]


def streams(folder: Path, kind: str) -> Iterator[Stream]:
    def descriptors(name: str) -> np.ndarray:
        rows = np.load(folder / f"{name}.npz")[kind].astype(float)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def numbers(name: str) -> list[int]:
        return [int(Path(str(file)).stem) for file in np.load(folder / f"{name}.npz")["files"]]

    def line(values: object) -> np.ndarray:
        along = np.asarray(values, dtype=float)
        return np.stack([along, np.zeros_like(along)], axis=1)

    frames = line(range(200))
    yield Stream(
        f"Gardens Point {kind}",
        descriptors("gp_day_right"),
        frames,
        [(descriptors("gp_day_left"), frames)],
        descriptors("gp_night_right"),
        frames,
    )
    with (folder / "stlucia_gt.csv").open() as table:
        truth = {int(row["query_file"][:-4]): int(row["ref_file"][:-4]) for row in csv.DictReader(table)}
    # Every second frame was kept, so two frame numbers are one sampled frame.
    yield Stream(
        f"St Lucia {kind}",
        descriptors("stlucia_0845"),
        line(numbers("stlucia_0845")) / 2,
        [],
        descriptors("stlucia_1410"),
        line([truth[number] for number in numbers("stlucia_1410")]) / 2,
    )
