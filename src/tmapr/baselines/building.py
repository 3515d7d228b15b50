"""From a recipe to its network, with a trunk of its own or for the tokens of a frozen encoder."""

from pathlib import Path
from typing import TypeVar

from torch import nn

from tmapr.baselines.atloc import AtLoc
from tmapr.baselines.efficientnet import EfficientNetB0
from tmapr.baselines.regressor import Clip
from tmapr.baselines.resnet import ResNet34
from tmapr.baselines.robustloc import Pyramid, RobustLoc, TokenProjection
from tmapr.baselines.rotation import ROTATIONS
from tmapr.baselines.settings import AtLocRecipe, BaselineName, Baselines, Recipe, RobustLocRecipe, ThermalLocRecipe
from tmapr.baselines.thermalloc import ThermalLoc
from tmapr.baselines.trunk import load_weights

_TRUNKS: dict[BaselineName, str] = {"atloc": "ResNet-34", "robustloc": "ResNet-34", "thermalloc": "EfficientNet-B0"}

AnyTrunk = TypeVar("AnyTrunk", ResNet34, EfficientNetB0)


def build_baseline(name: BaselineName, settings: Baselines, channels: int) -> AtLoc | RobustLoc | ThermalLoc:
    """A `PoseRegressor`; a frozen encoder's tokens have so many channels. Random weights are torch's generator's."""
    match name:
        case "atloc":
            return _build_atloc(settings.atloc, channels)
        case "robustloc":
            return _build_robustloc(settings.robustloc, channels)
        case "thermalloc":
            return _build_thermalloc(settings.thermalloc, channels)


def describe_trunk(name: BaselineName, settings: Baselines) -> str:
    """The trunk and what it starts from, for tables."""
    recipe = settings.recipe(name)
    if recipe.trunk == "frozen":
        return "frozen encoder"
    return f"{_TRUNKS[name]}, {Path(recipe.weights).name if recipe.weights else 'random'}"


def _build_atloc(recipe: AtLocRecipe, channels: int) -> AtLoc:
    numbers = recipe.model_dump(include={"width", "dropout"})
    rotation = ROTATIONS[recipe.rotation]
    if recipe.trunk == "frozen":
        return AtLoc(nn.Identity(), channels, rotation=rotation, **numbers)
    return AtLoc(_fill(ResNet34(), recipe), ResNet34.channels, rotation=rotation, **numbers)


def _build_robustloc(recipe: RobustLocRecipe, channels: int) -> RobustLoc:
    own = recipe.trunk == "own"
    trunk = Pyramid(_fill(ResNet34(), recipe), recipe.size) if own else TokenProjection(channels)
    clip = Clip(recipe.frames, recipe.spacing)
    return RobustLoc(trunk, rotation=ROTATIONS[recipe.rotation], clip=clip, dropout=recipe.dropout)


def _build_thermalloc(recipe: ThermalLocRecipe, channels: int) -> ThermalLoc:
    numbers = recipe.model_dump(include={"width", "layers", "heads", "dropout"})
    rotation = ROTATIONS[recipe.rotation]
    if recipe.trunk == "frozen":
        return ThermalLoc(nn.Identity(), channels, rotation=rotation, **numbers)
    return ThermalLoc(_fill(EfficientNetB0(), recipe), EfficientNetB0.channels, rotation=rotation, **numbers)


def _fill(trunk: AnyTrunk, recipe: Recipe) -> AnyTrunk:
    if recipe.weights is not None:
        load_weights(trunk, Path(recipe.weights))
    return trunk
