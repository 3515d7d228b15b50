"""`tmapr init`: from recordings to an experiment file that runs as it is."""

import os
import re
import shutil
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pytest

from bags import GPS, ODOMETRY
from commandline import command
from recorded import write_walk_bag
from tmapr.config.tree import as_tree
from tmapr.data.opening import open_path
from tmapr.experiment import is_data_there, read_experiment
from walked import COUNT, view, write_walk


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plain(home):
    """A folder of nothing but images; one name has what CSV files must quote."""
    shutil.copytree("data/noon", "plain")
    Path("plain/frames.csv").unlink()
    Path("plain/15.png").rename('plain/15, "last".png')
    return home / "plain"


def test_two_folders_become_a_file_that_runs(home, capsys):
    assert command("init", "data/noon", "data/night") == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.endswith("noon.toml: written; now: tmapr check noon.toml\n")
    assert "data/noon: 16 frames over 1.500 s, 16 of them with positions along 30.0 m (x,y)\n" in told.out
    for verb in ("check", "map", "run"):
        assert command(verb, "noon.toml", "--quiet") == 0


def test_it_says_only_what_differs_from_the_defaults(home):
    assert command("init", "data/noon", "data/night", "--quiet") == 0
    said = tomllib.loads(Path("noon.toml").read_text())
    assert said == {"name": "noon", "data": {"reference": "noon", "test": ["night"]}}


def test_what_it_leaves_to_be_changed_can_be(home):
    for name in ("dusk", "evening"):
        shutil.copytree("data/noon", f"data/{name}")
    assert command("init", "data/noon", "data/night", "--quiet") == 0
    text = Path("noon.toml").read_text()
    taken = re.sub(r"^# (?=(adapt|stream|preset) =|\[)", "", text, flags=re.MULTILINE)
    Path("noon.toml").write_text(taken)
    data = read_experiment(Path("noon.toml")).data
    assert (data.adapt, data.stream, data.test) == (("dusk",), ("evening",), ("night",))


@pytest.mark.parametrize("out", ["sets/walk.toml", "walk2.toml", "data/walk.toml"])
def test_paths_are_relative_to_the_file_wherever_it_goes(home, out):
    Path(out).parent.mkdir(exist_ok=True)
    write_walk_bag(home / "bags/late.bag", 160)
    assert command("init", "data/noon", "data/night", "bags/late.bag", "--out", out, "--quiet") == 0
    found = read_experiment(Path(out))
    assert found.name == Path(out).stem
    assert all(is_data_there(found.data, name) for name in ("noon", "night", "late"))
    assert not Path(tomllib.loads(Path(out).read_text())["data"]["sources"]["late"]).is_absolute()


def test_images_alone_get_a_table_to_fill_in(plain, capsys):
    assert command("init", "plain", "data/night") == 0
    told = capsys.readouterr().err
    assert told.startswith("plain/frames.csv: fill in x,y in metres")
    assert "guessed" in told
    sequence = list(open_path(plain))
    assert [frame.file.name for frame in sequence] == [*(f"{row:02}.png" for row in range(15)), '15, "last".png']
    assert [frame.stamp for frame in sequence] == [row * 10**8 for row in range(COUNT)]
    assert {frame.position for frame in sequence} == {None}
    assert command("check", "plain.toml", "--quiet") == 2
    table = (plain / "frames.csv").read_text().splitlines()
    (plain / "frames.csv").write_text(
        "\n".join([table[0], *(f"{line[:-1]}{2 * row},5" for row, line in enumerate(table[1:]))])
    )
    assert command("map", "plain.toml", "--quiet") == 0


def test_a_video_gets_its_table_beside_it(home, capsys):
    film = cv2.VideoWriter("clip.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (80, 64), isColor=False)
    for row in range(5):
        film.write((view(row) >> 5).clip(0, 255).astype(np.uint8))
    film.release()
    assert command("init", "clip.avi", "data/night") == 0
    assert capsys.readouterr().err.startswith("clip.csv: fill in x,y in metres")
    table = Path("clip.csv").read_text().splitlines()
    assert (table[0], len(table)) == ("stamp,x,y", 6)
    Path("clip.csv").write_text("\n".join([table[0], *(f"{line[:-1]}{row},5" for row, line in enumerate(table[1:]))]))
    assert command("map", "clip.toml", "--quiet") == 0


def test_stamps_in_names_are_kept(home, capsys):
    for row in range(3):
        path = home / f"named/{10**18 + row * 10**8}.png"
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), view(row))
    assert command("init", "named") == 0
    assert "guessed" not in capsys.readouterr().err
    assert [frame.stamp for frame in open_path(home / "named")] == [10**18 + row * 10**8 for row in range(3)]


def test_a_table_that_is_there_is_never_touched(plain, capsys):
    before = "stamp,file\n0,00.png\n0.1,01.png\n"
    (plain / "frames.csv").write_text(before)
    assert command("init", "plain", "--quiet") == 0
    assert (plain / "frames.csv").read_text() == before


