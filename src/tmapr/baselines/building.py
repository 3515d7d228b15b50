"""From a recipe to its network, with a trunk of its own or for the tokens of a frozen encoder."""

from pathlib import Path
from typing import TypeVar

from torch import nn

from tmapr.baselines.atloc import AtLoc
from tmapr.baselines.efficientnet import EfficientNetB0
from tmapr.baselines.regressor import Clip
from tmapr.baselines.resnet import ResNet34
from tmapr.baselines.robustloc import Frozen, Pyramid, RobustLoc
from tmapr.baselines.rotation import ROTATIONS
from tmapr.baselines.settings import AtLocRecipe, Baselines, Name, Recipe, RobustLocRecipe, ThermalLocRecipe
from tmapr.baselines.thermalloc import ThermalLoc
from tmapr.baselines.trunk import load

_TRUNKS: dict[Name, str] = {"atloc": "ResNet-34", "robustloc": "ResNet-34", "thermalloc": "EfficientNet-B0"}

Trunk = TypeVar("Trunk", ResNet34, EfficientNetB0)


def build(name: Name, settings: Baselines, channels: int) -> AtLoc | RobustLoc | ThermalLoc:
    """A `PoseRegressor`; a frozen encoder's tokens have so many channels. Random weights are torch's generator's."""
    match name:
        case "atloc":
            return _atloc(settings.atloc, channels)
        case "robustloc":
            return _robustloc(settings.robustloc, channels)
        case "thermalloc":
            return _thermalloc(settings.thermalloc, channels)


def describe(name: Name, settings: Baselines) -> str:
    """The trunk and what it starts from, for tables."""
    recipe = settings.recipe(name)
    if recipe.trunk == "frozen":
        return "frozen encoder"
    return f"{_TRUNKS[name]}, {Path(recipe.weights).name if recipe.weights else 'random'}"


def _atloc(recipe: AtLocRecipe, channels: int) -> AtLoc:
    numbers = recipe.model_dump(include={"width", "dropout"})
    rotation = ROTATIONS[recipe.rotation]
    if recipe.trunk == "frozen":
        return AtLoc(nn.Identity(), channels, rotation=rotation, **numbers)
    return AtLoc(_filled(ResNet34(), recipe), ResNet34.channels, rotation=rotation, **numbers)


def _robustloc(recipe: RobustLocRecipe, channels: int) -> RobustLoc:
    own = recipe.trunk == "own"
    trunk = Pyramid(_filled(ResNet34(), recipe), recipe.size) if own else Frozen(channels)
    clip = Clip(recipe.frames, recipe.spacing)
    return RobustLoc(trunk, rotation=ROTATIONS[recipe.rotation], clip=clip, dropout=recipe.dropout)


def _thermalloc(recipe: ThermalLocRecipe, channels: int) -> ThermalLoc:
    numbers = recipe.model_dump(include={"width", "layers", "heads", "dropout"})
    rotation = ROTATIONS[recipe.rotation]
    if recipe.trunk == "frozen":
        return ThermalLoc(nn.Identity(), channels, rotation=rotation, **numbers)
    return ThermalLoc(_filled(EfficientNetB0(), recipe), EfficientNetB0.channels, rotation=rotation, **numbers)


def _filled(trunk: Trunk, recipe: Recipe) -> Trunk:
    if recipe.weights is not None:
        load(trunk, Path(recipe.weights))
    return trunk
