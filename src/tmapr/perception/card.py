"""A perceiver's description: it lies as JSON beside our own weights and inside every ONNX file we export.

Whatever a network needs to be built and fed is here, so that nothing about a checkpoint is ever guessed.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from tmapr.config import Settings

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
STATISTICS = {"imagenet": IMAGENET, "clip": CLIP}
"""Mean and deviation of a checkpoint's input, by the name that settings use."""

Triple = tuple[float, float, float]
Size = tuple[Annotated[int, Field(gt=0, le=4096)], Annotated[int, Field(gt=0, le=4096)]]


class Vit(Settings):
    """A DINOv2 Vision Transformer at patch 14."""

    architecture: Literal["vit"] = "vit"
    width: int = Field(gt=0, le=8192, description="channels of a token")
    depth: int = Field(gt=0, le=256, description="blocks")
    heads: int = Field(gt=0, le=256, description="attention heads")
    registers: int = Field(0, ge=0, le=64, description="register tokens")
    rows: int = Field(37, gt=0, le=256, description="rows of the trained position embedding")
    columns: int = Field(37, gt=0, le=256, description="columns of the trained position embedding")
    position_rule: Literal["hub", "exact"] = Field("hub", description="how positions are interpolated")

    @property
    def channels(self) -> int:
        """Channels of a token."""
        return self.width


class EfficientNet(Settings):
    """An EfficientNet-Lite0 trunk."""

    architecture: Literal["efficientnet-lite0"] = "efficientnet-lite0"
    levels: Literal[1, 2] = Field(1, description="1: the stride-16 map; 2: joined with the stride-32 map")

    @property
    def channels(self) -> int:
        """Channels of a token."""
        return 112 if self.levels == 1 else 432


class Plugged(Settings):
    """Somebody else's encoder: a plug-in, of which no weights are kept here."""

    architecture: Literal["plugin"] = "plugin"
    channels: int = Field(gt=0, le=65536, description="channels of a token")


EncoderShape = Vit | EfficientNet | Plugged


class Input(Settings):
    """How pictures enter the encoder."""

    mean: Triple = Field(description="subtracted from each channel of a picture in [0, 1]")
    std: Triple = Field(description="each channel is then divided by it")
    size: Size = Field((224, 224), description="height and width in pixels")


class SaladShape(Settings):
    """The widths of a SALAD head."""

    channels: int = Field(gt=0, le=65536, description="channels of a token")
    clusters: int = Field(gt=0, le=4096, description="clusters without the dustbin")
    cluster_dim: int = Field(gt=0, le=65536, description="channels of a cluster")
    token_dim: int = Field(gt=0, le=65536, description="channels of the summary")
    hidden: int = Field(gt=0, le=65536, description="channels between")


class AprShape(Settings):
    """The widths of a pose head, and the coordinates that its positions are normalised to."""

    channels: int = Field(gt=0, le=65536, description="channels of a token")
    width: int | None = Field(None, gt=0, le=8192, description="width after an input projection; none: no projection")
    layers: int = Field(2, gt=0, le=64, description="Transformer layers")
    heads: int = Field(8, gt=0, le=256, description="attention heads")
    expansion: int = Field(4, gt=0, le=64, description="hidden width of the feed-forward part, in widths")
    hidden: int = Field(512, gt=0, le=65536, description="width of the shared layer before the outputs")
    pooled: Size | None = Field(None, description="tokens are averaged to this grid first")
    positional: bool = Field(False, description="add fixed position codes to the tokens")
    standardised: bool = Field(False, description="each channel loses its mean and its deviation over the image")
    center: tuple[float, float] = Field((0.0, 0.0), description="metres: normalised (0, 0)")
    scale: float = Field(1.0, gt=0, description="metres per normalised unit")


class Descriptor(Settings):
    """The place descriptor: parts of unit length, weighted, joined and brought to unit length again."""

    parts: tuple[Literal["pooling", "gem", "salad"], ...] = Field(
        ("pooling",), min_length=1, description="any of pooling | gem | salad"
    )
    weights: tuple[Annotated[float, Field(gt=0)], ...] = Field((1.0,), description="one for each part")
    grid: Size = Field((2, 4), description="rows and columns of the pooling")
    power: float = Field(3.0, gt=0, description="exponent of the generalised mean (gem)")
    clusters: int = Field(
        64, gt=0, le=4096, description="clusters of the SALAD head; the head's file must have as many"
    )


class Card(Settings):
    """Everything about a perceiver, or about a part of one."""

    version: Literal[1] = 1
    encoder: Annotated[EncoderShape, Field(discriminator="architecture")] | None = None
    input: Input | None = None
    salad: SaladShape | None = None
    apr: AprShape | None = None
    descriptor: Descriptor | None = None
    dimension: int | None = Field(None, gt=0, le=1_000_000, description="of the whole descriptor")
    weights: str | None = Field(None, description="SHA-256 of the safetensors file that lies beside this card")
    sources: dict[str, str] = Field({}, description="what the weights are and the SHA-256 of their files")
    made: dict[str, JsonValue] = Field({}, description="how they were made: data, seeds, recipe, command, results")

    def describe(self) -> list[str]:
        """One line for each part."""
        lines = []
        if isinstance(self.encoder, Vit):
            shape = f"width {self.encoder.width}, {self.encoder.depth} blocks, {self.encoder.registers} registers"
            lines.append(f"encoder: ViT at patch 14, {shape}, positions by the rule {self.encoder.position_rule!r}")
        if isinstance(self.encoder, EfficientNet):
            lines.append(
                f"encoder: EfficientNet-Lite0, {self.encoder.levels} level(s), {self.encoder.channels} channels"
            )
        if isinstance(self.encoder, Plugged):
            lines.append(f"encoder: a plug-in's, {self.encoder.channels} channels")
        if self.input:
            lines.append(f"input: mean {_format_triple(self.input.mean)}, deviation {_format_triple(self.input.std)}")
        if self.salad:
            shape = f"{self.salad.clusters} clusters × {self.salad.cluster_dim} + {self.salad.token_dim}"
            lines.append(f"SALAD head: {shape}, for {self.salad.channels} channels")
        if self.apr:
            center = f"({self.apr.center[0]:.1f}, {self.apr.center[1]:.1f})"
            lines.append(f"pose head: {self.apr.layers} layers, around {center} m, ± {self.apr.scale:.1f} m")
        if self.descriptor and self.input:
            size = "×".join(str(side) for side in self.input.size)
            lines.append(
                f"descriptor: {' + '.join(self.descriptor.parts)}, {self.dimension} numbers, from {size} pixels"
            )
        return [
            *lines,
            *(f"{name}: SHA-256 {digest}" for name, digest in self.sources.items()),
            *self._tell_making(),
        ]

    def _tell_making(self) -> list[str]:
        """What the weights were made from, and how good they were when the making ended."""
        named = {"data": "made from", "training_seeds": "training seeds", "tuning_seeds": "tuning seeds"}
        told = [f"{title} {self.made[key]}" for key, title in named.items() if key in self.made]
        lines = ["; ".join(told)] if told else []
        course = self.made.get("course")
        return [*lines, f"in the end: {_spell(course[-1])}"] if isinstance(course, list) and course else lines


def _format_triple(values: Triple) -> str:
    return " ".join(f"{value:.3f}" for value in values)


def _spell(value: JsonValue) -> str:
    """Whatever JSON holds, in words."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_spell(each)}" for name, each in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)
