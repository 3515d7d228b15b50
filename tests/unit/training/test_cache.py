"""What networks are given against the perceiver's own, made once; and the training that is planned from it."""

import os
import shutil

import numpy as np
import pytest
import torch

from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.baselines.settings import AtLocRecipe, Baselines
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment, open_data
from tmapr.perception.card import CLIP, IMAGENET, Card, Input, Vit
from tmapr.perception.encoder import Features
from tmapr.perception.image import Image
from tmapr.perception.network import assemble
from tmapr.perception.opening import open_perceiver
from tmapr.perception.pooling import average_tokens
from tmapr.perception.recipes import Augmentation, Training
from tmapr.perception.settings import OWN, Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import read_checkpoint, save_checkpoint
from tmapr.training.checkpoints import Checkpoints
from tmapr.training.fit import fit
from tmapr.training.plan import TrainingData, plan_training, prepare_for_training

SIZE, WIDTH, COUNT = (42, 56), 64, 12
HEAD = Training(layers=1, heads=2, epochs=2, batch=4, guard=2)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    torch.manual_seed(3)
    file = tmp_path_factory.mktemp("weights") / "vit.safetensors"
    shape = Vit(width=WIDTH, depth=1, heads=1, rows=3, columns=4)
    with torch.no_grad():
        module = VisionTransformer(WIDTH, 1, 1, rows=3, columns=4)
        for weights in module.parameters():
            weights += 0.1 * torch.randn(weights.shape)
    save_checkpoint(file, Card(encoder=shape, input=Input(mean=CLIP[0], std=CLIP[1])), {"encoder": module})
    return file


def write_sequence(folder, rows, seed=1):
    """Rough images; a row is what follows `stamp,file` in frames.csv."""
    rng = np.random.default_rng(seed)
    lines = ["stamp,file,x,y,heading"]
    for number, row in enumerate(rows):
        counts = (3000 + 300 * rng.normal(size=(48, 64))).astype(np.uint16)
        write_frame(folder / f"{number:02}.png", counts)
        lines.append(f"{10**18 + number * 10**8},{number:02}.png,{row}")
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def experiment(tmp_path, encoder):
    """Twelve frames: one without a position, one without a heading, one that is empty and one that is frozen."""
    rows = [f"{2.0 * number},5.0,{0.1 * number:.1f}" for number in range(COUNT)]
    rows[3], rows[5] = ",,0.3", "10.0,5.0,"
    write_sequence(tmp_path / "data/noon", rows)
    write_frame(tmp_path / "data/noon/08.png", np.full((48, 64), 3000, np.uint16))
    shutil.copy(tmp_path / "data/noon/09.png", tmp_path / "data/noon/10.png")
    return Experiment(
        data=Data(root=str(tmp_path / "data"), train=("noon",), reference="noon"),
        perception=Perception(encoder=str(encoder), size=SIZE),
        training=HEAD,
    )


def change(experiment, **changes):
    return experiment.model_copy(update=changes)


def data_for(experiment, folder, model="apr"):
    return TrainingData(experiment, model, RunFolder(folder))


def examples(experiment, folder, name="noon"):
    return data_for(experiment, folder).load_varied_examples(name)


def take_rows(given):
    return given.store.take(given.rows)


def test_frames_without_a_position_or_with_a_fault_are_left_out(experiment, tmp_path):
    made = examples(experiment, tmp_path)
    assert made.numbers.tolist() == [0, 1, 2, 4, 5, 6, 7, 9, 11]
    np.testing.assert_array_equal(made.positions[:, 0], 2.0 * made.numbers)


