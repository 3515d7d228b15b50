"""What `import tmapr` offers: every name, nothing heavy before it is used, and the whole way from arrays alone."""

import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

import api
import tmapr
from repository import ROOT


def record(name, noise, seed):
    rng = np.random.default_rng(seed)
    stamps = 1_700_000_000_000_000_000 + np.arange(120, dtype=np.int64) * 66_666_667
    positions = np.stack([0.5 * np.arange(120.0), np.zeros(120)], axis=1)
    appearance = np.cos(positions[:, :1] * np.linspace(0.01, 0.6, 64) + np.arange(64))
    descriptors = appearance + noise * rng.normal(size=appearance.shape)
    return tmapr.Recording.from_arrays(name, stamps, descriptors, truth=positions)


@pytest.fixture(scope="module")
def morning():
    return record("morning", 0.1, 1)


@pytest.fixture(scope="module")
def evening():
    return record("evening", 0.3, 2)


@pytest.fixture(scope="module")
def home(morning, tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    tmapr.make_map(morning, folder)
    return folder


def test_every_name_that_is_offered_is_there_and_no_other():
    assert {name: tmapr.__getattr__(name) for name in tmapr.__all__}.keys() == set(tmapr.__all__)
    assert set(tmapr.__all__) <= set(dir(tmapr))
    assert tmapr.__version__ == version("tmapr")
    with pytest.raises(AttributeError, match="module 'tmapr' has no attribute 'Localiser'"):
        tmapr.Localiser  # noqa: B018


def test_importing_it_brings_nothing_heavy():
    program = "import sys, tmapr; tmapr.__version__; sys.exit('numpy' in sys.modules or 'pydantic' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_page_of_the_programs_door_is_that_of_its_docstrings():
    assert (ROOT / "docs/api.md").read_text() == "\n".join(api.describe_all()), (
        "run: python benchmarks/api.py docs/api.md"
    )


def test_everything_that_is_offered_says_what_it_is():
    bare = [line for line in "\n".join(api.describe_all()).split("\n### ")[1:] if not line.partition("\n\n")[2].strip()]
    assert bare == []


def test_arrays_are_mapped_localized_and_evaluated(home, evening, tmp_path):
    run = tmapr.run(home, evening, tmp_path / "evening")
    assert run.sequences == ("evening",)
    errors = run.evaluate().test["evening"]
    table = run.estimates()
    found = np.linalg.norm(table.positions - evening.truth, axis=1)
    assert errors.fused.median == pytest.approx(np.median(found))
    assert errors.fused.median < 0.5
    assert run.describe().startswith("On evening, it is localized")
    assert tmapr.open_run(run.folder) == run
    assert run.report().read_text().startswith("<!DOCTYPE html>")


def test_a_run_says_what_a_localizer_says_frame_by_frame(home, evening, tmp_path):
    table = tmapr.run(home, evening, tmp_path / "evening").estimates("evening")
    localizer = tmapr.load(home)
    said = [localizer.observe(percept).position for percept in evening.percepts]
    # Its percepts went through a file, in which descriptors have 32 bits.
    np.testing.assert_allclose(table.positions, said, atol=1e-5)


def test_a_run_may_learn_and_take_other_settings(home, evening, tmp_path):
    learned = tmapr.run(home, evening, tmp_path / "a", learn="truth", settings={"labels.delay": 5})
    assert learned.estimates().learned.sum() == len(evening) - 5
    assert not tmapr.run(home, evening, tmp_path / "b").estimates().learned.any()


def test_a_map_takes_other_settings(morning, tmp_path):
    fine, coarse = (tmapr.make_map(morning, tmp_path / str(cell), settings={"places.cell": cell}) for cell in (5.0, 30))
    assert fine.memory.place_count > coarse.memory.place_count


def test_progress_can_be_watched(morning, evening, tmp_path):
    seen = []
    tmapr.make_map(morning, tmp_path / "map", watch=lambda rows: seen.append(len(rows)) or rows)
    tmapr.run(tmp_path / "map", evening, tmp_path / "run", watch=lambda rows: seen.append(len(rows)) or rows)
    assert seen == [len(morning), len(evening)]


def test_the_map_stays_as_it_was_when_something_is_localized_in_it(home, evening, tmp_path):
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    tmapr.run(home, evening, tmp_path / "run", learn="truth")
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


REFUSED = {
    "nothing": (lambda home, evening, out: tmapr.make_map([], out), "there is no recording to be mapped; name one"),
    "a folder that is not there":
        (lambda home, evening, out: tmapr.make_map("nowhere", out), "nowhere: no such folder, bag or video"),
    "a zero byte": (lambda home, evening, out: tmapr.make_map("a\0b", out), "without a zero byte"),
    "both kinds": (lambda home, evening, out: tmapr.make_map([evening, home], out), "keep to one kind"),
    "a misspelt setting":
        (lambda home, evening, out: tmapr.make_map(evening, out, settings={"places.cel": 5}), "places.cel"),
    "a map that is not there":
        (lambda home, evening, out: tmapr.run(out, evening), "holds no map; make one"),
    "the map's own drive":
        (lambda home, evening, out: tmapr.run(home, record("morning", 0.1, 3), out), "every frame would match itself"),
    "a run that is not there": (lambda home, evening, out: tmapr.open_run(out), "no such run folder"),
    "a map that is no run": (lambda home, evening, out: tmapr.open_run(home).estimates(), "holds no finished run"),
    "a drive of other percepts":
        (lambda home, evening, out: tmapr.run(home, narrow(evening), out), "dimensions, this map was made with 64"),
}  # fmt: skip


def narrow(recording):
    """The same drive by another encoder."""
    descriptors = np.array([percept.descriptor[:32] for percept in recording.percepts])
    return tmapr.Recording.from_arrays("narrow", recording.stamps, descriptors)


@pytest.mark.parametrize(("call", "answer"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_a_line(call, answer, home, evening, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tmapr.InputError) as refusal:
        call(home, evening, tmp_path / "out")
    assert answer in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out" / "map.npz").exists() or "dimensions" in answer


def test_results_of_another_drive_are_not_written_over(home, evening, tmp_path):
    tmapr.run(home, evening, tmp_path / "run")
    with pytest.raises(tmapr.InputError, match="holds the results of another experiment"):
        tmapr.run(home, record("late", 0.3, 4), tmp_path / "run")
