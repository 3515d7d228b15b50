"""Every number that the paper states about its method, and where it is: in experiments/paper or as a default.

None is said twice: a file says only what is no default (`test_experiments.py`), and what all three share is in
method.toml alone.
"""

import tomllib

import pytest

from repository import ROOT
from tmapr.bench.random_vit import SHAPE
from tmapr.config.tree import as_tree
from tmapr.experiment import Experiment, read_experiment
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.salad import Salad

FOLDER = ROOT / "experiments/paper"
FILES = ("ms2-campus", "sthereo-valley", "own-robot")
METHOD = tomllib.loads((FOLDER / "method.toml").read_text())

NUMBERS = {
    "images are resized to 224 × 224": ("perception.size", [224, 224]),
    "initial learning rate 10⁻⁴": ("training.learning_rate", 1e-4),
    "weight decay 10⁻⁴": ("training.weight_decay", 1e-4),
    "a decay factor of 0.7": ("training.decay", 0.7),
    "every three epochs": ("training.decay_every", 3),
    "both losses count alike, eq. (1)": ("training.heading_weight", 1.0),
    "a two-layer Transformer": ("training.layers", 2),
    "8 heads": ("training.heads", 8),
    "U, update weights (1.0, 0.35, 0.35)": ("places.unscented.side_share", 0.35),
    "and 1 without U": ("places.weight", 1.0),
    "U, inference weights 0.6, 0.2, 0.2": ("places.unscented.center_weight", 0.6),
    "H, η": ("places.attenuation.gain", 0.1),
    "H, γ": ("places.attenuation.bound", 5.0),
    "H, w_min": ("places.attenuation.floor", 0.9),
    "U, G and H": ("places.use", ["unscented", "mixture", "attenuation"]),
    "cells of 15 m": ("places.cell", 15.0),
    "a feature similarity threshold of 0.82": ("tracking.gates.min_similarity", 0.82),
    "a separation of 120 frames": ("labels.delay", 120),
    "64 clusters of SALAD": ("perception.descriptor.clusters", 64),
}
"""The same in all three experiments: what is said, the setting, its value."""


def load(name):
    return read_experiment(FOLDER / f"{name}.toml")


def look_up(tree, path):
    for key in path.split("."):
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


@pytest.mark.parametrize("said", NUMBERS)
@pytest.mark.parametrize("name", FILES)
def test_a_number_of_the_paper_is_what_its_experiments_have(name, said):
    path, value = NUMBERS[said]
    assert look_up(as_tree(load(name)), path) == value


@pytest.mark.parametrize("said", NUMBERS)
def test_it_is_a_default_or_in_the_methods_file_and_nowhere_else(said):
    path, value = NUMBERS[said]
    # A ViT's descriptor has other defaults than the package's own encoder's.
    default = look_up(as_tree(Experiment.model_validate({"perception": {"encoder": "model20.pth"}})), path)
    places = [default == value, look_up(METHOD, path) == value]
    own = [look_up(tomllib.loads((FOLDER / f"{name}.toml").read_text()), path) for name in FILES]
    assert (sum(places), own) == (1, [None, None, None])


def test_the_head_has_the_papers_widths():
    head = load("ms2-campus").training.head_for(SHAPE, Normaliser((0.0, 0.0), 1.0))
    assert (SHAPE.width, head.channels, head.channels * head.expansion, head.hidden) == (768, 768, 3072, 512)
    assert (head.width, head.pooled, head.positional, head.standardised) == (None, None, False, False)


def test_a_descriptor_of_salad_has_8448_numbers():
    clusters = load("ms2-campus").perception.descriptor.clusters
    assert Salad(channels=SHAPE.width, clusters=clusters, cluster_dim=128, token_dim=256, hidden=512).dim == 8448


@pytest.mark.parametrize(
    ("name", "width", "variance"), [("ms2-campus", 60, 16), ("sthereo-valley", 60, 16), ("own-robot", 3, 5)]
)
def test_gate_and_variance_are_at_the_ends_of_the_papers_ranges(name, width, variance):
    system = load(name).system
    assert (system.tracking.gates.max_innovation, system.fusion.apr_variance) == (width, variance)


@pytest.mark.parametrize(("name", "count"), [("ms2-campus", 1), ("sthereo-valley", 8), ("own-robot", 1)])
def test_eight_candidates_are_judged_on_sthereo_alone(name, count):
    assert load(name).system.retrieval.candidates == count


def test_the_roles_are_those_of_the_papers_first_table():
    ms2, valley, robot = (load(name).data for name in FILES)
    assert [len({name.split("/")[0] for name in data.train}) for data in (ms2, valley, robot)] == [3, 2, 5]
    assert {name.split("/")[1] for name in ms2.train} == {"left", "right"}
    assert (ms2.reference, robot.reference) == (ms2.train[0], "1")
    assert (ms2.adapt, robot.adapt, robot.test) == ((ms2.train[4],), ("5",), ("6",))
    assert valley.stream == (valley.train[2], "sthereo_09_valley_evening/left")


def test_every_input_is_fitted_to_the_tests_truth():
    assert {load(name).align_apr for name in FILES} == {"oracle"}