def pictures(experiment, made):
    return np.stack([Image().prepare(frame.image(), SIZE, "area") for frame in frames(experiment, made.numbers)])


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("pooled", [None, (2, 2)])
def test_the_network_is_given_what_the_encoder_says_of_the_prepared_image(experiment, tmp_path, pooled, cached):
    training = HEAD.model_copy(update={"pooled": pooled, "cached": cached})
    source = data_for(change(experiment, training=training), tmp_path)
    made = source.load_varied_examples("noon")
    given = source.feed(made, np.arange(len(made)))
    network, _ = assemble(experiment.perception)
    with torch.inference_mode():
        seen = network.features(torch.from_numpy(pictures(experiment, made)))
    expected = average_tokens(seen, *pooled) if pooled else seen
    assert (given.rows, given.columns) == (pooled or (3, 4))
    np.testing.assert_allclose(given.tokens, expected.tokens, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(given.summary, given.tokens.mean(dim=1), rtol=1e-5, atol=1e-5)


def test_a_trunk_of_its_own_is_given_the_prepared_image_in_imagenet_s_units(experiment, tmp_path):
    source = data_for(experiment, tmp_path, "atloc")
    made = source.load_varied_examples("noon")
    given = source.feed(made, np.arange(len(made)))
    mean, std = (np.array(values)[:, None, None] for values in IMAGENET)
    np.testing.assert_allclose(given, (pictures(experiment, made)[:, None] / 255 - mean) / std, atol=1e-6)


def test_a_frozen_trunk_is_given_tokens(experiment, tmp_path):
    frozen = Baselines(atloc=AtLocRecipe(trunk="frozen"))
    source = data_for(change(experiment, baselines=frozen), tmp_path, "atloc")
    assert isinstance(source.feed(source.load_varied_examples("noon"), np.arange(2)), Features)


def frames(experiment, numbers):
    kept = set(numbers.tolist())
    return [frame for frame in open_data(experiment.data, "noon") if frame.index in kept]


VARIED = HEAD.model_copy(update={"augmentation": Augmentation(noise=0.2), "copies": 3})


def test_of_augmented_pictures_the_first_version_is_as_recorded(experiment, tmp_path):
    plain, varied = examples(experiment, tmp_path / "a"), examples(change(experiment, training=VARIED), tmp_path / "b")
    np.testing.assert_array_equal(take_rows(plain), take_rows(varied))
    versions = np.stack([varied.store.take(varied.rows + version) for version in range(3)])
    assert len(varied.store) == 3 * len(varied)
    assert not any(np.array_equal(versions[0], other) for other in versions[1:])
    assert not np.array_equal(versions[1], versions[2])


def test_augmented_versions_are_drawn_only_while_learning(experiment, tmp_path):
    source = data_for(change(experiment, training=VARIED), tmp_path)
    made = source.load_varied_examples("noon")
    everything = np.arange(len(made))
    drawn = [source.feed(made, everything, torch.Generator().manual_seed(seed)).tokens for seed in range(4)]
    plain = source.feed(made, everything).tokens
    np.testing.assert_array_equal(plain, take_rows(made).astype(np.float32))
    kinds = {tuple(np.isclose(one, plain, atol=0).all(axis=(1, 2)).tolist()) for one in drawn}
    assert len(kinds) > 1
    with_noise = [not np.array_equal(one, plain) for one in drawn]
    assert all(with_noise)


@pytest.mark.parametrize(("model", "cached"), [("apr", False), ("atloc", True)])
def test_pictures_are_augmented_only_while_learning(experiment, tmp_path, model, cached):
    def see(augmentation, generator=None):
        training = HEAD.model_copy(update={"augmentation": augmentation, "cached": cached})
        source = data_for(change(experiment, training=training), tmp_path, model)
        given = source.feed(source.load_varied_examples("noon"), np.arange(3), generator)
        return given.tokens if isinstance(given, Features) else given

    plain = see(Augmentation())
    np.testing.assert_array_equal(see(Augmentation(noise=0.2)), plain)
    np.testing.assert_array_equal(see(Augmentation(), torch.Generator()), plain)
    assert not np.array_equal(see(Augmentation(noise=0.2), torch.Generator()), plain)


def test_a_making_that_is_interrupted_leaves_nothing_that_could_be_taken_for_whole(experiment, tmp_path):
    examples(experiment, tmp_path)

    def stopping(rows):
        yield from rows[:5]
        raise KeyboardInterrupt

    other = change(experiment, training=HEAD.model_copy(update={"pooled": (2, 2)}))
    with pytest.raises(KeyboardInterrupt):
        TrainingData(other, "apr", RunFolder(tmp_path), watch=stopping).load_varied_examples("noon")
    assert not (RunFolder(tmp_path).cache("tokens", "noon") / "index.npz").exists()


def test_versions_do_not_depend_on_what_was_encoded_before(experiment, tmp_path):
    write_sequence(tmp_path / "data/dusk", [f"{row}.0,7.0," for row in range(4)], seed=2)
    varied = change(experiment, training=VARIED)
    alone, after = data_for(varied, tmp_path / "a"), data_for(varied, tmp_path / "b")
    after.load_varied_examples("dusk")
    first, second = (source.load_varied_examples("noon").store for source in (alone, after))
    np.testing.assert_array_equal(first.take(np.arange(len(first))), second.take(np.arange(len(second))))


def blacken(image):
    """Other content, with the size and the time stamp of the old."""
    known = image.stat()
    image.write_bytes(bytes(known.st_size))
    os.utime(image, ns=(known.st_atime_ns, known.st_mtime_ns))


def test_examples_are_not_made_twice(experiment, tmp_path):
    made = examples(experiment, tmp_path)
    for image in (tmp_path / "data/noon").glob("*.png"):
        blacken(image)
    again = examples(experiment, tmp_path)
    np.testing.assert_array_equal(take_rows(again), take_rows(made))
    np.testing.assert_array_equal(again.headings, made.headings)
    assert again.numbers.tolist() == made.numbers.tolist()


def test_a_changed_image_is_seen_by_its_time_stamp_or_when_all_content_is_read(experiment, tmp_path):
    before = take_rows(examples(experiment, tmp_path))
    write_frame(
        tmp_path / "data/noon/04.png", (3000 + 300 * np.random.default_rng(8).normal(size=(48, 64))).astype("u2")
    )
    source = data_for(experiment, tmp_path)
    changed = take_rows(source.load_varied_examples("noon")) != before
    assert np.flatnonzero(changed.any(axis=(1, 2))).tolist() == [3]  # frame 4: frame 3 has no position
    assert source.remarks == [f"{tmp_path}/cache/tokens/noon: 1 of 12 images changed; made again"]
    blacken(tmp_path / "data/noon/04.png")
    verifying = TrainingData(experiment, "apr", RunFolder(tmp_path), trust="content")
    assert 4 not in verifying.load_varied_examples("noon").numbers


def test_corrected_positions_are_those_of_the_examples_and_nothing_is_encoded_for_them(experiment, tmp_path):
    before = examples(experiment, tmp_path)
    table = tmp_path / "data/noon/frames.csv"
    table.write_text(table.read_text().replace(",5.0,", ",17.0,"))
    for image in (tmp_path / "data/noon").glob("*.png"):
        blacken(image)
    source = data_for(experiment, tmp_path)
    after = source.load_varied_examples("noon")
    np.testing.assert_array_equal(after.positions, before.positions + np.array([0, 12.0]))
    np.testing.assert_array_equal(take_rows(after), take_rows(before))
    assert source.remarks == [f"{tmp_path}/cache/tokens/noon: positions changed; taken from the recording"]
    assert data_for(experiment, tmp_path).load_varied_examples("noon").positions.tolist() == after.positions.tolist()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"perception": {"image": Image(clip_limit=0.0)}}, "perception.image.clip_limit"),
        ({"perception": {"statistics": "imagenet"}}, "perception.statistics = checkpoint (now imagenet)"),
        ({"training": {"pooled": (2, 2)}}, r"training.pooled = None (now [2, 2])"),
        ({"training": {"augmentation": Augmentation(gain=0.9)}}, "training.copies = 1 (now 4)"),
    ],
)
def test_examples_of_other_settings_are_refused_with_a_word_and_made_again(experiment, tmp_path, changes, named):
    before = take_rows(examples(experiment, tmp_path))
    (section, update), *_ = changes.items()
    sections = {"perception": experiment.perception, "training": experiment.training}
    source = data_for(change(experiment, **{section: sections[section].model_copy(update=update)}), tmp_path)
    after = source.load_varied_examples("noon")
    assert len(after.store) > len(before) or not np.array_equal(take_rows(after), before)
    (remark,) = source.remarks
    assert remark.startswith(f"{tmp_path}/cache/tokens/noon: was made with ")
    assert named in remark


