"""The assembled network against its parts used by hand, and the perceiver around it against one frame at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from networks import perturbed
from tmapr.artifacts.images import read_image, write_png
from tmapr.artifacts.run import file_digest
from tmapr.config import load_settings
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment
from tmapr.perception.apr import AprHead
from tmapr.perception.card import (
    CLIP,
    IMAGENET,
    AprShape,
    Card,
    Descriptor,
    EfficientNet,
    Input,
    SaladShape,
    Vit,
)
from tmapr.perception.efficientnet import MEAN, STD
from tmapr.perception.eyes import Outputs
from tmapr.perception.image import Image
from tmapr.perception.network import TorchEngine, assemble
from tmapr.perception.opening import open_perceiver
from tmapr.perception.perceiver import Perceiver
from tmapr.perception.pooling import Gem, GridPooling
from tmapr.perception.salad import Salad
from tmapr.perception.settings import SHIPPED_HEAD, Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import build_module, read_checkpoint, save_checkpoint
from tmapr.types import Fault, Frame

WIDTH, CLUSTERS = 64, 8
SIZE = 98, 126
SALAD = SaladShape(channels=WIDTH, clusters=CLUSTERS, cluster_dim=3, token_dim=5, hidden=16)
UTM = (331_234.5, 4_149_876.25)
POSE = AprShape(channels=WIDTH, layers=1, heads=2, hidden=8, center=UTM, scale=350.0)
ONLY_SALAD = Descriptor(parts=("salad",), clusters=CLUSTERS)


def vit(rule="hub", **changes):
    torch.manual_seed(5)
    return perturbed(VisionTransformer(WIDTH, 2, 1, rows=5, columns=6, position_rule=rule, **changes))


def salad(shape=SALAD):
    torch.manual_seed(6)
    return perturbed(Salad(**shape.model_dump()))


def pose_head(shape=POSE):
    torch.manual_seed(7)
    return perturbed(AprHead(**shape.model_dump(exclude={"center", "scale"})))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Our own files: an encoder alone, one with both heads, and the heads alone."""
    folder = tmp_path_factory.mktemp("weights")
    seen = {"encoder": Vit(width=WIDTH, depth=2, heads=1, rows=5, columns=6), "input": Input(mean=CLIP[0], std=CLIP[1])}
    parts = {"encoder": vit(), "salad": salad(), "apr": pose_head()}
    wide, narrow = (SALAD.model_copy(update={"channels": channels}) for channels in (432, 112))
    save_checkpoint(
        folder / "encoder.safetensors", Card(**seen, sources={"vit.pth": "1f"}), {"encoder": parts["encoder"]}
    )
    save_checkpoint(folder / "all.safetensors", Card(**seen, salad=SALAD, apr=POSE), parts)
    save_checkpoint(
        folder / "salad.safetensors", Card(salad=SALAD, sources={"salad.ckpt": "2e"}), {"salad": parts["salad"]}
    )
    save_checkpoint(folder / "apr.safetensors", Card(apr=POSE, sources={"drives": "3d"}), {"apr": parts["apr"]})
    save_checkpoint(folder / "wide.safetensors", Card(salad=wide), {"salad": salad(wide)})
    save_checkpoint(folder / "narrow.safetensors", Card(salad=narrow), {"salad": salad(narrow)})
    return {path.stem: str(path) for path in folder.glob("*.safetensors")}


def pictures(rng, count=3, size=SIZE):
    return rng.integers(0, 256, (count, *size)).astype(np.uint8)


def by_hand(given, encoder, statistics):
    """Features of 8-bit pictures, the three channels written out."""
    mean, std = (torch.tensor(values)[None, :, None, None] for values in statistics)
    colour = torch.from_numpy(given)[:, None].repeat(1, 3, 1, 1) / 255
    return encoder((colour - mean) / std)


def run(settings, given):
    """The outputs of the network that the settings ask for."""
    return [output.numpy() for output in assemble(settings)[0](torch.from_numpy(given))]


def test_the_default_is_the_stride_16_map_pooled_to_2_by_4_and_the_shipped_head():
    _, card = assemble(Perception())
    assert card.encoder == EfficientNet(levels=1)
    assert card.input == Input(mean=MEAN, std=STD, size=(224, 224))
    assert card.salad == SaladShape(channels=112, clusters=16, cluster_dim=64, token_dim=64, hidden=256)
    assert (card.apr, card.descriptor) == (None, Perception().descriptor)
    assert card.dimension == 112 * 2 * 4 + 16 * 64 + 64


def test_the_defaults_card_names_the_encoders_weights_and_the_shipped_head():
    _, card = assemble(Perception())
    assert card.sources["efficientnet-lite0-57934424.pth"].startswith("57934424")
    assert card.sources["default_head.safetensors"] == file_digest(SHIPPED_HEAD)


