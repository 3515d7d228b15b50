"""RobustLoc: diffusions and loss written out with loops, its clips, and its published size."""

from math import exp

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

from samples import CHANNELS, parameters, take, tokens
from tmapr.baselines.building import build_baseline
from tmapr.baselines.regressor import Clip
from tmapr.baselines.resnet import ResNet34
from tmapr.baselines.robustloc import CellDiffusion, FrameDiffusion, Pyramid, RobustLoc, TokenProjection
from tmapr.baselines.rotation import ROTATIONS
from tmapr.baselines.settings import Baselines, RobustLocRecipe

LOG = ROTATIONS["log-quaternion"]
RESNET, WIDTH, HEADS = 21_284_672, 512, 8
FRAMES = 3


def linear(inputs, outputs):
    return inputs * outputs + outputs


def apply(layer, vector):
    return layer.weight.numpy() @ vector + layer.bias.numpy()


def normalise(layer, vector):
    centered = vector - vector.mean()
    return centered / np.sqrt((centered**2).mean() + layer.eps) * layer.weight.numpy() + layer.bias.numpy()


def self_similar(attention, nodes):
    """For every head and node: the mean of all nodes' projections, weighed by exp of inner products with its own."""
    projected = [apply(attention.project, node).reshape(HEADS, -1) for node in nodes]
    mixed = []
    for own in projected:
        heads = []
        for head in range(HEADS):
            logits = np.array([own[head] @ other[head] for other in projected])
            weights = np.exp(logits - logits.max())
            heads.append(sum(w * other[head] for w, other in zip(weights, projected, strict=True)) / weights.sum())
        mixed.append(np.concatenate(heads))
    return mixed


def diffuse_cells(layer, nodes):
    nodes = [normalise(layer.norm1, node) for node in nodes]
    stepped = [n + np.maximum(m, 0) for n, m in zip(nodes, self_similar(layer.attention, nodes), strict=True)]
    nodes = [normalise(layer.norm2, node) for node in stepped]
    inner, _, outer, _ = layer.transform
    return [n + np.maximum(apply(outer, np.maximum(apply(inner, n), 0)), 0) for n in nodes]


def diffuse_frames(layer, nodes):
    attention, norm, _ = layer.attention
    nodes = [normalise(layer.norm, node) for node in nodes]
    mixed = self_similar(attention, nodes)
    nodes = [n + np.maximum(normalise(norm, m), 0) for n, m in zip(nodes, mixed, strict=True)]
    inner, norm, _ = layer.transform
    return [n + np.maximum(normalise(norm, apply(inner, n)), 0) for n in nodes]


def shaken(module):
    """Off the ones and zeros of a norm's first weights; float64."""
    module = module.double().requires_grad_(False)
    for value in module.parameters():
        value += 0.02 * torch.randn(value.shape, dtype=value.dtype)
    return module.eval()


@pytest.mark.parametrize(("kind", "loops"), [(CellDiffusion, diffuse_cells), (FrameDiffusion, diffuse_frames)])
def test_a_diffusion_equals_its_loops(kind, loops):
    torch.manual_seed(8)
    layer, nodes = shaken(kind()), torch.randn(2, 5, WIDTH, dtype=torch.float64)
    expected = np.stack([loops(layer, graph) for graph in nodes.numpy()])
    np.testing.assert_allclose(layer(nodes), expected, atol=1e-10)


@pytest.fixture(scope="module")
def network():
    """For a frozen encoder, clips of three frames, float64."""
    torch.manual_seed(9)
    made = RobustLoc(TokenProjection(CHANNELS), rotation=LOG, clip=Clip(FRAMES, 10))
    with torch.no_grad():
        made.s_rx.fill_(0.4)
    return shaken(made)


def clips(count):
    given = tokens(count * FRAMES)
    return given._replace(tokens=given.tokens.double())


def vectors_of(network, given):
    """Per frame: its cells diffuse with those of the whole clip and are averaged."""
    vectors = []
    for clip in given.tokens.numpy().reshape(-1, FRAMES, *given.tokens.shape[1:]):
        cells = [apply(network.trunk.projection, cell) for frame in clip for cell in frame]
        found = np.maximum(diffuse_cells(network.cells, cells), 0).reshape(FRAMES, -1, WIDTH)
        vectors += list(found.mean(axis=1))
    return vectors