def test_examples_of_another_encoder_are_refused_with_a_word_and_made_again(experiment, tmp_path, encoder):
    before = take_rows(examples(experiment, tmp_path))
    other = tmp_path / "other.safetensors"
    checkpoint = read_checkpoint(encoder)
    network = VisionTransformer(WIDTH, 1, 1, rows=3, columns=4)
    network.load_state_dict({name: 1.1 * value for name, value in checkpoint.tensors["encoder"].items()})
    save_checkpoint(other, checkpoint.card, {"encoder": network})
    perception = experiment.perception.model_copy(update={"encoder": str(other)})
    source = data_for(change(experiment, perception=perception), tmp_path)
    assert not np.array_equal(take_rows(source.load_varied_examples("noon")), before)
    assert "perception.encoder" in source.remarks[0]


@pytest.mark.parametrize("file", ["index.npz", "0000.npz"])
@pytest.mark.parametrize("content", [None, b"half a file"])
def test_damaged_examples_are_made_again(experiment, tmp_path, file, content):
    made = take_rows(examples(experiment, tmp_path))
    damaged = RunFolder(tmp_path).cache("tokens", "noon") / file
    damaged.unlink() if content is None else damaged.write_bytes(content)
    np.testing.assert_array_equal(take_rows(examples(experiment, tmp_path)), made)


