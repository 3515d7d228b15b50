"""The section `[perception]` of an experiment, and the mark it leaves on percepts and maps."""

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import file_digest
from tmapr.config import Settings, differences
from tmapr.exceptions import InputError
from tmapr.perception.card import Descriptor, Size
from tmapr.perception.image import Image

DEFAULT, OWN = "default", "own"
DEFAULT_WEIGHTS = "efficientnet-lite0-57934424"
"""The published name of the default encoder's weights; its digits are the head of the file's digest."""


class Perception(Settings):
    """What turns images into percepts."""

    encoder: str = Field(
        DEFAULT, description='"default", a checkpoint file of a known layout, or "own": percepts are your program\'s'
    )
    head: str | None = Field(None, description="file of a SALAD head, unless the encoder's file brings it")
    apr: str | None = Field(None, description="file of a trained pose head; none: percepts have no position")
    size: Size = Field((224, 224), description="pixels: height and width that the encoder sees")
    statistics: Literal["checkpoint", "imagenet", "clip"] = Field(
        "checkpoint", description="mean and deviation of the input: the checkpoint's own | imagenet | clip"
    )
    position_rule: Literal["checkpoint", "hub", "exact"] = Field(
        "checkpoint", description="how a ViT interpolates positions: the checkpoint's own | hub | exact"
    )
    image: Image = Field(Image(), description="raw counts to an 8-bit picture")
    descriptor: Descriptor = Field(Descriptor(), description="the place descriptor")

    @model_validator(mode="after")
    def _check_parts(self) -> "Perception":
        parts, weights = self.descriptor.parts, self.descriptor.weights
        if len(weights) != len(parts):
            raise ValueError(f"perception.descriptor: {len(parts)} parts need as many weights, got {len(weights)}")
        if len(set(parts)) != len(parts):
            raise ValueError(f"perception.descriptor.parts: {list(parts)} names a part twice")
        if self.head and "salad" not in parts:
            raise ValueError('perception.head is given; add "salad" to perception.descriptor.parts, or leave it out')
        return self

    @property
    def origin(self) -> Origin:
        """The mark of these settings: themselves, and the digests of the files that are here."""
        if self.encoder == OWN:
            return Origin()
        named = {"encoder": self.encoder, "head": self.head, "apr": self.apr}
        files = {part: file_digest(Path(name)) for part, name in named.items() if name and Path(name).is_file()}
        if self.encoder == DEFAULT:
            files["encoder"] = DEFAULT_WEIGHTS
        return Origin(self.model_dump(mode="json"), files)

    def refuse_others(self, where: str, origin: Origin) -> None:
        """Refuse percepts, or a map of them, that another perception made, with what differs."""
        if self.encoder == OWN:
            return
        if not origin.settings:
            raise InputError(
                f'{where}: does not say which perception made it; set perception.encoder = "own" if your program did'
            )
        changed = differences(_known(where, origin).model_dump(mode="json"), self.model_dump(mode="json"), "perception")
        mine = self.origin.files
        changed += [
            f"other {part} weights ({_short(digest)}, now {_short(mine[part])})"
            for part, digest in origin.files.items()
            if part in mine and mine[part] != digest
        ]
        if changed:
            raise InputError(f"{where}: was made with {'; '.join(changed)}; remove it to make it again")


def _short(digest: str) -> str:
    """The head of a digest; a published name as it is."""
    return digest[:12] if len(digest) == 64 else digest


def _known(where: str, origin: Origin) -> Perception:
    """The settings of an origin; one that a later version added has its default."""
    try:
        return Perception.model_validate_json(json.dumps(origin.settings))
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InputError(f"{where}: this version does not know its perception.{name}; encode again") from None
