"""A descriptor trained on made-up streets: what it learns from, what is kept of it, and what is refused."""

from dataclasses import asdict

import cv2
import numpy as np
import pytest
import torch

from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.config import load_settings
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment, open_data, read_experiment
from tmapr.perception.card import CLIP, Card, Descriptor, Input, SaladShape, Vit
from tmapr.perception.image import Image
from tmapr.perception.network import assemble
from tmapr.perception.opening import open_perceiver
from tmapr.perception.recipes import Metric, Training
from tmapr.perception.settings import DEFAULT, OWN, SHIPPED_HEAD, Perception
from tmapr.perception.vit import VisionTransformer
from tmapr.perception.weights import read_checkpoint, save_checkpoint
from tmapr.training.descriptor import DescriptorResult, TrainingStart, ValidationStep, compose, train_descriptor
from tmapr.training.descriptor_data import infer_headings, load_descriptor_data
from tmapr.training.metric import TraversesInMemory, train_head

SIZE, WIDTH = (56, 84), 64
PLACES, SPACING = 24, 20.0
SHAPE = SaladShape(channels=WIDTH, clusters=4, cluster_dim=8, token_dim=8, hidden=32)
METRIC = Metric(steps=100, look=20, pairs=32, rate=1e-2, used_weight=2.0, **SHAPE.model_dump(exclude={"channels"}))
LAPS = ("noon", "dusk", "dawn", "rain")


@pytest.fixture(autouse=True)
def _own_randomness():
    """Weights and dropout are drawn from torch's global generator, which is left as it was."""
    with torch.random.fork_rng():
        yield


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    file = tmp_path_factory.mktemp("weights") / "vit.safetensors"
    shape = Vit(width=WIDTH, depth=1, heads=1, rows=4, columns=6)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        module = VisionTransformer(WIDTH, 1, 1, rows=4, columns=6)
        for weights in module.parameters():
            weights += 0.1 * torch.randn(weights.shape)
    save_checkpoint(file, Card(encoder=shape, input=Input(mean=CLIP[0], std=CLIP[1])), {"encoder": module})
    return file


def write_lap(folder, rng, along, heading="0.0", aside=0.0):
    """A drive past places: blocks of an image show the place, stripes of any strength, block by block, the weather."""
    houses = np.random.default_rng(1).normal(size=(PLACES, 8, 12))
    stripes = np.where(np.arange(SIZE[1]) % 4 < 2, 1.0, -1.0)
    lines = ["stamp,file,x,y,heading"]
    for number, x in enumerate(along):
        scene = enlarge(houses[round(x / SPACING) % PLACES]) + 2.0 * enlarge(rng.normal(size=(4, 6))) * stripes
        write_frame(folder / f"{number:02}.png", (8000 + 500 * scene + 20 * rng.normal(size=SIZE)).astype(np.uint16))
        lines.append(f"{10**18 + number * 10**9},{number:02}.png,{x:.3f},{aside},{heading}")
    (folder / "frames.csv").write_text("\n".join(lines) + "\n")


def enlarge(blocks):
    """As large as an image."""
    return cv2.resize(blocks, SIZE[::-1], interpolation=cv2.INTER_NEAREST)


@pytest.fixture(scope="module")
def streets(tmp_path_factory):
    """Four laps of one street, each frame up to a metre from where the others were taken."""
    root, rng = tmp_path_factory.mktemp("streets"), np.random.default_rng(7)
    for name in LAPS:
        write_lap(root / name, rng, SPACING * np.arange(PLACES) + rng.uniform(-0.5, 0.5, PLACES))
    return root


@pytest.fixture(scope="module")
def experiment(streets, encoder):
    """Trained on three laps, watched on the fourth; the test sequence is not even there."""
    data = Data(root=str(streets), train=LAPS[:3], validation=LAPS[3:], reference="noon", test=("night",))
    return Experiment(data=data, perception=Perception(encoder=str(encoder), size=SIZE), metric=METRIC)


@pytest.fixture(scope="module")
def trained(experiment, tmp_path_factory):
    """The folder of a training, and all that it told."""
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    with torch.random.fork_rng():
        return folder, list(train_descriptor(experiment, folder))