def test_a_sequence_without_any_usable_frame_is_refused(experiment, tmp_path):
    write_sequence(tmp_path / "data/blind", [",,"] * 3)
    with pytest.raises(InputError, match="blind: no frame has both a position and a usable image; leave it out"):
        examples(experiment, tmp_path, "blind")


def write_on_earth(folder, longitude=127.0):
    write_sequence(folder, [f"{longitude + row / 10_000:.4f},37.0," for row in range(3)])
    text = (folder / "frames.csv").read_text().replace("x,y", "lon,lat")
    (folder / "frames.csv").write_text(text)


def test_positions_of_another_frame_than_the_map_s_are_refused(experiment, tmp_path):
    write_on_earth(tmp_path / "data/earth")
    elsewhere = experiment.data.model_copy(update={"reference": "earth"})
    with pytest.raises(InputError, match=r"noon/frames\.csv: has positions as x,y in a frame of their own, the map"):
        examples(change(experiment, data=elsewhere), tmp_path)


def test_examples_placed_relative_to_another_reference_are_made_again(experiment, tmp_path):
    write_on_earth(tmp_path / "data/earth")
    write_on_earth(tmp_path / "data/west", longitude=126.999)
    given = [experiment.data.model_copy(update={"reference": name}) for name in ("earth", "west")]
    first, second = (examples(change(experiment, data=data), tmp_path, "earth") for data in given)
    np.testing.assert_allclose(second.positions[:, 0] - first.positions[:, 0], 89.0, atol=0.5)


def test_positions_on_earth_need_a_reference(experiment, tmp_path):
    write_on_earth(tmp_path / "data/earth")
    alone = experiment.data.model_copy(update={"reference": None, "train": ("earth",)})
    with pytest.raises(InputError, match=r"data\.reference is not set"):
        examples(change(experiment, data=alone), tmp_path, "earth")


def make_plan(experiment, folder, model="apr"):
    return plan_training(experiment, model, data_for(experiment, folder, model))


