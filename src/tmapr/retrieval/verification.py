"""Whether two pictures show the same thing: mutual nearest descriptors, then one geometry that explains them.

Points of two pictures are matched if each is the other's nearest. Of any two pictures a quarter of the points are; in
those of one place many of the pairs agree with one motion of the camera (a fundamental matrix, by OpenCV's USAC), in
others only as many as agree by chance. Nothing is drawn at random that is not drawn alike next time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, sin

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Int

from tmapr.keypoints import UNIT, Keypoints

_ALIKE = 0.7
"""Cosine below which two descriptors are no match: leaves out what matches because nothing else is there."""
_PIXELS = 320
"""Points are compared in pixels of a picture with this longer side."""
_OFF_LINE, _OFF_PLACE = 2.0, 12.0
"""Pixels from the epipolar line, and from where a similarity puts a point, within which a pair agrees."""
_DRAWS, _CONFIDENCE = 200, 0.99
_FEWEST = 8
"""Pairs that a fundamental matrix follows from."""
_FEWEST_MOVED = 3


@dataclass(frozen=True, slots=True)
class Similarity:
    """Turns, scales and moves points of the reference onto those of the query; all in longer sides of a picture."""

    scale: float
    angle: float
    offset: Float32[np.ndarray, "2"]

    def move(self, points: Float32[np.ndarray, "count 2"]) -> Float32[np.ndarray, "count 2"]:
        """Where the query shows points of the reference."""
        turn = self.scale * np.array([[cos(self.angle), -sin(self.angle)], [sin(self.angle), cos(self.angle)]])
        return (points @ turn.T + self.offset).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Mutual matches of a query with a reference, row by row, in longer sides of the pictures."""

    query: Float32[np.ndarray, "mutual 2"]
    reference: Float32[np.ndarray, "mutual 2"]
    agreeing: Bool[np.ndarray, " mutual"]

    @property
    def mutual(self) -> int:
        """How many points are each other's nearest."""
        return len(self.agreeing)

    @property
    def inliers(self) -> int:
        """How many of these agree with one motion of the camera."""
        return int(self.agreeing.sum())

    def fit_similarity(self) -> Similarity | None:
        """What turns, scales and moves most agreeing points of the reference onto the query's; None: nothing does.

        A fundamental matrix lets a point lie anywhere on a line, so those that lie far off are left out once more.
        """
        if self.inliers < _FEWEST_MOVED:
            return None
        mapped, asked = (_PIXELS * side[self.agreeing] for side in (self.reference, self.query))
        matrix, _ = cv2.estimateAffinePartial2D(mapped, asked, method=cv2.RANSAC, ransacReprojThreshold=_OFF_PLACE)
        if matrix is None or not np.isfinite(matrix).all():
            return None
        along, across = float(matrix[0, 0]), float(matrix[1, 0])
        angle = float(np.arctan2(across, along))
        return Similarity(hypot(along, across), angle, (matrix[:, 2] / _PIXELS).astype(np.float32))


def count_matches(query: Keypoints, reference: Keypoints) -> Matches:
    """The matches of two pictures."""
    return count_all_matches(query, [reference])[0]


def count_all_matches(query: Keypoints, references: Sequence[Keypoints]) -> list[Matches]:
    """The matches of a picture with each of several, in one product."""
    if not references:
        return []
    asked = query.descriptors.astype(np.float32)
    mapped = np.concatenate([reference.descriptors for reference in references]).astype(np.float32)
    products = mapped @ asked.T
    ends = np.cumsum([len(reference) for reference in references])[:-1]
    return [
        _agree(query, reference, *_pair_mutually(part))
        for reference, part in zip(references, np.split(products, ends), strict=True)
    ]


def _pair_mutually(
    products: Float32[np.ndarray, "mapped asked"],
) -> tuple[Int[np.ndarray, " mutual"], Int[np.ndarray, " mutual"]]:
    """Rows and columns that are each other's largest, and large enough; of equal ones the first counts."""
    if not products.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    best, rows = products.argmax(axis=1), np.arange(len(products))
    mutual = (products.argmax(axis=0)[best] == rows) & (products[rows, best] >= _ALIKE * UNIT**2)
    return rows[mutual], best[mutual]


def _agree(
    query: Keypoints, reference: Keypoints, rows: Int[np.ndarray, " mutual"], columns: Int[np.ndarray, " mutual"]
) -> Matches:
    asked, mapped = query.positions[columns], reference.positions[rows]
    agreeing = np.zeros(len(rows), dtype=bool)
    if len(rows) >= _FEWEST:
        given = _PIXELS * mapped, _PIXELS * asked, cv2.USAC_FAST, _OFF_LINE, _CONFIDENCE, _DRAWS
        _, mask = cv2.findFundamentalMat(*given)
        if mask is not None:
            agreeing = mask[:, 0].astype(bool)
    return Matches(asked, mapped, agreeing)
