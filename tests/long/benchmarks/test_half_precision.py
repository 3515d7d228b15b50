"""What counts as right in the comparison of precisions."""

import numpy as np

from half_precision import compare, open_drives
from tmapr.data.sample import locate_sample
from tmapr.perception.card import CLIP, Card, Input
from tmapr.perception.eyes import Outputs
from tmapr.perception.image import Image
from tmapr.perception.perceiver import Perceiver

SIZE = (42, 56)


def pool(pictures):
    """A network whose descriptor is the picture, coarsely."""
    coarse = pictures.reshape(len(pictures), 6, 7, 8, 7).mean(axis=(2, 4)).reshape(len(pictures), -1)
    return Outputs((coarse - coarse.mean(axis=1, keepdims=True)).astype(np.float32))


def test_every_frame_of_a_drive_finds_itself_and_few_others_are_right():
    trial = open_drives(locate_sample(), "noon", "noon")
    assert trial.right.diagonal().all()
    assert trial.right.mean() < 0.2
    perceiver = Perceiver(Card(input=Input(mean=CLIP[0], std=CLIP[1], size=SIZE), dimension=48), Image(), pool)
    found, rows = compare(trial, {"float32": perceiver, "float16": perceiver})
    assert found == {"float32": len(trial.asked), "float16": len(trial.asked)}
    assert [row.value for row in rows][:2] == [100, 100]
