"""Which frames of a sequence a page shows, and their pictures: a page holds so many pictures and no more."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from tmapr.reports.evidence import RunEvidence, SequenceEvidence
from tmapr.reports.pictures import Pictures, read_pictures

MOST_PICTURES = 600
"""On a page, of frames and of their matches."""

_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Footage:
    """The frames of a sequence that can be pointed at, with the pictures of them and of their matches."""

    rows: Int[np.ndarray, " shown"]
    queries: Pictures
    matches: Pictures

    @property
    def sampled(self) -> list[int]:
        """A few rows with pictures, evenly spread; not the first, where the map has another mark."""
        seen = [row for row in self.rows.tolist() if row in self.queries.found]
        places = (np.arange(_SAMPLES) + 0.5) / _SAMPLES * len(seen)
        return list(dict.fromkeys(seen[place] for place in places.astype(int).tolist())) if seen else []

    @property
    def absent(self) -> list[str]:
        """In words, which pictures there are not."""
        return [pictures.absent for pictures in (self.queries, self.matches) if pictures.absent]

    @classmethod
    def of(cls, run: RunEvidence, sequence: SequenceEvidence, frames: int) -> "Footage":
        """At most so many frames, and at most as many pictures of matches."""
        rows = chosen_rows(sequence.misled, frames)
        matched = sequence.references.values[rows][sequence.references.known[rows]]
        taken = dict(zip(run.memory.frames.tolist(), run.memory.stamps.tolist(), strict=True))
        queries = read_pictures(
            run.experiment, sequence.name, {row: int(sequence.stamps[row]) for row in rows.tolist()}
        )
        reference = str(run.experiment.data.reference)
        matches = read_pictures(run.experiment, reference, {frame: taken[frame] for frame in matched.tolist()})
        return cls(rows, queries, matches)


def chosen_rows(wrong: Bool[np.ndarray, " n"], most: int) -> Int[np.ndarray, " shown"]:
    """Rows to show: evenly spread over all, but wrong matches first, up to half of the room."""
    special = _spread(np.flatnonzero(wrong), most // 2)
    others = np.setdiff1d(np.arange(len(wrong)), special)
    return np.sort(np.concatenate([special, _spread(others, most - len(special))]))


def frames_each(sequences: int) -> int:
    """How many frames of each sequence of a page can be shown, each with its match."""
    return max(1, MOST_PICTURES // (2 * max(1, sequences)))


def _spread(rows: Int[np.ndarray, " n"], most: int) -> Int[np.ndarray, " kept"]:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
