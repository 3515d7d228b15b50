"""Exported perceivers against the networks they were made from; the shipped one also on real frames."""

import io
import json
import re
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

from commandline import command
from networks import perturbed
from repository import ROOT
from tmapr.artifacts.images import read_image
from tmapr.exceptions import InputError
from tmapr.perception.apr import AprHead
from tmapr.perception.card import CLIP, AprShape, Card, Descriptor, Input, SaladShape, Vit
from tmapr.perception.export import export, measure_agreement
from tmapr.perception.image import Image
from tmapr.perception.network import TorchEngine, assemble
from tmapr.perception.onnx import METADATA, SHIPPED, load_onnx
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.salad import Salad
from tmapr.perception.settings import Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import save_checkpoint
from tmapr.types import Frame

REAL = ROOT / "../shared/data"
FRAMES = ["ms2_sample/*.png", "fieldscale_14bit/00*.png", "metu_vistir/*/scene_1/*.jpg"]
WIDTH, SIZE = 64, (98, 126)
JOINED = Descriptor(parts=("pooling", "gem", "salad"), weights=(1.0, 0.5, 2.0), grid=(2, 2), clusters=8)


@pytest.fixture(scope="module")
def shipped():
    """The default network by torch and as the shipped file."""
    network, card = assemble(Perception())
    return network, card, *load_onnx(SHIPPED, "cpu")


def scenes(count, size):
    """Pictures from smooth to rough."""
    rng = np.random.default_rng(31)
    rows, columns = np.mgrid[: size[0], : size[1]]
    periods = rng.uniform(2, 60, (count, 2))
    waves = np.array([np.sin(rows / down) * np.cos(columns / along) for down, along in periods])
    return (127.5 * (1 + waves) + rng.normal(0, 20, waves.shape)).clip(0, 255).astype(np.uint8)


def by_torch(network, pictures):
    with torch.inference_mode():
        return [output.numpy() for output in network(torch.from_numpy(pictures))]


def test_the_shipped_file_describes_the_default_network(shipped):
    _, card, carried, _ = shipped
    assert carried == card


def test_the_shipped_file_equals_torch_on_made_up_pictures(shipped):
    network, _, _, engine = shipped
    pictures = np.concatenate([scenes(6, (224, 224)), np.zeros((1, 224, 224), np.uint8)])
    np.testing.assert_allclose(engine(pictures).descriptors, by_torch(network, pictures)[0], atol=1e-4)


@pytest.mark.parametrize("pattern", FRAMES)
def test_the_shipped_file_equals_torch_on_real_frames(pattern, shipped):
    files = sorted(REAL.glob(pattern))[:4]
    if not files:
        pytest.skip(f"no real frames {REAL / pattern}")
    network, card, _, engine = shipped
    frames = [Frame("real", row, row, lambda file=file: read_image(file)) for row, file in enumerate(files)]
    ours, theirs = (Perceiver(card, Image(), run).batch(frames) for run in (engine, TorchEngine(network, "cpu")))
    for one, other in zip(ours, theirs, strict=True):
        assert one.fault is None
        np.testing.assert_allclose(one.descriptor, other.descriptor, atol=1e-4)
    # Different scenes are told apart: equal descriptors would pass the comparison above.
    assert ours[0].descriptor @ ours[-1].descriptor < 0.999


@pytest.mark.parametrize("count", [1, 3])
def test_the_shipped_file_takes_any_number_of_pictures(count, shipped):
    *_, engine = shipped
    pictures = scenes(5, (224, 224))
    together = engine(pictures[:count])
    assert (together.descriptors.shape, together.positions, together.headings) == ((count, 896 + 1088), None, None)
    np.testing.assert_allclose(together.descriptors, engine(pictures).descriptors[:count], atol=1e-5)


