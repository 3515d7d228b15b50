"""Every setting of the online half, the map made with them, and the localizer built from both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import Field

from tmapr.artifacts.arrays import Arrays, Header, digest, load_arrays, put, save_arrays, take
from tmapr.artifacts.documents.notes import MapNotes, StateNotes, UpkeepNotes
from tmapr.artifacts.layout import Array, check_arrays
from tmapr.artifacts.percepts import OWN, Marks, Origin, Recording
from tmapr.clock import LAYOUT as CLOCK
from tmapr.config import Settings, changed_since, settings_digest
from tmapr.exceptions import InputError, StateError
from tmapr.fusion.capf import Fusion
from tmapr.labels import LAYOUT as LABELS
from tmapr.labels import Labels, Teacher
from tmapr.localizer import Localizer
from tmapr.places.classifier import FITTED, Classifier, Places
from tmapr.places.mapped import Learned, MappedLessons, lay_out, learn_each
from tmapr.retrieval.condition import LAYOUT as CONDITION
from tmapr.retrieval.keypoints import BESIDE_MAP, gather_keypoints, load_keypoints
from tmapr.retrieval.memory import LAYOUT as MEMORY
from tmapr.retrieval.memory import MAPPED, Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.stages import STATE_KIND, STATE_VERSION, Backend, BeginStream, Found, Stages
from tmapr.tracking import Tracking, tracker_layout
from tmapr.tracking.self_training import LAYOUT as OWN_PAST
from tmapr.traverses import Traverses, gather
from tmapr.types import CoordinateFrame, Watch

MAP_KIND, MAP_VERSION = "map", 1
_MAP_AGAIN = "run `tmapr map` again"
_START_AGAIN = "remove it to start from A₀"
_UNIT_TOLERANCE = 1e-2
_LEDGER = {"names": Array("u", "standing", anything=True), "last": Array("u", "8")}
"""Of what a classifier has learned: A₀ has no ledger, every state has one."""


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
    lessons: MappedLessons
    """How A₀ learned the references; no part of what names a map."""
    origin: Origin = OWN
    made_from: Mapping[str, Marks] = field(default_factory=dict)
    """The traverses, by name."""
    past: tuple[UpkeepNotes, ...] = ()
    """What was done since it was mapped, oldest first: each step made a new map."""

    def classifier(self) -> Classifier:
        """A fresh A₀."""
        return Classifier.from_arrays(self.places, self.fitted, self.initial)

    def save(self, path: Path) -> None:
        """Write map.npz. The state of an earlier map beside it goes: it is of no use with this one."""
        header = Header(MAP_KIND, MAP_VERSION, settings_digest(self.places), self.notes())
        path = path.resolve()  # the state that belongs to it lies where the map does, not where a link to it is
        lessons = put("lessons.", self.lessons.arrays())
        save_arrays(path, header, self.contents() | lessons, retiring=path.with_name("state.npz"))
        if self.memory.keypoints:
            self.memory.keypoints.save(path.with_name(BESIDE_MAP), self.digest)

    def with_keypoints(self, references: Sequence[Recording]) -> "Map":
        """The map with the keypoints of the traverses that it was made from."""
        found = gather_keypoints(self.memory.sequences, self.memory.frames, references)
        return replace(self, memory=replace(self.memory, keypoints=found))

    @classmethod
    def load(cls, path: Path, system: System, references: tuple[str, ...] = ()) -> "Map":
        """Read map.npz; one made with other places settings, or from other traverses than named, is refused."""
        header, arrays = load_arrays(path, MAP_KIND, MAP_VERSION, mapped=MAPPED)
        notes = MapNotes.from_notes(path, header.notes)
        changed = changed_since(notes.places, system.places, "places", str(path), _MAP_AGAIN)
        if changed:
            raise InputError(f"{path}: was mapped with {'; '.join(changed)}; {_MAP_AGAIN}")
        memory = take(arrays, "memory.")
        _check_map(path, arrays, system)
        mapped = sorted(set(memory["sequences"].tolist()))
        if references and mapped != sorted(references):
            was, now = ", ".join(mapped), ", ".join(references)
            raise InputError(f"{path}: was mapped from {was} (now {now}); {_MAP_AGAIN}")
        try:
            loaded = cls(
                Memory.from_arrays(memory, system.retrieval.probes),
                take(arrays, "fitted."),
                take(arrays, "initial."),
                system.places,
                notes.frame.frame,
                notes.digest,
                MappedLessons.from_arrays(take(arrays, "lessons.")),
                Origin(notes.perception.settings, notes.perception.files),
                {name: Marks(each.percepts, each.truth) for name, each in notes.made_from.items()},
                past=notes.upkeep,
            )
            loaded.classifier()
        except ValueError as error:
            raise InputError(f"{path}: its arrays do not fit together ({error}); {_MAP_AGAIN}") from None
        keypoints = load_keypoints(path.with_name(BESIDE_MAP), notes.digest, len(loaded.memory))
        return replace(loaded, memory=replace(loaded.memory, keypoints=keypoints))

    def notes(self) -> dict[str, Any]:
        """What map.npz says of itself, as JSON has it."""
        return {
            "digest": self.digest,
            "places": self.places.model_dump(mode="json"),
            "frame": asdict(self.frame),
            "references": len(self.memory),
            "perception": asdict(self.origin),
            "made_from": {name: asdict(marks) for name, marks in self.made_from.items()},
            "upkeep": [step.model_dump(mode="json") for step in self.past],
        }

    def contents(self) -> dict[str, np.ndarray]:
        """Every array that names the map, by the name that map.npz has it under."""
        memory = put("memory.", self.memory.arrays())
        return memory | put("fitted.", self.fitted) | put("initial.", self.initial)


def _check_map(path: Path, arrays: Arrays, system: System) -> None:
    """Refuse arrays that are no map's."""
    layout = put("memory.", MEMORY) | put("fitted.", FITTED) | put("initial.", Classifier.layout(system.places))
    layout |= put("lessons.", lay_out(system.places))
    lengths = check_arrays(str(path), arrays, layout, _MAP_AGAIN)
    places, descriptors = arrays["memory.places"], arrays["memory.descriptors"]
    if not lengths["references"] or int(arrays["fitted.width"]) != lengths["width"]:
        raise InputError(f"{path}: has {lengths['references']} references of {lengths['width']} numbers; {_MAP_AGAIN}")
    if (np.diff(places) < 0).any() or places[-1] >= lengths["places"]:
        raise InputError(f"{path}: its references are not in the order of its {lengths['places']} places; {_MAP_AGAIN}")
    longest = float(np.abs(np.sqrt(np.einsum("nd,nd->n", descriptors, descriptors)) - 1).max())
    if longest > _UNIT_TOLERANCE:
        raise InputError(f"{path}: the length of a descriptor differs from 1 by {longest:g}; {_MAP_AGAIN}")


