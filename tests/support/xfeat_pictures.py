"""A picture for XFeat, and what the published network says of one as ours says it."""

import numpy as np

NEAR = {"rtol": 0, "atol": 1e-5}


def picture():
    rows, columns = np.mgrid[:96, :128]
    pattern = (rows * 37 + columns * columns * 11 + (rows // 9) * (columns // 7) * 53) % 256 // 2
    return (pattern + (rows // 13 + columns // 17) % 2 * 120).astype(np.uint8)


def read_published(features, logits):
    """Unit descriptors, and the chance of each pixel of a cell, as the paper's equations have them."""
    exponents = np.exp(logits - logits.max(axis=0))
    return features / np.linalg.norm(features, axis=0), (exponents / exponents.sum(axis=0))[:64]


def cells_of(points):
    """The 64 pixels of each cell, row by row."""
    rows, columns = (side // 8 for side in points.shape)
    return points.reshape(rows, 8, columns, 8).transpose(1, 3, 0, 2).reshape(64, rows, columns)
