"""The section `[baselines]` of an experiment: each published network's recipe, and which of its numbers are published.

Budget and data are not here: they are those of `[training]`, the same for every network.
"""

from typing import Literal

from pydantic import Field, model_validator

from tmapr.config import Settings

BaselineName = Literal["atloc", "robustloc", "thermalloc"]
Coding = Literal["log-quaternion", "planar"]
Trunk = Literal["own", "frozen"]


class Recipe(Settings):
    """What every baseline has; Adam with L2 regularisation, as published, not AdamW."""

    trunk: Trunk = Field(
        "own", description="own: the published trunk, trained | frozen: the experiment's encoder, as it is"
    )
    weights: str | None = Field(
        None,
        description="file of the own trunk's first weights in torchvision's layout; none: random, unlike published",
    )
    rotation: Coding = Field(
        "log-quaternion", description="log-quaternion: three numbers, as published | planar: cosine and sine"
    )
    learning_rate: float = Field(gt=0, description="Adam's")
    weight_decay: float = Field(ge=0, description="Adam's L2 regularisation")
    dropout: float = Field(ge=0, lt=1, description="share of the activations that a step leaves out")

    @model_validator(mode="after")
    def _check_weights(self) -> "Recipe":
        if self.weights is not None and self.trunk == "frozen":
            raise ValueError('weights are for a trunk of its own, but trunk = "frozen"; leave out one of them')
        return self


class AtLocRecipe(Recipe):
    """AtLoc (Wang et al., AAAI 2020): ResNet-34 and attention among the channels of one frame. All numbers published.

    The network published starts from ImageNet's weights.
    """

    learning_rate: float = Field(5e-5, gt=0, description="Adam's; published")
    weight_decay: float = Field(5e-4, ge=0, description="Adam's L2 regularisation; published")
    dropout: float = Field(0.5, ge=0, lt=1, description="share of the channels left out before the outputs; published")
    width: int = Field(2048, gt=0, le=8192, multiple_of=8, description="channels that attend to each other; published")


class RobustLocRecipe(Recipe):
    """RobustLoc (Wang et al., AAAI 2023): diffusion among the cells and the frames of a clip.

    All numbers are published; the released network has no dropout and starts from ImageNet's weights.
    """

    learning_rate: float = Field(2e-4, gt=0, description="Adam's; published")
    weight_decay: float = Field(5e-4, ge=0, description="Adam's L2 regularisation; published")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of the channels left out before the outputs")
    frames: int = Field(
        5, ge=3, le=99, description="of a clip, an odd number, around the one asked about; published: 5 or 7"
    )
    spacing: int = Field(10, gt=0, description="frames from one of a clip to its next; published")
    size: int = Field(
        128, ge=32, le=4096, description="pixels: side that pictures are brought to for the own trunk; published"
    )

    @model_validator(mode="after")
    def _check_frames(self) -> "RobustLocRecipe":
        if self.frames % 2 == 0:
            raise ValueError(f"frames must be odd, so that a clip has a middle, got {self.frames}")
        return self


class ThermalLocRecipe(Recipe):
    """ThermalLoc (IROS 2025) as we read it: neither its text nor its code is public, so this is a re-interpretation.

    Known is: local features of an EfficientNet, global ones of a Transformer, two MLPs for position and rotation, the
    loss of AtLoc. No number here is published; rate and decay are AtLoc's.
    """

    learning_rate: float = Field(5e-5, gt=0, description="Adam's; AtLoc's")
    weight_decay: float = Field(5e-4, ge=0, description="Adam's L2 regularisation; AtLoc's")
    dropout: float = Field(0.1, ge=0, lt=1, description="share of the activations that a step leaves out")
    width: int = Field(256, gt=0, le=8192, multiple_of=4, description="channels of a token in the Transformer")
    layers: int = Field(4, gt=0, le=64, description="Transformer layers")
    heads: int = Field(8, gt=0, le=256, description="attention heads; must divide the width")

    @model_validator(mode="after")
    def _check_heads(self) -> "ThermalLocRecipe":
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, got {self.width} and {self.heads}")
        return self


class Baselines(Settings):
    """The networks to compare with."""

    atloc: AtLocRecipe = Field(AtLocRecipe(), description="one frame, attention among channels")
    robustloc: RobustLocRecipe = Field(RobustLocRecipe(), description="clips of frames, diffusion on graphs")
    thermalloc: ThermalLocRecipe = Field(ThermalLocRecipe(), description="one frame, Transformer; a re-interpretation")

    def recipe(self, name: BaselineName) -> Recipe:
        """The recipe of that name."""
        recipes: dict[BaselineName, Recipe] = {
            "atloc": self.atloc,
            "robustloc": self.robustloc,
            "thermalloc": self.thermalloc,
        }
        return recipes[name]
