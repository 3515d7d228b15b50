"""What is carried from frame to frame survives being written and read."""

import numpy as np

from tmapr.gating import History, Sighting
from tmapr.track import Track

SIGHTING = Sighting(5, np.array([1.0, 2.0]), None)
TRACK = Track(history=History(dissent=SIGHTING, dissenters=2, evidence=1.5))


def test_gathered_evidence_survives():
    history = Track.from_arrays(TRACK.arrays()).history
    assert (history.dissenters, history.evidence) == (2, 1.5)
    assert history.dissent is not None
    np.testing.assert_array_equal(history.dissent.position, SIGHTING.position)


def test_a_track_of_a_version_without_evidence_has_gathered_none():
    arrays = TRACK.arrays()
    del arrays["evidence"]
    assert Track.from_arrays(arrays).history.evidence == 0.0
