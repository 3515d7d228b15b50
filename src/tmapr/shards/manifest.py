"""The manifest of a map in shards: which objects it is made of, and where each of them belongs.

Its name is the SHA-256 of its own text, and that text is canonical: keys sorted, no spaces. So one name means one map,
bit for bit, and a manifest that was changed, cut or made longer is refused. `map` is what states call the map: a hash
of its objects but for the keypoints, which are no part of what names a map.
"""

import json
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from tmapr.artifacts.documents.notes import FrameNotes, OriginNotes
from tmapr.artifacts.documents.runs import RecordingMarks
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES
from tmapr.store.names import MANIFESTS, SHA256, check_digest, digest_of, is_digest, name_manifest
from tmapr.store.protocol import OBJECT_BYTES, Store
from tmapr.types import FARTHEST

Sha256 = Annotated[str, Field(pattern=SHA256, max_length=64)]
Coordinate = Annotated[float, Field(ge=-4 * FARTHEST, le=4 * FARTHEST)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Blob(_Frozen):
    """An object of the store."""

    sha256: Sha256
    bytes: int = Field(ge=1, le=OBJECT_BYTES)


class Part(Blob):
    """Some of the small arrays, which every robot needs whole."""

    name: str = Field(pattern=r"^[a-z]{1,40}$")


class Shard(Blob):
    """The references of some consecutive places, from the first to the last, and what was learned of these places.

    The object itself has the rows of M₀, `weights` the columns of W, which change wherever anything is learned, and
    `keypoints` the local features, which are five times the rest.
    """

    first_place: int = Field(ge=0)
    last_place: int
    references: int = Field(ge=0)
    box: tuple[Coordinate, Coordinate, Coordinate, Coordinate]
    """The least and the greatest x and y of its places: west, south, east, north."""
    weights: Blob
    keypoints: Blob | None = None

    def blobs(self) -> tuple[Blob, ...]:
        """Its objects."""
        return (self, self.weights, self.keypoints) if self.keypoints else (self, self.weights)


class Manifest(_Frozen):
    """A map in shards; frame, places, perception and made_from are as in map.npz."""

    kind: Literal["shards"] = "shards"
    version: Literal[1] = 1
    map: Sha256
    frame: FrameNotes
    places: dict[str, JsonValue]
    perception: OriginNotes
    made_from: dict[str, RecordingMarks]
    dimension: int = Field(ge=1, le=1 << 20)
    references: int = Field(ge=1)
    place_count: int = Field(ge=1)
    parts: tuple[Part, ...]
    shards: tuple[Shard, ...]

    @model_validator(mode="after")
    def refuse_gaps(self) -> "Manifest":
        """Every place belongs to one shard, in order, and the numbers add up."""
        first = 0
        for shard in self.shards:
            if shard.first_place != first or shard.last_place < first:
                raise ValueError(f"a shard has the places {shard.first_place} to {shard.last_place}, not from {first}")
            first = shard.last_place + 1
        counted = sum(shard.references for shard in self.shards)
        if first != self.place_count or counted != self.references:
            raise ValueError(f"its shards have {counted} references in {first} places, not {self.references}")
        if self.map != name_map(self.parts, self.shards):
            raise ValueError("its objects are not those of the map that it names")
        return self

    def text(self) -> bytes:
        """The canonical JSON, as it lies in the store."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @property
    def name(self) -> str:
        """The SHA-256 of its text."""
        return digest_of(self.text())

    def blobs(self) -> Iterator[Blob]:
        """Every object, as often as it is named."""
        yield from self.parts
        for shard in self.shards:
            yield from shard.blobs()

    def objects(self) -> tuple[tuple[str, int], ...]:
        """Every object once: its SHA-256 and its bytes."""
        return tuple({blob.sha256: blob.bytes for blob in self.blobs()}.items())

    def save(self, store: Store) -> None:
        """Write it; all that it names must be there."""
        store.write(name_manifest(self.name), self.text())


def name_map(parts: tuple[Part, ...], shards: tuple[Shard, ...]) -> str:
    """What states call the map that is made of these."""
    small = [[part.name, part.sha256] for part in parts]
    large = [[shard.sha256, shard.weights.sha256] for shard in shards]
    return digest_of(json.dumps([small, large], separators=(",", ":")).encode())


def read_manifest(store: Store, name: str) -> Manifest:
    """The manifest of that name; one that is not what its name says, or not sound, is refused."""
    where = f"{store}: the manifest {check_digest(name)[:12]}…"
    text = store.read(name_manifest(name))
    if digest_of(text) != name:
        raise InputError(f"{where} does not have the content that its name stands for; it was damaged or changed")
    if len(text) > DOCUMENT_BYTES:
        raise InputError(f"{where} has {len(text)} bytes, at most {DOCUMENT_BYTES} are read")
    try:
        manifest = Manifest.model_validate_json(text)
    except (ValidationError, RecursionError) as error:
        raise InputError(f"{where} is not sound ({_explain(error)}); export the map again") from None
    if manifest.text() != text:
        raise InputError(f"{where} is not written as a manifest is; export the map again")
    return manifest


def list_manifests(store: Store) -> list[str]:
    """The names of the maps in a store."""
    found = (name.removeprefix(f"{MANIFESTS}/").removesuffix(".json") for name in store.list(MANIFESTS))
    return [name for name in found if is_digest(name)]


def find_manifest(store: Store, beginning: str = "") -> str:
    """The one name that begins so; a whole name is taken as it is, and without any a store's only map is meant."""
    if is_digest(beginning):
        return beginning
    found = [name for name in list_manifests(store) if name.startswith(beginning)]
    if len(found) != 1:
        which = f" whose names begin with {beginning[:80]!r}" if beginning else ""
        raise InputError(f"{store}: has {len(found)} maps{which}; `tmapr shards show` lists the maps of a store")
    return found[0]


def _explain(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:200]}"
