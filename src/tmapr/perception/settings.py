"""The section `[perception]` of an experiment, and the mark it leaves on percepts and maps."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import file_digest
from tmapr.config import Settings, changed_since
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
        files = {part: _digest(Path(name)) for part, name in named.items() if name and Path(name).is_file()}
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
        changed = changed_since(origin.settings, self, "perception", where, "encode again")
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


def _digest(path: Path) -> str:
    known = path.stat()
    return _digest_once(path, known.st_size, known.st_mtime_ns)


@cache
def _digest_once(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 (a file that changed is another one)
    """A run compares every sequence's percepts with its weights; hundreds of megabytes are read once."""
    return file_digest(path)
