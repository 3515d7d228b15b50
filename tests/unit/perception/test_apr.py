"""The pose head: its layer against torch's, its invariances, and the coordinates it is trained in."""

import numpy as np
import pytest
import torch
from torch import nn

from tmapr.perception.apr import AprHead, Layer, position_codes
from tmapr.perception.encoder import Features
from tmapr.perception.normaliser import Normaliser
from tmapr.perception.pooling import average_tokens

CHANNELS, ROWS, COLUMNS = 8, 4, 6
SMALL = {"width": 16, "heads": 4, "hidden": 32}
UTM = np.array([[331_234.5, 4_149_876.25], [331_934.5, 4_150_076.25], [331_300.0, 4_149_900.0]])


def head(**changes):
    torch.manual_seed(2)
    return AprHead(CHANNELS, **SMALL | changes).eval()


def features(rng, images=3):
    tokens = rng.normal(size=(images, ROWS * COLUMNS, CHANNELS)).astype(np.float32)
    summary = rng.normal(size=(images, CHANNELS)).astype(np.float32)
    return Features(torch.from_numpy(tokens), torch.from_numpy(summary), ROWS, COLUMNS)


def shuffled(given, rng):
    return given._replace(tokens=given.tokens[:, torch.from_numpy(rng.permutation(ROWS * COLUMNS))])


def test_a_layer_equals_torchs_pre_norm_layer(rng):
    ours = Layer(CHANNELS, 4, 32, 0.1).eval()
    theirs = nn.TransformerEncoderLayer(CHANNELS, 4, 32, activation="gelu", batch_first=True, norm_first=True).eval()
    for weights in ours.parameters():
        nn.init.normal_(weights, generator=torch.Generator().manual_seed(weights.numel()))
    pairs = [
        ("norm1", theirs.norm1),
        ("norm2", theirs.norm2),
        ("mix", theirs.self_attn.out_proj),
        ("expand", theirs.linear1),
        ("contract", theirs.linear2),
    ]
    for name, module in pairs:
        module.load_state_dict(ours.get_submodule(name).state_dict())
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(ours.qkv.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.qkv.bias)
    tokens = features(rng).tokens
    torch.testing.assert_close(ours(tokens), theirs(tokens), atol=1e-4, rtol=1e-4)


def test_the_paper_s_head_has_its_size():
    attention = 768 * 3 * 768 + 3 * 768 + 768 * 768 + 768
    feed_forward = 768 * 3072 + 3072 + 3072 * 768 + 768
    norms = 2 * (768 + 768)
    outputs = 768 * 512 + 512 + 2 * (512 * 2 + 2)
    expected = 2 * (attention + feed_forward + norms) + outputs
    assert sum(value.numel() for value in AprHead(768).parameters()) == expected == 14_571_524


def test_a_heading_has_unit_length(rng):
    pose = head()(features(rng))
    assert pose.position.shape == pose.heading.shape == (3, 2)
    np.testing.assert_allclose(pose.heading.norm(dim=1).detach(), 1.0, rtol=1e-6)


def test_without_position_codes_the_patches_are_a_set(rng):
    given = features(rng)
    torch.testing.assert_close(head()(shuffled(given, rng)), head()(given), atol=1e-5, rtol=0)


def test_with_position_codes_their_place_matters(rng):
    given, coded = features(rng), head(positional=True)
    assert (coded(shuffled(given, rng)).position - coded(given).position).abs().min() > 1e-4


def test_a_standardised_head_does_not_see_what_all_patches_share(rng):
    given, blind = features(rng), head(standardised=True)
    warmer = given._replace(tokens=1.7 * given.tokens + torch.randn(1, 1, given.tokens.shape[2]))
    assert not torch.allclose(head()(given).position, head()(warmer).position, atol=1e-3)
    # The least deviation is added, not scaled: a thousandth of a deviation of about one.
    torch.testing.assert_close(blind(given).position, blind(warmer).position, atol=2e-3, rtol=0)