@pytest.mark.parametrize("image", [Image(preset="ms2"), Image(preset="sthereo"), Image(clip_limit=0.0)])
def test_other_preprocessing_opens_the_shipped_file_too(image, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tmapr.perception.network", raising=False)
    perceive = open_perceiver(Perception(image=image))
    counts = np.random.default_rng(8).integers(3000, 5000, (512, 640)).astype(np.uint16)
    direct = load_onnx(SHIPPED, "cpu")[1](image.prepare(counts, (224, 224), "area")[None]).descriptors[0]
    np.testing.assert_allclose(perceive(Frame("drive", 0, 0, lambda: counts)).descriptor, direct, atol=1e-6)


def test_other_settings_without_torch_are_refused_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        InputError, match=r"^perception.encoder = 'vit.pth' .* needs torch: pip install 'tmapr\[train\]'"
    ):
        open_perceiver(Perception(encoder="vit.pth"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A folder with a ViT, a SALAD head and a pose head in one file of ours, and an experiment that uses all three."""
    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(9)
    head = SaladShape(channels=WIDTH, clusters=8, cluster_dim=3, token_dim=5, hidden=16)
    pose = AprShape(channels=WIDTH, layers=1, heads=2, hidden=8, center=(331_234.5, 4_149_876.25), scale=350.0)
    parts = {
        "encoder": VisionTransformer(WIDTH, 2, 1, rows=5, columns=6),
        "salad": Salad(**head.model_dump()),
        "apr": AprHead(**pose.model_dump(exclude={"center", "scale"})),
    }
    card = Card(
        encoder=Vit(width=WIDTH, depth=2, heads=1, rows=5, columns=6),
        input=Input(mean=CLIP[0], std=CLIP[1]),
        salad=head,
        apr=pose,
    )
    save_checkpoint(folder / "tiny.safetensors", card, {name: perturbed(part) for name, part in parts.items()})
    settings = Perception(encoder=str(folder / "tiny.safetensors"), size=SIZE, descriptor=JOINED)
    (folder / "tiny.toml").write_text(
        f"""
        [perception]
        encoder = "{settings.encoder}"
        size = {list(SIZE)}
        [perception.descriptor]
        parts = ["pooling", "gem", "salad"]
        weights = [1.0, 0.5, 2.0]
        grid = [2, 2]
        clusters = 8
        """
    )
    return folder, settings


@pytest.fixture(scope="module")
def exporting(tiny):
    """It, exported by the command, and what that said."""
    folder, _ = tiny
    with redirect_stdout(io.StringIO()) as said:
        assert command("export", folder / "tiny.toml", "--out", folder / "tiny.onnx") == 0
    return folder / "tiny.onnx", said.getvalue()


@pytest.fixture(scope="module")
def exported(exporting):
    return exporting[0]


@pytest.fixture(scope="module")
def bytes_exported(tiny):
    """It, exported with its matrices as bytes."""
    folder, _ = tiny
    assert command("export", folder / "tiny.toml", "--out", folder / "int8.onnx", "--int8", "--quiet") == 0
    return folder / "int8.onnx"


def test_an_exported_perceiver_equals_the_one_by_torch(tiny, exported):
    _, settings = tiny
    frames = [Frame("drive", row, row, lambda scene=scene: scene) for row, scene in enumerate(scenes(3, (120, 160)))]
    by_onnx = open_perceiver(settings.model_copy(update={"encoder": str(exported)})).batch(frames)
    for found, expected in zip(by_onnx, open_perceiver(settings).batch(frames), strict=True):
        np.testing.assert_allclose(found.descriptor, expected.descriptor, atol=1e-4)
        np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=350 * 1e-4)
        assert found.heading == pytest.approx(expected.heading, abs=1e-3)


def test_bytes_keep_the_descriptors_and_save_space(tiny, exported, bytes_exported):
    network, card = assemble(tiny[1])
    carried, engine = load_onnx(bytes_exported, "cpu")
    assert carried == card
    pictures = scenes(8, SIZE)
    cosines = (engine(pictures).descriptors * by_torch(network, pictures)[0]).sum(axis=1)
    assert cosines.min() >= 0.99
    assert bytes_exported.stat().st_size < 0.8 * exported.stat().st_size


def test_only_the_matrices_of_the_blocks_become_bytes(bytes_exported):
    """In each of two blocks query-key-value, projection and two of the MLP."""
    made = [node.op_type for node in onnx.load(bytes_exported).graph.node]
    assert made.count("MatMulInteger") == 2 * 4


def test_the_agreement_is_the_least_cosine_of_its_pictures(tiny, exported):
    network, _ = assemble(tiny[1])
    assert measure_agreement(network, exported) == pytest.approx(1.0, abs=1e-5)
    signs = torch.tensor([1.0, 1.0, -1.0, 1.0])[:, None]
    network.descriptor.register_forward_hook(lambda module, given, found: found * signs)
    assert measure_agreement(network, exported) == pytest.approx(-1.0, abs=1e-5)


def test_the_command_says_how_large_the_file_is_and_how_near_to_torch(exporting):
    file, said = exporting
    megabytes, cosine = re.fullmatch(r".*: (.*) MB; the cosine .* is at least (.*)\nuse it with: .*\n", said).groups()
    assert float(megabytes) == pytest.approx(file.stat().st_size / 1e6, abs=0.05)
    assert float(cosine) == pytest.approx(1.0, abs=1e-4)
    advised = said.split("use it with: ")[1].strip().replace(" and perception.", "\nperception.")
    settings = Perception.model_validate_json(json.dumps(tomllib.loads(advised)["perception"]))
    assert settings.encoder == str(file)
    assert open_perceiver(settings, "cpu").dimension == load_onnx(file, "cpu")[0].dimension


def test_a_convolution_as_bytes_is_refused(tmp_path):
    network, card = assemble(Perception())
    with pytest.raises(InputError, match=r"^int8 is for ViT encoders, this one is a convolution; export without it$"):
        export(network, card, tmp_path / "default.onnx", int8=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["shipped", "exported", "bytes_exported"])
def test_an_exported_file_tells_nothing_of_the_machine_that_made_it(which, request, tmp_path_factory):
    content = (SHIPPED if which == "shipped" else request.getfixturevalue(which)).read_bytes()
    places = [ROOT, Path.home(), Path(sys.prefix), tmp_path_factory.getbasetemp()]
    named = [str(place).encode() for place in places if place != Path(place.anchor)]
    traces = [*named, b"site-packages", b"dist-packages", b'.py", line']
    assert [trace for trace in traces if trace in content] == []
    model = onnx.load_from_string(content)
    assert [node.name for node in model.graph.node if node.metadata_props or node.doc_string] == []


def test_the_command_says_what_an_exported_file_is(exported, capsys):
    assert command("weights", "inspect", exported) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{exported}: perceiver exported by tmapr\n")
    assert "descriptor: pooling + gem + salad, 349 numbers, from 98×126 pixels" in said


def foreign(path, **notes):
    """A valid model of somebody else's, with such notes in its metadata."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "theirs", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    helper.set_model_props(model, notes)
    onnx.save(model, path)


def cut(path, length):
    path.write_bytes(SHIPPED.read_bytes()[:length])


def unknown_operator(path, name=""):
    foreign(path)
    model = onnx.load(path)
    model.graph.node[0].op_type, model.graph.node[0].name = "Guess", name
    onnx.save(model, path)


REFUSED = [
    # what, how the file comes about, and the line it gets
    ("a missing file", lambda path: None, "model.onnx: no such file"),
    ("a folder", Path.mkdir, "model.onnx: is a folder; name a file in it"),
    ("an empty file", lambda path: path.write_bytes(b""), "model.onnx: ONNX Runtime cannot open it"),
    ("a text file", lambda path: path.write_text("no\nmodel\n"), "model.onnx: ONNX Runtime cannot open it"),
    ("a file cut at its beginning", lambda path: cut(path, 10), "model.onnx: ONNX Runtime cannot open it"),
    ("a file cut in the middle", lambda path: cut(path, 1_000_000), "model.onnx: ONNX Runtime cannot open it"),
    ("a file that lacks a byte", lambda path: cut(path, -1), "model.onnx: ONNX Runtime cannot open it"),
    ("an operator that does not exist", unknown_operator, "model.onnx: ONNX Runtime cannot open it"),
    ("a model of somebody else's", foreign, "model.onnx: was not made by `tmapr export`"),
    ("a card that is not JSON", lambda path: foreign(path, **{METADATA: "tiny"}), "model.onnx: its card is unknown"),
    ("a card of a later version", lambda path: foreign(path, **{METADATA: '{"version": 2}'}), "its card is unknown"),
]  # fmt: skip


def refusal_of(path):
    with pytest.raises(InputError) as refusal:
        open_perceiver(Perception(encoder=str(path)))
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize(("what", "write", "answer"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_no_exported_perceiver_is_refused_in_one_line(what, write, answer, tmp_path, capfd):
    path = tmp_path / "model.onnx"
    write(path)
    refusal = refusal_of(path)
    assert refusal.startswith(str(tmp_path))
    assert answer in refusal
    assert command("weights", "inspect", path) == 2
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", f"tmapr: {refusal}\n")


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"size": (112, 126)}, "has perception.size = [98, 126] (now [112, 126]) built in; run `tmapr export` again"),
        (
            {"descriptor": JOINED.model_copy(update={"grid": (3, 3)})},
            "has perception.descriptor.grid = [2, 2] (now [3, 3]) built in",
        ),
        (
            {"descriptor": Descriptor()},
            "has perception.descriptor.parts = ['pooling', 'gem', 'salad'] (now ['pooling']) built",
        ),
        ({"head": "head.pth"}, "has its heads built in"),
        ({"apr": "apr.pth"}, "has its heads built in"),
        ({"statistics": "imagenet"}, "has perception.statistics = clip (now imagenet) built in"),
        ({"position_rule": "exact"}, "has perception.position_rule = hub (now exact) built in"),
    ],
)
def test_what_an_exported_network_has_built_in_cannot_be_set(changes, answer, tiny, exported):
    settings = tiny[1].model_copy(update={"encoder": str(exported)} | changes)
    with pytest.raises(InputError) as refusal:
        open_perceiver(settings)
    assert str(refusal.value).startswith(f"{exported}: ")
    assert answer in str(refusal.value)


def test_a_gpu_that_onnx_runtime_does_not_have_is_refused_in_its_own_line():
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has GPU support")
    with pytest.raises(InputError, match=r"^--device cuda: this ONNX Runtime has no GPU support"):
        load_onnx(SHIPPED, "cuda")


@pytest.mark.parametrize("settings", [Perception(), Perception(encoder=str(SHIPPED))], ids=["torch", "ONNX Runtime"])
def test_a_device_that_does_not_exist_is_refused_in_one_line(settings):
    with pytest.raises(InputError, match=r"^--device tpu: [^\n]+$"):
        open_perceiver(settings, "tpu")


def test_an_export_under_another_name_is_refused(capsys):
    assert command("export", "--out", "perceiver.bin") == 2
    assert "--out perceiver.bin: ends in no suffix that can be written" in capsys.readouterr().err