def test_the_default_descriptor_is_the_pooling_and_half_of_the_head(rng):
    given, head = pictures(rng, size=(96, 96)), read_checkpoint(SHIPPED_HEAD)
    network, card = assemble(Perception(size=(96, 96)))
    features = by_hand(given, network.encoder, (MEAN, STD))
    parts = [GridPooling(112)(features), 0.5 * build_module(card.salad, head.tensors["salad"])(features)]
    found = network(torch.from_numpy(given))[0]
    np.testing.assert_allclose(found, normalize(torch.cat(parts, dim=1), dim=1), atol=1e-6)


def test_a_descriptor_is_its_weighted_parts_joined(files, rng):
    chosen = Descriptor(parts=("gem", "salad", "pooling"), weights=(1.0, 2.0, 0.5), grid=(2, 3), power=4.0, clusters=8)
    given = pictures(rng)
    found = run(Perception(encoder=files["all"], size=SIZE, descriptor=chosen), given)[0]
    features = by_hand(given, vit(), CLIP)
    parts = [Gem(WIDTH, power=4.0), salad(), GridPooling(WIDTH, rows=2, columns=3)]
    weighted = [weight * part(features) for weight, part in zip(chosen.weights, parts, strict=True)]
    np.testing.assert_allclose(found, normalize(torch.cat(weighted, dim=1), dim=1), atol=1e-6)


def test_the_card_describes_what_was_assembled(files):
    settings = Perception(encoder=files["encoder"], head=files["salad"], apr=files["apr"], descriptor=ONLY_SALAD)
    _, card = assemble(settings)
    assert (card.salad, card.apr, card.descriptor, card.dimension) == (SALAD, POSE, ONLY_SALAD, 5 + 8 * 3)
    assert card.sources.items() >= {"vit.pth": "1f", "salad.ckpt": "2e", "drives": "3d"}.items()


def test_the_card_names_our_own_files_by_their_digests(files):
    _, card = assemble(Perception(encoder=files["all"]))
    assert card.sources["all.safetensors"] == file_digest(Path(files["all"]))


def test_heads_of_their_own_files_equal_those_of_the_encoders_file(files, rng):
    given = pictures(rng)
    together = run(Perception(encoder=files["all"], size=SIZE, descriptor=ONLY_SALAD), given)
    apart = Perception(
        encoder=files["encoder"], head=files["salad"], apr=files["apr"], size=SIZE, descriptor=ONLY_SALAD
    )
    for one, other in zip(together, run(apart, given), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "expected"), [("checkpoint", CLIP), ("clip", CLIP), ("imagenet", IMAGENET)])
def test_the_statistics_are_the_checkpoints_unless_others_are_asked_for(name, expected, files, rng):
    settings, given = Perception(encoder=files["encoder"], size=SIZE, statistics=name), pictures(rng)
    card = assemble(settings)[1]
    assert (card.input.mean, card.input.std) == expected
    descriptors = GridPooling(WIDTH)(by_hand(given, vit(), expected))
    np.testing.assert_allclose(run(settings, given)[0], descriptors, atol=1e-6)


@pytest.mark.parametrize(("name", "expected"), [("checkpoint", "hub"), ("hub", "hub"), ("exact", "exact")])
def test_the_position_rule_is_the_checkpoints_unless_another_is_asked_for(name, expected, files, rng):
    settings, given = Perception(encoder=files["encoder"], size=SIZE, position_rule=name), pictures(rng)
    assert assemble(settings)[1].encoder.position_rule == expected
    descriptors = GridPooling(WIDTH)(by_hand(given, vit(expected), CLIP))
    np.testing.assert_allclose(run(settings, given)[0], descriptors, atol=1e-6)


@pytest.mark.parametrize(("head", "levels"), [("narrow", 1), ("wide", 2)])
def test_the_default_encoder_gives_as_many_levels_as_its_head_takes(head, levels, files, rng):
    both = Descriptor(parts=("pooling", "salad"), weights=(1.0, 1.0), clusters=CLUSTERS)
    settings, given = Perception(head=files[head], descriptor=both, size=(96, 96)), pictures(rng, size=(96, 96))
    assert assemble(settings)[1].encoder == EfficientNet(levels=levels)
    plain = run(Perception(size=(96, 96), descriptor=Descriptor()), given)[0]
    np.testing.assert_allclose(run(settings, given)[0][:, : 112 * 8] * np.sqrt(2), plain, atol=1e-5)


