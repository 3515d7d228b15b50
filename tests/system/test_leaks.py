"""A drive that is tested is in no other role: not by its other camera, by a link or under a second name."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from commandline import command
from tmapr.config import dump_toml, load_settings
from tmapr.data.drives import find_marks
from tmapr.experiment import Data, Experiment, read_experiment

ROLES = ("train", "validation", "reference", "adapt", "stream")
STEREO = ("ms2", "sthereo")


@dataclass(frozen=True)
class Tree:
    """Two drives, `night` and `noon`, on disk as a layout has them."""

    layout: str
    root: Path

    @property
    def eye(self):
        return "/left" if self.layout in STEREO else ""

    @property
    def folder(self):
        """What holds the drives."""
        return self.root / "sync_data" if self.layout == "ms2" else self.root

    @property
    def images(self):
        """The folders that lead from a drive to its images."""
        return {"ms2": ("thr", "thr/img_left"), "sthereo": ("image", "image/stereo_thermal_14_left")}[self.layout]

    def drive(self, name):
        return self.folder / f"{name}.mcap" if self.layout == "bag" else self.folder / name

    def add(self, name):
        """The files of a drive, each with a text of its own."""
        files = {
            "ms2": [
                "thr/img_left/000000.png",
                "thr/img_right/000000.png",
                "thr/img_left_timestamp.txt",
                "thr/img_right_timestamp.txt",
                "gps_imu/data_timestamp.txt",
            ],
            "sthereo": [
                "image/stereo_thermal_14_left/1.png",
                "image/stereo_thermal_14_right/2.png",
                "pose/global_pose.csv",
            ],
            "folder": ["images/0.png", "frames.csv"],
            "bag": [""],
        }[self.layout]
        for file in files:
            path = self.drive(name) / file if file else self.drive(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {file}")
        return f"{name}{self.eye}"


def tree(layout, home):
    made = Tree(layout, home / "data")
    for name in ("night", "noon", "dusk"):
        made.add(name)
    return made


def link_into(part, name, other="night"):
    """The part of a drive becomes a link to that of another."""

    def change(tree):
        old = tree.drive(name) / part
        shutil.rmtree(old) if old.is_dir() else old.unlink()
        old.symlink_to(tree.drive(other) / part)
        return f"{name}{tree.eye}"

    return change


def hard_link(part, name):
    def change(tree):
        file = tree.drive(name) / part if part else tree.drive(name)
        file.unlink()
        os.link(tree.drive("night") / part if part else tree.drive("night"), file)
        return f"{name}{tree.eye}"

    return change


def hard_link_poses(tree):
    """A folder without a list, as KITTI has it."""
    for name in ("night", "noon"):
        (tree.drive(name) / "frames.csv").unlink()
    (tree.drive("night") / "poses.txt").write_text("1 0 0 0 0 1 0 0 0 0 1 0")
    os.link(tree.drive("night") / "poses.txt", tree.drive("noon") / "poses.txt")
    return "noon"


def second_name(tree):
    link = tree.drive("evening")
    link.symlink_to(tree.drive("night"), target_is_directory=tree.layout != "bag")
    return f"evening{tree.eye}"


def linked_root(tree):
    (tree.root.parent / "link").symlink_to(tree.root, target_is_directory=True)
    return f"{'../' * (2 if tree.layout == 'ms2' else 1)}link/{'sync_data/' * (tree.layout == 'ms2')}night{tree.eye}"


def full_copy_of_links(tree):
    """As `cp -al` makes it: every file a hard link, every folder new."""
    shutil.copytree(tree.drive("night"), tree.drive("evening"), copy_function=os.link)
    return f"evening{tree.eye.replace('left', 'right')}"


def chain(tree):
    """A link to a link to the drive."""
    (tree.folder / "one").symlink_to(tree.drive("night"))
    second = tree.drive("two")
    second.symlink_to(tree.folder / "one")
    return f"two{tree.eye}"


def as_bag_folder(tree):
    """A bag of two files in a folder: the second of them is of the same drive."""
    bag = tree.root / "night"
    tree.drive("night").unlink()
    bag.mkdir()
    for name in ("metadata.yaml", "night_0.mcap", "night_1.mcap"):
        (bag / name).write_text(name)
    return "night/night_1"


def hard_link_into_bag_folder(tree):
    as_bag_folder(tree)
    os.link(tree.root / "night/night_0.mcap", tree.root / "evening.mcap")
    return "evening"


WAYS = {
    "the other camera": (lambda tree: "night/right", STEREO),
    "up and down again": (lambda tree: f"noon/../night{tree.eye}", ("ms2", "sthereo", "folder")),
    "from here": (lambda tree: f"./night{tree.eye}", ("ms2", "sthereo", "folder", "bag")),
    "the whole path": (lambda tree: f"{tree.folder.absolute()}/night{tree.eye}", ("ms2", "sthereo", "folder", "bag")),
    "a linked drive": (second_name, ("ms2", "sthereo", "folder", "bag")),
    "a link to a link": (chain, ("ms2", "sthereo", "folder", "bag")),
    "a linked root": (linked_root, ("ms2", "sthereo", "folder", "bag")),
    "a linked folder of cameras": (lambda tree: link_into(tree.images[0], "noon")(tree), STEREO),
    "a linked folder of images": (lambda tree: link_into(tree.images[1], "noon")(tree), STEREO),
    "linked images": (link_into("images", "noon"), ("folder",)),
    "a linked list": (link_into("frames.csv", "noon"), ("folder",)),
    "a hard-linked list": (hard_link("frames.csv", "noon"), ("folder",)),
    "a hard-linked trajectory": (hard_link_poses, ("folder",)),
    "a hard-linked bag": (hard_link("", "noon"), ("bag",)),
    "a copy of hard links": (full_copy_of_links, ("ms2", "sthereo", "folder")),
    "the folder of its images": (lambda tree: "night/images", ("folder",)),
    "with its suffix": (lambda tree: "night.mcap", ("bag",)),
    "a file of a bag's folder": (as_bag_folder, ("bag",)),
    "a hard link to a file of a bag's folder": (hard_link_into_bag_folder, ("bag",)),
}
PAIRS = [(way, layout) for way, (_, layouts) in WAYS.items() for layout in layouts]
CASES = [(*pair, ROLES[number % len(ROLES)]) for number, pair in enumerate(PAIRS)]


def write_experiment(home, tree, *, role, name, drives=""):
    """An experiment that tests the night and gives another name of it a role."""
    roles = {role: [name], "test": [f"night{tree.eye}"]}
    lines = [
        f'layout = "{tree.layout}"',
        f'root = "{tree.root}"',
        *(f"{key} = {names}" for key, names in roles.items()),
    ]
    file = home / "leak.toml"
    file.write_text("\n".join(["[data]", *lines, drives]) + "\n")
    return file


@pytest.fixture
def ask(tmp_path, capsys):
    """Exit code and complaint of `tmapr config` for the experiment."""

    def call(tree, *arguments, **settings):
        code = command("config", write_experiment(tmp_path, tree, **settings), *arguments)
        return code, capsys.readouterr().err

    return call


@pytest.mark.parametrize(("way", "layout", "role"), CASES, ids=[", ".join(case) for case in CASES])
def test_every_way_to_put_a_test_drive_into_another_role_is_refused_in_one_line(way, layout, role, tmp_path, ask):
    made = tree(layout, tmp_path)
    name = WAYS[way][0](made)
    code, complaint = ask(made, role=role, name=name)
    assert code == 2
    assert complaint.count("\n") == 1
    # Names that are one file's are refused before drives are looked for.
    assert all(told in complaint for told in ("data.test", f"data.{role}", name)) or "rename one of them" in complaint


@pytest.mark.parametrize(("layout", "role"), [*zip(("ms2", "sthereo", "folder", "bag", "ms2"), ROLES, strict=True)])
def test_another_drive_may_have_any_role(layout, role, tmp_path, ask):
    made = tree(layout, tmp_path)
    assert ask(made, role=role, name=f"noon{made.eye}") == (0, "")


def test_what_is_said_to_be_one_drive_is_refused(tmp_path, ask):
    made = tree("folder", tmp_path)
    code, complaint = ask(made, role="adapt", name="dusk", drives='drives = { tower = ["night", "dusk"] }')
    assert (code, complaint.count("\n")) == (2, 1)
    assert all(told in complaint for told in ("data.adapt", "'dusk'", "'tower'"))


@pytest.mark.parametrize(
    ("drives", "told"),
    [
        ('{ tower = ["night", "knight"] }', "data.drives: 'tower' has 'knight', which no role names"),
        ('{ tower = ["night"], hall = ["night"] }', "data.drives: 'night' is in 'tower' and in 'hall'; name it once"),
        ('{ tower = "night" }', "data.drives.tower: input should be a valid array, got 'night'"),
        ("3", "data.drives: input should be an object, got 3"),
    ],
)
def test_a_list_of_drives_that_means_nothing_is_refused(drives, told, tmp_path, ask):
    code, complaint = ask(tree("folder", tmp_path), "--set", f"data.drives={drives}", role="train", name="noon")
    assert (code, complaint.count("\n")) == (2, 1)
    assert told in complaint


def test_drives_are_set_on_the_command_line_whole_or_one_at_a_time(tmp_path):
    file = write_experiment(tmp_path, tree("folder", tmp_path), role="train", name="dusk")
    more = ["data.adapt=['noon']"]
    whole = read_experiment(file, [*more, 'data.drives={tower=["noon", "dusk"], "two words"=["night"]}'])
    single = read_experiment(file, [*more, 'data.drives.tower=["noon", "dusk"]'])
    assert whole.data.drives == {"tower": ("noon", "dusk"), "two words": ("night",)}
    assert single.data.drives == {"tower": ("noon", "dusk")}


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@budget(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drives=st.dictionaries(NAMES | st.just('a"b\\\n'), st.just(()), max_size=3), first=NAMES)
def test_drives_of_any_name_read_back_as_they_were_written(drives, first, tmp_path):
    settings = Experiment(data=Data(train=("noon", "dusk"), drives=drives | {first: ("noon", "dusk")}))
    (tmp_path / "written.toml").write_text(dump_toml(settings), encoding="utf-8")
    assert load_settings(Experiment, tmp_path / "written.toml") == settings


def test_a_run_folders_own_experiment_file_is_looked_through_too(tmp_path):
    made = tree("ms2", tmp_path)
    (tmp_path / "run").mkdir()
    file = write_experiment(tmp_path, made, role="train", name="night/right")
    file.rename(tmp_path / "run/experiment.toml")
    assert command("evaluate", tmp_path / "run") == 2


def test_a_sequence_was_trained_on_if_any_camera_of_its_drive_was(tmp_path):
    made = tree("ms2", tmp_path)
    data = Data(layout="ms2", root=str(made.root), train=("noon/right",), stream=("noon/left", "dusk/left"))
    assert [data.trained_on(name) for name in (*data.stream, "noon/right", "night/left")] == [True, False, True, False]
    listed = data.model_copy(update={"drives": {"one": ("noon/right", "dusk/left")}})
    assert listed.trained_on("dusk/left")


SPELLINGS = st.lists(st.sampled_from([".", "", "noon/..", "nowhere/..", "../data"]), max_size=4)


@budget(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=SPELLINGS, after=st.lists(st.sampled_from([".", "", "../night"]), max_size=3), there=st.booleans())
def test_a_name_spelt_in_any_way_is_of_the_drive_that_the_system_finds(before, after, there, tmp_path):
    root = tmp_path / ("data" if there else "missing/data")
    if there and not root.exists():
        tree("folder", tmp_path)
    spelt = "/".join([".", *before, "night", *after])
    shared = find_marks("folder", root, spelt).keys() & find_marks("folder", root, "night").keys()
    assert shared
    assert not shared & find_marks("folder", root, "noon").keys()


@pytest.mark.parametrize("layout", ["ms2", "sthereo", "folder", "bag"])
@pytest.mark.parametrize("root", ["nowhere", "a\0b", "x" * 300, "x/" * 5000, "/dev/null", "loop"], ids=range(6))
def test_where_nothing_can_be_found_paths_are_compared_and_nothing_breaks(layout, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    eye = "/left" if layout in STEREO else ""
    data = Data(layout=layout, root=root, train=(f"noon{eye}",), test=(f"night{eye}",))
    assert data.trained_on(f"./noon{eye}")
    assert not data.trained_on(f"night{eye}")
    with pytest.raises(ValueError, match="which are one drive"):
        Data(layout=layout, root=root, train=(f"./night{eye}",), test=(f"night{eye}",))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
@pytest.mark.parametrize("layout", ["ms2", "folder", "bag"])
def test_what_may_not_be_looked_at_is_told_by_its_path(layout, tmp_path):
    made = tree(layout, tmp_path)
    made.root.chmod(0)
    try:
        data = Data(layout=layout, root=str(made.root), train=(f"noon{made.eye}",), test=(f"night{made.eye}",))
        assert data.trained_on(f"noon{made.eye}")
    finally:
        made.root.chmod(0o755)
