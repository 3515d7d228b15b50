"""Maps of any number of references on disk, multiplied from rendered drives, and what a robot sees in them at night.

Laps of three rendered worlds at noon and at night are encoded by the shipped perceiver. A map is a country of many such
laps, a reference every metre: between two views of a lap lies their mixture, and each lap has a drift of its own along
the road, mixed from views of elsewhere. So references a metre or two apart look alike, and every place has twins in
hundreds of other laps that look alike, too. A query is the view of the same lap at night, with the same drift as it
looks at night. Nothing of a query is in the map.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

from tmapr.artifacts.documents.notes import FrameNotes, MapNotes
from tmapr.perception.opening import open_perceiver
from tmapr.perception.settings import Perception
from tmapr.places.projection import Lift
from tmapr.places.settings import Places
from tmapr.places.triangle import identity_tiles
from tmapr.shards.manifest import Manifest, Shard
from tmapr.shards.writing import TARGET, find_box, write_manifest, write_parts, write_shard
from tmapr.simulation.camera import CAMERAS
from tmapr.simulation.record import film
from tmapr.simulation.streets import build_world
from tmapr.simulation.texture import make_texture
from tmapr.simulation.traverse import Traverse
from tmapr.simulation.weather import find_weather
from tmapr.store.folder import FolderStore
from tmapr.types import CoordinateFrame
from worlds import seen, traverse_seed

WIDTH = 2000
"""The shipped perceiver's 1984 numbers, and zeros; noise is on all of them."""
WORLDS = {"city": 71, "valley": 72, "campus": 73}
FRAMES = 240
"""Of a lap: a view every metre or so on a campus, every four metres in a valley."""
SPACING, KNOT = 1.0, 20.0
"""Metres between references, and metres over which the drift becomes another one."""
OWN, DRIFT, NOISE = 0.8, 0.6, 0.15
"""Shares of a lap's own view and of the drift in what is not common to all; noise in deviations of it."""
QUERIES = 1000
"""At least, all over the country."""
APART = 1500.0
"""Metres between laps."""

Rows = Float32[np.ndarray, "rows dim"]


@dataclass(frozen=True, slots=True)
class Lap:
    """A rendered lap: its views at noon along the way, and at night; of each view at noon also that at night there."""

    along: Float[np.ndarray, " views"]
    positions: Float[np.ndarray, "views 2"]
    noon: Rows
    night: Rows
    mean: Float32[np.ndarray, " dim"]
    night_mean: Float32[np.ndarray, " dim"]


def render_laps(path: Path) -> list[Lap]:
    """The laps; rendered and encoded once, then kept in a file."""
    if not path.exists():
        perceiver, arrays = open_perceiver(Perception(), "cpu"), {}
        for family, seed in WORLDS.items():
            world, texture = build_world(family, seed, aliasing=0.3), make_texture(seed)
            for number, weather in enumerate(("noon", "night")):
                traverse = Traverse(weather, find_weather(weather), traverse_seed(seed, number), frames=FRAMES)
                lap = seen(film(world, traverse, CAMERAS[family], texture, CoordinateFrame()), perceiver)
                arrays[f"{family}.{weather}.descriptors"] = lap.descriptors[lap.usable].astype(np.float32)
                arrays[f"{family}.{weather}.positions"] = lap.positions[lap.usable]
        np.savez(path, **arrays)
    with np.load(path) as kept:
        return [_make_lap(*(kept[f"{family}.{name}"] for name in _NAMES)) for family in WORLDS]


_NAMES = ("noon.positions", "noon.descriptors", "night.positions", "night.descriptors")