def change(experiment, section, **changes):
    """The experiment with other settings in one section."""
    sections = {"data": experiment.data, "metric": experiment.metric, "perception": experiment.perception}
    return experiment.model_copy(update={section: sections[section].model_copy(update=changes)})


def refusal(experiment, folder):
    """The one line of a training that is refused; it leaves no head."""
    with pytest.raises(InputError) as refused:
        list(train_descriptor(experiment, RunFolder(folder)))
    assert not (folder / "descriptor").exists()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def read_settings(outcome, folder):
    """What the lines at the end of a training say to an experiment file."""
    file = folder / "told.toml"
    file.write_text(outcome.message[outcome.message.index("[perception]") :])
    return read_experiment(file).perception


def percepts(perception, streets, name):
    """Descriptors and positions of a lap, through the perceiver of run time."""
    frames = list(open_data(Data(root=str(streets)), name))
    seen = open_perceiver(perception, "cpu").batch(frames)
    return np.array([percept.descriptor for percept in seen]), np.array([frame.position for frame in frames])


def count_recall(perception, streets, asked, mapped):
    """R@1 by a loop over the percepts of run time."""
    (queries, truth), (references, known) = percepts(perception, streets, asked), percepts(perception, streets, mapped)
    right = [
        np.hypot(*(known[np.argmax([query @ reference for reference in references])] - here)) <= METRIC.correct
        for query, here in zip(queries, truth, strict=True)
    ]
    return np.mean(right)


def test_a_training_tells_what_it_has_every_look_and_the_outcome(trained):
    beginning, *looks, outcome = trained[1]
    assert (type(beginning), type(outcome)) == (TrainingStart, DescriptorResult)
    assert [look.step for look in looks] == [0, 20, 40, 60, 80, 100]
    assert [look.step for look in looks if look.loss is None] == [0]
    assert beginning.message == (
        "72 frames of noon, dusk, dawn, 72 of them with a partner in another traverse; a new head is trained, and"
        " watched on 24 frames of rain among 24 of noon"
    )
    assert looks[0].message == f"step 0: as it is now; R@1 {looks[0].recall:.3f}"
    assert looks[1].message == f"step 20: loss {looks[1].loss:.3f}; R@1 {looks[1].recall:.3f}"


def test_a_head_learns_to_look_past_the_weather_of_a_lap_it_never_saw(trained):
    _, *looks, outcome = trained[1]
    assert looks[0].recall < 0.4
    assert outcome.best.recall > looks[0].recall + 0.3
    assert looks[-1].loss < looks[1].loss


def test_the_first_of_the_best_looks_is_kept(trained, experiment):
    _, *looks, outcome = trained[1]
    assert outcome.start == looks[0]
    assert outcome.best == max(looks, key=lambda look: look.recall)
    assert outcome.best != looks[-1]  # else what follows could not tell them apart
    torch.manual_seed(METRIC.seed)
    made, data = compose(experiment.perception, METRIC), load_descriptor_data(experiment, trained[0])
    next(step for step, _ in train_head(made.head, made.plain, data.train, METRIC) if step == outcome.best.step)
    kept = read_checkpoint(outcome.head).tensors["salad"]
    assert all(torch.equal(weight, kept[name]) for name, weight in made.head.state_dict().items())


def test_the_first_look_is_what_the_experiment_has_now(trained, experiment, streets):
    start = trained[1][1]
    assert start.recall == count_recall(experiment.perception, streets, "rain", "noon")


def test_the_lines_at_the_end_open_the_descriptor_that_was_measured(trained, experiment, streets, tmp_path):
    outcome = trained[1][-1]
    told = read_settings(outcome, tmp_path)
    assert (told.descriptor.parts, told.descriptor.weights) == (("pooling", "salad"), (1.0, METRIC.used_weight))
    perception = experiment.perception.model_copy(update={"head": told.head, "descriptor": told.descriptor})
    assert outcome.best.recall == count_recall(perception, streets, "rain", "noon")


