"""Metric learning: what counts as right and wrong, and that a head learns to look past the weather."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tmapr.perception.pooling import GridPooling
from tmapr.perception.recipes import Contrast
from tmapr.perception.salad import Salad
from tmapr.training.metric import (
    Partners,
    TraversesInMemory,
    are_different_places,
    compute_descriptors,
    info_nce,
    train_head,
)

GRID, CHANNELS = (4, 4), 16
PATCHES = GRID[0] * GRID[1]
PLACES, SPACING = 12, 20.0
DEVIATION = 10.0
SMALL = Contrast(steps=40, sites=2, pairs=12, rate=1e-2, weight=1.0)
PLAIN = GridPooling(CHANNELS)


@pytest.fixture(autouse=True)
def _own_randomness():
    """Weights and dropout are drawn from torch's global generator, which is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(SMALL.seed)
        yield


def unit(rng, count, dim=6):
    vectors = torch.from_numpy(rng.normal(size=(count, dim)))
    return vectors / vectors.norm(dim=1, keepdim=True)


def loop_over_queries(first, second, unrelated, temperature):
    """InfoNCE as it is written in papers, one query at a time."""
    similarity = np.exp(first.numpy() @ second.numpy().T / temperature)
    losses = []
    for scores, wrong in ((similarity, unrelated.numpy()), (similarity.T, unrelated.numpy().T)):
        for own in range(len(scores)):
            others = sum(scores[own, other] for other in range(len(scores)) if wrong[own, other] and other != own)
            losses.append(-np.log(scores[own, own] / (scores[own, own] + others)))
    return np.mean(losses)


def scatter(rng, sites=3, laps=3, count=40):
    """Frames anywhere in 30 m × 30 m of each site, looking anywhere; their tokens say nothing."""
    total = sites * laps * count
    traverses = np.repeat(np.arange(sites * laps), count)
    order = rng.permutation(total)  # nobody may rely on frames being in order
    tokens = torch.from_numpy(rng.normal(scale=DEVIATION, size=(total, PATCHES, CHANNELS))).float()
    positions, headings = rng.uniform(0, 30, (total, 2)), rng.uniform(-np.pi, np.pi, total)
    return TraversesInMemory(
        tokens, tokens.mean(dim=1), GRID, positions, headings, traverses[order], traverses[order] // laps
    )


