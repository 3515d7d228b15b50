"""New maps from old ones. An old map is never changed, and its places keep their numbers in the new one.

A map is what follows from its grid, its projections and its references in the order in which they were learned, with
the weights they were learned with. So is each map that is made here, with the grid and the projections of the first:
an extended map goes on learning, a joined one learns the second map's references behind its own, and a map of which a
part was dropped has learned the others alone: nothing of that part is left in K, W, U or G.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from tmapr.artifacts.arrays import Arrays, digest
from tmapr.artifacts.documents.notes import UpkeepNotes
from tmapr.artifacts.percepts import Marks, Recording
from tmapr.config.tree import differences
from tmapr.data.coordinates import LOCAL, describe
from tmapr.data.fitting import refuse_elsewhere
from tmapr.exceptions import InputError
from tmapr.places.classifier import Classifier
from tmapr.places.mapped import Learned, learn_each
from tmapr.places.repeating import Views, forget_all, repeat
from tmapr.system import Map, System, assemble
from tmapr.types import Watch
from tmapr.upkeep.parts import Part, sort_keypoints, take_apart, take_recordings


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map, the name by which a refusal knows it, and the percepts of its traverses that are still there."""

    name: str
    environment: Map
    recordings: Mapping[str, Recording]


@dataclass(frozen=True, slots=True)
class Changed:
    """A new map, and in lines how far it is exact."""

    environment: Map
    told: tuple[str, ...]


def extend(system: System, old: MapOf, recordings: Sequence[Recording], watch: Watch = iter) -> Changed:
    """The map that goes on learning with new traverses: bit for bit what it would be had it not stopped before."""
    environment = old.environment
    for recording in recordings:
        if recording.sequence in environment.memory.sequences:
            raise InputError(f"{recording.sequence}: is in {old.name} already; name a traverse that is not")
        refuse_elsewhere(recording.sequence, recording.frame, bool(recording.known.any()), environment.frame)
    known, new = take_apart(environment), take_recordings(recordings)
    _refuse_width(old, recordings[0].sequence, new)
    names = ", ".join(recording.sequence for recording in recordings)
    step = UpkeepNotes(action="extend", parents=(environment.digest,), told=f"extended by {names}")
    marks = {recording.sequence: recording.marks for recording in recordings}
    classifier, learned = _learn(environment, environment.initial, new, watch)
    made = _add(system, environment, known, new, (classifier, learned))
    return Changed(_name(made, {**environment.made_from, **marks}, (*environment.past, step)), ())


def join(system: System, first: MapOf, second: MapOf, watch: Watch = iter) -> Changed:
    """The first map with what the second one has beside it; references of both are counted once."""
    ours, theirs = first.environment, second.environment
    _refuse_others(first, second)
    known, new = take_apart(ours), take_apart(theirs)
    _refuse_width(first, second.name, new)
    new, rounded = new.keep(_find_new(known, new, first.name, second.name)).exactly(second.recordings)
    if not len(new):
        raise InputError(f"{second.name}: has no reference that {first.name} does not have; there is nothing to join")
    told = _tell_rounded(second.name, rounded)
    if not have_one_base(ours, theirs):
        told.append(f"{second.name}: its grid or projections are its own; learned again with those of {first.name}")
        new = replace(new, weights=None)
    if ours.frame.kind == LOCAL:
        told.append(f"{first.name}, {second.name}: their frames are local; that they are one is taken on trust")
    step = UpkeepNotes(action="join", parents=(ours.digest, theirs.digest), told=f"joined with {second.name}")
    made = _add(system, ours, known, new, _learn(ours, ours.initial, new, watch))
    return Changed(_name(made, {**theirs.made_from, **ours.made_from}, (*ours.past, step)), tuple(told))


def drop(system: System, old: MapOf, gone: Bool[np.ndarray, " refs"], told: str, watch: Watch = iter) -> Changed:
    """The map without some rows of M₀, as if it never had them; their places keep their numbers and are empty."""
    environment = old.environment
    if not gone.any() or gone.all():
        which = "all" if gone.any() else "none"
        raise InputError(f"{old.name}: {which} of its {len(gone)} references would go ({told}); name another region")
    whole = take_apart(environment)
    left, rounded = whole.keep(~gone[whole.rows]).exactly(old.recordings)
    untaught = forget_all(environment.places, environment.fitted, environment.initial)
    classifier, learned = _learn(environment, untaught, left, watch)
    made = assemble(system, left.traverses, learned, classifier, environment.frame, environment.origin)
    step = UpkeepNotes(action="drop", parents=(environment.digest,), told=f"dropped {told}")
    made = _name(_with_keypoints(made, learned, (left,)), environment.made_from, (*environment.past, step))
    return Changed(made, tuple(_tell_rounded(old.name, rounded)))


