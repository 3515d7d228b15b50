"""The training loop: what it learns, what it leaves, and what it refuses to go on from."""

import numpy as np
import pytest
import torch

from fitting import SCALE, SETTINGS, SHAPE, checkpoints, examples, files, new_learner, plan, train
from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.perception.card import AprShape, Card, EfficientNet, Vit
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.perception.settings import OWN, Perception
from tmapr.perception.weights import read_checkpoint
from tmapr.training.checkpoints import Epoch, find_best, finished
from tmapr.training.fit import fit
from tmapr.training.models import AprModel

NOWHERE = Normaliser((0.0, 0.0), 1.0)


def test_errors_are_metres_between_the_head_s_and_the_recorded_position():
    learner, given = new_learner(SETTINGS), examples(3)
    with torch.no_grad():
        learner.network.head.position.weight.zero_()
        learner.network.head.position.bias.copy_(torch.tensor([0.5, -0.25]))
    said = np.array(SHAPE.center) + SCALE * np.array([0.5, -0.25])
    np.testing.assert_allclose(learner.errors(given), np.linalg.norm(said - given.positions, axis=1))


def test_every_epoch_drops_other_activations():
    one, first, second = examples(1), new_learner(SETTINGS), new_learner(SETTINGS)
    first.learn(one, 1)
    second.learn(one, 2)
    assert not torch.equal(first.network.head.position.weight, second.network.head.position.weight)


def test_weights_decay_apart_from_the_gradient():
    plain, decayed = (new_learner(Training(weight_decay=decay, learning_rate=0.1, dropout=0.0)) for decay in (0.0, 0.5))
    before = plain.network.head.shared[0].weight.detach().clone()
    plain.learn(examples(8), 1)
    decayed.learn(examples(8), 1)
    difference = (plain.network.head.shared[0].weight - decayed.network.head.shared[0].weight).detach()
    torch.testing.assert_close(difference, 0.1 * 0.5 * before, atol=1e-6, rtol=1e-4)


def test_the_loss_of_an_epoch_is_the_mean_over_frames_and_not_over_batches():
    still = {"learning_rate": 1e-12, "dropout": 0.0}
    losses = [new_learner(Training(batch=size, **still)).learn(examples(9), 1) for size in (8, 9)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_rate_falls_to_seven_tenths_every_three_epochs():
    rates = [AprModel(Card(apr=SHAPE), Training()).learning_rate(epoch) for epoch in range(1, 8)]
    assert rates == pytest.approx([1e-4] * 3 + [0.7e-4] * 3 + [0.49e-4])


def test_training_leaves_torch_s_generator_as_it_was(tmp_path):
    before = torch.random.get_rng_state()
    train(tmp_path, SETTINGS.model_copy(update={"epochs": 1}))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_same_training_gives_the_same_files(tmp_path):
    assert train(tmp_path / "one") == train(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_only_the_best_and_the_last_epoch_are_kept(tmp_path):
    history = train(tmp_path)
    kept = {f"{find_best(tuple(history)).number:06d}", "000004"}
    assert {path.name for path in (tmp_path / "apr").iterdir()} == kept | {"best", "last"}


def test_the_best_head_is_the_one_that_a_run_finds(tmp_path):
    history = train(tmp_path)
    head = RunFolder(tmp_path).trained_head
    assert head is not None
    assert int(head.parent.name) == min(history, key=lambda epoch: epoch.median).number
    assert read_checkpoint(head).card.apr == SHAPE


def test_the_weights_that_are_recalled_are_those_of_the_best_epoch(tmp_path):
    settings = SETTINGS.model_copy(update={"epochs": 50, "learning_rate": 0.03, "decay": 1.0})
    history = ()
    for epoch in fit(plan(settings), checkpoints(tmp_path, settings)):
        history = (*history, epoch)
        if find_best(history).number < epoch.number:
            break
    assert find_best(history).number < len(history)
    learner = new_learner(settings)
    checkpoints(tmp_path, settings).load_best(learner.network, AprModel(Card(apr=SHAPE), settings))
    assert np.median(learner.errors(examples(9, seed=2))) == pytest.approx(find_best(history).median, rel=1e-6)


def test_an_experiment_without_a_head_gets_the_best_one_of_its_folder(tmp_path):
    train(tmp_path)
    found = Experiment().with_head(RunFolder(tmp_path))
    assert found.perception.apr == str(RunFolder(tmp_path).trained_head)
    assert found.model_copy(update={"perception": Perception()}) == Experiment()


@pytest.mark.parametrize("encoder", [OWN, "perceiver.onnx"])
def test_an_encoder_that_takes_no_head_gets_none(tmp_path, encoder):
    train(tmp_path)
    given = Experiment(perception=Perception(encoder=encoder))
    assert given.with_head(RunFolder(tmp_path)) == given


def test_the_head_of_another_run_that_is_named_and_there_is_used(tmp_path):
    train(tmp_path / "mine")
    train(tmp_path / "other")
    given = Experiment(perception=Perception(apr=str(RunFolder(tmp_path / "other").trained_head)))
    assert given.with_head(RunFolder(tmp_path / "mine")) == given


def test_a_training_stopped_between_epochs_goes_on_as_if_it_had_not(tmp_path):
    whole = train(tmp_path / "whole")
    stopped = fit(plan(), checkpoints(tmp_path / "stopped"))
    assert [next(stopped), next(stopped)] == whole[:2]
    stopped.close()
    assert train(tmp_path / "stopped") == whole[2:]
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")


def test_a_longer_training_continues_a_shorter_one(tmp_path):
    train(tmp_path / "grown", SETTINGS.model_copy(update={"epochs": 2}))
    assert len(train(tmp_path / "grown")) == 2
    train(tmp_path / "whole")
    head = "apr/000004/head.safetensors"
    assert file_digest(tmp_path / "grown" / head) == file_digest(tmp_path / "whole" / head)


def epochs(*medians):
    return tuple(Epoch(number=row, loss=1.0, median=value, mean=9.0) for row, value in enumerate(medians, start=1))


def test_the_best_epoch_has_the_smallest_median_and_of_equals_is_the_first():
    assert find_best(epochs(3.0, 2.0, 5.0, 2.0)).number == 2


@pytest.mark.parametrize(
    ("medians", "patience", "over"),
    [
        ((), 2, False),
        ((3.0, 4.0), 2, False),
        ((3.0, 4.0, 4.0), 2, True),
        ((3.0, 4.0, 2.0), 2, False),
        ((3.0, 4.0, 4.0), 0, False),
        ((3.0, 2.0, 1.0, 0.5, 0.25), 2, True),
    ],
)
def test_training_ends_with_its_epochs_or_its_patience(medians, patience, over):
    assert finished(epochs(*medians), Training(epochs=5, patience=patience)) is over


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"training": SETTINGS.model_copy(update={"batch": 16})}, "training.batch = 8 (now 16)"),
        ({"training": SETTINGS.model_copy(update={"seed": 5})}, "training.seed = 0 (now 5)"),
        ({"perception": Perception(size=(98, 98))}, "perception.size = [224, 224] (now [98, 98])"),
        ({"data": Data(train=("noon", "dusk"))}, "data.train = ['noon'] (now ['noon', 'dusk'])"),
        ({"data": Data(train=("noon",), validation=("dusk",))}, "data.validation = [] (now ['dusk'])"),
    ],
)
def test_changed_settings_are_refused_by_name_with_the_way_out(tmp_path, changes, named):
    next(fit(plan(), checkpoints(tmp_path)))
    with pytest.raises(InputError) as refused:
        checkpoints(tmp_path, **changes).history()
    assert str(refused.value) == (f"{tmp_path}/apr: was trained with {named}; remove {tmp_path}/apr to train again")


