"""The first half of a frame's way: Percept → PlaceScores → Recognition. It remembers nothing of the frames before."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tmapr.places.classifier import Classifier
from tmapr.retrieval.condition import Shared
from tmapr.retrieval.memory import Memory
from tmapr.stages import Stages
from tmapr.types import Percept, Recognition


def recognise(
    stages: Stages,
    memory: Memory,
    classifier: Classifier,
    percept: Percept,
    shared: Shared | None = None,
    count: int | None = None,
) -> Recognition:
    """What a usable frame looks like, without what the views of its drive share."""
    retrieval, compare = stages.retrieval, stages.tracking.compares
    shared = shared if retrieval.centred and compare else None
    if retrieval.mode != "off":
        memory.begin(percept.descriptor, shared)
    view = shared.exchange(percept.descriptor, memory.mean) if shared else percept.descriptor
    scores = classifier.predict(view) if retrieval.mode == "places" else None
    around = classifier.neighbourhood
    found = retrieval.search(memory, percept.descriptor, scores, around, count, compare, shared, percept.keypoints)
    return replace(found, view=view)


def get_view(recognition: Recognition, percept: Percept) -> Float[np.ndarray, " dim"]:
    """What is learned of a frame; a recognition that a program made itself may not say."""
    return percept.descriptor if recognition.view is None else recognition.view
