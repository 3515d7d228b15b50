import numpy as np
import pytest
import torch
from scipy.special import softmax

from finetune import FineTunedClassifier, FineTuning, Reservoir
from tmapr.places.analytic import Ridge

DIM, PLACES = 24, 5
RATE = 0.003
# float32 keeps seven digits; a few dozen steps add up to one or two of them.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
ORDERS = [[0, 1, 2, 3, 4, 2, 0, 1], [4, 0, 3, 3, 1, 2], [0, 0, 1, 0, 2, 1, 3, 0, 4]]
every_kind = pytest.mark.parametrize(
    ("optimizer", "hidden"), [("sgd", 0), ("adamw", 0), ("sgd", 8), ("adamw", 8)], ids=lambda value: str(value)
)


def unit_rows(rng, count, dim=DIM):
    """Rectified rows of length 1, as a lift gives them."""
    rows = np.maximum(rng.normal(size=(count, dim)), 0.0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_classifier(dim=DIM, **settings):
    return FineTunedClassifier(FineTuning(**({"learning_rate": RATE} | settings)), dim)


def teach(model, rows, labels):
    for row, label in zip(rows, labels, strict=True):
        model.learn(row, int(label))
    return model


def logits(model, rows):
    return np.array([model.scores(row) for row in rows])


def gradient(W, rows, labels):
    """Of the mean cross-entropy of logits x Wᵀ, by hand, in float64."""
    error = softmax(rows @ W.T, axis=1)
    error[np.arange(len(rows)), labels] -= 1
    return error.T @ rows / len(rows)


def scale(rows):
    """What the network is given: features of about 1."""
    return np.sqrt(rows.shape[1]) * rows


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("order", ORDERS)
def test_sgd_steps_are_those_of_a_gradient_worked_out_by_hand(rng, order, momentum):
    rows = unit_rows(rng, len(order))
    W, velocity, known = np.zeros((PLACES, DIM)), np.zeros((PLACES, DIM)), 0
    for row, label in zip(scale(rows), order, strict=True):
        known = max(known, label + 1)
        step = np.zeros_like(W)
        step[:known] = gradient(W[:known], row[None], [label])
        velocity = momentum * velocity + step
        W -= RATE * velocity
    model = teach(make_classifier(optimizer="sgd", momentum=momentum), rows, order)
    np.testing.assert_allclose(model.weights[0], W, **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
def test_adamw_steps_are_torch_s_own_on_a_tensor_that_never_grew(rng, order):
    rows = unit_rows(rng, len(order))
    W = torch.zeros(PLACES, DIM, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.AdamW([W], lr=RATE, weight_decay=20.0)
    known = 0
    for row, label in zip(torch.from_numpy(scale(rows)), order, strict=True):
        known = max(known, label + 1)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy((W @ row)[None, :known], torch.tensor([label])).backward()
        optimizer.step()
    model = teach(make_classifier(optimizer="adamw", weight_decay=20.0), rows, order)
    # Adam divides by the root of a running mean: where a gradient nearly vanishes, float32's digits are few.
    np.testing.assert_allclose(model.weights[0], W.detach().numpy(), rtol=1e-3, atol=1e-2 * RATE)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_both_layers_of_two_are_trained_as_torch_would(rng, optimizer):
    rows, order = unit_rows(rng, 12), rng.integers(PLACES, size=12)
    model = make_classifier(hidden=8, optimizer=optimizer, momentum=0.9, weight_decay=0.0)
    hidden, bias = (torch.tensor(array, requires_grad=True) for array in model.weights[:2])
    output = torch.zeros(PLACES, 8, requires_grad=True)
    layers = [hidden, bias, output]
    sgd = torch.optim.SGD(layers, lr=RATE, momentum=0.9)
    reference = sgd if optimizer == "sgd" else torch.optim.AdamW(layers, lr=RATE, weight_decay=0.0)
    known = 0
    for row, label in zip(torch.from_numpy(scale(rows)).float(), order.tolist(), strict=True):
        known = max(known, label + 1)
        reference.zero_grad()
        answers = (output @ torch.relu(hidden @ row + bias))[None, :known]
        torch.nn.functional.cross_entropy(answers, torch.tensor([label])).backward()
        reference.step()
    teach(model, rows, order)
    for found, expected in zip(model.weights, layers, strict=True):
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-3, atol=1e-2 * RATE)


def test_an_offline_start_takes_the_mean_out_and_steps_along_the_mean_gradient(rng):
    rows, labels = unit_rows(rng, 20), rng.integers(PLACES, size=20)
    model = make_classifier(optimizer="sgd", momentum=0.0, learning_rate=7 * RATE)
    model.fit(rows, labels, passes=2, learning_rate=RATE, batch=20)
    W, mean = np.zeros((labels.max() + 1, DIM)), rows.mean(axis=0)
    for _ in range(2):
        W -= RATE * gradient(W, scale(rows - mean), labels)
    np.testing.assert_allclose(logits(model, rows), scale(rows - mean) @ W.T, **CLOSE)
    # From then on each sample is moved by that mean and learned at the rate of the settings.
    model.learn(rows[3], 1)
    W -= 7 * RATE * gradient(W, scale(rows[3:4] - mean), [1])
    np.testing.assert_allclose(logits(model, rows), scale(rows - mean) @ W.T, **CLOSE)


def test_a_replayed_sample_adds_its_gradient_to_the_new_one_s(rng):
    rows, labels = unit_rows(rng, 4), [0, 1, 2, 1]
    model = teach(make_classifier(optimizer="sgd", momentum=0.0, memory=10, replayed=10), rows, labels)
    W, given = np.zeros((3, DIM)), scale(rows)
    for count, label in enumerate(labels):
        known = max(labels[: count + 1]) + 1
        step = gradient(W[:known], given[count : count + 1], [label])
        if count:
            step += gradient(W[:known], given[:count], labels[:count])
        W[:known] -= RATE * step
    np.testing.assert_allclose(model.weights[0], W, **CLOSE)


def list_labels(reservoir):
    """The labels in it."""
    return sorted(reservoir.draw(len(reservoir))[1].tolist()) if len(reservoir) else []


def fill(size, count, seed):
    reservoir = Reservoir(size, np.random.default_rng(seed))
    for label in range(count):
        reservoir.offer(torch.zeros(1), label)
    return reservoir


def test_a_memory_is_a_fair_draw_from_the_stream():
    counts = np.zeros(20)
    for seed in range(2000):
        counts[list_labels(fill(4, 20, seed))] += 1
    # Each is kept in a fifth of 2000 draws, 400 ± 18.
    assert np.abs(counts - 400).max() < 80


def two_conditions(rng, places=8):
    """Rows of each place under A and B. A place under B resembles the next one under A, and has parts of its own."""
    own = np.linalg.qr(rng.normal(size=(48, 3 * places)))[0].T.reshape(3, places, 48)
    under_a = own[0] + 0.7 * own[1]
    under_b = np.roll(own[0], -1, axis=0) + 0.7 * own[2]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (under_a, under_b))


def share_right(scores):
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


def teach_both(model, a, b):
    model.fit(a, np.arange(len(a)), passes=100, learning_rate=0.05, batch=4)
    assert share_right(logits(model, a)) == 1.0
    for _ in range(10):
        teach(model, b, np.arange(len(b)))
    return model


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.03), ("adamw", 0.1)])
def test_fine_tuning_forgets_a_condition_that_the_analytic_classifier_keeps(rng, optimizer, rate):
    a, b = two_conditions(rng)
    model = teach_both(make_classifier(48, optimizer=optimizer, learning_rate=rate), a, b)
    assert share_right(logits(model, b)) == 1.0
    assert share_right(logits(model, a)) <= 0.5
    ridge, targets = Ridge(48, 0.01, len(a)), np.eye(len(a))
    for rows in (a, *[b] * 10):
        for row, target in zip(rows, targets, strict=True):
            ridge.learn(row[None], target[None], np.ones(1))
    assert share_right(ridge.scores(b)) == 1.0
    assert share_right(ridge.scores(a)) == 1.0


def test_replay_lets_it_keep_both(rng):
    a, b = two_conditions(rng)
    model = teach_both(make_classifier(48, optimizer="sgd", learning_rate=0.03, memory=40), a, b)
    assert share_right(logits(model, b)) == 1.0
    assert share_right(logits(model, a)) == 1.0


@every_kind
def test_a_seed_gives_the_same_bits_again_whatever_torch_drew_before(rng, optimizer, hidden):
    rows, labels = unit_rows(rng, 30), rng.integers(PLACES, size=30)

    def train(seed):
        model = make_classifier(optimizer=optimizer, hidden=hidden, memory=5, replayed=2, seed=seed)
        model.fit(rows, labels, passes=2, learning_rate=RATE, batch=4)
        return logits(teach(model, rows, labels), rows)

    first = train(1)
    torch.rand(1)
    np.testing.assert_array_equal(train(1), first)
    assert np.abs(train(2) - first).max() > 1e-5