def test_the_encoder_and_the_rest_of_the_descriptor_stay_as_they_are(trained, experiment, encoder, streets, tmp_path):
    told = read_settings(trained[1][-1], tmp_path)
    perception = experiment.perception.model_copy(update={"head": told.head, "descriptor": told.descriptor})
    before, after = (percepts(each, streets, "rain")[0] for each in (experiment.perception, perception))
    pooled = after[:, : before.shape[1]]
    pooled = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    np.testing.assert_allclose(pooled, before, atol=1e-6)
    assert read_checkpoint(encoder).card.weights == file_digest(encoder)
    assert set(read_checkpoint(trained[0].path / "descriptor/head.safetensors").tensors) == {"salad"}


def test_the_card_tells_how_the_head_was_made(trained, encoder):
    _, *looks, outcome = trained[1]
    card = read_checkpoint(outcome.head).card
    assert card.salad == SHAPE
    assert card.sources == {"vit.safetensors": file_digest(encoder)}
    made = card.made
    assert (made["data"], made["start"]) == ("72 frames of noon, dusk, dawn", "a new head")
    assert made["watched"] == "24 frames of rain among 24 of noon"
    assert made["recipe"] == METRIC.model_dump(mode="json")
    assert made["used_with_weight"] == METRIC.used_weight
    assert made["course"] + made["discarded"] == [asdict(look) for look in looks]
    assert made["course"][-1] == asdict(outcome.best)


def test_a_second_training_goes_on_from_the_first_and_measures_the_same(trained, experiment, tmp_path):
    told = read_settings(trained[1][-1], tmp_path)
    again = change(experiment, "perception", head=told.head, descriptor=told.descriptor)
    beginning, first, *_ = train_descriptor(change(again, "metric", steps=1), RunFolder(tmp_path))
    assert "; the experiment's head is trained, and" in beginning.message
    assert first.recall == trained[1][-1].best.recall


def list_losses(experiment, folder):
    told = train_descriptor(experiment, RunFolder(folder))
    return [each.loss for each in told if isinstance(each, ValidationStep) and each.step]


def test_the_seed_alone_determines_the_training_however_often_one_looks(experiment, tmp_path):
    once = change(experiment, "metric", steps=8, look=8)
    (seldom,), often = list_losses(once, tmp_path), list_losses(change(once, "metric", look=2), tmp_path)
    assert len(often) == 4
    np.testing.assert_allclose(np.mean(often), seldom, rtol=1e-12)
    assert list_losses(change(once, "metric", seed=1), tmp_path) != [seldom]


def test_a_head_that_is_no_better_is_not_written_and_leaves_an_earlier_one(experiment, tmp_path):
    # So light beside the pooling that no match can change.
    idle = change(experiment, "metric", steps=2, look=1, used_weight=1e-6)
    earlier = tmp_path / "descriptor/head.safetensors"
    save_checkpoint(earlier, Card(salad=SHAPE), {"salad": compose(experiment.perception, METRIC).head})
    before = {path: path.read_bytes() for path in earlier.parent.iterdir()}
    *_, outcome = train_descriptor(idle, RunFolder(tmp_path))
    assert outcome.head is None
    assert outcome.message == f"no better than before: R@1 stays {outcome.start.recall:.3f}; nothing was written"
    assert {path: path.read_bytes() for path in earlier.parent.iterdir()} == before


def test_a_training_that_is_interrupted_leaves_no_file(experiment, tmp_path):
    telling = train_descriptor(experiment, RunFolder(tmp_path))
    while next(telling).message[:8] != "step 40:":
        pass
    telling.close()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_features_are_read_from_files_once_they_are_there(experiment, streets, tmp_path):
    data = load_descriptor_data(experiment, RunFolder(tmp_path))
    for name in LAPS:
        assert (tmp_path / "cache/descriptor-tokens" / name / "index.npz").exists()
    elsewhere = change(experiment, "data", train=("noon", "dusk", "dawn"))
    again = load_descriptor_data(elsewhere, RunFolder(tmp_path), watch=lambda rows: pytest.fail("encoded again"))
    rows = np.arange(5)
    assert torch.equal(again.train.features(rows).tokens, data.train.features(rows).tokens)


