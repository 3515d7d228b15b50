"""All that is found out about a map, once: its stations, what they cover, and what looks alike."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.arrays import take
from tmapr.places.grid import Grid
from tmapr.reports.atlas.left_out import LeftOut, list_left_out
from tmapr.reports.atlas.likeness import Likeness, compare_stations
from tmapr.reports.atlas.source import MapSource
from tmapr.reports.atlas.stations import Stations, lay_stations
from tmapr.reports.atlas.survey import (
    Coverage,
    PlaceCounts,
    Repeats,
    count_places,
    find_repeats,
    measure_coverage,
)
from tmapr.reports.atlas.twins import Twin, find_twins, mark_twins
from tmapr.retrieval.memory import Memory
from tmapr.types import Watch


@dataclass(frozen=True, slots=True)
class Atlas:
    """A map and what is known of it; `twin` marks the stations on stretches that look like another one."""

    source: MapSource
    grid: Grid
    stations: Stations
    likeness: Likeness
    twins: tuple[Twin, ...]
    twin: Bool[np.ndarray, " stations"]
    coverage: Coverage
    repeats: Repeats
    places: PlaceCounts
    left_out: tuple[LeftOut, ...]

    @property
    def memory(self) -> Memory:
        """The references."""
        return self.source.environment.memory

    @property
    def traverses(self) -> list[str]:
        """In the order in which the map has them."""
        return [str(self.memory.sequences[drive[0]]) for drive in self.memory.drives()]

    @classmethod
    def of(cls, source: MapSource, watch: Watch = iter) -> "Atlas":
        """Survey a map; comparing all of its stations with each other is what takes time."""
        environment = source.environment
        memory, grid = environment.memory, Grid.from_arrays(take(environment.initial, "grid."))
        stations = lay_stations(memory)
        likeness, repeats = compare_stations(memory, stations, watch), find_repeats(stations)
        twins = find_twins(stations, likeness)
        return cls(
            source,
            grid,
            stations,
            likeness,
            tuple(twins),
            mark_twins(len(stations), twins),
            measure_coverage(memory, repeats),
            repeats,
            count_places(memory, grid.cell),
            tuple(list_left_out(memory, source.folder)),
        )
