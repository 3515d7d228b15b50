"""Whether two pictures show the same thing: mutual nearest descriptors, then one geometry that explains them.

Points of two pictures are matched if each is the other's nearest. Of any two pictures a quarter of the points are; in
those of one place more of the pairs agree with one motion of the camera (a fundamental matrix) and with one map from
picture to picture (affine), both by OpenCV's USAC. The former holds where the viewpoint differs, the latter where few
pairs are right; together they re-rank at least as well as either. What is drawn at random is drawn alike every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from tmapr.keypoints import UNIT, Keypoints

_ALIKE = 0.7
"""Cosine below which two descriptors are no match: leaves out what matches because nothing else is there."""
_PIXELS = 320
"""Points are compared in pixels of a picture with this longer side."""
_OFF_LINE, _OFF_PLACE = 2.0, 12.0
"""Pixels from the epipolar line, and from where the affine map puts a point, within which a pair agrees."""
_DRAWS, _CONFIDENCE = 200, 0.99
_FEWEST = 8
"""Pairs that a fundamental matrix follows from."""


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Mutual matches of a query with a reference, row by row, in longer sides of the pictures."""

    query: Float32[np.ndarray, "mutual 2"]
    reference: Float32[np.ndarray, "mutual 2"]
    agreeing: Bool[np.ndarray, " mutual"]
    """Whether a pair agrees with the motion of the camera that most do."""
    aligned: Bool[np.ndarray, " mutual"]
    """Whether it agrees with the map from picture to picture that most do."""

    @property
    def mutual(self) -> int:
        """How many points are each other's nearest."""
        return len(self.agreeing)

    @property
    def inliers(self) -> int:
        """How many of these agree with one motion of the camera."""
        return int(self.agreeing.sum())

    @property
    def strength(self) -> float:
        """How much speaks for one place; 0.15 of it and the cosine together re-rank well on real pairs."""
        return log1p(self.inliers) + log1p(int(self.aligned.sum()))


def measure_surplus(
    query: Keypoints, references: Sequence[Keypoints], wrong: Sequence[Keypoints]
) -> Float[np.ndarray, " references"]:
    """By how much the matches with each reference are stronger than those with wrong ones, in the same frame; or 0."""
    strengths = np.array([each.strength for each in count_all_matches(query, [*references, *wrong])])
    usual = strengths[len(references) :].mean() if wrong else strengths.min(initial=0.0)
    return np.maximum(strengths[: len(references)] - usual, 0.0)


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
    if len(rows) < _FEWEST:
        return Matches(asked, mapped, *np.zeros((2, len(rows)), dtype=bool))
    pair = _PIXELS * mapped, _PIXELS * asked
    _, motion = cv2.findFundamentalMat(*pair, cv2.USAC_FAST, _OFF_LINE, _CONFIDENCE, _DRAWS)
    _, affine = cv2.estimateAffine2D(
        *pair,
        method=cv2.USAC_FAST,
        ransacReprojThreshold=_OFF_PLACE,
        maxIters=_DRAWS,
        confidence=_CONFIDENCE,
    )
    return Matches(asked, mapped, _read_mask(motion, len(rows)), _read_mask(affine, len(rows)))


def _read_mask(found: np.ndarray | None, count: int) -> Bool[np.ndarray, " count"]:
    """Which pairs agree; none where OpenCV found nothing that any agree with."""
    return np.zeros(count, dtype=bool) if found is None else found.reshape(count).astype(bool)