def _make_lap(
    positions: Float[np.ndarray, "views 2"],
    noon: Float32[np.ndarray, "views width"],
    asked: Float[np.ndarray, "queries 2"],
    night: Float32[np.ndarray, "queries width"],
) -> Lap:
    nearest = np.hypot(*(positions[:, None] - asked[None]).transpose(2, 0, 1)).argmin(axis=1)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(positions, axis=0).T))])
    wide = [np.pad(rows, ((0, 0), (0, WIDTH - rows.shape[1]))) for rows in (noon, night[nearest])]
    return Lap(along, positions, *wide, wide[0].mean(axis=0), wide[1].mean(axis=0))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A lap somewhere in the country: where its references are, what they look like, what is seen there at night."""

    positions: Float[np.ndarray, "rows 2"]
    descriptors: Rows
    queries: Float32[np.ndarray, "queries dim"]
    asked_at: Float[np.ndarray, "queries 2"]


def make_country(laps: list[Lap], references: int, seed: int = 1) -> Iterator[Stretch]:
    """Lap after lap, until there are so many references."""
    rng = np.random.default_rng(seed)
    views = np.concatenate([lap.noon - lap.mean for lap in laps])
    at_night = np.concatenate([lap.night - lap.night_mean for lap in laps])
    grain = (NOISE * views.std() * rng.normal(size=(4096, WIDTH))).astype(np.float32)
    columns = int(np.ceil(np.sqrt(references / 500)))
    made = number = 0
    while made < references:
        lap = laps[number % len(laps)]
        at = np.arange(0.0, lap.along[-1], SPACING)[: references - made]
        mixed = rng.integers(len(views), size=(int(lap.along[-1] / KNOT) + 2, 4))
        where = APART * np.array(divmod(number, columns), dtype=float)
        asked = rng.uniform(0.0, at[-1], -(-QUERIES * len(at) // references))
        noise = grain[rng.integers(len(grain), size=len(at) + len(asked))]
        rows = _look(at, lap, lap.noon, lap.mean, views[mixed].mean(axis=1), noise[: len(at)])
        queries = _look(asked, lap, lap.night, lap.night_mean, at_night[mixed].mean(axis=1), noise[len(at) :])
        yield Stretch(where + _locate(at, lap), rows, queries, where + _locate(asked, lap))
        made, number = made + len(at), number + 1


def _locate(at: Float[np.ndarray, " rows"], lap: Lap) -> Float[np.ndarray, "rows 2"]:
    return np.column_stack([np.interp(at, lap.along, axis) for axis in lap.positions.T])


def _look(
    at: Float[np.ndarray, " rows"],
    lap: Lap,
    views: Rows,
    mean: Float32[np.ndarray, " dim"],
    drift: Float32[np.ndarray, "knots dim"],
    noise: Rows,
) -> Rows:
    """Unit descriptors along a lap; a mean of four views is half as long as one, hence the two."""
    seen_there = _mix(at, lap.along, views) - mean
    drifted = 2.0 * _mix(at, KNOT * np.arange(len(drift)), drift)
    rows = mean + OWN * seen_there + DRIFT * drifted + noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _mix(at: Float[np.ndarray, " rows"], known: Float[np.ndarray, " knots"], rows: Rows) -> Rows:
    """Between two known rows, their mixture."""
    before = (np.searchsorted(known, at, side="right") - 1).clip(0, len(known) - 2)
    share = ((at - known[before]) / np.maximum(np.diff(known)[before], 1e-9)).clip(0.0, 1.0).astype(np.float32)[:, None]
    mixed: Rows = (1 - share) * rows[before] + share * rows[before + 1]
    return mixed


def write_country(laps: list[Lap], references: int, folder: Path) -> Manifest:
    """A country as a map in shards, and its queries beside it.

    A column of W is the lifted view in the middle of its place, which is what a classifier that learned each place once
    would begin with; mapping a million references would take an hour and give as many numbers.
    """
    store, settings, lift = FolderStore(folder), Places(use=()), Lift.from_seed(0, WIDTH, 2048)
    lifting = (lift(np.eye(WIDTH)) - lift(-np.eye(WIDTH))).astype(np.float32)
    cells, shards, queries, waiting = [np.zeros((0, 2), np.int64)], list[Shard](), [], list[Stretch]()
    for stretch in make_country(laps, references):
        waiting.append(stretch)
        queries.append((stretch.queries, stretch.asked_at))
        if sum(each.descriptors.size for each in waiting) * 2 > TARGET:
            cells.append(_write(store, waiting, settings.cell, lifting, sum(map(len, cells)), shards))
            waiting = []
    if waiting:
        cells.append(_write(store, waiting, settings.cell, lifting, sum(map(len, cells)), shards))
    small = {
        "initial.grid.origin": np.zeros(2),
        "initial.grid.cell": np.array(settings.cell),
        "initial.grid.cells": np.concatenate(cells),
        "initial.ridge.tiles": identity_tiles(lift.dimension, 1.0 / settings.ridge),
        "fitted.width": np.array(WIDTH),
        "fitted.reducer.mean": np.zeros(WIDTH),
        "fitted.reducer.axes": np.zeros((WIDTH, 1)),
    }
    np.savez(
        folder / "queries.npz",
        descriptors=np.concatenate([each for each, _ in queries]),
        positions=np.concatenate([each for _, each in queries]),
    )
    notes = MapNotes(digest="", places=settings.model_dump(mode="json"), frame=FrameNotes())
    return write_manifest(notes, WIDTH, write_parts(small, store), tuple(shards), store)


def _write(
    store: FolderStore,
    stretches: list[Stretch],
    cell: float,
    lifting: Float32[np.ndarray, "dim features"],
    first: int,
    shards: list[Shard],
) -> Int[np.ndarray, "places 2"]:
    """One shard of some laps; the cells of its places, numbered as they are entered."""
    positions = np.concatenate([each.positions for each in stretches])
    descriptors = np.concatenate([each.descriptors for each in stretches])
    found, entered, owner = np.unique(
        np.floor(positions / cell).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    numbers = np.argsort(np.argsort(entered))
    places = numbers[owner.ravel()]
    cells, order = found[np.argsort(entered)], np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(cells) + 1))
    middles = descriptors[order[(bounds[:-1] + bounds[1:]) // 2]]
    rows = {
        "descriptors": descriptors[order],
        "positions": positions[order],
        "places": first + places[order],
        "frames": order,
        "stamps": order * 100_000_000,
        "headings": np.zeros(len(order)),
        "sequences": np.full(len(order), f"drive-{first}"),
    }
    weights = np.maximum(middles @ lifting, 0.0).T.astype(float)
    box = find_box(cells * cell, cell)
    shards.append(write_shard(store, (first, first + len(cells) - 1), rows, weights, box))
    return cells