REFUSED = [
    # what, the settings, and the line they get
    ("a head of other clusters", {"encoder": "all", "descriptor": Descriptor(parts=("salad",))},
     "its SALAD head has 8 clusters, perception.descriptor.clusters is 64; set it to 8"),
    ("a head for another encoder", {"encoder": "encoder", "head": "wide", "descriptor": ONLY_SALAD},
     "wide.safetensors: its head takes 432 channels, the encoder "),
    ("a head for no level of the default", {"head": "salad", "descriptor": ONLY_SALAD},
     "salad.safetensors: its head takes 64 channels, the encoder "),
    ("a pose head for another encoder", {"apr": "apr"}, "apr.safetensors: its head takes 64 channels, the encoder "),
    ("salad without a head", {"encoder": "encoder", "descriptor": ONLY_SALAD},
     "encoder.safetensors: holds no SALAD head; name one as perception.head"),
    ("a head's file without a head", {"encoder": "all", "head": "apr", "descriptor": ONLY_SALAD},
     "apr.safetensors: holds no SALAD head"),
    ("a head as an encoder", {"encoder": "salad"}, "salad.safetensors: holds no encoder (tmapr)"),
    ("a pose head's file without one", {"encoder": "all", "apr": "salad"}, "salad.safetensors: holds no pose head"),
    ("a size between patches", {"encoder": "encoder", "size": (100, 126)}, "images are 100 × 126 pixels, but sides"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "settings", "answer"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_does_not_fit_together_is_refused_in_one_line(what, settings, answer, files):
    named = {key: files.get(value, value) if isinstance(value, str) else value for key, value in settings.items()}
    with pytest.raises(InputError) as refusal:
        assemble(Perception(**named))
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("overrides", "answer"),
    [
        (["perception.head=head.pth"], 'perception.head is given; add "salad" to perception.descriptor.parts'),
        (["perception.descriptor.weights=[1.0, 2.0]"], "perception.descriptor: 1 parts need as many weights, got 2"),
        (['perception.descriptor.parts=["gem", "gem"]', "perception.descriptor.weights=[1.0, 1.0]"], "a part twice"),
        (["perception.descriptor.parts=[]", "perception.descriptor.weights=[]"], "perception.descriptor.parts"),
        (["perception.descriptor.weights=[0.0]"], "perception.descriptor.weights.0: input should be greater than 0"),
        (["perception.size=[224]"], "perception.size"),
    ],
)
def test_settings_that_contradict_themselves_are_refused_in_one_line(overrides, answer):
    with pytest.raises(InputError) as refusal:
        load_settings(Experiment, None, overrides)
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)


def counts(rng, size=(120, 160)):
    """A scene of a 14-bit camera."""
    rows, columns = np.mgrid[: size[0], : size[1]]
    waves = np.sin(rows / rng.uniform(3, 20)) * np.cos(columns / rng.uniform(3, 20))
    return (3500 + 400 * waves + rng.normal(0, 5, size)).astype(np.uint16)


def frames(images):
    return [Frame("drive", row, 10 + row, lambda image=image: image) for row, image in enumerate(images)]


def test_a_pose_is_in_metres_at_the_precision_of_metres(files, rng):
    """The head's own float32 output times the scale plus the center in float64; float32 would be off by 0.25 m."""
    perceive = open_perceiver(Perception(encoder=files["all"], size=SIZE))
    images = [counts(rng) for _ in range(3)]
    prepared = np.stack([Image().prepare(image, SIZE, "area") for image in images])
    position, heading = (output.double().numpy() for output in pose_head()(by_hand(prepared, vit(), CLIP)))
    for row, percept in enumerate(perceive.batch(frames(images))):
        assert percept.position.dtype == np.float64
        # 350 m times the 2⁻²² or so by which float32 sums may differ from batch to batch.
        np.testing.assert_allclose(percept.position, position[row] * 350.0 + UTM, rtol=0, atol=5e-4)
        assert percept.heading == pytest.approx(np.angle(complex(*heading[row])), abs=1e-5)


@pytest.mark.parametrize("angle", [0.0, 3.0, -3.0, 1.6])
def test_a_heading_is_the_angle_of_its_unit_vector(angle):
    def engine(given):
        return Outputs(np.ones((1, 4), np.float32), np.zeros((1, 2)), np.array([[np.cos(angle), np.sin(angle)]]))

    card = Card(input=Input(mean=CLIP[0], std=CLIP[1], size=SIZE), apr=POSE, dimension=4)
    percept = Perceiver(card, Image(), engine)(frames([counts(np.random.default_rng(1))])[0])
    assert percept.heading == pytest.approx(angle, abs=1e-12)
    assert tuple(percept.position) == UTM


def test_both_heads_share_one_pass_of_the_encoder(files, rng):
    network, _ = assemble(Perception(encoder=files["all"], size=SIZE, descriptor=ONLY_SALAD))
    passes = []
    network.encoder.register_forward_hook(lambda module, given, found: passes.append(len(given[0])))
    outputs = TorchEngine(network, "cpu")(pictures(rng, 3))
    assert passes == [3]
    assert [output.shape for output in outputs] == [(3, 29), (3, 2), (3, 2)]


