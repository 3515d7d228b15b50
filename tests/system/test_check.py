"""`tmapr check` as a user gives it: figures, problems with their rows, a verdict, and nothing written."""

import re

import cv2
import numpy as np
import pytest

from commandline import command
from tmapr.artifacts.images import read_image, write_png

SHAPE = 48, 64
START = 1_628_215_174_691_250_698
EXPERIMENT = """
[data]
layout = "folder"
root = "data"
train = ["noon"]
reference = "noon"
test = ["night"]
"""


def view(rng, row):
    wave = 200 * np.sin(np.arange(SHAPE[1]) / 9 + row / 5) + 100 * np.cos(np.arange(SHAPE[0]) / 7)[:, None]
    return (3000 + wave + rng.normal(0, 3, SHAPE)).astype(np.uint16)


def write_traverse(folder, count=30, positions=True):
    """A traverse in the folder layout, ten frames a second and a metre apart."""
    rng = np.random.default_rng(3)
    rows = ["stamp,file,x,y" if positions else "stamp,file"]
    for row in range(count):
        write_png(folder / f"images/{row:03}.png", view(rng, row))
        rows.append(f"{START + row * 10**8},images/{row:03}.png" + (f",{row},0.0" if positions else ""))
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")
    return folder / "images"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Two sound traverses and an experiment with them, in the working directory."""
    write_traverse(tmp_path / "data/noon")
    write_traverse(tmp_path / "data/night", count=20)
    (tmp_path / "walk.toml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def check(home, capsys):
    """Runs the command; gives its exit code and what it printed."""

    def call(*arguments):
        code, printed = command("check", *arguments), capsys.readouterr()
        return code, printed.out, printed.err

    return call


def held(home):
    """Every file with its content."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


def figures(printed):
    return dict(re.findall(r"^  (\w+) +(.+)$", printed, re.MULTILINE))


def test_a_sound_folder_is_well(check):
    code, printed, complaint = check("data/noon")
    assert (code, complaint) == (0, "")
    assert printed.startswith("noon\n")
    assert printed.endswith("30 frames in 1 sequence: all well, nothing that stops a run\n")
    assert re.fullmatch(r"2\d\d\d\.\.3\d\d\d", figures(printed)["counts"])
    for line in ("frames     30", "rate       10.00 Hz", "pauses     0", "positions  30 of 30 frames"):
        assert f"\n  {line}\n" in printed
    assert "\n  length     29.0 m; jumps are measured by a top speed of 10.00 m/s\n" in printed
    for line in ("images     64x48, 16 bit; 30 PNG", "read       30 of 30 images, 30 of them usable"):
        assert f"\n  {line}\n" in printed
    for line in ("found      nothing that is wrong", "map        30 of 30 frames become references"):
        assert f"\n  {line}\n" in printed
    assert "\n  run        30 frames are answered\n" in printed


def test_an_experiments_sequences_are_checked_once_with_their_roles(check):
    code, printed, _ = check("walk.toml")
    assert code == 0
    assert re.findall(r"^(\w+ \(.*\))$", printed, re.MULTILINE) == ["noon (train, reference)", "night (test)"]
    assert printed.endswith("50 frames in 2 sequences: all well, nothing that stops a run\n")


def test_a_setting_can_be_overridden_in_an_experiment_and_nowhere_else(check):
    assert "night" not in check("walk.toml", "--set", "data.test=[]")[1]
    code, _, complaint = check("data/noon", "--set", "data.test=[]")
    assert code == 2
    assert "data/noon: is no experiment file, so there is nothing to --set" in complaint


def test_warnings_are_listed_with_file_and_row_and_the_run_goes_on(home, check):
    images = home / "data/night/images"
    for row in (7, 8):
        (images / f"{row:03}.png").write_bytes((images / "006.png").read_bytes())
    listing = home / "data/night/frames.csv"
    listing.write_text(listing.read_text().replace(",15,0.0", ",,").replace(",18,0.0", ",90,0.0"))
    code, printed, complaint = check("walk.toml")
    assert (code, complaint) == (0, "")
    assert "row 7       frozen          data/night/images/007.png: 2 images, 0.2 s\n" in printed
    assert "row 15      no position     data/night/images/015.png: 1 of 20 frames; the first\n" in printed
    assert "row 18      jump            data/night/images/018.png: 73.0 m in 0.100 s\n" in printed
    assert "found      1 frozen, 2 jump\n" in printed
    assert "run        20 frames are answered, 2 of them passed over as faults (2 frozen)\n" in printed
    assert "evaluate   19 of 20 frames have a true position to compare with\n" in printed
    assert printed.endswith("50 frames in 2 sequences: 4 warnings, nothing that stops a run\n")


def test_ten_problems_are_listed_and_what_stops_a_run_comes_first(home, check):
    images = home / "data/noon/images"
    for row in range(1, 30, 2):
        (images / f"{row:03}.png").write_bytes((images / f"{row - 1:03}.png").read_bytes())
    (images / "028.png").write_bytes(b"")
    printed = check("data/noon")[1]
    assert re.findall(r"row (\d+) +(\w+)", printed) == [
        ("28", "unreadable"),
        *((f"{row}", "frozen") for row in range(1, 18, 2)),
    ]
    assert "    and 5 more\n" in printed


