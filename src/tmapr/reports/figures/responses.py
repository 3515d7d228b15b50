"""What the encoder responds to: a query, its edges, the norms of its tokens as colours over it, its best match."""

from dataclasses import dataclass
from importlib.util import find_spec

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from tmapr.exceptions import InputError
from tmapr.perception.settings import Perception
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import PagePicture, encode_jpeg, encode_png, panel, panels, photograph

_STRONGEST_EDGES = 99.5
_SHORT_SIDE = 96
_OPACITY = "0.6"
# From short to long: lightness rises throughout, so that the order shows in gray and to every colour vision.
_COLOURS = np.array([[14, 16, 48], [76, 30, 120], [168, 50, 110], [232, 106, 60], [250, 190, 70], [254, 250, 205]])


@dataclass(frozen=True, slots=True)
class TokenGrid:
    """What an encoder says of pictures: for each a token per patch, row by row over the grid."""

    values: Float[np.ndarray, "images patches channels"]
    grid: tuple[int, int]


def encode_tokens(perception: Perception, pictures: UInt8[np.ndarray, "images height width"]) -> TokenGrid | None:
    """The tokens of prepared pictures; None where torch is not installed, since exported networks give none.

    Every picture is looked at again: percept caches hold descriptors, and the networks that made them without torch
    have no other output.
    """
    if perception.is_whole:
        raise InputError(
            f"perception.encoder = {perception.encoder!r}: gives descriptors but no tokens;"
            " name an encoder's checkpoint"
        )
    if find_spec("torch") is None:
        return None
    import torch

    from tmapr.training.encoder import FrozenEncoder

    with torch.inference_mode():
        seen = FrozenEncoder(perception, None).features(torch.from_numpy(pictures))
    return TokenGrid(seen.tokens.cpu().numpy().astype(float), (seen.rows, seen.columns))


def render_responses(
    query: PagePicture,
    tokens: Float[np.ndarray, "patches channels"],
    grid: tuple[int, int],
    match: PagePicture | None,
    caption: str,
) -> str:
    """Four pictures under one caption."""
    if len(tokens) != grid[0] * grid[1]:
        raise ValueError(f"a grid of {grid[0]} × {grid[1]} has {grid[0] * grid[1]} tokens, got {len(tokens)}")
    norms = np.linalg.norm(tokens, axis=1).reshape(grid)
    span = f"{norms.min():.3g} (dark) to {norms.max():.3g} (bright)"
    parts = [
        panel(photograph(query, "query"), "query"),
        panel(photograph(find_edges(query), "edges of the query"), "edges (Sobel)"),
        panel(_cover(query, colour_norms(norms)), f"token norm, {span}"),
        panel(photograph(match, "best match"), "best match"),
    ]
    return panels(parts, caption)


def find_edges(picture: PagePicture) -> PagePicture:
    """Magnitude of the gradient, the strongest half percent white."""
    across, down = (cv2.Sobel(picture, cv2.CV_32F, *order) for order in ((1, 0), (0, 1)))
    strength = cv2.magnitude(across, down)
    white = max(float(np.percentile(strength, _STRONGEST_EDGES)), 1.0)
    return np.round(np.clip(strength / white, 0.0, 1.0) * 255).astype(np.uint8)


def colour_norms(norms: Float[np.ndarray, "rows columns"]) -> UInt8[np.ndarray, "h w 3"]:
    """Norms from their lowest to their highest as colours, interpolated between patches."""
    rows, columns = norms.shape
    factor = -(-_SHORT_SIDE // min(rows, columns))
    smooth = cv2.resize(norms, (columns * factor, rows * factor), interpolation=cv2.INTER_LINEAR)
    low, high = float(norms.min()), float(norms.max())
    shares = (smooth - low) / (high - low) if high > low else np.zeros_like(smooth)
    stops = np.linspace(0.0, 1.0, len(_COLOURS))
    planes = [np.interp(shares, stops, _COLOURS[:, plane]) for plane in range(3)]
    return np.round(np.stack(planes, axis=-1)).astype(np.uint8)


def _cover(picture: PagePicture, colours: UInt8[np.ndarray, "h w 3"]) -> str:
    """Colours over a picture of another resolution: the viewer brings them to one size."""
    height, width = picture.shape
    words = "norms of the query's tokens over it"
    whole = {"width": str(width), "height": str(height), "preserveAspectRatio": "none"}
    layers = [
        element("image", {"href": encode_jpeg(picture), **whole}),
        element("image", {"href": encode_png(colours), "opacity": _OPACITY, **whole}),
    ]
    frame = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}"}
    return element("svg", {**frame, "role": "img", "aria-label": words}, element("title", {}, escape(words)), *layers)