def test_a_device_that_is_not_there_is_refused_in_one_line(files):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(InputError, match=r"^--device cuda: torch sees no GPU here; use cpu$"):
        open_perceiver(Perception(encoder=files["encoder"]), "cuda")


def shades(given):
    """An engine that can be checked by eye: the means of a picture's quarters."""
    height, width = given.shape[1] // 2, given.shape[2] // 2
    cells = given[:, : 2 * height, : 2 * width].reshape(len(given), 2, height, 2, width).mean(axis=(2, 4))
    return Outputs(cells.reshape(len(given), 4).astype(np.float32))


def perceiver(engine=shades, dimension=4):
    return Perceiver(Card(input=Input(mean=CLIP[0], std=CLIP[1], size=SIZE), dimension=dimension), Image(), engine)


def assert_same(found, expected):
    assert [percept.stamp for percept in found] == [percept.stamp for percept in expected]
    assert [percept.fault for percept in found] == [percept.fault for percept in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.descriptor, other.descriptor)


def test_a_frame_alone_is_perceived_as_in_a_batch(files, rng):
    perceive = open_perceiver(Perception(encoder=files["all"], size=SIZE))
    given = frames([counts(rng) for _ in range(4)])
    for frame, percept in zip(given, perceive.batch(given), strict=True):
        alone = perceive(frame)
        np.testing.assert_allclose(alone.descriptor, percept.descriptor, atol=1e-6)
        np.testing.assert_allclose(alone.position, percept.position, rtol=0, atol=1e-3)
        assert alone.heading == pytest.approx(percept.heading, abs=1e-5)


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8, 100])
def test_a_stream_gives_what_one_frame_at_a_time_gives(batch, rng):
    given = frames([counts(rng) for _ in range(7)])
    assert_same(list(perceiver().stream(iter(given), batch)), [perceiver()(frame) for frame in given])


def test_with_full_batches_a_frame_alone_is_bit_for_bit_what_it_is_among_others(files, rng):
    network, card = assemble(Perception(encoder=files["all"], size=SIZE))
    full = Perceiver(card, Image(), TorchEngine(network, "cpu")).with_full_batches()
    given = frames([counts(rng) for _ in range(9)])
    together = [percept.descriptor for percept in full.stream(given)]
    alone = [next(full.stream([frame])).descriptor for frame in given]
    np.testing.assert_array_equal(together, alone)


@pytest.fixture
def spoiled(rng, tmp_path):
    """Six frames of which three cannot be used, and the faults they must get."""
    images = [counts(rng) for _ in range(6)]
    images[1], images[4] = np.full_like(images[1], 3500), np.full_like(images[4], 65535)
    given = frames(images)
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    given[2] = Frame("drive", 2, 12, lambda: read_image(tmp_path / "torn.png"))
    return given, [None, Fault.EMPTY, Fault.INVALID, None, Fault.SATURATED, None]


@pytest.mark.parametrize("batch", [1, 2, 4, 6])
def test_a_frame_that_cannot_be_used_is_a_fault_in_its_place(batch, spoiled):
    given, faults = spoiled
    found = list(perceiver().stream(given, batch))
    assert [percept.fault for percept in found] == faults
    assert [percept.stamp for percept in found] == [frame.stamp for frame in given]
    for frame, percept in zip(given, found, strict=True):
        if percept.fault:
            assert (percept.position, percept.heading) == (None, None)
            np.testing.assert_array_equal(percept.descriptor, np.zeros(4))
        else:
            np.testing.assert_array_equal(percept.descriptor, perceiver()(frame).descriptor)


def test_a_batch_of_faults_alone_does_not_reach_the_network(spoiled):
    given, faults = spoiled
    unusable = [frame for frame, fault in zip(given, faults, strict=True) if fault]

    def engine(pictures):
        raise AssertionError("was asked for nothing")

    assert [percept.fault for percept in perceiver(engine).batch(unusable)] == [fault for fault in faults if fault]


def test_images_are_prepared_as_the_settings_say(rng, tmp_path):
    write_png(tmp_path / "scene.png", counts(rng))
    frame = Frame("drive", 0, 0, lambda: read_image(tmp_path / "scene.png"))
    card, seen = perceiver().card, []

    def engine(pictures):
        seen.append(pictures)
        return shades(pictures)

    for image in (Image(), Image(clip_limit=0.0), Image(crop=(10, 20, 30, 5))):
        Perceiver(card, image, engine)(frame)
        np.testing.assert_array_equal(seen.pop()[0], image.prepare(frame.image(), SIZE, "area"))
