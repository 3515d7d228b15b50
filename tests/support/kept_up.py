"""Made-up traverses that share some streets, and the recursion of eq. (2) a second time, with given weights."""

import json
from dataclasses import replace
from functools import cache

import numpy as np

import second_version
from commandline import command
from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts, with_detour
from side_by_side import lift_of, numbers_of
from tmapr.artifacts.run import RunFolder
from tmapr.config import changed
from tmapr.experiment import read_experiment
from tmapr.simulation.route import block_loop, drive
from tmapr.system import Map, System, make_map
from tmapr.traverses import gather
from tmapr.upkeep.changing import MapOf

SYSTEM = changed(System(), {"places.projection.dimension": 64, "places.mixture.dimension": 8})
WORLD = DescriptorField.from_seed(3, dimension=32)
LOOP = block_loop(80.0, 45.0)
WAYS = {"noon": LOOP, "dusk": with_detour(LOOP, leg=2, depth=40.0), "rain": LOOP + np.array([40.0, 0.0])}
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


@cache
def traverse(name, seed=1):
    """A drive under the condition of its name, or at night."""
    rng = np.random.default_rng([seed, len(name)])
    condition = CONDITIONS.get(name, CONDITIONS["night"])
    whole = record_percepts(WORLD, name, drive(WAYS[name], 8.0, rng), condition, rng)
    some = slice(None, None, 6)
    return replace(whole, percepts=whole.percepts[some], truth=whole.truth[some], known=whole.known[some])


MADE = {}


def mapped(*names, system=SYSTEM):
    """The map of some traverses, made once."""
    key = (*names, system.model_dump_json())
    if key not in MADE:
        MADE[key] = make_map(system, *map(traverse, names))
    return MADE[key]


def held(*names, system=SYSTEM, there=True):
    """A map as upkeep takes it, with its percepts or without them."""
    recordings = {name: traverse(name) for name in names} if there else {}
    return MapOf(f"runs/{'-'.join(names)}", mapped(*names, system=system), recordings)


def views_of(environment):
    """Sequence, frame and weights of each lesson, in their order."""
    order = environment.lessons.order
    memory = environment.memory
    return list(zip(memory.sequences[order], memory.frames[order], environment.lessons.weights[order], strict=True))


def plainly(base, views, system=SYSTEM, find=traverse):
    """K, W and the cells of the plain recursion that learns views, with their weights, on the grid of a map."""
    first = gather([find(str(views[0][0]))])
    lift = lift_of(system.places.projection, first.descriptors)
    numbers = numbers_of(system)
    second = second_version.Adaptation(numbers, 32, base.initial["grid.origin"], lift, lambda row: row[..., :8])
    for column, row in base.initial["grid.cells"].tolist():
        second.enter(base.initial["grid.origin"] + (np.array([column, row]) + 0.5) * numbers.g)
    for name, frame, weights in views:
        recording = find(str(name))
        learn(second, recording.percepts[frame].descriptor, recording.truth[frame], weights)
    return second


def learn(second, d, p, w):
    Z, place = second.features(d), second.enter(p)
    y = np.eye(len(second.cells))[place]
    second.K, second.Q = second_version.absorb(second.K, second.Q, np.sqrt(w)[:, None] * Z, np.sqrt(w)[:, None] * y)
    second.W = second.K @ second.Q
    second.vary(d, place)


def assert_learned(environment, second):
    """Whether A₀ has the plain recursion's K, W and cells."""
    ridge = environment.classifier().ridge
    np.testing.assert_array_equal(environment.initial["grid.cells"], np.array(second.cells))
    np.testing.assert_allclose(ridge.covariance, second.K, **CLOSE)
    np.testing.assert_allclose(ridge.weights, second.W, **CLOSE)


def assert_same_memory(left, right):
    for name, array in left.memory.arrays().items():
        np.testing.assert_array_equal(array, right.memory.arrays()[name], err_msg=name)


TOML = """
name = "{name}"
perception.encoder = "own"
[data]
reference = {references}
test = ["night"]
[places]
projection = {{ dimension = 64 }}
mixture = {{ dimension = 8 }}
"""


def night():
    rng = np.random.default_rng(9)
    whole = record_percepts(WORLD, "night", drive(LOOP, 8.0, rng), CONDITIONS["dusk"], rng)
    some = slice(None, None, 3)
    return replace(whole, percepts=whole.percepts[some], truth=whole.truth[some], known=whole.known[some])


def make_run(home, name, *references):
    """A run folder with the map of some traverses, and the percepts of all."""
    (home / f"{name}.toml").write_text(TOML.format(name=name, references=json.dumps(references)))
    folder = RunFolder(home / name)
    for each in ("noon", "dusk", "rain"):
        traverse(each).save(folder.percepts(each))
    night().save(folder.percepts("night"))
    assert command("map", home / f"{name}.toml", "--run", folder.path, "--quiet") == 0
    return folder


def load_map(folder):
    return Map.load(folder.map, read_experiment(folder.experiment).system)