@pytest.mark.parametrize(("given", "grid"), [("vit", (4, 6)), (DEFAULT, (4, 6))])
def test_features_are_all_that_the_encoder_sees(experiment, streets, tmp_path, given, grid):
    perception = experiment.perception if given == "vit" else Perception(size=(64, 96))
    data = load_descriptor_data(experiment.model_copy(update={"perception": perception}), RunFolder(tmp_path))
    frames = list(open_data(experiment.data, "rain"))
    pictures = np.stack([Image().prepare(frame.image(), perception.size, "area") for frame in frames])
    with torch.inference_mode():
        seen = assemble(perception)[0].features(torch.from_numpy(pictures))
    kept = data.asked.features(np.arange(len(frames)))
    assert (kept.rows, kept.columns) == grid
    torch.testing.assert_close(kept.tokens, seen.tokens, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(kept.summary, seen.summary, rtol=2e-3, atol=2e-3)


def test_a_store_and_memory_give_the_same_losses(experiment, tmp_path):
    frames = load_descriptor_data(experiment, RunFolder(tmp_path)).train
    seen = frames.features(np.arange(len(frames.positions)))
    places = (frames.positions, frames.headings, frames.traverses, frames.sites)
    memory = TraversesInMemory(seen.tokens.half(), seen.summary.half(), frames.grid, *places)

    def losses(given):
        torch.manual_seed(0)
        made = compose(experiment.perception, METRIC)
        return [loss for _, loss in train_head(made.head, made.plain, given, METRIC.model_copy(update={"steps": 4}))]

    assert losses(frames) == losses(memory)


def test_without_a_validation_a_stretch_is_held_out_with_all_that_is_near_it(experiment, tmp_path):
    alone = change(experiment, "data", validation=())
    alone = change(alone.model_copy(update={"training": Training(held_out=0.25)}), "metric", apart=45.0)
    data = load_descriptor_data(alone, RunFolder(tmp_path))
    stretch = data.mapped.positions[-6:, 0]
    # Places are 20 m apart and frames within a metre of them: 45 m are two places.
    assert round(data.train.positions[:, 0].max() / SPACING) == round(stretch.min() / SPACING) - 3
    assert np.round(data.asked.positions[:, 0] / SPACING).tolist() == 2 * np.round(stretch / SPACING).tolist()
    assert set(data.asked.traverses) == {1, 2}
    assert data.watched == "12 frames of the last 25% of the way, held out, among 24 of noon"
    assert data.source == "48 frames of noon, dusk, dawn"
    assert [remark[:24] for remark in data.remarks] == ["data.validation is empty"]


def test_features_stay_with_their_frames_where_some_are_left_out(experiment, tmp_path):
    every, some = (
        load_descriptor_data(change(experiment, "data", validation=watched), RunFolder(tmp_path))
        for watched in (LAPS[3:], ())
    )
    (frame,) = np.flatnonzero((every.train.positions == some.asked.positions[0]).all(axis=1))
    expected = every.train.features(np.array([frame])).tokens
    assert torch.equal(some.asked.features(np.array([0])).tokens, expected)


def test_frames_that_the_map_has_no_answer_for_are_not_asked(experiment, streets, rng, tmp_path):
    write_lap(streets / "beyond", rng, SPACING * np.arange(PLACES - 4, PLACES + 6))
    data = load_descriptor_data(change(experiment, "data", validation=("beyond",)), RunFolder(tmp_path))
    assert len(data.asked.positions) == 4


@pytest.mark.parametrize("heading", ["", "{way}"])
def test_laps_in_opposite_directions_are_no_partners(experiment, streets, rng, tmp_path, heading):
    along = SPACING / 10 * np.arange(30)
    write_lap(tmp_path / "data/there", rng, along, heading.format(way=0.0))
    write_lap(tmp_path / "data/back", rng, along[::-1], heading.format(way=3.1))
    data = {"root": str(tmp_path / "data"), "reference": "there", "validation": ()}
    said = refusal(change(experiment, "data", train=("there", "back"), **data), tmp_path)
    assert said == (
        "data.train: no two traverses of a site have frames within 3.0 m that look the same way; name traverses of the"
        " same streets, or raise metric.near"
    )


def test_without_a_heading_the_direction_of_travel_is_taken_for_all(experiment, rng, tmp_path):
    along = SPACING / 10 * np.arange(30)
    write_lap(tmp_path / "data/aside", rng, along, "1.5")
    write_lap(tmp_path / "data/bare", rng, along, "")
    named = {"root": str(tmp_path / "data"), "reference": "aside", "train": ("aside", "bare"), "validation": ()}
    data = load_descriptor_data(change(experiment, "data", **named), RunFolder(tmp_path))
    np.testing.assert_allclose(data.train.headings, 0.0, atol=1e-12)
    assert data.remarks[:1] == ("30 of 60 training frames have no heading; pairs are found by the direction of travel",)


def test_the_direction_of_travel_needs_a_distance_and_outlasts_a_stop():
    # East in steps of a metre, a stop that trembles, then north.
    east = [(float(x), 0.0) for x in range(5)]
    stop = [(4.0, 0.1), (4.1, 0.0), (3.9, -0.1)]
    north = [(4.0, float(y)) for y in range(1, 5)]
    found = infer_headings(np.array(east + stop + north), 2.0)
    np.testing.assert_allclose(found[:3], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[4:8], np.pi / 2, atol=0.1)
    np.testing.assert_allclose(found[-3:], np.pi / 2, atol=0.1)
    assert np.isnan(infer_headings(np.zeros((3, 2)), 2.0)).all()


def test_the_default_head_is_where_training_starts(experiment):
    made = compose(Perception(), METRIC)
    shipped = read_checkpoint(SHIPPED_HEAD).tensors["salad"]
    assert made.start == "the shipped head"
    assert all(torch.equal(weight, shipped[name]) for name, weight in made.head.state_dict().items())
    assert all(weight.requires_grad for weight in made.head.parameters())
    assert made.settings == Perception().descriptor


def test_a_new_head_has_the_widths_that_are_set_and_owes_nothing_to_the_old():
    made = compose(Perception(), METRIC.model_copy(update={"start": "new"}))
    assert made.start == "a new head"
    assert made.shape == SHAPE.model_copy(update={"channels": 112})
    assert made.settings.clusters == SHAPE.clusters
    assert file_digest(SHIPPED_HEAD) not in made.sources.values()
    assert made.sources


def test_a_trained_head_takes_the_place_of_the_old_among_the_parts(trained, experiment, rng):
    head = str(trained[1][-1].head)
    known = Descriptor(parts=("salad", "gem"), weights=(0.5, 2.0), clusters=SHAPE.clusters)
    perception = experiment.perception.model_copy(update={"head": head, "descriptor": known})
    made = compose(perception, METRIC)
    pictures = torch.from_numpy(rng.integers(0, 255, (3, *SIZE)).astype(np.uint8))
    network, _ = assemble(perception)
    with torch.inference_mode():
        features = network.features(pictures)
        torch.testing.assert_close(made.descriptor()(features), network.descriptor(features))
    assert made.settings == known
    assert made.plain.weights == (2.0,)


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        ("data", {"train": ()}, "data.train is empty; name the sequences to train on"),
        ("data", {"train": ("noon", "noon")}, "data.train names one traverse, 'noon'; a descriptor learns what two"),
        ("data", {"train": ("noon", "rain")}, "data.train and data.validation share 'rain'"),
        ("data", {"train": ("dusk", "dawn"), "validation": ("noon",)}, "data.validation names the reference 'noon'"),
        ("perception", {"encoder": OWN}, 'perception.encoder is "own"'),
        ("perception", {"encoder": "net.onnx"}, "perception.encoder = 'net.onnx' gives no tokens"),
        ("metric", {"clusters": 24}, "are too few for 24 clusters"),
        ("metric", {"rate": 1e12}, "metric.rate = 1e+12: step 3 diverged; lower it"),
    ],
)
def test_what_cannot_be_trained_is_refused(experiment, tmp_path, section, changes, said):
    assert said in refusal(change(experiment, section, **changes), tmp_path)


def test_a_validation_that_never_comes_near_the_map_is_refused(experiment, streets, rng, tmp_path):
    write_lap(streets / "away", rng, SPACING * np.arange(6), aside=500.0)
    said = refusal(change(experiment, "data", validation=("away",)), tmp_path)
    assert said == (
        "data.validation: no frame to watch the training on lies within 10 m of 'noon'; name data.validation that comes"
        " there"
    )


def test_distances_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"metric\.near = 20\.0 m must not be more than metric\.apart = 15\.0 m"):
        load_settings(Experiment, None, ["metric.near=20.0"])
