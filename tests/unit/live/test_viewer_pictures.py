"""Pictures of references, from images that are files and from a bag, which gives them only in their order."""

import numpy as np
import pytest

import tmapr
from bags import THERMAL, image, written
from tmapr.config import changed
from tmapr.experiment import read_experiment
from tmapr.live.viewer.pictures import ReferencePictures
from tmapr.perception.image import Image

ROWS = 5


@pytest.fixture(scope="module")
def noon():
    return list(tmapr.open_sequence(tmapr.locate_sample() / "noon")[:ROWS])


def open_pictures(scene, sources=None):
    experiment = read_experiment(scene.map_folder / "experiment.toml")
    return ReferencePictures(
        changed(experiment, {"data.sources": sources}) if sources else experiment, scene.localizer.memory
    )


def find_row(scene, frame):
    return scene.localizer.memory.frames.tolist().index(frame)


def test_files_are_read_when_they_are_asked_for(scene, noon):
    pictures = open_pictures(scene)
    for frame in reversed(noon):
        counts = frame.image()
        wanted = Image().prepare(counts, counts.shape, "area")
        np.testing.assert_array_equal(pictures.read(find_row(scene, frame.index)), wanted)
    pictures.close()


def test_those_of_a_bag_are_laid_aside(scene, noon, tmp_path):
    bag = tmp_path / "noon.bag"
    written(bag, "bag", [(THERMAL, frame.stamp, image(frame.image(), "mono8")) for frame in noon])
    pictures = open_pictures(scene, {"noon": str(bag)})
    pictures.wait()
    for frame in reversed(noon):
        counts = frame.image()
        seen, wanted = pictures.read(find_row(scene, frame.index)), Image().prepare(counts, counts.shape, "area")
        assert np.abs(seen.astype(int) - wanted).mean() < 3
    assert pictures.read(find_row(scene, ROWS)) == "this image cannot be used"
    pictures.close()


def test_images_of_another_day_are_not_shown(scene, noon, tmp_path):
    bag = tmp_path / "noon.bag"
    written(bag, "bag", [(THERMAL, frame.stamp + 1, image(frame.image(), "mono8")) for frame in noon])
    pictures = open_pictures(scene, {"noon": str(bag)})
    pictures.wait()
    assert "are of another recording" in pictures.read(find_row(scene, 0))
    pictures.close()


def test_a_drive_does_not_wait_for_a_bag_that_takes_long(scene, noon, tmp_path, monkeypatch):
    """A traverse of which the next image never comes; closing does not wait for it either."""
    from threading import Event

    from tmapr.data.sequence import Sequence
    from tmapr.live.viewer import pictures as module

    held = Event()

    def play():
        yield noon[0]
        held.wait()

    monkeypatch.setattr(module, "open_data", lambda data, name: Sequence(name, scene.localizer.frame, 2, play))
    pictures = open_pictures(scene)
    assert pictures.read(find_row(scene, 0)) == "images of noon are still being read"
    pictures.close()
    held.set()