Teach = Callable[[Classifier, Float[np.ndarray, "refs dim"], Float[np.ndarray, "refs 2"]], Learned]
"""Teaches a fresh classifier all references, given in their order by descriptors and positions."""


def make_map(system: System, *references: Recording, watch: Watch = iter, teach: Teach | None = None) -> Map:
    """Encode the reference traverses: their frames become M₀, and A₀ learns each of them once, in their order.

    `teach` may have it learned in another way.
    """
    traverses = gather(references)
    classifier = Classifier.fit(system.places, traverses.descriptors, traverses.positions)
    learned = (teach or partial(learn_each, watch=watch))(classifier, traverses.descriptors, traverses.positions)
    made = assemble(system, traverses, learned, classifier, references[0].frame, references[0].origin)
    marks = {reference.sequence: reference.marks for reference in references}
    return replace(made, made_from=marks).with_keypoints(references)


def assemble(
    system: System,
    traverses: Traverses,
    learned: Learned,
    classifier: Classifier,
    frame: CoordinateFrame,
    origin: Origin,
) -> Map:
    """The map of references that a classifier has learned, and nothing else."""
    memory = remember(
        traverses.descriptors,
        traverses.positions,
        learned.places,
        traverses.stamps,
        frames=traverses.frames,
        sequences=traverses.sequences,
        headings=traverses.headings,
        turn_gain=traverses.turn_gain,
        probes=system.retrieval.probes,
    )
    # The lessons of the mapping are nobody's: a map has no ledger.
    initial = {name: array for name, array in classifier.arrays().items() if not name.startswith("ledger.")}
    order = np.argsort(learned.places, kind="stable")
    lessons = MappedLessons(order, learned.weights[order])
    made = Map(memory, classifier.projection_arrays(), initial, system.places, frame, "", lessons, origin)
    return replace(made, digest=digest(made.contents()))


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
    learned = classifier or environment.classifier()
    stages = Stages(*settings, *names, environment.frame, begin_stream, found)
    labels = system.labels.fit(environment.memory.reference)
    teacher = Teacher(labels, dual_constraints="attenuation" in system.places.use)
    if backend:
        return Localizer(stages, backend.load(environment.memory), learned.move(backend.make_matrices), teacher)
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
    header, arrays = load_arrays(state, STATE_KIND, STATE_VERSION)
    notes = StateNotes.from_notes(state, header.notes)
    if notes.map != environment.digest or system.places != environment.places:
        raise InputError(f"{state}: belongs to another map; run `tmapr run` again, or remove it to start from A₀")
    broken = [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if broken:
        raise StateError(f"{state}: {broken[0]} holds numbers that are not finite; go back to an earlier state")
    layout = put("classifier.", Classifier.layout(system.places)) | put("labels.", LABELS)
    layout |= put("classifier.ledger.", _LEDGER) | put("drive.", CONDITION) | put("lessons.", CONDITION)
    layout |= put("clock.", CLOCK)
    if notes.method == system.tracking.method:
        layout |= put("track.", tracker_layout(notes.method))
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
