"""The perceiver of a stream looks for turns: each frame keeps its own shift, however batched, whatever is faulty."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from tmapr.data.health import Detector
from tmapr.exceptions import InputError
from tmapr.perception.card import CLIP, Card, Input
from tmapr.perception.eyes import Outputs
from tmapr.perception.gyroscope import Gyroscope
from tmapr.perception.image import Image
from tmapr.perception.perceiver import Perceiver
from tmapr.types import Fault, Frame

CARD = Card(input=Input(mean=CLIP[0], std=CLIP[1], size=(98, 126)), dimension=4)


def perceiver(image=None):
    """With an engine that says the same of every picture."""
    return Perceiver(CARD, image or Image(), lambda pictures: Outputs(np.ones((len(pictures), 4), np.float32)))


def frames(images):
    return [Frame("drive", row, row, lambda image=image: image) for row, image in enumerate(images)]


def moving(rng, count):
    """Frames whose picture moves by five columns to the left, from one to the next."""
    wall = cv2.GaussianBlur(rng.normal(size=(96, 128 + 5 * count)), (0, 0), 1.5)
    return frames([(3500 + 1000 * wall[:, 5 * row : 5 * row + 128]).astype(np.uint16) for row in range(count)])


def watching():
    return perceiver().with_inspection(Detector().inspect)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_every_frame_of_a_stream_has_its_own_shift_however_it_is_batched(batch, rng):
    given = moving(rng, 10)
    gyroscope = Gyroscope()
    alone = [gyroscope.measure(frame.image()) for frame in given]
    assert alone[1:] == pytest.approx([-5 / 128] * 9, abs=0.1 / 128)
    assert [percept.shift for percept in watching().stream(given, batch)] == alone
    assert [percept.shift for percept in watching().with_full_batches().stream(given, batch)] == alone
    one = watching()
    assert [one(frame).shift for frame in given] == alone


def test_a_frame_is_compared_with_the_last_image_that_could_be_read_whatever_it_showed(rng):
    def torn():
        raise InputError("torn")

    given = moving(rng, 8)
    given[2] = replace(given[2], image=torn)
    given[4] = replace(given[4], image=given[3].image)
    given[6] = replace(given[6], image=lambda: np.full((96, 128), 3500, np.uint16))
    found = list(watching().stream(given))
    assert [percept.fault for percept in found] == [
        None, None, Fault.INVALID, None, Fault.FROZEN, None, Fault.EMPTY, None
    ]  # fmt: skip
    told = [None if percept.shift is None else round(128 * percept.shift) for percept in found]
    assert told == [None, -5, None, -10, None, -10, None, None]


def test_the_frame_around_a_scene_is_left_out_by_the_crop_and_does_not_hold_the_picture(rng):
    framed = [np.zeros((136, 168), np.uint16) for _ in range(2)]
    for image, frame in zip(framed, moving(rng, 2), strict=True):
        image[20:116, 20:148] = frame.image()
    cropping = perceiver(Image(crop=(20, 20, 20, 20))).with_inspection(Detector().inspect)
    assert 128 * cropping.batch(frames(framed))[1].shift == pytest.approx(-5, abs=0.1)


def test_without_an_inspection_there_is_no_shift(rng):
    assert {percept.shift for percept in perceiver().stream(moving(rng, 4))} == {None}


def test_two_streams_of_one_perceiver_do_not_see_each_other(rng):
    network, given = perceiver(), moving(rng, 4)
    first, second = (network.with_inspection(Detector().inspect) for _ in range(2))
    found = [(first(frame).shift, second(frame).shift) for frame in given]
    assert all(one == other for one, other in found)
    assert found[0] == (None, None)
    assert None not in found[1]
