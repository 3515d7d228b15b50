"""How networks are trained: every number of the sections `[training]` and `[metric]` of an experiment."""

from typing import Literal

from pydantic import Field, model_validator

from tmapr.config import Settings
from tmapr.perception.card import AprShape, EncoderShape, Size, Vit
from tmapr.perception.normaliser import Normaliser


class Augmentation(Settings):
    """What a training picture may suffer, as a camera would do it to an 8-bit picture; all 0: nothing.

    A thermal camera and the percentile stretch choose gain and offset by what happens to be in view, so neither says
    where a robot is; nor do the columns of an uncooled sensor, which drift, and its noise.
    """

    gain: float = Field(0.0, ge=0, lt=1, description="contrast is multiplied by a number from 1 − gain to 1 + gain")
    offset: float = Field(0.0, ge=0, lt=1, description="brightness moves by up to this share of the range")
    gamma: float = Field(0.0, ge=0, lt=1, description="brightness is raised to a power from 1 − gamma to 1 + gamma")
    columns: float = Field(0.0, ge=0, lt=1, description="deviation of the columns' noise, as a share of the range")
    noise: float = Field(0.0, ge=0, lt=1, description="deviation of the pixels' noise, as a share of the range")
    shift: float = Field(0.0, ge=0, lt=0.5, description="pictures move by up to this share of a side")

    @property
    def active(self) -> bool:
        """Whether it does anything."""
        return any(self.model_dump().values())


class Training(Settings):
    """How networks that regress poses are trained: the paper's numbers where it gives any.

    What all of them share is the budget: data, epochs, patience, batch, augmentation. Rate, decay, dropout and the
    widths are the pose head's; `baselines` has those of the others. What says none suits the encoder.
    """

    epochs: int = Field(30, gt=0, description="passes over the training frames; may be raised later")
    patience: int = Field(0, ge=0, description="stop after so many epochs without a better one; 0: never")
    batch: int = Field(32, gt=0, le=65536, description="frames of a step")
    learning_rate: float = Field(1e-4, gt=0, description="AdamW: of the first epochs")
    decay: float = Field(0.7, gt=0, le=1, description="factor of the learning rate")
    decay_every: int = Field(3, gt=0, description="epochs after which that factor is applied, again and again")
    weight_decay: float = Field(1e-4, ge=0, description="AdamW: decoupled decay of the weights")
    heading_weight: float = Field(1.0, ge=0, description="of the heading's loss against the position's")
    dropout: float = Field(0.1, ge=0, lt=1, description="share of the activations that a step leaves out")
    seed: int = Field(0, ge=0, description="of first weights, order, dropout and augmentation")
    augmentation: Augmentation = Field(Augmentation(), description="of the training pictures")
    cached: bool = Field(True, description="keep tokens on disk; false: encode every picture in every epoch")
    copies: int = Field(
        4, gt=0, le=1000, description="versions of a picture whose tokens are kept, if there is augmentation"
    )
    precision: Literal["auto", "float32", "float64"] = Field(
        "auto", description="auto: bfloat16 where a GPU has it, else float32; float64: to compare"
    )
    held_out: float = Field(0.1, gt=0, le=0.5, description="last share of each sequence, if data.validation is empty")
    guard: int = Field(120, ge=0, description="frames left out before the share held out")
    pooled: Size | None = Field(None, description="tokens are averaged to this grid; none: 7 × 7, for a ViT not at all")
    width: int | None = Field(None, gt=0, le=8192, description="of the head; none: 128, for a ViT its own width")
    layers: int = Field(2, gt=0, le=64, description="Transformer layers")
    heads: int = Field(8, gt=0, le=256, description="attention heads")
    expansion: int | None = Field(None, gt=0, le=64, description="feed-forward width, in widths; none: 2, for a ViT 4")
    positional: bool | None = Field(None, description="add position codes to the tokens; none: true, for a ViT false")
    standardised: bool | None = Field(
        None, description="tokens lose mean and deviation over the image; none: true, for a ViT false"
    )

    @property
    def variants(self) -> int:
        """Versions of a frame in a cache of tokens; the first is always as recorded."""
        return self.copies if self.augmentation.active else 1

    def clips(self, frames: int) -> int:
        """Clips of a step: a batch counts images, of which a clip has several."""
        return max(self.batch // frames, 1)

    def head_for(self, encoder: EncoderShape, normaliser: Normaliser) -> AprShape:
        """The head of an encoder: the paper's for a ViT; for others smaller, and told where each token is."""
        small = not isinstance(encoder, Vit)
        return AprShape(
            channels=encoder.channels,
            width=self.width or (128 if small else None),
            layers=self.layers,
            heads=self.heads,
            expansion=self.expansion or (2 if small else 4),
            pooled=self.pooled or ((7, 7) if small else None),
            positional=small if self.positional is None else self.positional,
            standardised=small if self.standardised is None else self.standardised,
            center=normaliser.center,
            scale=normaliser.scale,
        )


class Contrast(Settings):
    """Metric learning of a SALAD head: what a batch is, and what a step does with it."""

    steps: int = Field(2000, gt=0, description="batches")
    sites: int = Field(4, gt=0, le=4096, description="sites in a batch")
    pairs: int = Field(64, gt=1, le=65536, description="pairs of frames from each site in a batch")
    rate: float = Field(1e-3, gt=0, description="learning rate of AdamW, falling to 0 along a cosine")
    weight_decay: float = Field(1e-2, ge=0, description="of AdamW")
    temperature: float = Field(0.07, gt=0, description="similarities are divided by it")
    weight: float = Field(0.5, gt=0, description="of the head beside the plain descriptor, which has 1")
    near: float = Field(3.0, gt=0, description="metres: frames of two traverses this close are of one place")
    apart: float = Field(15.0, gt=0, description="metres: frames of one site this far apart are of different places")
    token_dropout: float = Field(0.25, ge=0, lt=1, description="share of an image's tokens that the head does not see")
    feature_noise: float = Field(0.2, ge=0, description="on a token's channels, in their own deviations")
    seed: int = Field(0, ge=0, description="of weights and batches")

    @model_validator(mode="after")
    def _check_distances(self) -> "Contrast":
        if self.near > self.apart:
            raise ValueError(f"metric.near = {self.near} m must not be more than metric.apart = {self.apart} m")
        return self


class Metric(Contrast):
    """Metric learning on traverses of one's own, all of one site (`tmapr train --model descriptor`)."""

    steps: int = Field(500, gt=0, description="batches")
    sites: int = Field(
        1, gt=0, le=4096, description="times so many pairs in a batch: there is one site, that of the map"
    )
    weight: float = Field(1.0, gt=0, description="of the head beside the plain descriptor, which has 1, in training")
    used_weight: float = Field(0.5, gt=0, description="the same in use, if the descriptor has no head yet")
    start: Literal["given", "new"] = Field(
        "given", description="given: the experiment's head, or the shipped one where it fits the encoder | new: random"
    )
    look: int = Field(50, gt=0, description="steps between looks at the validation")
    correct: float = Field(10.0, gt=0, description="metres: a match this close is right")
    clusters: int = Field(16, gt=0, le=4096, description="of a new head")
    cluster_dim: int = Field(64, gt=0, le=65536, description="channels of a new head's cluster")
    token_dim: int = Field(64, gt=0, le=65536, description="channels of a new head's summary")
    hidden: int = Field(256, gt=0, le=65536, description="channels between, in a new head")