def test_the_position_codes_are_sines_and_cosines_of_row_and_column():
    codes = position_codes(torch.zeros(1, ROWS * COLUMNS, 8), ROWS, COLUMNS)
    for row, column in np.ndindex(ROWS, COLUMNS):
        angles = np.array([row, row / 100, column, column / 100])
        expected = [*np.sin(angles[:2]), *np.cos(angles[:2]), *np.sin(angles[2:]), *np.cos(angles[2:])]
        np.testing.assert_allclose(codes[row * COLUMNS + column], expected, atol=1e-6)


def test_the_class_token_is_not_used(rng):
    given = features(rng)
    assert torch.equal(head()(given).position, head()(given._replace(summary=given.summary + 1)).position)


def test_a_pooled_head_sees_the_coarser_grid(rng):
    given = features(rng)
    pooled, plain = head(pooled=(2, 3), positional=True), head(positional=True)
    torch.testing.assert_close(pooled(given), plain(average_tokens(given, 2, 3)))


@pytest.mark.parametrize("layers", [0, 2])
def test_dropout_acts_in_training_only(layers, rng):
    given, tried = features(rng), head(layers=layers)
    assert torch.equal(tried(given).position, tried(given).position)
    assert not torch.equal(tried.train()(given).position, tried(given).position)


def test_every_parameter_gets_a_gradient(rng):
    tried = head()
    pose = tried(features(rng))
    (pose.position.square().sum() + pose.heading[:, 0].sum()).backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in tried.parameters())


@pytest.fixture
def one_thread():
    """Steps this small spend their time waiting for a second thread wherever other programs use the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_it_learns_two_poses_whose_headings_lie_on_both_sides_of_pi(rng):
    given, learner = features(rng, images=2), head(dropout=0.0).train()
    position = torch.tensor([[-0.5, 0.8], [0.6, -0.2]])
    angle = torch.tensor([3.1, -3.1])
    heading = torch.stack([angle.cos(), angle.sin()], dim=1)
    optimizer = torch.optim.Adam(learner.parameters(), lr=3e-3)
    for _ in range(120):
        pose = learner(given)
        loss = nn.functional.smooth_l1_loss(pose.position, position)
        loss = loss + nn.functional.smooth_l1_loss(pose.heading, heading)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learned = learner(given)
    torch.testing.assert_close(learned.position, position, atol=0.01, rtol=0)
    torch.testing.assert_close(torch.atan2(learned.heading[:, 1], learned.heading[:, 0]), angle, atol=0.01, rtol=0)


def test_normalised_coordinates_return_to_the_metre():
    normaliser = Normaliser.of(UTM)
    np.testing.assert_allclose(normaliser.metres(normaliser.normalise(UTM)), UTM, rtol=0, atol=1e-6)


def test_float32_coordinates_of_a_network_become_metres_in_float64():
    normaliser = Normaliser((331_000.1, 4_149_000.1), 350.0)
    metres = normaliser.metres(np.array([[0.5, -0.25]], dtype=np.float32))
    np.testing.assert_allclose(metres, [[331_175.1, 4_148_912.6]], rtol=0, atol=1e-6)


def test_the_longer_side_fills_the_range_and_a_metre_weighs_the_same_along_both():
    normaliser = Normaliser.of(UTM)
    assert normaliser == Normaliser((331_584.5, 4_149_976.25), 350.0)
    np.testing.assert_allclose(normaliser.normalise(UTM[:2]), [[-1, -2 / 7], [1, 2 / 7]])


def test_standing_still_does_not_move_the_coordinates():
    assert Normaliser.of(np.concatenate([UTM, np.repeat(UTM[:1], 1000, axis=0)])) == Normaliser.of(UTM)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Normaliser.of(np.empty((0, 2))), "got none"),
        (lambda: Normaliser.of(np.array([[0.0, np.nan]])), "must be finite"),
        (lambda: Normaliser((0.0, 0.0), 0.0), "scale must be positive and finite, got 0.0"),
        (lambda: Normaliser((0.0, float("inf")), 1.0), "center must be finite"),
    ],
)
def test_what_cannot_be_normalised_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
