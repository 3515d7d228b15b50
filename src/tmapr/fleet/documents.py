"""What a fleet exchanges: releases of a map, pushes of a robot, and what a run folder knows of both.

A document's name is the SHA-256 of its text, which is JSON in one form: two that say the same have one name, and one
that was changed on its way has another. Files are cut into parts, which are known by their SHA-256 too.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from tmapr.artifacts.documents import Document
from tmapr.exceptions import InputError
from tmapr.files import DOCUMENT_BYTES, MEBIBYTE

PART_BYTES = 4 * MEBIBYTE
"""A robot's link may break at any time, and then a part is sent again."""
_RELEASED = (
    r"^(experiment\.toml|map\.npz|keypoints\.npz|state\.npz"
    r"|apr/\d{6,18}/(head\.safetensors|head\.json|training\.json))\z"
)
_PUSHED = r"^(state\.npz|journal/\d{6}\.journal)\z"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
AnyDocument = TypeVar("AnyDocument", bound=Document)


class Parted(Document):
    """A file in parts; no name leads out of the folder it is put into."""

    name: str
    bytes: int = Field(ge=0)
    sha256: Sha256
    parts: tuple[Sha256, ...]

    @model_validator(mode="after")
    def refuse_other_counts(self) -> "Parted":
        """All parts have one size but for the last, so that it is known where each belongs."""
        if len(self.parts) != -(-self.bytes // PART_BYTES):
            raise ValueError(f"{self.bytes} bytes in {len(self.parts)} parts")
        return self


class ReleasedFile(Parted):
    """Of a run folder."""

    name: str = Field(pattern=_RELEASED)


class PushedFile(Parted):
    """What a robot has learned."""

    name: str = Field(pattern=_PUSHED)


class Release(Document):
    """A version of a map, with what was learned in it: all that a robot needs in order to localize."""

    kind: Literal["release"] = "release"
    version: Literal[1] = 1
    map: str
    settings: str
    lessons: int = Field(ge=0)
    last: str
    """The hash that the next lesson's name follows from."""
    parent: Sha256 | None = None
    merged: tuple[Sha256, ...] = ()
    """The pushes that it was made of."""
    files: tuple[ReleasedFile, ...]


class Push(Document):
    """All that a robot had learned since its release when it was sent."""

    kind: Literal["push"] = "push"
    version: Literal[1] = 1
    release: Sha256
    lessons: int = Field(ge=0)
    last: str
    files: tuple[PushedFile, ...]


class Sent(Document):
    """A push that the fleet has acknowledged."""

    name: Sha256
    last: str
    lessons: int
    received: str


class Pulled(Document):
    """RUN/release.json: which release a run folder holds, from where, and what of it was sent back."""

    kind: Literal["pulled"] = "pulled"
    version: Literal[1] = 1
    address: str
    name: Sha256
    number: int
    pulled: str
    release: Release
    sent: Sent | None = None

    def is_known(self, last: str, lessons: int) -> bool:
        """Whether the fleet has a state with this hash and so many lessons; one that was unlearned keeps the hash."""
        released = (self.release.last, self.release.lessons)
        return (last, lessons) in (released, (self.sent.last, self.sent.lessons) if self.sent else released)


@dataclass(frozen=True, slots=True)
class Published:
    """A release as a fleet holds it; later ones have higher numbers."""

    name: str
    number: int
    publisher: str
    published: str
    release: Release


@dataclass(frozen=True, slots=True)
class Received:
    """A push as a fleet holds it: acknowledged, and never changed again."""

    name: str
    number: int
    robot: str
    received: str
    push: Push


def write_document(document: Document) -> str:
    """Its text, in which the same content is always the same; ASCII."""
    return json.dumps(document.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False)


def name_text(text: str) -> str:
    """The name of a document with this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def name_document(document: Document) -> str:
    """The name of a document."""
    return name_text(write_document(document))


def read_document(kind: type[AnyDocument], text: str, name: str, where: str) -> AnyDocument:
    """A document that somebody else gave us under its name; what does not have that name is refused."""
    if len(text) > DOCUMENT_BYTES or name_text(text) != name:
        raise InputError(f"{where}: what is called {name[:12]} there has another content; it is not used")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))[:80] or "content"
        raise InputError(
            f"{where}: {name[:12]} is no document that this version of tmapr reads ({at}: {first['msg']})"
        ) from None
