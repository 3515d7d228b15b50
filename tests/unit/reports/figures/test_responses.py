"""Feature responses: edges and colours against other libraries, tokens against the encoder itself."""

import base64
import sys
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
from scipy import ndimage

from tmapr.exceptions import InputError
from tmapr.perception.settings import Perception
from tmapr.reports.figures.responses import colour_norms, encode_tokens, find_edges, render_responses

GRID = (3, 4)


def picture(rng, height=48, width=64):
    return cv2.GaussianBlur(rng.integers(0, 256, size=(height, width), dtype=np.uint8), (0, 0), 3)


def decoded(uri):
    return cv2.imdecode(np.frombuffer(base64.b64decode(uri.split(",", 1)[1]), np.uint8), cv2.IMREAD_UNCHANGED)


def test_edges_are_the_gradient_that_scipy_finds(rng):
    given = picture(rng)
    down, across = (ndimage.sobel(given.astype(float), axis, mode="mirror") for axis in (0, 1))
    strength = np.hypot(across, down)
    expected = np.clip(strength / np.percentile(strength, 99.5), 0, 1) * 255
    np.testing.assert_allclose(find_edges(given), expected, atol=0.51)


def test_a_flat_picture_has_no_edge():
    assert not find_edges(np.full((20, 30), 77, dtype=np.uint8)).any()


def row(tokens, match=None, caption="Frame 7", query=None):
    query = np.tile(np.arange(64, dtype=np.uint8) * 3, (48, 1)) if query is None else query
    return ElementTree.fromstring(render_responses(query, tokens, GRID, match, caption))


def layers(figure):
    """The picture beneath and the colours over it."""
    drawing = figure.find(".//{http://www.w3.org/2000/svg}svg")
    return [decoded(image.get("href")) for image in drawing.findall(".//{*}image")]


def test_the_colours_are_those_of_the_norms_to_the_last_bit(rng):
    tokens = rng.normal(size=(12, 5))
    norms = np.sqrt((tokens**2).sum(axis=1)).reshape(GRID)
    np.testing.assert_array_equal(layers(row(tokens))[1][..., ::-1], colour_norms(norms))


def test_the_row_is_query_edges_norms_and_match(rng):
    query, match = picture(rng), picture(rng, 40, 50)
    figure = row(rng.normal(size=(12, 5)), match, query=query)
    first, second, fourth = (decoded(image.get("src")) for image in figure.iter("img"))
    beneath, _ = layers(figure)
    # What a JPEG loses, on average over the pixels.
    for found, expected in ((first, query), (beneath, query), (second, find_edges(query)), (fourth, match)):
        assert np.abs(found.astype(int) - expected).mean() < 6


def test_tokens_that_fill_no_grid_are_refused(rng):
    with pytest.raises(ValueError, match="a grid of 3 × 4 has 12 tokens, got 11"):
        row(rng.normal(size=(11, 5)))


def test_without_torch_there_are_no_tokens(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert encode_tokens(Perception(), np.zeros((1, 224, 224), dtype=np.uint8)) is None


@pytest.mark.parametrize("encoder", ["own", "robot.onnx"])
def test_what_gives_only_descriptors_is_refused_by_name(encoder):
    with pytest.raises(InputError, match=f"perception.encoder = '{encoder}': gives descriptors but no tokens"):
        encode_tokens(Perception(encoder=encoder), np.zeros((1, 224, 224), dtype=np.uint8))
