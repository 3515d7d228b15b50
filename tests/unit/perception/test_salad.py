"""SALAD against loops over clusters and patches, and against the names and sizes of the published weights."""

import numpy as np
import pytest
import torch

from tmapr.exceptions import InputError
from tmapr.perception.encoder import Features
from tmapr.perception.salad import Salad, transport

CHANNELS, ROWS, COLUMNS = 6, 4, 5
PUBLISHED = {
    "dust_bin": (),
    "token_features.0.weight": (512, 768),
    "token_features.0.bias": (512,),
    "token_features.2.weight": (256, 512),
    "token_features.2.bias": (256,),
    "cluster_features.0.weight": (512, 768, 1, 1),
    "cluster_features.0.bias": (512,),
    "cluster_features.3.weight": (128, 512, 1, 1),
    "cluster_features.3.bias": (128,),
    "score.0.weight": (512, 768, 1, 1),
    "score.0.bias": (512,),
    "score.3.weight": (64, 512, 1, 1),
    "score.3.bias": (64,),
}


def salad(clusters=7, **changes):
    torch.manual_seed(1)
    head = Salad(CHANNELS, clusters=clusters, **{"cluster_dim": 3, "token_dim": 4, "hidden": 8} | changes)
    for weights in head.parameters():
        torch.nn.init.normal_(weights)
    return head.eval()


def features(rng, images=3, rows=ROWS, columns=COLUMNS):
    tokens = rng.normal(size=(images, rows * columns, CHANNELS)).astype(np.float32)
    summary = rng.normal(size=(images, CHANNELS)).astype(np.float32)
    return Features(torch.from_numpy(tokens), torch.from_numpy(summary), rows, columns)


def scores(rng, clusters=7, patches=20):
    return torch.from_numpy(rng.normal(size=(2, clusters, patches), scale=2.0))


def mlp(first, second, row):
    """Two layers with a ReLU between, their weights flattened to matrices."""
    for layer in (first, second):
        values = layer.weight.detach().double().flatten(1).numpy() @ row + layer.bias.detach().double().numpy()
        row = np.maximum(values, 0.0)
    return values


def looped_plan(score, dustbin, iterations):
    """Sinkhorn's products in float64, with the marginals of the paper."""
    clusters, patches = len(score), len(score[0])
    kernel = [[np.exp(value) for value in row] for row in [*score, [dustbin] * patches]]
    supply = [1 / (patches + clusters)] * clusters + [(patches - clusters) / (patches + clusters)]
    left, right = [1.0] * (clusters + 1), [1.0] * patches
    for _ in range(iterations):
        for k in range(clusters + 1):
            left[k] = supply[k] / sum(kernel[k][t] * right[t] for t in range(patches))
        for t in range(patches):
            right[t] = 1 / (patches + clusters) / sum(kernel[k][t] * left[k] for k in range(clusters + 1))
    return [[(patches + clusters) * left[k] * kernel[k][t] * right[t] for t in range(patches)] for k in range(clusters)]


def looped(head, tokens, summary):
    """The descriptor of one image, one cluster and one patch at a time."""
    local = [mlp(head.cluster_features[0], head.cluster_features[3], token) for token in tokens]
    score = np.transpose([mlp(head.score[0], head.score[3], token) for token in tokens])
    clusters = []
    for shares in looped_plan(score, head.dust_bin.item(), head.iterations):
        total = sum(share * vector for share, vector in zip(shares, local, strict=True))
        clusters.append(total / np.linalg.norm(total))
    token = mlp(head.token_features[0], head.token_features[2], summary)
    channel_major = [cluster[channel] for channel in range(len(local[0])) for cluster in clusters]
    whole = np.concatenate([token / np.linalg.norm(token), channel_major])
    return whole / np.linalg.norm(whole)


def all_looped(head, given):
    images = zip(given.tokens.double().numpy(), given.summary.double().numpy(), strict=True)
    return [looped(head, *image) for image in images]


@pytest.mark.parametrize("clusters", [1, 2, 7, 19])
def test_the_descriptor_equals_the_loops(clusters, rng):
    head, given = salad(clusters), features(rng)
    np.testing.assert_allclose(head(given).detach(), all_looped(head, given), atol=1e-5)


@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_so_many_iterations_equal_as_many_loops(iterations, rng):
    head, given = salad(iterations=iterations), features(rng, images=1)
    np.testing.assert_allclose(head(given).detach(), all_looped(head, given), atol=1e-5)


def test_after_three_iterations_every_patch_is_assigned_once(rng):
    plan = transport(scores(rng), torch.tensor(1.0, dtype=torch.float64), 3)
    np.testing.assert_allclose(plan.sum(dim=1), 1.0, rtol=1e-6)
    assert (plan.sum(dim=2)[:, :-1] - 1.0).abs().max() > 1e-6


def test_in_the_limit_every_cluster_takes_one_patch_and_the_dustbin_the_rest(rng):
    plan = transport(scores(rng), torch.tensor(1.0, dtype=torch.float64), 200)
    np.testing.assert_allclose(plan.sum(dim=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(plan.sum(dim=2), [[1.0] * 7 + [13.0]] * 2, rtol=1e-6)


def test_large_scores_do_not_overflow(rng):
    plan = transport(100 * scores(rng).float(), torch.tensor(1.0), 3)
    np.testing.assert_allclose(plan.sum(dim=1), 1.0, rtol=1e-5)


def test_the_summary_comes_first_and_weighs_as_much_as_one_cluster(rng):
    head = salad()
    described = head(features(rng)).detach()
    assert described.shape == (3, head.dim) == (3, 4 + 7 * 3)
    blocks = torch.cat([described[:, :4].norm(dim=1)[:, None], described[:, 4:].reshape(3, 3, 7).norm(dim=1)], dim=1)
    np.testing.assert_allclose(blocks, (1 / 8) ** 0.5, rtol=1e-5)


def test_the_order_of_the_patches_does_not_matter(rng):
    head, given = salad(), features(rng)
    mixed = given._replace(tokens=given.tokens[:, torch.from_numpy(rng.permutation(ROWS * COLUMNS))])
    torch.testing.assert_close(head(mixed), head(given), atol=1e-5, rtol=0)


def test_the_parameters_have_the_published_names_and_shapes():
    assert {name: tuple(value.shape) for name, value in Salad(768).state_dict().items()} == PUBLISHED


def test_every_parameter_gets_a_gradient(rng):
    head = salad()
    head(features(rng))[:, ::2].sum().backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in head.parameters())


def test_dropout_acts_in_training_only(rng):
    head, given = salad(), features(rng)
    assert torch.equal(head(given), head(given))
    assert not torch.equal(head.train()(given), head(given))


@pytest.mark.parametrize("clusters", [20, 21, 64])
def test_too_few_patches_are_refused(clusters, rng):
    message = rf"20 patches on a grid of 4×5 are too few for {clusters} clusters; take a larger image or fewer clusters"
    with pytest.raises(InputError, match=message):
        salad(clusters)(features(rng))
