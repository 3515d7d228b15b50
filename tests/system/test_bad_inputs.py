"""What a tired user gives, and the one line that answers it. Nothing here may crash, hang or leave half a file."""

import json
import re
import shutil
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bad_files import CONFIG, EVALUATE, FILES, MAP, RUN, write_drive
from commandline import command
from made_up import thin_percepts, write_block
from tmapr.artifacts.arrays import Header, save_arrays
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import load
from tmapr.types import CoordinateFrame, Fault


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run folder in which everything went well, beside its experiment file."""
    home = tmp_path_factory.mktemp("finished")
    write_block(home, size=60.0)
    write_drive(home)
    (home / "runs/block").rename(home / "run")
    thin_percepts(RunFolder(home / "run"), 3)
    with chdir(home):
        for verb in ("map", "run"):
            assert command(verb, "block.toml", "--run", "run", "--quiet") == 0
        assert command("evaluate", "run", "--quiet") == 0
    return home


@pytest.fixture
def spoilt(finished, tmp_path, monkeypatch, arguments):
    """A copy of it to spoil, without the run where the command looks at none."""
    beside = arguments[0] in ("config", "check", "preview", "weights")
    home = shutil.copytree(finished, tmp_path / "home", ignore=shutil.ignore_patterns("run") if beside else None)
    (home / "run").mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    return home


def edit(old, new, name="block.toml"):
    def spoil(home):
        text = (home / name).read_text()
        assert old in text
        (home / name).write_text(text.replace(old, new, 1))

    return spoil


def cache(change):
    """Replace the percepts of the reference by something else."""

    def spoil(home):
        change(home / "run/percepts/noon.npz")

    return spoil


def resaved(**changes):
    """The same percepts with some arrays or header fields changed."""

    def change(path):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        fields = {name: changes.get(name, header[name]) for name in ("kind", "version", "settings", "notes")}
        arrays |= {name: array for name, array in changes.items() if name not in fields}
        save_arrays(path, Header(**fields), {name: array for name, array in arrays.items() if array is not None})

    return change


def truncated(path):
    path.write_bytes(path.read_bytes()[:-1000])


def bit_flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


class Hostile:
    """Would leave a trace if it were ever unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def pickled(path):
    np.savez(path, header=np.array(Hostile(), dtype=object))


def remade(name, change):
    """Replace a sequence's recording by a changed one."""

    def spoil(home):
        path = RunFolder(home / "run").percepts(name)
        change(Recording.load(path)).save(path)

    return spoil


def without_truth(recording):
    return replace(recording, known=np.zeros(len(recording), dtype=bool))


def all_faulty(recording):
    return replace(recording, percepts=tuple(replace(p, fault=Fault.FROZEN) for p in recording.percepts))


def elsewhere(recording):
    return replace(recording, frame=CoordinateFrame("utm", "52N", (350000.0, 4020000.0)))


def narrowed(recording):
    return replace(recording, percepts=tuple(replace(p, descriptor=np.ones(7) / 7**0.5) for p in recording.percepts))


def both(*spoils):
    return lambda home: [spoil(home) for spoil in spoils]


def remapped_beside(home):
    """A map of other settings under a state of the old one."""
    state = (home / "run/state.npz").read_bytes()
    remade("noon", lambda r: replace(r, truth=r.truth + 1.0))(home)
    assert command("map", "block.toml", "--run", "run", "--quiet") == 0
    (home / "run/state.npz").write_bytes(state)


def overwrite(name, text):
    return lambda home: (home / name).write_text(text)


def remove(name):
    return lambda home: (home / name).unlink()


def nothing(_):
    pass


def bad_cell(home):
    path = home / "run/estimates/night.csv"
    path.write_text(path.read_text().replace("accepted", "approved", 1))