def test_files_that_cannot_be_read_are_warnings_since_a_run_takes_them_for_faults(home, check):
    for row, keep in ((21, 900), (4, 0)):
        file = home / f"data/noon/images/{row:03}.png"
        file.write_bytes(file.read_bytes()[:keep])
    code, printed, complaint = check("walk.toml")
    assert (code, complaint) == (0, "")
    rows = re.findall(r"row (\d+) +unreadable +(\S+): is", printed)
    assert rows == [("4", "data/noon/images/004.png"), ("21", "data/noon/images/021.png")]
    lost = "; not: 2 whose image cannot be used (2 unreadable)"
    assert f"map        28 of 30 frames become references{lost}\n" in printed
    assert printed.endswith("50 frames in 2 sequences: 2 warnings, nothing that stops a run\n")


def damage(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_what_follows_from_a_sample_is_said_as_a_bound_and_all_images_remove_it(home, check):
    images = write_traverse(home / "data/long", count=250)
    damage(images / "004.png")
    (images / "001.png").write_bytes((images / "000.png").read_bytes())
    code, printed, _ = check("data/long")
    assert (code, figures(printed)["read"]) == (0, "200 of 250 images, 199 of them usable; --all reads every one")
    lost = "; not: 1 whose image cannot be used (1 frozen), of 200 images read"
    assert figures(printed)["map"] == f"at most 249 of 250 frames become references{lost}"
    faults = "at least 1 of them passed over as faults (1 frozen), of 200 images read"
    assert figures(printed)["run"] == f"250 frames are answered, {faults}"
    code, printed, _ = check("data/long", "--all")
    assert (code, figures(printed)["read"]) == (0, "249 of 250 images, 248 of them usable")
    lost = "; not: 2 whose image cannot be used (1 frozen, 1 unreadable)"
    assert figures(printed)["map"] == f"248 of 250 frames become references{lost}"


def test_a_reference_without_positions_stops_a_run_and_a_test_sequence_does_not(home, check):
    write_traverse(home / "data/night", count=20, positions=False)
    code, printed, _ = check("walk.toml")
    assert code == 0
    assert "20 of 20 frames; the first" in printed
    assert "evaluate   no frame has a position: it can be localized and reported, not evaluated\n" in printed
    code, _, complaint = check("walk.toml", "--set", "data.reference=night", "--set", "data.test=[]")
    assert code == 2
    assert complaint == "tmapr: night: no frame has both a position and a usable image; nothing to map\n"


def test_several_references_are_checked_each_as_one_and_must_be_placed_alike(home, check):
    (home / "walk.toml").write_text(EXPERIMENT.replace('reference = "noon"', 'reference = ["noon", "back"]'))
    write_traverse(home / "data/back", count=20)
    code, out, _ = check("walk.toml")
    assert code == 0
    assert "noon (train, reference)" in out
    assert "back (reference)" in out
    table = (home / "data/noon/frames.csv").read_text().replace("x,y", "lat,lon")
    (home / "data/noon/frames.csv").write_text(re.sub(r",(\d+),0\.0$", r",36.\1,127.3", table, flags=re.MULTILINE))
    code, _, err = check("walk.toml")
    assert (code, err.count("\n")) == (2, 1)
    assert "data/back/frames.csv: has positions as x,y in a frame of their own, the map as longitude" in err


def test_images_too_small_to_be_encoded_stop_a_run(home, check):
    for file in (home / "data/noon/images").iterdir():
        write_png(file, read_image(file)[:20, :20].copy())
    code, printed, complaint = check("data/noon")
    assert (code, figures(printed)["images"]) == (2, "20x20, 16 bit; 30 PNG")
    assert complaint.startswith("tmapr: noon: an image of 20x20 ")
    assert "at least 32x32 are needed" in complaint


def test_a_sequence_of_nothing_but_black_stops_a_run(home, check):
    for file in (home / "data/noon/images").iterdir():
        write_png(file, np.zeros(SHAPE, np.uint16))
    code, printed, complaint = check("data/noon")
    assert (code, figures(printed)["found"]) == (2, "1 empty")
    assert "noon: none of its images can be used (30 empty)" in complaint


def test_a_long_sequence_of_which_no_sample_can_be_used_is_read_to_the_end(home, check):
    for file in (images := write_traverse(home / "data/long", count=250)).iterdir():
        write_png(file, np.zeros(SHAPE, np.uint16))
    assert "none of its images can be used (250 empty)" in check("data/long")[2]
    write_png(images / "004.png", view(np.random.default_rng(1), 4))
    code, printed, _ = check("data/long")
    assert code == 0
    lost = "; not: 249 whose image cannot be used (249 empty)"
    assert figures(printed)["map"] == f"1 of 250 frames become references{lost}"


@pytest.mark.parametrize("path", ["data/dawn", "dawn.toml", "dawn.mcap", "empty.toml"])
def test_what_is_not_there_is_refused_in_one_line(path, home, check):
    (home / "empty.toml").write_text('name = "empty"\n')
    code, printed, complaint = check(path)
    assert (code, printed, complaint.count("\n")) == (2, "", 1)


def test_nothing_is_written(home, check):
    before = held(home)
    for arguments in (["walk.toml"], ["data/noon", "--all"], ["walk.toml", "--quiet"]):
        assert check(*arguments)[0] == 0
    assert held(home) == before


def test_a_sheet_is_all_that_is_written_though_an_image_cannot_be_shown(home, check):
    (home / "data/noon/images/000.png").write_bytes(b"")
    before = held(home)
    assert check("walk.toml", "--sheet", "looks/sheet.png")[0] == 0
    assert held(home).keys() - before.keys() == {home / "looks/sheet.png"}
    assert cv2.imread(str(home / "looks/sheet.png")) is not None
    assert before.items() <= held(home).items()
