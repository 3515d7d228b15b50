"""Every setting of the online half, the map made with them, and the localizer built from both."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from tmapr.artifacts.arrays import Arrays, Header, digest, load_arrays, put, save_arrays, take
from tmapr.artifacts.documents.notes import MapNotes, StateNotes
from tmapr.artifacts.layout import check_arrays
from tmapr.artifacts.percepts import OWN, Marks, Origin, Recording
from tmapr.config import Settings, changed_since, settings_digest
from tmapr.data.fitting import refuse_elsewhere
from tmapr.data.poses import track_direction
from tmapr.data.turns import fit_turn_gain, pair_turns
from tmapr.exceptions import InputError, StateError
from tmapr.fusion.capf import Fusion
from tmapr.labels import LAYOUT as LABELS
from tmapr.labels import Labels, Teacher
from tmapr.learning import LAYOUT as OWN_PAST
from tmapr.localizer import Localizer
from tmapr.places.classifier import FITTED, Classifier, Places
from tmapr.places.protocol import PlaceClassifier
from tmapr.retrieval.condition import LAYOUT as CONDITION
from tmapr.retrieval.keypoints import BESIDE_MAP, gather_keypoints, load_keypoints
from tmapr.retrieval.memory import LAYOUT as MEMORY
from tmapr.retrieval.memory import MAPPED, Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.stages import STATE_KIND, STATE_VERSION, Backend, BeginStream, Found, Stages
from tmapr.track import track_layout
from tmapr.tracking import Tracking
from tmapr.types import CoordinateFrame, Watch

MAP_KIND, MAP_VERSION = "map", 3
_SINCE = {"sequences": 2, "headings": 2, "turn_gain": 3}
"""The version from which on maps have an array."""
_MAP_AGAIN = "run `tmapr map` again"
_START_AGAIN = "remove it to start from A₀"
_UNIT_TOLERANCE = 1e-2


class System(Settings):
    """The online half: places, retrieval, tracking, fusion, labels."""

    places: Places = Field(Places(), description="the place classifier")
    retrieval: Retrieval = Field(Retrieval(), description="the search in the reference memory")
    tracking: Tracking = Field(Tracking(), description="which match to believe")
    fusion: Fusion = Field(Fusion(), description="the filter")
    labels: Labels = Field(Labels(), description="learning while localizing")


@dataclass(frozen=True, slots=True)
class Map:
    """M₀ and A₀, as arrays and notes; `digest` names them."""

    memory: Memory
    fitted: dict[str, np.ndarray]
    initial: dict[str, np.ndarray]
    places: Places
    frame: CoordinateFrame
    digest: str
    origin: Origin = OWN
    made_from: Mapping[str, Marks] = field(default_factory=dict)
    """The traverses, by name; of an earlier version's map none."""

    def classifier(self) -> Classifier:
        """A fresh A₀."""
        return Classifier.from_arrays(self.places, self.fitted, self.initial)

    def save(self, path: Path) -> None:
        """Write map.npz. The state of an earlier map beside it goes: it is of no use with this one."""
        header = Header(MAP_KIND, MAP_VERSION, settings_digest(self.places), self.notes())
        path = path.resolve()  # the state that belongs to it lies where the map does, not where a link to it is
        save_arrays(path, header, self.contents(), retiring=path.with_name("state.npz"))
        if self.memory.keypoints:
            self.memory.keypoints.save(path.with_name(BESIDE_MAP), self.digest)

    def with_keypoints(self, references: Sequence[Recording]) -> "Map":
        """The map with the keypoints of the traverses that it was made from."""
        found = gather_keypoints(self.memory.sequences, self.memory.frames, references)
        return replace(self, memory=replace(self.memory, keypoints=found))

    @classmethod
    def load(cls, path: Path, system: System, references: tuple[str, ...] = ()) -> "Map":
        """Read map.npz; one made with other places settings, or from other traverses than named, is refused."""
        header, arrays = load_arrays(path, MAP_KIND, MAP_VERSION, oldest=1, mapped=MAPPED)
        notes = MapNotes.from_notes(path, header.notes)
        loaded = cls.from_contents(path, notes, arrays, system, references, header.version)
        keypoints = load_keypoints(path.with_name(BESIDE_MAP), notes.digest, len(loaded.memory))
        return replace(loaded, memory=replace(loaded.memory, keypoints=keypoints))

    @classmethod
    def from_contents(
        cls,
        path: Path,
        notes: MapNotes,
        arrays: Arrays,
        system: System,
        references: tuple[str, ...] = (),
        version: int = MAP_VERSION,
    ) -> "Map":
        """The map that `contents` and notes described; what `load` refuses is refused here. It has no keypoints."""
        changed = changed_since(notes.places, system.places, "places", str(path), _MAP_AGAIN)
        if changed:
            raise InputError(f"{path}: was mapped with {'; '.join(changed)}; {_MAP_AGAIN}")
        memory = take(arrays, "memory.")
        if version < MAP_VERSION:
            later = {name: since for name, since in _SINCE.items() if version < since}
            _check_map(path, arrays, system, later=tuple(put("memory.", later)))
            memory |= {name: array for name, array in _complete(memory, references).items() if name in later}
        _check_map(path, {**arrays, **put("memory.", memory)}, system)
        mapped = sorted(set(memory["sequences"].tolist()))
        if references and mapped != sorted(references):
            was, now = ", ".join(mapped) or "a single traverse", ", ".join(references)
            raise InputError(f"{path}: was mapped from {was} (now {now}); {_MAP_AGAIN}")
        loaded = cls(
            Memory.from_arrays(memory, system.retrieval.probes),
            take(arrays, "fitted."),
            take(arrays, "initial."),
            system.places,
            notes.frame.frame,
            notes.digest,
            Origin(notes.perception.settings, notes.perception.files),
            {name: Marks(each.percepts, each.truth) for name, each in notes.made_from.items()},
        )
        try:
            loaded.classifier()
        except ValueError as error:
            raise InputError(f"{path}: its arrays do not fit together ({error}); {_MAP_AGAIN}") from None
        return loaded

    def notes(self) -> dict[str, Any]:
        """What map.npz says of itself, as JSON has it."""
        return {
            "digest": self.digest,
            "places": self.places.model_dump(mode="json"),
            "frame": asdict(self.frame),
            "references": len(self.memory),
            "perception": asdict(self.origin),
            "made_from": {name: asdict(marks) for name, marks in self.made_from.items()},
        }

    def contents(self) -> dict[str, np.ndarray]:
        """Every array, by the name that map.npz has it under."""
        memory = put("memory.", self.memory.arrays())
        return memory | put("fitted.", self.fitted) | put("initial.", self.initial)


