"""The section `[perception]` of an experiment, and the mark it leaves on percepts and maps."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tmapr.artifacts.percepts import Origin
from tmapr.artifacts.run import file_digest
from tmapr.config import Settings, changed, changed_since
from tmapr.exceptions import InputError
from tmapr.perception.card import Descriptor, Size
from tmapr.perception.image import Image
from tmapr.plugins import DESCRIPTORS, ENCODERS, Offer, Options, check_options, choose_offer, find_offers, is_plugin

DEFAULT, OWN, EXPORTED = "default", "own", ".onnx"
DEFAULT_WEIGHTS = "efficientnet-lite0-57934424"
"""The published name of the default encoder's weights; its digits are the head of the file's digest."""

SHIPPED_HEAD = Path(__file__).with_name("default_head.safetensors")
"""The default encoder's SALAD head, trained on rendered worlds; its card lies beside it."""

Precision = Literal["float16", "float32"]
SETTING = "perception.encoder"
"""What names it."""
_PLUGIN, _OPTION = "plugin", "options."
_SHIPPED = Descriptor(parts=("pooling", "salad"), weights=(1.0, 0.5), clusters=16)


class Perception(Settings):
    """What turns images into percepts."""

    encoder: str = Field(
        DEFAULT,
        description='"default", a checkpoint file of a known layout, "plugin:NAME" that you installed, or "own":'
        " percepts are your program's",
    )
    options: Options = Field({}, description="of a plug-in, as its author names them")
    head: str | None = Field(None, description="file of a SALAD head; none: the encoder's own, or the shipped one")
    apr: str | None = Field(None, description="file of a pose head; none: the one trained in the run folder, if any")
    size: Size = Field((224, 224), description="pixels: height and width that the encoder sees")
    statistics: Literal["checkpoint", "imagenet", "clip"] = Field(
        "checkpoint", description="mean and deviation of the input: the checkpoint's own | imagenet | clip"
    )
    position_rule: Literal["checkpoint", "hub", "exact"] = Field(
        "checkpoint", description="how a ViT interpolates positions: the checkpoint's own | hub | exact"
    )
    precision: Precision = Field(
        "float16", description="of the network on a GPU: float16 | float32; a CPU always computes in float32"
    )
    image: Image = Field(Image(), description="raw counts to an 8-bit picture")
    descriptor: Descriptor = Field(
        default_factory=lambda given: _default_descriptor(given.get("encoder"), given.get("head")),
        description="the place descriptor",
    )

    @model_validator(mode="after")
    def _check_parts(self) -> "Perception":
        check_options(SETTING, self.encoder, self.options)
        parts, weights = self.descriptor.parts, self.descriptor.weights
        if len(weights) != len(parts):
            raise ValueError(f"perception.descriptor: {len(parts)} parts need as many weights, got {len(weights)}")
        if len(set(parts)) != len(parts):
            raise ValueError(f"perception.descriptor.parts: {list(parts)} names a part twice")
        if self.head and "salad" not in parts:
            raise ValueError('perception.head is given; add "salad" to perception.descriptor.parts, or leave it out')
        return self

    @property
    def is_exported(self) -> bool:
        """Whether the encoder is a whole network that `tmapr export` wrote."""
        return self.encoder.endswith(EXPORTED) and not self.is_plugin

    @property
    def is_plugin(self) -> bool:
        """Whether somebody else's package makes it."""
        return is_plugin(self.encoder)

    def choose_plugin(self) -> Offer | None:
        """Who offers it, if it is a plug-in's; one that is not installed is refused. Nothing is imported."""
        return choose_offer(SETTING, self.encoder, ENCODERS, DESCRIPTORS) if self.is_plugin else None

    @property
    def is_whole(self) -> bool:
        """Whether it gives descriptors, no tokens for a head: a program's own, an exported network, a descriptor."""
        described = self.is_plugin and bool(find_offers(self.encoder, DESCRIPTORS))
        return self.encoder == OWN or self.is_exported or described

    @property
    def is_shipped(self) -> bool:
        """Whether the package has it as one file: the defaults, however images are prepared."""
        return changed(self, {"image": Perception().image, "precision": Perception().precision}) == Perception()

    @property
    def uses_shipped_head(self) -> bool:
        """Whether the SALAD head is the package's own."""
        return self.encoder == DEFAULT and self.head is None and "salad" in self.descriptor.parts

    @property
    def origin(self) -> Origin:
        """The mark of these settings: themselves, and the digests of the files that are here."""
        if self.encoder == OWN:
            return Origin()
        named = {"encoder": self.encoder, "head": self.head, "apr": self.apr}
        files = {part: _digest(Path(name)) for part, name in named.items() if name and Path(name).is_file()}
        if self.encoder == DEFAULT:
            files["encoder"] = DEFAULT_WEIGHTS
        if self.uses_shipped_head:
            files["head"] = _digest(SHIPPED_HEAD)
        if self.is_plugin:
            files |= self._mark_plugin()
        return Origin(self.model_dump(mode="json"), files)

    def _mark_plugin(self) -> dict[str, str]:
        """Who made it, where it is installed, and the content of files that its options name."""
        offers = find_offers(self.encoder, ENCODERS, DESCRIPTORS)
        texts = {key: value for key, value in self.options.items() if isinstance(value, str)}
        files = {f"{_OPTION}{key}": _digest(Path(name)) for key, name in texts.items() if name and Path(name).is_file()}
        return files | ({_PLUGIN: offers[0].mark} if len(offers) == 1 else {})

    def refuse_others(self, where: str, origin: Origin) -> None:
        """Refuse percepts, or a map of them, that another perception made, with what differs."""
        changed = self.changes_since(origin, where)
        if changed:
            raise InputError(f"{where}: was made with {'; '.join(changed)}; remove it to make it again")

    def changes_since(self, origin: Origin, where: str) -> list[str]:
        """What differs from the perception that made something; a file is its content, whatever it is called."""
        if self.encoder == OWN:
            return []
        if not origin.settings:
            raise InputError(
                f'{where}: does not say which perception made it; set perception.encoder = "own" if your program did'
            )
        mine, names = self.origin.files, self.model_dump(mode="json", include={"encoder", "head", "apr"})
        same = {part for part, digest in origin.files.items() if mine.get(part) == digest}
        # What is not here is known by its own name: folders may be called otherwise here, or seen from elsewhere.
        same |= {
            part for part in origin.files.keys() - mine.keys() if _is_named(origin.settings.get(part), names.get(part))
        }
        then = {**origin.settings, **{part: names[part] for part in same & names.keys()}}
        moved = {key: value for key, value in self.options.items() if _OPTION + key in same}
        if moved:
            then["options"] = {**origin.settings.get("options", {}), **moved}
        changed = changed_since(then, self, "perception", where, "encode again")
        return changed + [
            f"{_name_part(part)} ({_shorten(digest)}, now {_shorten(mine[part])})"
            for part, digest in origin.files.items()
            if part in mine and mine[part] != digest
        ]


def _default_descriptor(encoder: object, head: object) -> Descriptor:
    """The default encoder has a head, and an exported network most likely is the default's; other files may have none.

    What is no text here is refused elsewhere.
    """
    known = isinstance(encoder, str) and (encoder == DEFAULT or encoder.endswith(EXPORTED)) and not is_plugin(encoder)
    return _SHIPPED if known and not head else Descriptor()


def _name_part(part: str) -> str:
    """What is another one."""
    if part == _PLUGIN:
        return "another plug-in"
    return f"another file as perception.{part}" if part.startswith(_OPTION) else f"other {part} weights"


def _is_named(there: object, here: object) -> bool:
    return isinstance(there, str) and isinstance(here, str) and Path(there).name == Path(here).name


def _shorten(digest: str) -> str:
    """The head of a digest; a published name as it is."""
    return digest[:12] if len(digest) == 64 else digest


def _digest(path: Path) -> str:
    known = path.stat()
    return _digest_once(path, known.st_size, known.st_mtime_ns)


@cache
def _digest_once(path: Path, size: int, modified: int) -> str:  # noqa: ARG001 (a file that changed is another one)
    """A run compares every sequence's percepts with its weights; hundreds of megabytes are read once."""
    return file_digest(path)