def test_a_damaged_head_is_refused_with_the_way_out(tmp_path):
    next(fit(plan(), checkpoints(tmp_path)))
    (tmp_path / "apr/000001/head.safetensors").write_bytes(b"half a file")
    with pytest.raises(InputError, match=r"head\.safetensors: is not the file .*; remove .*apr to train again"):
        next(fit(plan(), checkpoints(tmp_path)))


def test_other_positions_are_refused(tmp_path):
    next(fit(plan(), checkpoints(tmp_path)))
    elsewhere = SHAPE.model_copy(update={"center": (0.0, 0.0)})
    with pytest.raises(InputError, match=r"the positions have changed .*; remove"):
        next(fit(plan(shape=elsewhere), checkpoints(tmp_path)))


@pytest.mark.parametrize("name", ["optimizer.safetensors", "training.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_damaged_checkpoint_is_refused_with_the_way_out(tmp_path, name, content):
    next(fit(plan(), checkpoints(tmp_path)))
    damaged = tmp_path / "apr/000001" / name
    damaged.unlink() if content is None else damaged.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name} is damaged or missing; remove .*apr to train again"):
        next(fit(plan(), checkpoints(tmp_path)))


@pytest.mark.parametrize("content", ["", "../000001", "000009"])
def test_a_best_that_names_no_epoch_is_refused(tmp_path, content):
    next(fit(plan(), checkpoints(tmp_path)))
    (tmp_path / "apr/best").write_text(content)
    with pytest.raises(InputError, match="names no epoch that is there"):
        RunFolder(tmp_path).trained_head  # noqa: B018


def test_a_last_that_names_no_epoch_is_refused(tmp_path):
    next(fit(plan(), checkpoints(tmp_path)))
    (tmp_path / "apr/last").write_text("../../elsewhere\n")
    with pytest.raises(InputError, match="names no epoch; remove"):
        checkpoints(tmp_path).history()


def test_a_training_that_diverges_says_so(tmp_path):
    with pytest.raises(InputError, match=r"^learning_rate = 1e\+30: epoch \d+ diverged; lower it$"):
        train(tmp_path, SETTINGS.model_copy(update={"learning_rate": 1e30}))


def test_a_convolution_gets_a_smaller_head_that_knows_where_tokens_are():
    expected = AprShape(channels=112, width=128, expansion=2, pooled=(7, 7), positional=True, standardised=True)
    assert Training().head_for(EfficientNet(), NOWHERE) == expected


def test_what_settings_say_of_the_head_holds_for_any_encoder():
    said = {"width": 64, "layers": 1, "heads": 4, "expansion": 3, "pooled": (5, 5)}
    said |= {"positional": False, "standardised": False}
    for encoder in (EfficientNet(), Vit(width=64, depth=2, heads=1)):
        expected = AprShape(channels=encoder.channels, **said, center=(1.0, 2.0), scale=3.0)
        assert Training(**said).head_for(encoder, Normaliser((1.0, 2.0), 3.0)) == expected