def _check_map(path: Path, arrays: Arrays, system: System, later: tuple[str, ...] = ()) -> None:
    """Refuse arrays that are no map's; `later` are those that its version does not have."""
    layout = put("memory.", MEMORY) | put("fitted.", FITTED) | put("initial.", Classifier.layout(system.places))
    wanted = {name: array for name, array in layout.items() if name not in later}
    lengths = check_arrays(str(path), arrays, wanted, _MAP_AGAIN)
    places, descriptors = arrays["memory.places"], arrays["memory.descriptors"]
    if not lengths["references"] or int(arrays["fitted.width"]) != lengths["width"]:
        raise InputError(f"{path}: has {lengths['references']} references of {lengths['width']} numbers; {_MAP_AGAIN}")
    if (np.diff(places) < 0).any() or places[-1] >= lengths["places"]:
        raise InputError(f"{path}: its references are not in the order of its {lengths['places']} places; {_MAP_AGAIN}")
    longest = float(np.abs(np.sqrt(np.einsum("nd,nd->n", descriptors, descriptors)) - 1).max())
    if longest > _UNIT_TOLERANCE:
        raise InputError(f"{path}: the length of a descriptor differs from 1 by {longest:g}; {_MAP_AGAIN}")


def make_map(system: System, *references: Recording, watch: Watch = iter) -> Map:
    """Encode the reference traverses: their frames become M₀, and A₀ learns each of them once, in their order."""
    usable = [
        list_mapped(reference.sequence, reference.known, np.array([bool(each.fault) for each in reference.percepts]))
        for reference in references
    ]
    _refuse_mixture(references)
    parts = list(zip(references, usable, strict=True))
    descriptors = np.array([reference.percepts[row].descriptor for reference, rows in parts for row in rows])
    positions = np.concatenate([reference.truth[rows] for reference, rows in parts])
    headings = [_find_headings(reference, rows) for reference, rows in parts]
    turns = [_list_turns(*part, along) for part, along in zip(parts, headings, strict=True)]
    classifier = Classifier.fit(system.places, descriptors, positions)
    places = [classifier.learn(descriptors[row], positions[row]).place for row in watch(range(len(positions)))]
    memory = remember(
        descriptors,
        positions,
        np.array(places),
        np.concatenate([reference.stamps[rows] for reference, rows in parts]),
        frames=np.concatenate(usable),
        sequences=np.repeat([reference.sequence for reference in references], [len(rows) for rows in usable]),
        headings=np.concatenate(headings),
        turn_gain=fit_turn_gain(np.concatenate(turns)),
        probes=system.retrieval.probes,
    )
    # The lessons of the mapping are nobody's: a map has no ledger.
    initial = {name: array for name, array in classifier.arrays().items() if not name.startswith("ledger.")}
    fitted = classifier.projection_arrays()
    marks = {reference.sequence: reference.marks for reference in references}
    made = Map(memory, fitted, initial, system.places, references[0].frame, "", references[0].origin, marks)
    return replace(made, digest=digest(made.contents())).with_keypoints(references)


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


