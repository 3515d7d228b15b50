"""Feature responses: edges and colours against other libraries, tokens against the encoder itself."""

import base64
import subprocess
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


def lightness(colours):
    """L* from 0 to 100."""
    return cv2.cvtColor(colours.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[..., 0]


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


def test_a_larger_norm_is_lighter():
    light = lightness(colour_norms(np.linspace([2.0], [9.0], 30, axis=1)))[0]
    # Without the outer halves of the first and the last patch, which have one colour each; and not pixel by pixel,
    # since rounding to 8 bits may turn the order of two.
    light = light[len(light) // 60 : -len(light) // 60]
    assert np.diff(light[:: len(light) // 60]).min() > 0
    assert light[-1] - light[0] > 80


def test_equal_norms_have_one_colour():
    assert len(np.unique(colour_norms(np.full(GRID, 3.0)).reshape(-1, 3), axis=0)) == 1


@pytest.mark.parametrize("hot", [(0, 0), (1, 2), (2, 3)])
def test_the_brightest_colour_lies_on_the_patch_with_the_largest_norm(hot):
    tokens = np.full((*GRID, 5), 0.5)
    tokens[hot] = -2.0
    _, colours = layers(row(tokens.reshape(-1, 5)))
    height, width = colours.shape[:2]
    light = lightness(colours[..., ::-1])
    y, x = np.argwhere(light == light.max()).mean(axis=0)
    assert (int(y / height * GRID[0]), int(x / width * GRID[1])) == hot
    assert height / GRID[0] == width / GRID[1]


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
    words = [panel.findtext("p") for panel in figure.iter("div") if panel.get("class") == "panel neutral"]
    assert [words[0], words[1], words[3]] == ["query", "edges (Sobel)", "best match"]


def test_the_range_of_the_norms_is_told():
    tokens = np.zeros((12, 2))
    tokens[:, 0] = np.linspace(1.5, 40.25, 12)
    assert "token norm, 1.5 (dark) to 40.2 (bright)" in [text.text for text in row(tokens).iter("p")]


def test_colours_cover_the_whole_picture(rng):
    drawing = row(rng.normal(size=(12, 5))).find(".//{http://www.w3.org/2000/svg}svg")
    assert drawing.get("viewBox") == "0 0 64 48"
    sizes = {(image.get("width"), image.get("height")) for image in drawing.findall(".//{*}image")}
    assert sizes == {("64", "48")}
    assert {image.get("preserveAspectRatio") for image in drawing.findall(".//{*}image")} == {"none"}


def test_without_a_match_the_row_says_so(rng):
    assert "no picture" in [text.text for text in row(rng.normal(size=(12, 5))).iter("p")]


def test_tokens_that_fill_no_grid_are_refused(rng):
    with pytest.raises(ValueError, match="a grid of 3 × 4 has 12 tokens, got 11"):
        row(rng.normal(size=(11, 5)))


def test_the_caption_means_itself(rng):
    assert row(rng.normal(size=(12, 5)), caption="<b>&\"'").findtext("figcaption") == "<b>&\"'"


def test_tokens_are_what_the_encoder_says_of_the_normalised_pictures(rng):
    torch = pytest.importorskip("torch")
    from tmapr.perception.network import assemble

    pictures = np.stack([picture(rng, 224, 224) for _ in range(2)])
    found = encode_tokens(Perception(), pictures)
    network, card = assemble(Perception())
    gray = np.repeat(pictures[:, None].astype(np.float32) / 255, 3, axis=1)
    mean, std = (np.array(values, dtype=np.float32)[:, None, None] for values in (card.input.mean, card.input.std))
    with torch.inference_mode():
        seen = network.encoder(torch.from_numpy((gray - mean) / std))
    assert found.grid == (seen.rows, seen.columns) == (14, 14)
    # Single precision, summed in another order.
    np.testing.assert_allclose(found.values, seen.tokens.numpy(), rtol=1e-3, atol=1e-3)


def test_a_pose_head_that_is_gone_does_not_matter(rng):
    pytest.importorskip("torch")
    moved = Perception(apr="runs/gone/apr/000012/head.safetensors")
    assert encode_tokens(moved, picture(rng, 224, 224)[None]).values.shape[:2] == (1, 196)


def test_without_torch_there_are_no_tokens(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert encode_tokens(Perception(), np.zeros((1, 224, 224), dtype=np.uint8)) is None


@pytest.mark.parametrize("encoder", ["own", "robot.onnx"])
def test_what_gives_only_descriptors_is_refused_by_name(encoder):
    with pytest.raises(InputError, match=f"perception.encoder = '{encoder}': gives descriptors but no tokens"):
        encode_tokens(Perception(encoder=encoder), np.zeros((1, 224, 224), dtype=np.uint8))


def test_drawing_needs_no_torch():
    code = "import sys, tmapr.reports.figures.responses; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