def make_weather(rng, sites, laps=3):
    """Half the channels show the place; the other half, half again as strong, what the sky did to this frame."""
    places = rng.normal(size=(sites, 1, PLACES, 1, CHANNELS // 2))
    skies = 1.5 * rng.normal(size=(sites, laps, PLACES, 1, CHANNELS // 2))
    shape = (sites, laps, PLACES, PATCHES, CHANNELS // 2)
    tokens = np.concatenate([np.broadcast_to(places, shape), np.broadcast_to(skies, shape)], axis=4)
    tokens = torch.from_numpy(tokens.reshape(-1, PATCHES, CHANNELS)).half()
    along = np.tile(SPACING * np.arange(PLACES), sites * laps)
    positions = np.column_stack([along, np.zeros(len(along))])
    traverses = np.repeat(np.arange(sites * laps), PLACES)
    return TraversesInMemory(
        tokens, tokens.mean(dim=1), GRID, positions, np.zeros(len(along)), traverses, traverses // laps
    )


def new_head():
    return Salad(CHANNELS, clusters=4, cluster_dim=8, token_dim=8, hidden=32)


def weights_after(recipe, frames):
    torch.manual_seed(recipe.seed)
    head = new_head()
    losses = [loss for _, loss in train_head(head, PLAIN, frames, recipe)]
    return losses, {name: weight.clone() for name, weight in head.state_dict().items()}


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_loss_is_that_of_a_loop_over_the_queries(rng, temperature):
    first, second = unit(rng, 9), unit(rng, 9)
    unrelated = torch.from_numpy(rng.random((9, 9)) < 0.6)
    expected = loop_over_queries(first, second, unrelated, temperature)
    np.testing.assert_allclose(info_nce(first, second, unrelated, temperature), expected, rtol=1e-12)


def test_two_pairs_at_right_angles_cost_what_paper_and_pencil_say():
    both = torch.eye(2, dtype=torch.float64)
    loss = info_nce(both, both, torch.ones(2, 2, dtype=torch.bool), 0.5)
    np.testing.assert_allclose(loss, np.log1p(np.exp(-2.0)), rtol=1e-12)


def test_a_frame_that_is_wrong_for_nobody_does_not_matter(rng):
    first, second = unit(rng, 6), unit(rng, 6)
    unrelated = torch.ones(6, 6, dtype=torch.bool)
    unrelated[5], unrelated[:, 5] = False, False
    loss = info_nce(first, second, unrelated, 0.07)
    second[5] = -second[5]
    assert info_nce(first, second, unrelated, 0.07) == loss
    alone = info_nce(first[:5], second[:5], unrelated[:5, :5], 0.07)
    np.testing.assert_allclose(loss, alone * 5 / 6, rtol=1e-12)


def test_a_partner_counts_as_right_whatever_the_mask_says_of_it(rng):
    first, second, masked = unit(rng, 5), unit(rng, 5), ~torch.eye(5, dtype=torch.bool)
    assert info_nce(first, second, masked, 0.07) == info_nce(first, second, torch.ones_like(masked), 0.07)


def test_partners_are_of_one_site_and_two_traverses_near_and_looking_the_same_way(rng):
    frames = scatter(rng)
    one, other = Partners(frames, near=6.0).draw(3, 200, rng)
    assert (frames.sites[one] == frames.sites[other]).all()
    assert (frames.traverses[one] != frames.traverses[other]).all()
    assert np.linalg.norm(frames.positions[one] - frames.positions[other], axis=1).max() < 6.0
    assert np.cos(frames.headings[one] - frames.headings[other]).min() > 0.89


def test_a_partner_is_the_nearest_frame_of_its_traverse_that_looks_the_same_way(rng):
    frames = scatter(rng, sites=1, laps=2)
    for one, other in Partners(frames, near=6.0).draw(1, 100, rng).T:
        rivals = frames.traverses == frames.traverses[other]
        rivals &= np.cos(frames.headings - frames.headings[one]) >= 0.9
        distances = np.linalg.norm(frames.positions - frames.positions[one], axis=1)
        assert distances[other] == distances[rivals].min()


def test_a_long_traverse_has_the_partners_that_a_loop_over_its_frames_finds(rng):
    frames = scatter(rng, sites=1, laps=2, count=300)
    pairs = set()
    for one in range(len(frames.positions)):
        distances = np.linalg.norm(frames.positions - frames.positions[one], axis=1)
        turned = np.cos(frames.headings - frames.headings[one]) < 0.9
        distances[turned | (frames.traverses == frames.traverses[one])] = np.inf
        if distances.min() < 1.0:
            pairs |= {one, int(distances.argmin())}
    assert Partners(frames, near=1.0).frames.tolist() == sorted(pairs)


def test_a_frame_of_unknown_heading_may_look_any_way(rng):
    frames = make_weather(rng, sites=1, laps=2)
    ahead, back = np.zeros(PLACES), np.full(PLACES, np.pi)
    with pytest.raises(ValueError, match="that look the same way"):
        Partners(replace(frames, headings=np.concatenate([ahead, back])), near=3.0)
    unknown = replace(frames, headings=np.concatenate([ahead, np.full(PLACES, np.nan)]))
    assert len(Partners(unknown, near=3.0).frames) == 2 * PLACES


def test_a_batch_takes_its_pairs_from_as_many_sites_as_it_is_told(rng):
    frames = scatter(rng, sites=5)
    one, _ = Partners(frames, near=6.0).draw(3, 20, rng)
    by_site = frames.sites[one].reshape(3, 20)
    assert (by_site == by_site[:, :1]).all()
    assert len(np.unique(by_site[:, 0])) == 3


def test_a_site_that_was_driven_once_is_never_drawn(rng):
    frames = make_weather(rng, sites=2, laps=2)
    once = replace(frames, traverses=np.where(frames.sites == 1, 3, frames.traverses))
    assert set(once.sites[Partners(once, near=3.0).draw(2, 50, rng).ravel()]) == {0}


def test_traverses_that_never_meet_are_refused(rng):
    with pytest.raises(ValueError, match=r"within 3\.0 m"):
        Partners(make_weather(rng, sites=2, laps=1), near=3.0)


def test_frames_of_one_site_are_wrong_only_beyond_the_distance_apart(rng):
    frames = scatter(rng, sites=1)
    one, other = Partners(frames, near=6.0).draw(1, 60, rng)
    wrong = are_different_places(frames, one, other, apart=15.0)
    gaps = np.array([[np.hypot(*(frames.positions[a] - frames.positions[b])) for b in other] for a in one])
    np.testing.assert_array_equal(wrong, gaps > 15.0)
    assert not wrong.diagonal().any()


def test_the_seed_alone_determines_the_weights(rng):
    frames, recipe = make_weather(rng, sites=3), SMALL.model_copy(update={"steps": 4})
    losses, weights = weights_after(recipe, frames)
    again, same = weights_after(recipe, frames)
    assert losses == again
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert weights_after(recipe.model_copy(update={"seed": 1}), frames)[0] != losses


def test_a_head_alone_learns_as_beside_a_descriptor_that_says_nothing(rng):
    frames, recipe = make_weather(rng, sites=2), SMALL.model_copy(update={"steps": 3})

    def losses(plain):
        torch.manual_seed(recipe.seed)
        return [loss for _, loss in train_head(new_head(), plain, frames, recipe)]

    np.testing.assert_allclose(losses(None), losses(Silent()), rtol=1e-5)


class Silent(torch.nn.Module):
    """A descriptor that is zero."""

    dim = 1

    def forward(self, features):
        return torch.zeros(len(features.tokens), 1)


def test_frames_are_described_in_batches_without_a_seam(rng):
    frames = scatter(rng, sites=1, laps=2, count=300)
    whole = PLAIN(frames.features(np.arange(600)))
    torch.testing.assert_close(compute_descriptors(frames, PLAIN), whole)


def test_a_head_that_was_looked_at_in_between_goes_on_training(rng):
    head = new_head()
    for _ in train_head(head, PLAIN, make_weather(rng, sites=2), SMALL.model_copy(update={"steps": 3})):
        assert head.training
        head.eval()


class Scaled(torch.nn.Module):
    """A plain descriptor with a weight, which remembers what it was last shown."""

    dim = PLAIN.dim

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(CHANNELS))

    def forward(self, features):
        self.shown = features.tokens
        return PLAIN(features._replace(tokens=self.scale * features.tokens))


class Watching(Salad):
    """A head that remembers what it was last shown."""

    def forward(self, features):
        self.shown = features.tokens
        return super().forward(features)


def watch_a_step(rng, **changes):
    """The frames, and the plain descriptor and the head after one step."""
    plain, head = Scaled(), Watching(CHANNELS, clusters=4, cluster_dim=8, token_dim=8, hidden=32)
    frames, recipe = scatter(rng, sites=2), SMALL.model_copy(update={"steps": 1} | changes)
    list(train_head(head, plain, frames, recipe))
    return frames, plain, head


def rows_of(tokens):
    return {tuple(token) for token in tokens.flatten(0, 1).tolist()}


def test_the_plain_part_gets_no_gradient(rng):
    _, plain, head = watch_a_step(rng)
    assert plain.scale.grad is None
    assert all(weight.grad is not None for weight in head.parameters())


def test_the_plain_part_sees_every_token_as_it_is(rng):
    frames, plain, _ = watch_a_step(rng, token_dropout=0.25, feature_noise=0.2)
    assert plain.shown.shape[1] == PATCHES
    assert rows_of(plain.shown) <= rows_of(frames.tokens)


def test_the_head_sees_a_share_of_each_image_s_tokens(rng):
    _, plain, head = watch_a_step(rng, token_dropout=0.25, feature_noise=0.0)
    assert head.shown.shape[1] == 0.75 * PATCHES
    for few, every in zip(head.shown, plain.shown, strict=True):
        assert len(rows_of(few[None])) == len(few)
        assert rows_of(few[None]) <= rows_of(every[None])


def test_every_image_loses_other_tokens(rng):
    _, plain, head = watch_a_step(rng, token_dropout=0.5, feature_noise=0.0)
    pairs = zip(head.shown.tolist(), plain.shown.tolist(), strict=True)
    kept = {tuple(sorted(every.index(token) for token in few)) for few, every in pairs}
    assert len(kept) > 0.8 * len(head.shown)


def test_noise_on_the_head_s_tokens_is_in_units_of_their_deviation(rng):
    _, plain, head = watch_a_step(rng, token_dropout=0.0, feature_noise=0.2)
    # 0.2² of the variance; the deviation itself is an estimate from few frames.
    added = (head.shown.var() - plain.shown.var()) / DEVIATION**2
    np.testing.assert_allclose(added, 0.04, atol=0.02)
