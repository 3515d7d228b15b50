"""Which stations of a map can be looked at, and their thumbnails: a page holds so many pictures and no more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from tmapr.reports.atlas.atlas import Atlas
from tmapr.reports.atlas.twins import Twin
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.page.footage import MOST_PICTURES, choose_rows, read_pictures

SHOWN_TWINS = 8
"""Twins that are shown with pictures of both stretches."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the way along a stretch, where its pictures are taken."""
_ALONE = "The map lies without its experiment, so nobody knows where its images are: no pictures."


@dataclass(frozen=True, slots=True)
class Thumbnails:
    """Stations that can be looked at in the order they were driven, and pictures by station."""

    shown: Int[np.ndarray, " shown"]
    found: Mapping[int, PagePicture]
    absent: tuple[str, ...]


def gather_thumbnails(atlas: Atlas) -> Thumbnails:
    """Stations evenly along the way, more of them where places look alike, each with its look-alike."""
    shown = choose_rows(atlas.twin, (MOST_PICTURES - 2 * len(SHARES) * SHOWN_TWINS) // 2)
    partners = atlas.likeness.partner[shown][atlas.likeness.known[shown]]
    beside = {station for twin in atlas.twins[:SHOWN_TWINS] for station in list_shown(twin)}
    found, absent = _read_stations(atlas, {*shown.tolist(), *partners.tolist(), *beside})
    return Thumbnails(shown, found, absent)


def list_shown(twin: Twin) -> list[int]:
    """The stations of a twin that have pictures: those of its first stretch, then their look-alikes."""
    pairs = [twin.choose_pair(share) for share in SHARES]
    return [first for first, _ in pairs] + [second for _, second in pairs]


def _read_stations(atlas: Atlas, stations: Iterable[int]) -> tuple[dict[int, PagePicture], tuple[str, ...]]:
    """Each traverse is gone through once."""
    experiment, memory = atlas.source.experiment, atlas.memory
    if experiment is None:
        return {}, (_ALONE,)
    by_traverse: dict[str, dict[int, int]] = {}
    for station in sorted(stations):
        row = int(atlas.stations.rows[station])
        by_traverse.setdefault(str(memory.sequences[row]), {})[int(memory.frames[row])] = station
    found: dict[int, PagePicture] = {}
    absent = []
    for name, wanted in by_traverse.items():
        stamps = {frame: int(memory.stamps[atlas.stations.rows[station]]) for frame, station in wanted.items()}
        pictures = read_pictures(experiment, name, stamps)
        found |= {wanted[frame]: picture for frame, picture in pictures.found.items()}
        absent += [f"No pictures: {pictures.absent}."] if pictures.absent else []
    return found, tuple(absent)
