"""Two runs side by side on the same frames: is the first one better?"""

from collections.abc import Mapping, Sequence
from typing import Any

from tmapr.evaluation.pairing import Pairing
from tmapr.reports.summary import alignment, warnings
from tmapr.reports.table import Column, Table

_DECIMALS = 3


def paired(pairings: Sequence[Pairing], runs: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row per sequence and measure; `runs` are the first one and the other by name, with their provenance."""
    numbers = {"a": "A", "b": "B", "difference": "A − B", "low": "from", "high": "to"}
    columns = (
        Column("sequence", "sequence"),
        Column("measure", "measure"),
        Column("frames", "frames", 0),
        *(Column(key, title, _DECIMALS) for key, title in numbers.items()),
        Column("verdict", "A is"),
    )
    rows = [
        (
            pairing.sequence,
            measure.name,
            measure.frames,
            measure.a,
            measure.b,
            measure.difference.value,
            measure.difference.interval.low,
            measure.difference.interval.high,
            measure.standing.value,
        )
        for pairing in pairings
        for measure in pairing.measures
    ]
    refusals = [pairing.refusal for pairing in pairings if pairing.refusal]
    return Table(columns, tuple(rows), (*_circumstances(runs), *refusals))


def _circumstances(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which run is which, and what each was allowed."""
    lines = [
        "; ".join([f"{letter}: {name}", f"labels {made['labels']}", f"alignment {alignment(made)}", *warnings(made)])
        for letter, (name, made) in zip("AB", runs.items(), strict=True)
    ]
    return [
        *lines,
        "unaligned, on the frames that both localize or on all; A − B with its 95 % interval from resampled blocks",
    ]
