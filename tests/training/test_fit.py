"""The training loop: what it learns, what it leaves, and that a kill changes nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tmapr.artifacts.run import RunFolder, file_digest
from tmapr.baselines.settings import Baselines
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.perception.card import AprShape, Card, EfficientNet, Vit
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.recipes import Training
from tmapr.perception.settings import OWN, Perception
from tmapr.perception.weights import read_checkpoint
from tmapr.training.checkpoints import Checkpoints, Epoch, find_best, finished
from tmapr.training.examples import Examples
from tmapr.training.feeds import TokenFeed
from tmapr.training.fit import Learner, fit
from tmapr.training.models import AprModel, BaselineModel
from tmapr.training.plan import TrainingPlan
from tmapr.training.store import Store

GRID, CHANNELS, SCALE = (2, 3), 8, 40.0
SHAPE = AprShape(channels=CHANNELS, layers=1, heads=2, hidden=32, center=(500.0, -20.0), scale=SCALE)
SETTINGS = Training(epochs=4, batch=8, learning_rate=1e-3)
NOWHERE = Normaliser((0.0, 0.0), 1.0)
QUICK = Training(learning_rate=1e-2, dropout=0.0, decay_every=40)


FEED = TokenFeed(GRID, 1, torch.device("cpu"))


def examples(count, seed=1, headings=None):
    rng = np.random.default_rng(seed)
    tokens = rng.normal(size=(count, GRID[0] * GRID[1], CHANNELS)).astype(np.float16)
    positions = np.array(SHAPE.center) + rng.uniform(-SCALE, SCALE, (count, 2))
    drawn = rng.uniform(-np.pi, np.pi, count)
    numbers = np.arange(count)
    given = drawn if headings is None else headings
    return Examples(Store([tokens]), numbers, numbers, np.zeros(count, dtype=int), positions, given)


def plan(settings=SETTINGS, count=16, shape=SHAPE):
    return TrainingPlan(settings, AprModel(Card(apr=shape), settings), FEED, examples(count), examples(9, seed=2))


def new_learner(settings):
    return Learner(AprModel(Card(apr=SHAPE), settings), settings, FEED)


def checkpoints(folder, settings=SETTINGS, **changes):
    given = {"data": Data(train=("noon",)), "training": settings} | changes
    return Checkpoints(Experiment(**given), RunFolder(folder))


def train(folder, settings=SETTINGS):
    return list(fit(plan(settings), checkpoints(folder, settings)))


def files(folder):
    """Everything that training left, by name and content."""
    return {str(path.relative_to(folder)): file_digest(path) for path in (folder / "apr").rglob("*") if path.is_file()}


def test_the_head_learns_eight_frames_to_a_centimetre():
    learner, given = new_learner(QUICK), examples(8)
    for epoch in range(1, 350):
        learner.learn(given, epoch)
    assert learner.errors(given).max() < 0.01


def test_headings_on_both_sides_of_pi_are_learned():
    angles = np.array([np.pi - 0.02, -np.pi + 0.02] * 4)
    given = examples(8, headings=angles)
    learner = new_learner(QUICK)
    assert learner.learn(given, 1) > 100 * min(learner.learn(given, epoch) for epoch in range(2, 100))


def test_frames_without_heading_teach_their_position():
    given = examples(8, headings=np.full(8, np.nan))
    learner = new_learner(QUICK)
    before = learner.errors(given).mean()
    for epoch in range(1, 60):
        learner.learn(given, epoch)
    assert learner.errors(given).mean() < before / 10


def test_errors_are_metres_between_the_head_s_and_the_recorded_position():
    learner, given = new_learner(SETTINGS), examples(3)
    with torch.no_grad():
        learner.network.head.position.weight.zero_()
        learner.network.head.position.bias.copy_(torch.tensor([0.5, -0.25]))
    said = np.array(SHAPE.center) + SCALE * np.array([0.5, -0.25])
    np.testing.assert_allclose(learner.errors(given), np.linalg.norm(said - given.positions, axis=1))


def test_dropout_does_not_touch_the_errors():
    learner, given = new_learner(SETTINGS.model_copy(update={"dropout": 0.5})), examples(9)
    learner.learn(given, 1)
    np.testing.assert_array_equal(learner.errors(given), learner.errors(given))


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


def test_the_optimizer_has_the_rate_of_its_epoch():
    learner = new_learner(SETTINGS)
    learner.learn(examples(8), 4)
    assert [group["lr"] for group in learner.optimizer.param_groups] == pytest.approx([0.7e-3])


def test_training_leaves_torch_s_generator_as_it_was(tmp_path):
    before = torch.random.get_rng_state()
    train(tmp_path, SETTINGS.model_copy(update={"epochs": 1}))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_another_seed_gives_other_weights():
    first, second = (new_learner(Training(seed=seed)).network.head.position.weight for seed in (0, 1))
    assert not torch.equal(first, second)


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


def test_a_baseline_has_the_published_optimizer():
    model = BaselineModel("robustloc", Baselines(), CHANNELS, NOWHERE)
    optimizer = model.build_optimizer(torch.nn.Linear(2, 2))
    (group,) = optimizer.param_groups
    assert (type(optimizer), group["lr"], group["weight_decay"]) == (torch.optim.Adam, 2e-4, 5e-4)
    assert {model.learning_rate(epoch) for epoch in (1, 30, 300)} == {2e-4}


def test_an_experiment_without_a_head_gets_the_best_one_of_its_folder(tmp_path):
    train(tmp_path)
    found = Experiment().with_head(RunFolder(tmp_path))
    assert found.perception.apr == str(RunFolder(tmp_path).trained_head)
    assert found.model_copy(update={"perception": Perception()}) == Experiment()


def test_an_experiment_whose_folder_has_no_head_stays_as_it_is(tmp_path):
    assert Experiment().with_head(RunFolder(tmp_path)) == Experiment()


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


def test_a_finished_training_does_nothing_more(tmp_path):
    train(tmp_path)
    assert train(tmp_path) == []


LONG = SETTINGS.model_copy(update={"epochs": 20})

# Importing takes seconds, so one process does it and forks a trainer for every line that it reads.
TRAINERS = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_fit import LONG, checkpoints, plan
from tmapr.training.fit import fit

def say(line):
    os.write(1, f"{{line}}\\n".encode())  # one call, so that a kill never leaves half a line

for _ in sys.stdin:
    trainer = os.fork()
    if not trainer:
        say(os.getpid())
        for epoch in fit(plan(LONG), checkpoints(Path(sys.argv[1]), LONG)):
            say("ended")
        os._exit(0)
    os.waitpid(trainer, 0)
    say("gone")
"""