def _complete(memory: Arrays, references: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What earlier versions did not keep; version 1 mapped one traverse, which the experiment may name."""
    name = references[0] if len(references) == 1 else ""
    order, headings = np.argsort(memory["frames"]), np.full(len(memory["frames"]), np.nan)
    headings[order] = track_direction(memory["positions"][order])
    return {"sequences": np.full(len(order), name), "headings": headings, "turn_gain": np.array(nan)}


def build(
    system: System,
    environment: Map,
    classifier: Classifier | None = None,
    begin_stream: BeginStream | None = None,
    found: Found | None = None,
    backend: Backend | None = None,
) -> Localizer:
    """A localizer on a map, with what was learned so far or, by default, with A₀; on the CPU without a `backend`."""
    names = environment.digest, settings_digest(system.places)
    settings = system.retrieval, system.tracking, system.fusion
    learned: PlaceClassifier = classifier or environment.classifier()
    # Other methods track on the CPU, whatever a frame was perceived on.
    there = backend if system.tracking.method == "route" and system.retrieval.mode != "off" else None
    if there and isinstance(learned, Classifier):
        learned = there.adopt(system.places, learned)
    stages = Stages(*settings, *names, environment.frame, begin_stream, found, there)
    labels = system.labels.fit(environment.memory.reference)
    teacher = Teacher(labels, dual_constraints="attenuation" in system.places.use)
    return Localizer(stages, environment.memory, learned, teacher)


def resume(
    system: System,
    environment: Map,
    state: Path,
    begin_stream: BeginStream | None = None,
    found: Found | None = None,
    backend: Backend | None = None,
) -> Localizer:
    """A localizer that continues from a saved state, bit for bit; one of another tracking method starts a new drive."""
    header, arrays = load_arrays(state, STATE_KIND, STATE_VERSION, oldest=1)
    notes = StateNotes.from_notes(state, header.notes)
    if notes.map != environment.digest or system.places != environment.places:
        raise InputError(f"{state}: belongs to another map; run `tmapr run` again, or remove it to start from A₀")
    broken = [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if broken:
        raise StateError(f"{state}: {broken[0]} holds numbers that are not finite; go back to an earlier state")
    layout = put("classifier.", Classifier.layout(system.places)) | put("labels.", LABELS)
    layout |= put("drive.", CONDITION) | put("lessons.", CONDITION)
    if notes.method == system.tracking.method:
        layout |= put("track.", track_layout(notes.method))
    width, references = environment.memory.descriptors.shape[1], len(environment.memory)
    check_arrays(str(state), arrays, layout, _START_AGAIN, width=width, references=references)
    _check_own_past(state, take(arrays, "own."), system.places, width)
    try:
        learned = Classifier.from_arrays(system.places, environment.fitted, take(arrays, "classifier."))
        localizer = build(system, environment, learned, begin_stream, found, backend)
        localizer.restore(arrays, notes.method)
    except (KeyError, ValueError) as error:
        raise InputError(f"{state}: its arrays do not fit together ({error}); {_START_AGAIN}") from None
    return localizer


def _check_own_past(state: Path, own: Arrays, places: Places, width: int) -> None:
    """By itself: its classifier may have other places than the one that learned since."""
    if own:
        check_arrays(str(state), own, OWN_PAST, _START_AGAIN, width=width)
    base = take(own, "guard.base.")
    if base:
        check_arrays(str(state), base, Classifier.layout(places), _START_AGAIN, width=width)
