"""A walk whose images are hard on whoever cuts it into parts, and maps of it made by any workers."""

import hashlib
import shutil

from tmapr.artifacts.run import RunFolder
from tmapr.cluster.mapping import ClusterMapping
from tmapr.cluster.workers import Alone
from tmapr.experiment import read_experiment
from tmapr.running.encoding import Encoding
from walked import write_walk

PART = 8
"""Frames: the walk of 16 has two parts."""


def write_hard_walk(home):
    """The ninth image, which begins the second part, is the eighth; the seventh cannot be read."""
    data = write_walk(home) / "data/noon"
    shutil.copy(data / "07.png", data / "08.png")
    (data / "06.png").write_bytes(b"no image")
    return home


def read_walk(home):
    return read_experiment(home / "walk.toml")


def map_walk(home, run, workers=None, watch=iter, told=None):
    """Map the walk in parts; the run folder."""
    experiment, folder = read_walk(home), RunFolder(home / run)
    encoding = Encoding(experiment, folder, tell=[].append if told is None else told.append)
    mapping = ClusterMapping(experiment, folder, workers or Alone(), "cpu", watch, watch, frames=PART)
    mapping.make(encoding)
    return folder


def digest_results(folder):
    """The names and contents of all that a map is."""
    files = (folder.map, folder.path / "keypoints.npz", *sorted((folder.path / "percepts").iterdir()))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def digest_tree(root):
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in find_files(root)}


def find_files(root):
    return [path for path in sorted(root.rglob("*")) if path.is_file()]