def test_killed_again_and_again_it_reaches_the_same_weights_bit_for_bit(tmp_path, rng):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1, "start_new_session": True}
    killed = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", TRAINERS, str(killed)], **pipes) as process:
        try:
            for delay in rng.uniform(0, 0.05, 3):
                process.stdin.write("\n")
                trainer = int(process.stdout.readline())
                assert process.stdout.readline() == "ended\n"
                time.sleep(delay)
                os.kill(trainer, signal.SIGKILL)
                while process.stdout.readline() != "gone\n":
                    pass
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert 0 < len(train(killed, LONG)) < LONG.epochs
    train(tmp_path / "whole", LONG)
    mine, theirs = (load_file(folder / "apr/000020/head.safetensors") for folder in (killed, tmp_path / "whole"))
    assert {name: value.tolist() for name, value in mine.items()} == {n: value.tolist() for n, value in theirs.items()}
    assert (killed / "apr/best").read_text() == (tmp_path / "whole/apr/best").read_text()


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


def test_a_vit_gets_the_paper_s_head():
    assert Training().head_for(Vit(width=768, depth=12, heads=12), NOWHERE) == AprShape(channels=768)


def test_a_convolution_gets_a_smaller_head_that_knows_where_tokens_are():
    expected = AprShape(channels=112, width=128, expansion=2, pooled=(7, 7), positional=True, standardised=True)
    assert Training().head_for(EfficientNet(), NOWHERE) == expected


def test_what_settings_say_of_the_head_holds_for_any_encoder():
    said = {"width": 64, "layers": 1, "heads": 4, "expansion": 3, "pooled": (5, 5)}
    said |= {"positional": False, "standardised": False}
    for encoder in (EfficientNet(), Vit(width=64, depth=2, heads=1)):
        expected = AprShape(channels=encoder.channels, **said, center=(1.0, 2.0), scale=3.0)
        assert Training(**said).head_for(encoder, Normaliser((1.0, 2.0), 3.0)) == expected


def test_steps_cover_every_frame():
    assert [plan(count=count).steps for count in (7, 8, 9)] == [1, 1, 2]
