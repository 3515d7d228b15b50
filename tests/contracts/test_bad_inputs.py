"""What a tired user gives, and the one line that answers it. Nothing here may crash, hang or leave half a file."""

import json
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
from tmapr.types import CoordinateFrame, Fault, Frame, Reason


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
def home(finished, tmp_path, monkeypatch):
    """A copy of it to spoil."""
    shutil.copytree(finished, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


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
    ("an npz of another version", cache(resaved(version=9)), MAP, "version 9, this program reads versions 1 to 4"),
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
    ("a map made anew", remapped_beside, EVALUATE, "its estimates were made with another map"),
    *FILES,
]  # fmt: skip


@pytest.mark.parametrize(("what", "spoil", "arguments", "answer"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_mistake_gets_one_line_and_exit_code_2(what, spoil, arguments, answer, home, capsys):
    spoil(home)
    files = read_files(home)
    assert command(*arguments) == 2
    said = capsys.readouterr().err
    assert answer in said
    assert said.count("\n") == 1
    # Nothing was lost, half-written or executed.
    assert read_files(home) == files


def read_files(home):
    """All but the log, which says that something was refused."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != "log.txt"}


def test_a_state_of_another_map_is_not_loaded(home):
    remapped_beside(home)
    with pytest.raises(InputError, match=r"state.npz: belongs to another map"):
        load(home / "run")


@pytest.fixture
def localizer(home):
    return load(home / "run")


@pytest.fixture
def percept(home):
    return Recording.load(home / "run/percepts/night.npz").percepts[50]


ANSWERED = [
    # what, the percept made from a good one, and the reason it gets
    ("a NaN in the descriptor", lambda p: replace(p, descriptor=p.descriptor * np.nan), Reason.FAULTY_FRAME),
    ("an infinite descriptor", lambda p: replace(p, descriptor=p.descriptor * np.inf), Reason.FAULTY_FRAME),
    ("a zero descriptor", lambda p: replace(p, descriptor=p.descriptor * 0), Reason.FAULTY_FRAME),
    ("a NaN pose", lambda p: replace(p, position=np.array([np.nan, 0.0])), Reason.FAULTY_FRAME),
    ("a frozen frame", lambda p: replace(p, fault=Fault.FROZEN), Reason.FAULTY_FRAME),
    ("an older stamp", lambda p: replace(p, stamp=p.stamp - 10), Reason.OLDER_STAMP),
    ("a repeated stamp", lambda p: replace(p, stamp=p.stamp - 1), Reason.REPEATED_STAMP),
    ("a stamp before the epoch", lambda p: replace(p, stamp=-5), Reason.OLDER_STAMP),
]


@pytest.mark.parametrize(("what", "spoiled", "reason"), ANSWERED, ids=[case[0] for case in ANSWERED])
def test_a_bad_frame_is_answered_with_its_reason(what, spoiled, reason, localizer, percept):
    localizer.observe(replace(percept, stamp=percept.stamp - 1))
    estimate = localizer.observe(spoiled(percept))
    assert estimate.verdict.reason is reason
    assert np.isfinite(estimate.position).all()


def test_a_years_gap_is_survived(localizer, percept):
    localizer.observe(percept)
    later = localizer.observe(replace(percept, stamp=percept.stamp + 365 * 86400 * 10**9))
    np.linalg.cholesky(later.belief.covariance)
    assert later.verdict.accepted


def spoiled_lesson(localizer, percept, place=0, rows=None):
    lesson = localizer.learn(percept, np.zeros(2))
    return replace(lesson, rows=lesson.rows if rows is None else rows, place=place)


MISTAKEN = [
    # what, the call, and the line it gets
    ("a descriptor of another length",
     lambda localizer, p: localizer.observe(replace(p, descriptor=p.descriptor[:7])), InputError, "has 7 dimensions"),
    ("a descriptor that is not unit",
     lambda localizer, p: localizer.observe(replace(p, descriptor=3 * p.descriptor)), InputError, "has length 3, it"),
    ("a frame without perception",
     lambda localizer, p: localizer.step(frame()), InputError, "a program's own percepts; give"),
    ("a faulty frame as a lesson",
     lambda localizer, p: localizer.learn(replace(p, fault=Fault.FROZEN), np.zeros(2)), InputError, "be learned from"),
    ("a NaN label", lambda localizer, p: localizer.learn(p, np.array([0.0, np.nan])), InputError, "is not finite"),
    ("a lesson of an unknown place",
     lambda localizer, p: localizer.classifier.unlearn(spoiled_lesson(localizer, p, place=10**6)),
     InputError, "the lesson is of place 1000000"),
    ("a lesson of another classifier",
     lambda localizer, p: localizer.classifier.unlearn(spoiled_lesson(localizer, p, rows=np.zeros((3, 5)))),
     InputError, "with 5 features"),
    ("a lesson never learned",
     lambda localizer, p: localizer.classifier.unlearn(spoiled_lesson(localizer, p, rows=np.full((3, 64), 9.0))),
     InputError, "holds something else than `learn` gave it"),
    ("a state to a file", lambda localizer, p: localizer.save(__file__), InputError, "is a file; name a folder"),
    ("a folder without a map", lambda localizer, p: load("nowhere"), InputError, "nowhere: holds no map.npz"),
]  # fmt: skip


def frame():
    return Frame("patrol", 0, 0, lambda: np.zeros((4, 4), dtype=np.uint16))


@pytest.mark.parametrize(("what", "call", "kind", "answer"), MISTAKEN, ids=[case[0] for case in MISTAKEN])
def test_a_mistaken_call_is_refused_in_one_line(what, call, kind, answer, localizer, percept):
    with pytest.raises(kind, match=answer) as refusal:
        call(localizer, percept)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("descriptors", [np.zeros((2, 4)), np.full((2, 4), np.nan)])
def test_a_descriptor_without_a_direction_must_be_marked_as_a_fault(descriptors):
    with pytest.raises(InputError, match=r"drive: descriptor of frame 0 has length .*; mark it as a fault"):
        Recording.from_arrays("drive", np.arange(2), descriptors)
    marked = Recording.from_arrays("drive", np.arange(2), descriptors, faults=["empty", "empty"])
    assert all(percept.fault for percept in marked.percepts)


def test_the_table_is_long_enough():
    assert len(REFUSED) >= 150
