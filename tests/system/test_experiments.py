"""The experiment files that ship: each loads, says only what differs from the defaults, and has the paper's roles."""

import tomllib

import pytest

from repository import ROOT
from tmapr.config.tree import as_tree
from tmapr.experiment import Experiment, read_experiment

FOLDER = ROOT / "experiments"
FILES = sorted(FOLDER.glob("*.toml"))
PAPER = [file for file in sorted((FOLDER / "paper").glob("*.toml")) if file.stem != "method"]
DEFAULTS = as_tree(Experiment())


def leaves(tree, path=()):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def default(path):
    node = DEFAULTS
    for key in path:
        node = node[key]
    return node


def experiment(name):
    return read_experiment(next(file for file in FILES if file.stem == name))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_loads_and_is_named_as_its_file(file):
    assert read_experiment(file).name == file.stem


@pytest.mark.parametrize("file", [*FILES, *PAPER, FOLDER / "paper/method.toml"], ids=lambda file: file.stem)
def test_it_says_only_what_differs_from_the_defaults(file):
    said = {path: value for path, value in leaves(tomllib.loads(file.read_text())) if path != ("include",)}
    assert not [".".join(path) for path, value in said.items() if value == default(path)]


RECORDED = [file for file in FILES if not file.stem.startswith(("rendered", "night", "calibrate"))]


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_it_maps_the_first_drive_and_adapts_to_the_last_one_before_the_test(file):
    data = read_experiment(file).data
    drives = sorted({name.split("/")[0] for name in (*data.train, *data.test)})
    roles = (data.reference, *data.adapt, *data.test)
    assert [name.split("/")[0] for name in roles] == [drives[0], drives[-2], drives[-1]]


@pytest.mark.parametrize("name", ["ms2-campus", "sthereo-valley"])
def test_with_two_cameras_both_train_and_the_left_one_is_localized(name):
    data = experiment(name).data
    assert [sequence.split("/")[1] for sequence in data.train] == ["left", "right"] * (len(data.train) // 2)
    assert all(sequence.endswith("/left") for sequence in (data.reference, *data.adapt, *data.test))


@pytest.mark.parametrize("family", ["city", "valley"])
def test_rendered_worlds_are_treated_alike(family):
    campus, other = experiment("rendered-campus"), experiment(f"rendered-{family}")
    data = campus.data.model_copy(update={"root": campus.data.root.replace("campus", family)})
    assert other == campus.model_copy(update={"name": f"rendered-{family}", "data": data})
