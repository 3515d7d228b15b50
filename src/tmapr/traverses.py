"""The references of traverses, in the order in which they are learned: what M₀ and A₀ are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from tmapr.artifacts.percepts import Recording
from tmapr.data.fitting import refuse_elsewhere
from tmapr.data.poses import track_direction
from tmapr.data.turns import fit_turn_gain, pair_turns
from tmapr.exceptions import InputError


@dataclass(frozen=True, slots=True)
class Traverses:
    """Views with a position, one after another: those of a traverse as driven, traverse after traverse.

    `frames` and `sequences` say which frame of which traverse a view was; a heading is NaN where nobody knows it.
    """

    descriptors: Float[np.ndarray, "refs dim"]
    positions: Float[np.ndarray, "refs 2"]
    stamps: Int[np.ndarray, " refs"]
    frames: Int[np.ndarray, " refs"]
    sequences: Shaped[np.ndarray, " refs"]
    headings: Float[np.ndarray, " refs"]
    turn_gain: float

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, rows: Int[np.ndarray, " rows"]) -> "Traverses":
        """Some of them, in this order."""
        return Traverses(
            self.descriptors[rows],
            self.positions[rows],
            self.stamps[rows],
            self.frames[rows],
            self.sequences[rows],
            self.headings[rows],
            self.turn_gain,
        )

    def followed_by(self, others: "Traverses") -> "Traverses":
        """All of them, descriptors as M₀ has them; the turn gain is the first one's, if it is known."""
        return Traverses(
            np.concatenate([each.descriptors.astype(np.float32) for each in (self, others)]),
            np.concatenate([self.positions, others.positions]),
            np.concatenate([self.stamps, others.stamps]),
            np.concatenate([self.frames, others.frames]),
            np.concatenate([self.sequences, others.sequences]),
            np.concatenate([self.headings, others.headings]),
            others.turn_gain if isnan(self.turn_gain) else self.turn_gain,
        )


def gather(references: Sequence[Recording]) -> Traverses:
    """The views of recordings that become references; recordings that do not belong together are refused."""
    usable = [
        list_mapped(reference.sequence, reference.known, np.array([bool(each.fault) for each in reference.percepts]))
        for reference in references
    ]
    _refuse_mixture(references)
    parts = list(zip(references, usable, strict=True))
    headings = [_find_headings(reference, rows) for reference, rows in parts]
    turns = [_list_turns(*part, along) for part, along in zip(parts, headings, strict=True)]
    return Traverses(
        np.array([reference.percepts[row].descriptor for reference, rows in parts for row in rows]),
        np.concatenate([reference.truth[rows] for reference, rows in parts]),
        np.concatenate([reference.stamps[rows] for reference, rows in parts]),
        np.concatenate(usable),
        np.repeat([reference.sequence for reference in references], [len(rows) for rows in usable]),
        np.concatenate(headings),
        fit_turn_gain(np.concatenate(turns)),
    )


def list_mapped(sequence: str, known: Bool[np.ndarray, " frames"], faulty: Bool[np.ndarray, " frames"]) -> list[int]:
    """The frames of a traverse that become references: those with a position and a usable image."""
    usable: list[int] = np.flatnonzero(known & ~faulty).tolist()
    if not usable:
        raise InputError(f"{sequence}: no frame has both a position and a usable image; nothing to map")
    return usable


def _find_headings(reference: Recording, rows: list[int]) -> Float[np.ndarray, " rows"]:
    """As recorded, or along the track of a traverse that recorded none; no mixture: a camera may look sideways."""
    return track_direction(reference.truth[rows]) if reference.headings is None else reference.headings[rows]


def _list_turns(
    reference: Recording, rows: list[int], headings: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "pairs 2"]:
    shifts = [reference.percepts[row].shift for row in rows]
    return pair_turns(rows, headings, np.array([nan if shift is None else shift for shift in shifts]))


def _refuse_mixture(references: Sequence[Recording]) -> None:
    """One map has one frame and one kind of descriptor, and a name means one traverse."""
    if not references:
        raise ValueError("a map is made from at least one reference traverse, got none")
    first, names = references[0], set[str]()
    for other in references:
        if other.sequence in names:
            raise InputError(f"{other.sequence}: is given twice as a reference; name each traverse once")
        names.add(other.sequence)
        refuse_elsewhere(other.sequence, other.frame, bool(other.known.any()), first.frame)
        widths = [reference.percepts[0].descriptor.size for reference in (first, other)]
        if widths[0] != widths[1]:
            raise InputError(
                f"{other.sequence}: its descriptors have {widths[1]} dimensions, those of {first.sequence} {widths[0]};"
                " make them with one encoder"
            )
