"""Files with a trunk's first weights: torchvision's layout is loaded, anything else is refused in one line."""

import os
import re

import pytest
import torch
from safetensors.torch import save_file

from samples import CHANNELS, perturb, pictures
from tmapr.baselines.building import build_baseline
from tmapr.baselines.efficientnet import EfficientNetB0
from tmapr.baselines.settings import Baselines, ThermalLocRecipe
from tmapr.baselines.trunk import load_weights
from tmapr.exceptions import InputError

STEM, SOME = "features.0.0.weight", "features.3.1.block.2.fc1.bias"


@pytest.fixture(scope="module")
def published():
    """A whole file's content, and the trunk it came from."""
    trunk = perturb(EfficientNetB0()).float()
    head = {"classifier.1.weight": torch.ones(10, 1280), "classifier.1.bias": torch.ones(10)}
    return trunk, trunk.state_dict() | head


def test_a_file_in_half_precision_and_without_counters_fills_the_trunk_of_its_network(published, tmp_path):
    """As torchvision's older files are."""
    trunk, content = published
    torch.save({n: v.half() for n, v in content.items() if not n.endswith("tracked")}, tmp_path / "b0.pth")
    settings = Baselines(thermalloc=ThermalLocRecipe(weights=str(tmp_path / "b0.pth"), width=64, layers=1))
    network = build_baseline("thermalloc", settings, CHANNELS).eval()
    torch.testing.assert_close(network.trunk(pictures(1)).tokens, trunk(pictures(1)).tokens, rtol=0.05, atol=0.05)
    assert all(value.requires_grad for value in network.trunk.parameters())


def write(content, path):
    if path.suffix == ".safetensors":
        save_file({name: value.contiguous() for name, value in content.items()}, path)
    else:
        torch.save(content, path)
    return path


@pytest.mark.parametrize("name", ["b0.pth", "b0.safetensors"])
def test_an_efficientnet_file_gives_the_outputs_of_its_network(name, published, tmp_path):
    trunk, content = published
    loaded = EfficientNetB0()
    load_weights(loaded, write(content, tmp_path / name))
    assert torch.equal(loaded.eval()(pictures(2)).tokens, trunk(pictures(2)).tokens)


def test_counts_of_another_training_start_again(published, tmp_path):
    _, content = published
    counted = {n: torch.tensor(999) if n.endswith("num_batches_tracked") else value for n, value in content.items()}
    loaded = EfficientNetB0()
    load_weights(loaded, write(counted, tmp_path / "b0.pth"))
    assert loaded.state_dict()["features.0.1.num_batches_tracked"].item() == 0


@pytest.fixture(scope="module")
def trunk():
    """What is refused leaves it as it is."""
    return EfficientNetB0()


def without(content):
    return {name: value for name, value in content.items() if name != SOME}


def broken(content, number):
    spoiled = content[SOME].clone()
    spoiled[1] = number
    return content | {SOME: spoiled}


ODD = [
    # what, what is done to a whole content, what is said
    ("a tensor is missing", without, f"lacks '{SOME}'"),
    ("one is renamed", lambda c: without(c) | {f"{SOME}_": c[SOME]}, f"lacks '{SOME}' and has '{SOME}_' instead"),
    ("one is too many", lambda c: c | {"features.9.0.weight": torch.ones(2)}, "'features.9.0.weight', which a Effic"),
    ("one has another shape", lambda c: c | {SOME: torch.ones(11)}, f"'{SOME}' is [11], must be [10]"),
    ("one holds a NaN", lambda c: broken(c, float("nan")), f"'{SOME}' (torch.float32) holds what are no plain finite"),
    ("one holds an infinity", lambda c: broken(c, float("inf")), f"'{SOME}' (torch.float32) holds what are no plain"),
    ("one holds integers", lambda c: c | {SOME: torch.ones(10, dtype=torch.int64)}, f"'{SOME}' (torch.int64) holds"),
    ("another network", lambda c: {"conv1.weight": torch.ones(64, 3, 7, 7)}, f"lacks '{STEM}'"),
    ("tensors in a wrapper", lambda c: {"state_dict": c}, f"lacks '{STEM}'"),
    ("a list", lambda c: list(c.values())[:2], "holds a list, not named tensors"),
    ("nothing", lambda c: {}, f"lacks '{STEM}'"),
]


@pytest.mark.parametrize(("what", "change", "message"), ODD, ids=[case[0] for case in ODD])
def test_what_does_not_fit_is_refused_in_one_line(what, change, message, published, trunk, tmp_path):
    before = trunk.state_dict()["features.0.0.weight"].clone()
    torch.save(change(published[1]), tmp_path / "odd.pth")
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        load_weights(trunk, tmp_path / "odd.pth")
    assert str(refused.value).startswith(f"{tmp_path / 'odd.pth'}: ")
    assert "\n" not in str(refused.value)
    assert torch.equal(trunk.state_dict()["features.0.0.weight"], before)


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_a_file_that_would_run_a_program_is_refused_and_runs_nothing(tmp_path):
    torch.save({STEM: Hostile(str(tmp_path / "made"))}, tmp_path / "hostile.pth")
    with pytest.raises(
        InputError, match=r"hostile\.pth: would call \w+\.mkdir when it is opened; nothing was executed"
    ):
        load_weights(EfficientNetB0(), tmp_path / "hostile.pth")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["cut.pth", "cut.safetensors"])
def test_a_damaged_file_is_refused(name, published, tmp_path):
    whole = write(published[1], tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.\w+: is (not a whole|damaged)"):
        load_weights(EfficientNetB0(), tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.pth: no such file"):
        load_weights(EfficientNetB0(), tmp_path / "none.pth")
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        load_weights(EfficientNetB0(), tmp_path)