def _learn(environment: Map, known: Arrays, part: Part, watch: Watch) -> tuple[Classifier, Learned]:
    """Learn references with their weights, where these are known, or else with those that are found now.

    The minimax recursion has no weights of its own and is no sum, so there references always go one by one.
    """
    places, looks, positions = environment.places, part.traverses.descriptors, part.traverses.positions
    recursive = "attenuation" in places.use and places.attenuation.mode == "minimax"
    if part.weights is not None and not recursive:
        return repeat(places, environment.fitted, known, Views(looks, positions, part.weights), watch)
    classifier = Classifier.from_arrays(places, environment.fitted, known)
    return classifier, learn_each(classifier, looks, positions, watch)


def _add(system: System, old: Map, known: Part, new: Part, taught: tuple[Classifier, Learned]) -> Map:
    """A map and the references that its classifier has learned since."""
    classifier, learned = taught
    both = Learned(
        np.concatenate([old.memory.places[known.rows], learned.places]),
        np.concatenate([old.lessons.weights[known.rows], learned.weights]),
    )
    traverses = known.traverses.followed_by(new.traverses)
    made = assemble(system, traverses, both, classifier, old.frame, old.origin)
    return _with_keypoints(made, both, (known, new))


def _with_keypoints(made: Map, learned: Learned, parts: Sequence[Part]) -> Map:
    order = np.argsort(learned.places, kind="stable")
    return replace(made, memory=replace(made.memory, keypoints=sort_keypoints(parts, order)))


def _name(made: Map, marks: Mapping[str, Marks], past: tuple[UpkeepNotes, ...]) -> Map:
    there = set(made.memory.sequences.tolist())
    return replace(made, made_from={name: each for name, each in marks.items() if name in there}, past=past)


def have_one_base(ours: Map, theirs: Map) -> bool:
    """Whether a cell and a row mean the same in both."""
    grids = all(np.array_equal(ours.initial[name], theirs.initial[name]) for name in ("grid.origin", "grid.cell"))
    return grids and digest(ours.fitted) == digest(theirs.fitted)


def _find_new(known: Part, new: Part, first: str, second: str) -> Bool[np.ndarray, " refs"]:
    """Those that the first map does not have; one that it knows otherwise is refused."""
    ours, theirs = known.traverses, new.traverses
    rows = {key: row for row, key in enumerate(zip(ours.sequences.tolist(), ours.frames.tolist(), strict=True))}
    fresh = np.full(len(theirs), True)
    for row, key in enumerate(zip(theirs.sequences.tolist(), theirs.frames.tolist(), strict=True)):
        if key not in rows:
            continue
        fresh[row] = False
        if not np.array_equal(ours.descriptors[rows[key]], theirs.descriptors[row]) or not np.array_equal(
            ours.positions[rows[key]], theirs.positions[row]
        ):
            raise InputError(
                f"{second}: frame {key[1]} of {key[0]} is another one than in {first}, and a name means one traverse;"
                " map one of them under another name"
            )
    return fresh


def _refuse_others(first: MapOf, second: MapOf) -> None:
    """Only maps of one frame, with one kind of places, can be one."""
    ours, theirs = first.environment, second.environment
    if ours.frame != theirs.frame:
        raise InputError(
            f"{second.name}: has positions in {describe(theirs.frame)}, {first.name} in {describe(ours.frame)}; only"
            " maps of one frame are joined, but `tmapr upkeep extend` places recordings in the map's frame"
        )
    changes = differences(theirs.places.model_dump(mode="json"), ours.places.model_dump(mode="json"), "places")
    if changes:
        raise InputError(
            f"{second.name}: was mapped with {'; '.join(changes)} in {first.name}; map one of them again with the"
            " other's settings"
        )


def _refuse_width(old: MapOf, name: str, new: Part) -> None:
    wanted, found = old.environment.memory.descriptors.shape[1], new.traverses.descriptors.shape[1]
    if wanted != found:
        raise InputError(
            f"{name}: its descriptors have {found} dimensions, those of {old.name} {wanted}; make them with one encoder"
        )


def _tell_rounded(name: str, rounded: Sequence[str]) -> list[str]:
    if not rounded:
        return []
    which = ", ".join(rounded)
    return [
        f"{name}: the percepts of {which} are not there as they were mapped; learned from float32, as the map has them"
    ]