def test_the_plan_holds_out_the_end_of_every_sequence(experiment, tmp_path):
    write_sequence(tmp_path / "data/dusk", [f"{100 + row}.0,7.0," for row in range(20)], seed=2)
    both = experiment.data.model_copy(update={"train": ("noon", "dusk")})
    plan = make_plan(change(experiment, data=both), tmp_path)
    assert plan.validation.positions[:, 0].tolist() == [22.0, 118.0, 119.0]
    assert plan.train.positions[:, 0].tolist() == [*(2.0 * np.delete(np.arange(9), [3, 8])), *range(100, 116)]
    (told,) = plan.remarks
    assert told.startswith("data.validation is empty: the last 10% of each sequence validate and 2 frames before them")
    assert told.endswith(f"so {len(plan.train)} of 29 frames train")


def test_sequences_for_validation_leave_all_others_to_training(experiment, tmp_path):
    write_sequence(tmp_path / "data/dusk", [f"{100 + row}.0,7.0," for row in range(4)], seed=2)
    named = experiment.data.model_copy(update={"validation": ("dusk",)})
    plan = make_plan(change(experiment, data=named), tmp_path)
    assert (len(plan.train), plan.validation.positions[:, 0].tolist()) == (9, [100.0, 101.0, 102.0, 103.0])
    assert plan.remarks == ()


def test_a_sequence_too_short_for_the_guard_is_remarked_on(experiment, tmp_path):
    plan = make_plan(change(experiment, training=HEAD.model_copy(update={"guard": 120})), tmp_path)
    assert plan.remarks[0] == "noon: too short for 120 frames between training and validation; none is left out"


@pytest.mark.parametrize(
    ("data", "perception", "message"),
    [
        ({"train": ()}, {}, r"data\.train is empty"),
        ({"validation": ("noon",)}, {}, "share 'noon'"),
        ({}, {"encoder": OWN}, '"own"'),
        ({}, {"encoder": "perceiver.onnx"}, "gives no tokens"),
        ({}, {"apr": "elsewhere/head.safetensors"}, r"perception\.apr = 'elsewhere/head.safetensors'"),
    ],
)
def test_what_cannot_be_trained_is_refused(experiment, data, perception, message):
    sections = {"data": experiment.data.model_copy(update=data)}
    sections["perception"] = experiment.perception.model_copy(update=perception)
    with pytest.raises(InputError, match=message):
        prepare_for_training(change(experiment, **sections))


def test_a_head_that_training_left_is_trained_anew(experiment):
    named = experiment.perception.model_copy(update={"apr": "runs/street/apr/000012/head.safetensors"})
    assert prepare_for_training(change(experiment, perception=named)) == experiment


@pytest.fixture
def trained(experiment, tmp_path):
    """The plan after its training, and the experiment with the head."""
    plan, folder = make_plan(experiment, tmp_path), RunFolder(tmp_path)
    list(fit(plan, Checkpoints(experiment, folder)))
    return plan, experiment.with_head(folder)


def test_the_trained_head_says_of_an_image_what_it_learned_of_its_tokens(trained, experiment):
    plan, posed = trained
    network, card = assemble(posed.perception)
    shape = plan.model.shape
    assert card.apr == shape
    (last,) = frames(experiment, np.array([11]))
    with torch.inference_mode():
        said = network.apr(plan.feed(plan.validation, np.arange(len(plan.validation)))).position.numpy()[-1]
    expected = said * shape.scale + shape.center
    np.testing.assert_allclose(open_perceiver(posed.perception, "cpu")(last).position, expected, atol=0.01)


def test_training_leaves_the_encoder_as_it_was(trained, experiment, encoder):
    _, posed = trained
    (first,) = frames(experiment, np.array([0]))
    before, after = (open_perceiver(given.perception, "cpu")(first) for given in (experiment, posed))
    np.testing.assert_array_equal(before.descriptor, after.descriptor)
    assert (before.position, after.position is None) == (None, False)
    assert file_digest(encoder) == posed.perception.origin.files["encoder"]
