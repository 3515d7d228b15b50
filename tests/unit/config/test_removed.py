"""A setting of an earlier version is refused with where it is now, or with what does its work."""

import re

import pytest

from tmapr.config import changed, load_settings
from tmapr.config.removed import REMOVED
from tmapr.config.tree import as_tree, from_tree
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.system import System


def place(path, value):
    """The tree of a file that sets only this."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def holds(settings, path):
    node = as_tree(settings)
    for key in path.split("."):
        if not isinstance(node, dict) or key not in node:
            return False
        node = node[key]
    return True


@pytest.mark.parametrize("path", REMOVED)
@pytest.mark.parametrize("model", [Experiment, System])
def test_every_removed_setting_is_refused_with_its_fate(model, path):
    with pytest.raises(InputError) as refusal:
        from_tree(model, place(path, {} if path == "gating" else 1.0), "old.toml")
    assert str(refusal.value) == f"old.toml: {path}: {REMOVED[path]}"


@pytest.mark.parametrize("path", [path for path in REMOVED if path != "gating"])
def test_every_removed_setting_is_refused_as_an_override(path):
    with pytest.raises(InputError) as refusal:
        load_settings(Experiment, None, [f"{path}=1.0"])
    assert str(refusal.value) == f"--set {path}=1.0: {path}: {REMOVED[path]}"


@pytest.mark.parametrize(("path", "fate"), REMOVED.items())
def test_what_is_said_of_a_removed_setting_is_true(path, fate):
    assert not holds(Experiment(), path)
    named = re.findall(r"\b[a-z]+(?:\.[a-z_]+)+", fate)
    assert named or fate.startswith("was removed; eq. (9)")
    assert all(holds(Experiment(), name) for name in named)


def test_every_setting_of_the_gates_is_where_the_table_says():
    moved = {fate.removeprefix("is now ") for fate in REMOVED.values() if fate.startswith("is now tracking.gates.")}
    assert moved == {f"tracking.gates.{key}" for key in as_tree(System())["tracking"]["gates"]}


@pytest.mark.parametrize("path", ["gating.odds.bias", "gating.odds.similarity.weight"])
def test_a_section_that_was_removed_takes_its_keys_with_it(path):
    with pytest.raises(InputError, match=r"gating\.odds: was removed; the route filter .* weighs evidence itself"):
        from_tree(Experiment, place(path, 1.0), "old.toml")


def test_a_program_is_told_too():
    with pytest.raises(InputError, match=r"gating\.max_innovation: is now tracking\.gates\.max_innovation"):
        changed(System(), {"gating.max_innovation": 30.0})


@pytest.mark.parametrize("path", ["gates.min_similarity", "odds.bias", "tracking.gating.min_similarity"])
def test_what_no_version_knew_is_unknown(path):
    with pytest.raises(InputError, match="unknown setting"):
        from_tree(Experiment, place(path, 0.5), "text")