REFUSED = [
    # what, how it comes about, the command, and the line it gets
    ("a misspelt key", edit("test =", "tset ="), CONFIG, "data.tset: unknown setting; did you mean 'test'?"),
    ("a misspelt section", edit("[tracking.gates]", "[trackin.gates]"), CONFIG, "trackin: unknown setting"),
    ("a misspelt nested key", edit("dimension", "dimensions"), CONFIG, "did you mean 'dimension'?"),
    ("a number that is text", edit("0.4", '"high"'), CONFIG, "gates.min_similarity: input should be a valid number"),
    ("a number out of range", edit("0.4", "1.4"), CONFIG, "less than or equal to 1, got 1.4"),
    ("a number that is NaN", edit("0.4", "nan"), CONFIG, "gates.min_similarity: input should be a finite number"),
    ("a file that is not TOML", edit("[data]", "[data"), CONFIG, "block.toml: is not TOML"),
    ("a missing file", remove("block.toml"), CONFIG, "block.toml: no such experiment file"),
    ("a folder for a file", nothing, ("config", "run"), "run: is a folder"),
    ("an override without a value", nothing, (*CONFIG, "--set", "places.cell"), "write it as section.key=value"),
    ("an override into a value", nothing, (*CONFIG, "--set", "name.x=1"), "name is a value, not a section"),
    ("an override with a typo", nothing, (*CONFIG, "--set", "places.cel=1"), "did you mean 'cell'?"),
    ("a test sequence in train", edit("adapt", 'train = ["night"]\nadapt'), CONFIG, "data.train share 'night'"),
    ("a test sequence in adapt", edit('"dusk"', '"night"'), CONFIG, "data.adapt share 'night'"),
    ("the reference as a test", edit('"night"', '"noon"'), CONFIG, "data.test names the reference 'noon'"),
    ("a test named twice", edit('["night"]', '["night", "night"]'), CONFIG, "data.test names 'night' twice"),
    ("a reference named twice", edit('"noon"', '["noon", "noon"]'), CONFIG, "data.reference names 'noon' twice"),
    ("an empty list of references", edit('"noon"', "[]"), CONFIG, "data.reference: must be a traverse's name or"),
    ("a number as a reference", edit('"noon"', '["noon", 7]'), CONFIG, "list of names, got ['noon', 7]"),
    ("one of the references as a test", edit('"noon"', '["noon", "night"]'), CONFIG, "names the reference 'night'"),
    ("a name that is a path", edit('"block"', '"../block"'), CONFIG, "name: string should match pattern"),
    ("no reference", edit('reference = "noon"', ""), MAP, "data.reference is not set"),
    ("percepts never made", remove("run/percepts/noon.npz"), MAP, "noon.npz: no percepts of 'noon'"),
    ("a truncated cache", cache(truncated), MAP, "noon.npz: is damaged"),
    ("a flipped bit", cache(bit_flipped), MAP, "noon.npz: is damaged"),
    ("a hostile pickle", cache(pickled), MAP, "noon.npz: is damaged"),
    ("a text file as a cache", cache(lambda p: p.write_text("stamp,file\n")), MAP, "noon.npz: is damaged"),
    ("an npz without header", cache(lambda p: np.savez(p, a=1)), MAP, "noon.npz: has no header"),
    ("an npz of another kind", cache(resaved(kind="map")), MAP, "holds 'map', not 'percepts'"),
    ("an npz of another version", cache(resaved(version=9)), MAP, "version 9, this program reads version 1"),
    ("percepts of unknown origin", edit('encoder = "own"', 'encoder = "default"'), MAP, "perception made it; set"),
    ("a missing array", cache(resaved(truth=None)), MAP, "has no array 'truth'"),
    ("arrays of different lengths", cache(resaved(headings=np.zeros(3))), MAP, "headings has 3 rows, stamps has"),
    ("no frames at all", remade("noon", lambda r: replace(r, percepts=(), truth=r.truth[:0], known=r.known[:0])),
     MAP, "noon.npz: holds no frame"),
    ("a reference without truth", remade("noon", without_truth), MAP, "noon: no frame has both a position"),
    ("a reference of frozen frames", remade("noon", all_faulty), MAP, "noon: no frame has both a position"),
    ("references in two frames", both(edit('"noon"', '["noon", "dusk"]'), remade("dusk", elsewhere)), MAP,
     "dusk: has positions as UTM 52N, the map as x,y in a frame of their own; give x,y here"),
    ("references of two encoders", both(edit('"noon"', '["noon", "dusk"]'), remade("dusk", narrowed)), MAP,
     "dusk: its descriptors have 7 dimensions, those of noon 128"),
    ("a second reference without truth", both(edit('"noon"', '["noon", "dusk"]'), remade("dusk", without_truth)), MAP,
     "dusk: no frame has both a position"),
    ("a map of other traverses", edit('"noon"', '["noon", "dusk"]'), RUN,
     "map.npz: was mapped from noon (now noon, dusk); run `tmapr map` again"),
    ("a run before a map", remove("run/map.npz"), RUN, "map.npz: no such file"),
    ("other places settings", edit("64", "32"), RUN, "places.projection.dimension = 64 (now 32); run `tmapr map`"),
    ("nothing to test", edit('["night"]', "[]"), RUN, "data.test is empty"),
    ("positions of another kind", remade("night", elsewhere), RUN, "UTM 52N, the map as x,y in a frame of their own"),
    ("a negative delay", nothing, (*RUN, "--label-delay", "-1"), "labels.delay: input should be greater than or equal"),
    ("no run to evaluate", nothing, ("evaluate", "nowhere"), "nowhere: no such run folder; make one with"),
    ("an interrupted run", remove("run/provenance.json"), EVALUATE, "run: holds no finished run"),
    ("settings changed since the run", edit("0.4", "0.3", "run/experiment.toml"),
     EVALUATE, "has changed since its estimates were made"),
    ("a damaged provenance", overwrite("run/provenance.json", "{"), EVALUATE, "provenance.json: content: Invalid JSON"),
    ("an unknown reason", bad_cell, EVALUATE, "reason cannot be 'approved'"),
    ("a test without truth", remade("night", without_truth), EVALUATE, "night: no frame has a true position"),
    *((f"no run to {verb}", nothing, (verb, "nowhere"), "nowhere")
      for verb in ("report", "show", "film", "view")),
    ("an address without encryption", nothing, ("weights", "pull", "dinov2", "--from", "http://a/x", "--yes"), "http://a/x"),
    ("an address of a file", nothing, ("weights", "pull", "dinov2", "--from", "file:///etc/passwd", "--yes"), "file:///etc"),
    ("a root that is not there", overwrite("else.toml", 'data = { root = "elsewhere", reference = "noon" }'),
     ("check", "else.toml"), "elsewhere/noon"),
    ("images that are too small", overwrite("own.toml", 'data = { root = ".", reference = "drive" }'),
     ("check", "own.toml"), "24x32 ... perception.image.crop"),
    ("a map made anew", remapped_beside, EVALUATE, "its estimates were made with another map"),
    *FILES,
]  # fmt: skip


