"""Every setting of the online half, the map made with them, and the localizer built from both."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import Field

from tmapr.artifacts.arrays import Header, digest, load_arrays, put, save_arrays, take
from tmapr.artifacts.percepts import OWN, Origin, Recording
from tmapr.config import Settings, changed_since, settings_digest
from tmapr.exceptions import InputError, StateError
from tmapr.fusion.capf import Fusion
from tmapr.gating import Gating
from tmapr.labels import Labels, Teacher
from tmapr.localizer import STATE_KIND, STATE_VERSION, Localizer, Perceive, Stages
from tmapr.places.classifier import Classifier, Places
from tmapr.retrieval.memory import MAPPED, Memory, remember
from tmapr.retrieval.search import Retrieval
from tmapr.types import CoordinateFrame, Watch

MAP_KIND, MAP_VERSION = "map", 1


class System(Settings):
    """The online half: places, retrieval, gating, fusion, labels."""

    places: Places = Field(Places(), description="the place classifier")
    retrieval: Retrieval = Field(Retrieval(), description="the search in the reference memory")
    gating: Gating = Field(Gating(), description="the gates")
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

    def classifier(self) -> Classifier:
        """A fresh A₀."""
        return Classifier.from_arrays(self.places, self.fitted, self.initial)

    def save(self, path: Path) -> None:
        """Write map.npz. The state of an earlier map beside it goes: it is of no use with this one."""
        notes = {
            "digest": self.digest,
            "places": self.places.model_dump(mode="json"),
            "frame": asdict(self.frame),
            "references": len(self.memory),
            "perception": asdict(self.origin),
        }
        header = Header(MAP_KIND, MAP_VERSION, settings_digest(self.places), notes)
        save_arrays(path, header, _contents(self), retiring=path.with_name("state.npz"))

    @classmethod
    def load(cls, path: Path, system: System) -> "Map":
        """Read map.npz; one made with other places settings is refused with what differs."""
        header, arrays = load_arrays(path, MAP_KIND, MAP_VERSION, mapped=MAPPED)
        changed = changed_since(header.notes["places"], system.places, "places", str(path), "run `tmapr map` again")
        if changed:
            raise InputError(f"{path}: was mapped with {'; '.join(changed)}; run `tmapr map` again")
        return cls(
            Memory.from_arrays(take(arrays, "memory."), system.retrieval.probes),
            take(arrays, "fitted."),
            take(arrays, "initial."),
            system.places,
            CoordinateFrame.from_notes(header.notes["frame"]),
            header.notes["digest"],
            Origin.from_notes(header.notes.get("perception", {})),
        )


def make_map(system: System, reference: Recording, watch: Watch = iter) -> Map:
    """Encode a reference traverse: its frames become M₀, and A₀ learns each of them once."""
    usable = [row for row in range(len(reference)) if reference.known[row] and not reference.percepts[row].fault]
    if not usable:
        raise InputError(f"{reference.sequence}: no frame has both a position and a usable image; nothing to map")
    descriptors = np.array([reference.percepts[row].descriptor for row in usable])
    positions = reference.truth[usable]
    classifier = Classifier.fit(system.places, descriptors, positions)
    places = [classifier.learn(descriptors[row], positions[row]).place for row in watch(range(len(usable)))]
    memory = remember(
        descriptors,
        positions,
        np.array(places),
        reference.stamps[usable],
        frames=np.array(usable),
        probes=system.retrieval.probes,
    )
    fitted, initial = classifier.projection_arrays(), classifier.arrays()
    made = Map(memory, fitted, initial, system.places, reference.frame, "", reference.origin)
    return replace(made, digest=digest(_contents(made)))


def build(
    system: System, environment: Map, classifier: Classifier | None = None, perceive: Perceive | None = None
) -> Localizer:
    """A localizer on a map, with what was learned so far or, by default, with A₀."""
    stages = Stages(system.retrieval, system.gating, system.fusion, environment.digest, settings_digest(system.places))
    teacher = Teacher(system.labels, dual_constraints="attenuation" in system.places.use)
    return Localizer(stages, environment.memory, classifier or environment.classifier(), teacher, perceive)


def resume(system: System, environment: Map, state: Path, perceive: Perceive | None = None) -> Localizer:
    """A localizer that continues from a saved state, bit for bit."""
    header, arrays = load_arrays(state, STATE_KIND, STATE_VERSION)
    if header.notes.get("map") != environment.digest or system.places != environment.places:
        raise InputError(f"{state}: belongs to another map; run `tmapr run` again, or remove it to start from A₀")
    broken = [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if broken:
        raise StateError(f"{state}: {broken[0]} holds numbers that are not finite; go back to an earlier state")
    try:
        learned = Classifier.from_arrays(system.places, environment.fitted, take(arrays, "classifier."))
        localizer = build(system, environment, learned, perceive)
        localizer.restore(arrays)
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"{state}: its arrays do not fit together ({error}); remove it to start from A₀") from None
    return localizer


def _contents(environment: Map) -> dict[str, np.ndarray]:
    memory = put("memory.", environment.memory.arrays())
    return memory | put("fitted.", environment.fitted) | put("initial.", environment.initial)