def test_nothing_is_written_over(home, capsys):
    Path("noon.toml").write_text("mine")
    assert command("init", "data/noon") == 2
    assert re.fullmatch(r"tmapr: noon\.toml: exists already .*--out\n", capsys.readouterr().err)
    assert Path("noon.toml").read_text() == "mine"
    Path("link.toml").symlink_to("nowhere.toml")
    assert command("init", "data/noon", "--out", "link.toml") == 2
    assert not Path("nowhere.toml").exists()


def test_a_bag_with_one_topic_of_each_kind_needs_no_choice(home):
    write_walk_bag(home / "morning.bag")
    assert command("init", "morning.bag", "data/night", "--quiet") == 0
    said = tomllib.loads(Path("morning.toml").read_text())
    assert "topics" not in said["data"]
    text = Path("morning.toml").read_text()
    assert "#   /thermal/image_raw (sensor_msgs/msg/Image, 16 messages) mono16, 80x64, 16 bit: image\n" in text
    assert '# topics = {"position" = "/odom"' in text


def test_of_several_topics_the_likeliest_are_taken_and_told(home, capsys):
    write_walk_bag(home / "morning.bag", topics=("/camera/depth", "/flir/image"), positions=(ODOMETRY, GPS))
    assert command("init", "morning.bag") == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("morning.bag: /flir/image is read of the topics with images: /camera/depth (sensor_msgs")
    assert first.endswith("; --image TOPIC chooses another")
    assert second.startswith(f"morning.bag: {GPS} is read of the topics with positions: ")
    assert read_experiment(Path("morning.toml")).data.topics.image == "/flir/image"
    assert command("map", "morning.toml", "--quiet") == 0


def test_topics_are_chosen_with_options(home):
    write_walk_bag(home / "morning.bag", topics=("/camera/depth", "/flir/image"), positions=(ODOMETRY, GPS))
    write_walk_bag(home / "evening.bag", 160, topics=("/other",))
    chosen = ("--image", "/camera/depth", "--position", ODOMETRY)
    assert command("init", "morning.bag", "evening.bag", *chosen, "--quiet") == 0
    data = read_experiment(Path("morning.toml")).data
    assert (data.topics_of["morning"].image, data.topics_of["morning"].position) == ("/camera/depth", ODOMETRY)
    for verb in ("map", "run"):
        assert command(verb, "morning.toml", "--quiet") == 0


def test_positions_that_cannot_fit_the_reference_are_left_out(home, capsys):
    write_walk_bag(home / "morning.bag", positions=(GPS,))
    write_walk_bag(home / "evening.bag", 160, positions=(ODOMETRY,))
    assert command("init", "morning.bag", "evening.bag") == 0
    assert "evening.bag: none is read, to fit the reference, of the topics with positions" in capsys.readouterr().err
    for verb in ("check", "map", "run"):
        assert command(verb, "morning.toml", "--quiet") == 0


def test_a_topic_s_name_cannot_write_into_the_file(home):
    evil = '/x\n[data]\nroot = "/etc"\n#'
    write_walk_bag(home / "morning.bag", topics=(evil, "/thermal"))
    assert command("init", "morning.bag", "--quiet") == 0
    assert as_tree(read_experiment(Path("morning.toml")))["data"]["root"] == "."


def test_a_folder_of_recordings_says_which_there_are(home, capsys):
    write_walk_bag(home / "data/late.bag", 160)
    assert command("init", "data") == 2
    told = capsys.readouterr().err
    assert "late.bag, night, noon" in told
    assert "`tmapr init data/late.bag data/night`" in told


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere",), "nowhere: no such folder, bag or video; name where the recording lies"),
        (("empty",), "empty: holds no images, no bag and no video; name a recording"),
        (("walk.toml",), "walk.toml: is no recording; give a folder of images, a bag or a video"),
        (("broken.bag",), "broken.bag: cannot be read"),
        (("cut",), "cut/00.png: "),
        (("data/noon", "data/noon"), "which are one drive"),
        (("data/noon", "earth"), "earth/frames.csv: has positions as longitude and latitude, the map as x,y"),
        (("data/noon", "--image", "/x"), "--image /x: no bag among the recordings has images there"),
        (("data/noon", "--name", "a/b"), "name: string should match pattern"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_and_nothing_is_written(home, capsys, arguments, reason):
    Path("empty").mkdir()
    Path("broken.bag").write_bytes(b"#ROSBAG V2.0\n" + bytes(100))
    shutil.copytree("data/noon", "cut")
    Path("cut/00.png").write_bytes(Path("cut/00.png").read_bytes()[:60])
    shutil.copytree("data/night", "earth")
    rows = [f"{10**18 + row * 10**8},{row:02}.png,127.{row:05},36.3" for row in range(COUNT)]
    Path("earth/frames.csv").write_text("\n".join(["stamp,file,lon,lat", *rows]))
    before = sorted(Path().rglob("*"))
    assert command("init", *arguments, "--quiet") == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_recording_that_cannot_be_written_to_says_so(plain, capsys):
    plain.chmod(0o555)
    assert command("init", "plain") == 2
    assert "plain/frames.csv: cannot be written" in capsys.readouterr().err
    assert not Path("plain.toml").exists()