NAMED = re.compile(
    r"[\w./-]+\.(?:toml|npz|csv|json|png|tiff|jpg|pth|onnx)\b|[a-z_]+(?:\.[a-z_]+)+|'[^']*'|`[^`]+`|\d[\w.+]*"
)
"""Files, settings, values and commands: what a line must name, however it says so."""


@pytest.mark.parametrize(("what", "spoil", "arguments", "answer"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_mistake_gets_one_line_and_exit_code_2(what, spoil, arguments, answer, spoilt, capsys):
    spoil(spoilt)
    files = read_files(spoilt)
    assert command(*arguments) == 2
    said = capsys.readouterr().err
    assert [name for name in NAMED.findall(answer) or [answer] if name not in said] == [], said
    assert said.count("\n") == 1
    # Nothing was lost, half-written or executed.
    assert read_files(spoilt) == files


def read_files(home):
    """All but the log, which says that something was refused."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != "log.txt"}


@pytest.mark.parametrize("arguments", [RUN])
def test_a_state_of_another_map_is_not_loaded(arguments, spoilt):
    remapped_beside(spoilt)
    with pytest.raises(InputError, match=r"state.npz: belongs to another map"):
        load(spoilt / "run")


@pytest.mark.parametrize("descriptors", [np.zeros((2, 4)), np.full((2, 4), np.nan)])
def test_a_descriptor_without_a_direction_must_be_marked_as_a_fault(descriptors):
    with pytest.raises(InputError, match=r"drive: descriptor of frame 0 has length .*; mark it as a fault"):
        Recording.from_arrays("drive", np.arange(2), descriptors)
    marked = Recording.from_arrays("drive", np.arange(2), descriptors, faults=["empty", "empty"])
    assert all(percept.fault for percept in marked.percepts)
