"""docs/data.md, command for command: two bags and two folders become maps and estimates."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from tmapr import open_sequence
from tmapr.artifacts.images import read_image, write_frame

DATA = Path(__file__).parents[3] / "shared/data"
REAL = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real thermal frames are not at {DATA}")
DOCUMENT = (Path(__file__).parents[2] / "docs/data.md").read_text()
COUNT, HEIGHT, WIDTH, STEP = 30, 128, 160, 24
START = 1_628_215_174_691_250_698
TENTH = 100_000_000


def section(heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", DOCUMENT, re.DOTALL | re.MULTILINE)[1]


def blocks(heading, language):
    return re.findall(rf"```{language}\n(.*?)```", section(heading), re.DOTALL)


def walk(contrast, offset, noise):
    """Images along a rough wall, two metres apart."""
    rng, wide = np.random.default_rng(41), (HEIGHT, WIDTH + COUNT * STEP)
    rough = [cv2.resize(rng.normal(size=(wide[0] // cell, wide[1] // cell)), wide[::-1]) for cell in (32, 16, 8)]
    wall = offset + contrast * np.sum(rough, axis=0) + np.random.default_rng(42).normal(0, noise, wide)
    counts = wall.clip(0, 16382).astype(np.uint16)
    return [np.ascontiguousarray(counts[:, row * STEP : row * STEP + WIDTH]) for row in range(COUNT)]


def follow(heading, home):
    """Write the experiment that the section shows and run its commands as a shell does."""
    (experiment,) = blocks(heading, "toml")
    (home / re.match(r"# (\S+\.toml)", experiment)[1]).write_text(experiment)
    for command in "".join(blocks(heading, "sh")).splitlines():
        tmapr(command, home)


def tmapr(command, home):
    """Run a line of the document as a shell does."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"shell": True, "cwd": home, "env": os.environ | {"PATH": path}, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **given)
    assert done.returncode == 0, (command, done.stderr)


def test_two_folders_become_a_map_and_estimates(tmp_path):
    (example,) = blocks("From a folder", "csv")
    for name, images in {"noon": walk(300, 3500, 4), "night": walk(90, 2900, 4)}.items():
        rows = [f"{START + row * TENTH},images/{row:02}.png,{2.0 * row},5.0" for row in range(COUNT)]
        for row, counts in enumerate(images):
            write_frame(tmp_path / f"data/{name}/images/{row:02}.png", counts)
        (tmp_path / f"data/{name}/frames.csv").write_text("\n".join([example.splitlines()[0], *rows]) + "\n")
        assert example.splitlines()[:3] == ["stamp,file,x,y", *rows[:2]]
    follow("From a folder", tmp_path)
    assert json.loads((tmp_path / "runs/street/errors.json").read_text())["test"]["night"]["retrieval"]["median"] < 4.0
    assert (tmp_path / "seen.png").stat().st_size > 0


def messages(types, images):
    """Images with a pose between each two of them."""
    header, stamp = types.types["std_msgs/msg/Header"], types.types["builtin_interfaces/msg/Time"]
    point, turn = types.types["geometry_msgs/msg/Point"], types.types["geometry_msgs/msg/Quaternion"]
    pose, posed = types.types["geometry_msgs/msg/Pose"], types.types["geometry_msgs/msg/PoseStamped"]
    image = types.types["sensor_msgs/msg/Image"]

    def head(time, row):
        given = {"stamp": stamp(time // 10**9, time % 10**9), "frame_id": "thermal"}
        return header(**given | ({"seq": row} if "seq" in header.__dataclass_fields__ else {}))

    for row, counts in enumerate(images):
        time = START + row * TENTH
        place = pose(point(2.0 * row, 5.0, 0.0), turn(0.0, 0.0, 0.0, 1.0))
        yield "/pose", time, posed(head(time, row), place)
        data = np.frombuffer(counts.tobytes(), np.uint8)
        yield "/thermal/image_raw", time, image(head(time, row), HEIGHT, WIDTH, "mono16", 0, 2 * WIDTH, data)


def write_bag(writer, types, images, serialized):
    with writer:
        connections = {}
        for topic, time, message in messages(types, images):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, message.__msgtype__, typestore=types)
            writer.write(connections[topic], time, serialized(message, message.__msgtype__))


def test_two_bags_become_a_map_and_estimates(tmp_path):
    one, two = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
    write_bag(Writer1(tmp_path / "morning.bag"), one, walk(300, 3500, 4), one.serialize_ros1)
    mcap = Writer2(tmp_path / "recorded", version=9, storage_plugin=StoragePlugin.MCAP)
    write_bag(mcap, two, walk(90, 2900, 4), two.serialize_cdr)
    next((tmp_path / "recorded").glob("*.mcap")).rename(tmp_path / "evening.mcap")
    follow("From bags", tmp_path)
    assert json.loads((tmp_path / "runs/site/errors.json").read_text())["test"]["evening"]["retrieval"]["median"] < 4.0
    assert (tmp_path / "data/morning/frames.csv").exists()


@REAL
def test_real_ms2_frames_in_their_tree_are_imported_bit_for_bit(tmp_path):
    command = re.search(r"`(tmapr import ms2/\S+ drive)`", DOCUMENT)[1]
    folder = tmp_path / command.split()[2] / "thr"
    for side in ("left", "right"):
        (folder / f"img_{side}").mkdir(parents=True)
        for row, number in enumerate(("000011", "002079")):
            shutil.copy(DATA / f"ms2_sample/{side}_{number}_thr.png", folder / f"img_{side}/{row:06}.png")
        (folder / f"img_{side}_timestamp.txt").write_text(f"{START}\n{START + 66_000_000}\n")
    tmapr(command, tmp_path)
    frames = list(open_sequence(tmp_path / "drive"))
    assert [frame.stamp for frame in frames] == [START, START + 66_000_000]
    np.testing.assert_array_equal(frames[1].image(), read_image(DATA / "ms2_sample/left_002079_thr.png"))


@REAL
def test_real_14_bit_frames_are_imported_bit_for_bit(tmp_path):
    (tmp_path / "frames").symlink_to(DATA / "fieldscale_14bit")
    tmapr(re.search(r"`(tmapr import frames drive)`", DOCUMENT)[1], tmp_path)
    originals = sorted(path for path in (DATA / "fieldscale_14bit").iterdir() if path.suffix in (".png", ".tiff"))
    for frame, original in zip(open_sequence(tmp_path / "drive"), originals, strict=True):
        np.testing.assert_array_equal(frame.image(), read_image(original))


@pytest.mark.parametrize("heading", ["From bags", "From a folder"])
def test_every_command_of_the_document_is_run(heading):
    assert all(line.startswith("tmapr ") for line in "".join(blocks(heading, "sh")).splitlines())