def outputs_of(network, vectors):
    rows = []
    for first in range(0, len(vectors), FRAMES):
        frames = vectors[first : first + FRAMES]
        for layer in list(network.frames)[:3]:
            frames = diffuse_frames(layer, frames)
        for frame in frames:
            parts = (network.position, network.rotation)
            rows.append(np.concatenate([apply(p[2], np.maximum(apply(p[0], frame), 0)) for p in parts]))
    return np.array(rows)


def test_a_pose_is_the_middle_frame_s(network):
    given = clips(2)
    middle = outputs_of(network, vectors_of(network, given))[1::FRAMES]
    pose = network(given)
    np.testing.assert_allclose(pose.position, middle[:, :2], atol=1e-9)
    np.testing.assert_allclose(pose.heading, LOG.read(torch.from_numpy(middle[:, 3:])), atol=1e-9)


def test_the_loss_sums_both_outputs_and_takes_steps_within_clips_only(network, rng):
    given, positions, headings = clips(2), rng.normal(size=(6, 2)), rng.uniform(-3, 3, 6)
    vectors = vectors_of(network, given)
    auxiliary = np.array([apply(network.auxiliary[0], vector) for vector in vectors])
    s_x, s_q = network.criterion.s_x.item(), network.criterion.s_q.item()
    s_rx, space = network.s_rx.item(), np.column_stack([positions, np.zeros(6)])
    expected = 0.0
    for rows in (auxiliary, outputs_of(network, vectors)):
        turned = np.column_stack([rows[:, 3:5], rows[:, 5] - headings / 2])
        steps = [(rows[i + 1, :3] - rows[i, :3]) - (space[i + 1] - space[i]) for i in (0, 1, 3, 4)]
        expected += np.abs(rows[:, :3] - space).mean() * exp(-s_x) + s_x
        expected += np.abs(turned).mean() * exp(-s_q) + s_q
        expected += np.abs(steps).mean() * exp(-s_rx) + s_rx
    found = network.loss(given, torch.from_numpy(positions), torch.from_numpy(headings))
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_clips_do_not_see_each_other(network):
    given = clips(3)
    alone = network(take(given, slice(FRAMES, 2 * FRAMES)))
    torch.testing.assert_close(network(given).position[1:2], alone.position, rtol=0, atol=1e-12)


def test_a_batch_that_is_no_whole_number_of_clips_is_refused(network):
    with pytest.raises(ValueError, match="clips have 3 frames, got 4 images"):
        network(take(clips(2), slice(4)))


def test_pictures_are_brought_to_the_published_size_without_leaping_over_pixels():
    torch.manual_seed(10)
    trunk = ResNet34().eval()
    given = torch.randn(1, 3, 96, 128)
    third, fourth = Pyramid(trunk, 64)(given)
    expected = trunk.levels(interpolate(given, size=(64, 64), mode="bilinear", antialias=True))
    assert torch.equal(third.tokens, expected[2].tokens)
    assert torch.equal(fourth.tokens, expected[3].tokens)
    assert (fourth.rows, fourth.columns) == (2, 2)


def graph(width):
    """Attention of eight heads."""
    return HEADS * linear(width, width // HEADS)


NORM = 2 * WIDTH
CELLS = NORM + graph(WIDTH) + NORM + linear(WIDTH, 256) + linear(256, WIDTH)
FRAME_LAYERS = 3 * (NORM + graph(WIDTH) + NORM + linear(WIDTH, WIDTH) + NORM)
OUTPUTS = 2 * (linear(WIDTH, 128) + 3 * linear(128, 1))


def test_it_has_the_published_size_but_for_what_enters_no_loss():
    network = build_baseline("robustloc", Baselines(), CHANNELS)
    auxiliary = 6 * linear(256, 1) + 6 * linear(WIDTH, 1)
    assert parameters(network) == RESNET + CELLS + FRAME_LAYERS + OUTPUTS + auxiliary + 3 == 23_534_165
    assert network.clip == Clip(5, 10)


def test_with_a_frozen_encoder_one_map_feeds_the_graphs_and_one_auxiliary_output():
    settings = Baselines(robustloc=RobustLocRecipe(trunk="frozen", frames=7, spacing=2))
    network = build_baseline("robustloc", settings, CHANNELS)
    auxiliary = 6 * linear(WIDTH, 1)
    assert parameters(network) == linear(CHANNELS, WIDTH) + CELLS + FRAME_LAYERS + OUTPUTS + auxiliary + 3
    assert network.clip == Clip(7, 2)
