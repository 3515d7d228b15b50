"""Settings of the baselines, and what tables say of them."""

import pytest
from pydantic import ValidationError

from tmapr.baselines.building import describe_trunk
from tmapr.baselines.settings import AtLocRecipe, Baselines, RobustLocRecipe, ThermalLocRecipe


def test_published_numbers_are_the_defaults():
    atloc, robustloc = AtLocRecipe(), RobustLocRecipe()
    assert (atloc.learning_rate, atloc.weight_decay, atloc.dropout, atloc.width) == (5e-5, 5e-4, 0.5, 2048)
    assert (robustloc.learning_rate, robustloc.weight_decay) == (2e-4, 5e-4)
    assert (robustloc.frames, robustloc.spacing, robustloc.size) == (5, 10, 128)
    assert {Baselines().recipe(name).rotation for name in ("atloc", "robustloc", "thermalloc")} == {"log-quaternion"}


@pytest.mark.parametrize("name", ["atloc", "robustloc", "thermalloc"])
def test_a_recipe_is_found_by_its_name(name):
    settings = Baselines()
    assert settings.recipe(name) is getattr(settings, name)


@pytest.mark.parametrize(
    ("name", "recipe", "line"),
    [
        ("atloc", AtLocRecipe(), "ResNet-34, random"),
        ("atloc", AtLocRecipe(weights="weights/imagenet.pth"), "ResNet-34, imagenet.pth"),
        ("robustloc", RobustLocRecipe(), "ResNet-34, random"),
        ("thermalloc", ThermalLocRecipe(), "EfficientNet-B0, random"),
        ("thermalloc", ThermalLocRecipe(trunk="frozen"), "frozen encoder"),
    ],
)
def test_a_trunk_is_described_with_what_it_starts_from(name, recipe, line):
    assert describe_trunk(name, Baselines(**{name: recipe})) == line


@pytest.mark.parametrize(
    ("recipe", "wrong", "message"),
    [
        (AtLocRecipe, {"trunk": "frozen", "weights": "a.pth"}, 'but trunk = "frozen"; leave out one of them'),
        (RobustLocRecipe, {"frames": 4}, "frames must be odd, so that a clip has a middle, got 4"),
        (RobustLocRecipe, {"frames": 1}, "greater than or equal to 3"),
        (ThermalLocRecipe, {"width": 20, "heads": 3}, "must be a multiple of heads, got 20 and 3"),
        (AtLocRecipe, {"width": 20}, "multiple of 8"),
        (AtLocRecipe, {"dropout": 1.0}, "less than 1"),
        (AtLocRecipe, {"learning_rate": 0.0}, "greater than 0"),
        (AtLocRecipe, {"frames": 5}, "Extra inputs are not permitted"),
    ],
)
def test_what_no_network_can_be_built_from_is_refused(recipe, wrong, message):
    with pytest.raises(ValidationError, match=message):
        recipe(**wrong)
