"""What is timed: a made-up drive, its frames, and those of a recording."""

from itertools import islice

import numpy as np
import pytest

from tmapr.bench.workload import (
    choose_cell,
    invent_frames,
    invent_images,
    invent_map,
    open_timed_perceiver,
    read_frames,
    revisit,
)
from tmapr.data.health import Detector
from tmapr.exceptions import InputError
from tmapr.perception.settings import Perception
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.system import System
from tmapr.types import NANOSECONDS, Frame

WIDTH, REFERENCES = 48, 60
SYSTEM = System(places=Places(projection=Projection(dimension=64)))


@pytest.fixture(scope="module")
def environment():
    return invent_map(SYSTEM, REFERENCES, WIDTH)


def test_a_made_up_map_has_as_many_references_as_were_asked_for(environment):
    assert environment.memory.descriptors.shape == (REFERENCES, WIDTH)
    np.testing.assert_allclose(np.linalg.norm(environment.memory.descriptors, axis=1), 1.0, rtol=1e-6)


def test_of_many_references_few_are_taught_and_no_place_is_left_out(environment, monkeypatch):
    monkeypatch.setattr("tmapr.bench.workload.MANY", 50)
    monkeypatch.setattr("tmapr.bench.workload.LESSONS", 10)
    few = invent_map(SYSTEM, REFERENCES, WIDTH)
    np.testing.assert_array_equal(few.memory.places, environment.memory.places)
    np.testing.assert_array_equal(few.memory.descriptors, environment.memory.descriptors)
    assert len(few.classifier().grid) == len(environment.classifier().grid)
    untaught = few.classifier().ridge.weights.any(axis=0).sum()
    assert untaught <= 10


@pytest.mark.parametrize(("references", "places"), [(400, 50), (300, 20)])
def test_cells_are_so_large_that_there_are_about_as_many_places_as_wanted(references, places):
    system = System(places=SYSTEM.places.model_copy(update={"cell": choose_cell(references, places), "use": ()}))
    assert invent_map(system, references, 4).memory.place_count == pytest.approx(places, rel=0.05)


def test_revisits_pass_every_place_on_each_lap_and_never_repeat_a_descriptor(environment):
    visits = list(islice(revisit(environment.memory), 3 * REFERENCES))
    descriptors = np.array([percept.descriptor for percept, _ in visits])
    assert len(np.unique(descriptors, axis=0)) == 3 * REFERENCES
    np.testing.assert_allclose(np.linalg.norm(descriptors, axis=1), 1.0)
    assert (np.diff([percept.stamp for percept, _ in visits]) > 0).all()
    laps = np.array([position for _, position in visits]).reshape(3, REFERENCES, 2)
    np.testing.assert_array_equal(laps[0], laps[2])
    np.testing.assert_array_equal(np.sort(laps[0], axis=0), np.sort(environment.memory.positions, axis=0))
    steps = np.hypot(*np.diff(laps[0], axis=0).T)
    assert steps.max() < 5.0  # the way it was driven, not the order in which the map keeps it


def record(images):
    """Frames that can be read once each, a tenth of a second apart."""
    unread = list(images)

    def read(row):
        image, unread[row] = unread[row], None
        assert image is not None
        return image

    return [Frame("drive", row, row * NANOSECONDS // 10, lambda row=row: read(row)) for row in range(len(images))]


def test_recorded_frames_are_read_once_and_come_round_again():
    images = invent_images(4)
    frames = read_frames(record(images), 10)
    for _ in range(2):
        np.testing.assert_array_equal([frame.image() for frame in frames], images[np.arange(10) % 4])
    assert (np.diff([frame.stamp for frame in frames]) > 0).all()


def test_frames_that_cannot_be_used_are_left_out():
    live, empty = invent_images(3), np.full((1, 512, 640), 3000, np.uint16)
    images = np.concatenate([empty, live[:2], live[1:2], live[2:]])
    assert [frame.index for frame in read_frames(record(images), 3)] == [1, 2, 4]


def test_a_recording_without_two_usable_frames_is_refused():
    images = np.repeat(invent_images(1), 5, axis=0)
    with pytest.raises(InputError, match=r"^1 frames of the test sequence can be used, at least 2 are needed"):
        read_frames(record(images), 5)


def test_made_up_images_can_be_used_and_come_round_again(monkeypatch):
    monkeypatch.setattr("tmapr.bench.workload._KEPT", 3)
    frames, inspect = invent_frames(range(5)), Detector().inspect
    assert [inspect(frame.image()) for frame in frames] == [None] * 5
    assert frames[3].image() is frames[0].image()


@pytest.mark.parametrize(("asked", "given"), [(None, "float32"), ("float32", "float32")])
def test_an_encoder_is_timed_in_float32_unless_asked_otherwise(asked, given):
    assert open_timed_perceiver(Perception(), "cpu", asked).notes.precision == given


@pytest.mark.parametrize("asked", ["float16", "int8"])
def test_a_precision_that_the_encoder_does_not_have_is_refused_with_the_one_it_has(asked):
    told = f"--precision {asked}: the encoder is float32 by onnxruntime on cpu; .* `tmapr export --int8`"
    with pytest.raises(InputError, match=told):
        open_timed_perceiver(Perception(), "cpu", asked)
