"""Somebody else's code: found by its entry point, called as promised, and refused in one line that names it."""

import re
import sys
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

from descriptor_field import CONDITIONS, DescriptorField
from made_up import record_percepts
from offered import offer
from tmapr.artifacts.arrays import load_arrays, save_arrays
from tmapr.config import changed, load_settings
from tmapr.exceptions import InputError
from tmapr.experiment import Experiment, dump_experiment, read_experiment
from tmapr.perception.opening import open_perceiver
from tmapr.perception.settings import Perception
from tmapr.simulation.route import block_loop, drive
from tmapr.stages import STATE_VERSION
from tmapr.system import System, build, make_map, resume
from tmapr.types import Frame, Reason, Status

MINE, SIZE = "plugin:mine", (48, 64)
DESCRIPTOR = Perception(encoder=MINE, size=SIZE)
ENCODER = Perception(encoder=MINE, size=SIZE)
TRACKED = changed(System(), {"tracking.method": MINE, "places.projection.dimension": 32})


@pytest.fixture(autouse=True)
def unchecked():
    """As users run it: what a plug-in returns is to be looked at by us, not by the tests' own checks."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Where others install."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def describing(body):
    """A descriptor that does this with its pictures; it is called with two made-up ones first."""
    return f"""
import numpy as np
class Made:
    calls = 0
    def __call__(self, pictures):
        self.calls += 1
        {body}
"""


GOOD = describing("return pictures.reshape(len(pictures), -1)[:, ::97] + 1.0")
METHOD = """
import numpy as np
class Made:
    def __init__(self, memory, **options): self.memory, self.seen, self.options = memory, np.zeros(0), options
    def arrays(self): return {"seen": self.seen}
    def restore(self, arrays): self.seen = arrays["seen"].reshape(-1).astype(float)
    def judge(self, percept, recognition, belief):
        from tmapr.plugins import Judgement
        from tmapr.types import Reason, Verdict
        best = recognition.first
        self.seen = np.append(self.seen, best.similarity)[-5:]
        {body}
"""


def judging(body):
    return METHOD.replace("{body}", body)


FIRST = judging('return Judgement(Verdict(Reason("accepted"), 0.5), best, best.position, 2.0 + self.seen.mean())')


def frame(seed=0):
    counts = np.random.default_rng(seed).integers(2000, 4000, (96, 128)).astype(np.uint16)
    return Frame("walk", seed, seed * 10**9, lambda: counts)


def refusal(act, *given):
    with pytest.raises(InputError) as refused:
        act(*given)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_rows_of_a_descriptor_become_unit_descriptors_of_the_pictures_that_our_settings_make(site):
    offer(site, GOOD)
    percept = open_perceiver(DESCRIPTOR)(frame())
    row = DESCRIPTOR.image.prepare(frame().image(), SIZE, "area").reshape(-1)[::97] + 1.0
    np.testing.assert_allclose(percept.descriptor, row / np.linalg.norm(row), rtol=1e-7)


def test_what_is_not_installed_is_refused_with_what_is(site):
    offer(site, GOOD, name="other")
    told = "perception.encoder = 'plugin:mine': is not installed (installed are plugin:other); pip install"
    assert refusal(open_perceiver, DESCRIPTOR).startswith(told)


def test_one_name_of_two_distributions_is_refused_with_both(site):
    offer(site, GOOD, distribution="one", version="1.2")
    offer(site, GOOD, distribution="two", group="tmapr.encoders")
    told = "perception.encoder = 'plugin:mine': is an encoder of two 1.0 and a descriptor of one 1.2;"
    assert refusal(open_perceiver, DESCRIPTOR).startswith(told)


def test_a_name_of_another_kind_is_refused_with_its_kind(site):
    offer(site, FIRST, group="tmapr.tracking")
    told = "'plugin:mine': is a tracking method (mine 1.0), and an encoder or a descriptor is needed here"
    assert refusal(open_perceiver, DESCRIPTOR) == f"perception.encoder = {told}"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError('weights')", "describing pictures raised KeyError: 'weights'"),
        ("return None", "returned an array of object with shape () for 2 pictures; give a row of numbers for each"),
        ("return np.ones((1, 8))", "returned an array of float64 with shape (1, 8) for 2 pictures"),
        ("return np.full((len(pictures), 4), np.nan)", "returned numbers that are not finite for picture 0 of 2"),
        ("return np.zeros((len(pictures), 4))", "returned zeros alone for picture 0 of 2"),
        ("import nowhere_at_all", "describing pictures raised ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ],
)
def test_what_is_no_descriptor_is_refused_before_the_first_frame(body, told, site):
    offer(site, describing(body))
    assert refusal(open_perceiver, DESCRIPTOR).startswith(f"plugin:mine (mine 1.0): {told}")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return np.ones((len(pictures), 3 + self.calls))", "give a row of 4 numbers, as before, for each"),
        ("return np.ones((len(pictures), 4)) / (2 - self.calls)", "returned numbers that are not finite for picture 0"),
    ],
)
def test_what_changes_later_is_refused_then(body, told, site):
    offer(site, describing(f"with np.errstate(all='ignore'): {body}"))
    assert told in refusal(open_perceiver(DESCRIPTOR), frame())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise RuntimeError('no licence\\nhere')", r"importing offered_\d+:Made raised RuntimeError: no licence here"),
        ("Made = 5", r"its entry point offered_\d+:Made is no class or function, but int 5"),
        ("", r"importing offered_\d+:Made raised AttributeError: .*"),
        ("def Made(): return 7", "its maker returned int 7, which cannot be called with pictures"),
        ("def Made(): raise OSError('gone')", "making it raised OSError: gone"),
    ],
)
def test_what_cannot_be_made_is_refused(text, told, site):
    offer(site, text)
    assert re.fullmatch(rf"plugin:mine \(mine 1\.0\): {told}", refusal(open_perceiver, DESCRIPTOR))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"side": 3, "sides": 3}, "does not take them: got an unexpected keyword argument 'sides'"),
        ({}, "does not take them: missing a required argument: 'side'"),
        ({"side": -1}, "side must be positive"),
    ],
)
def test_options_that_a_maker_does_not_take_are_a_mistake_in_their_table(options, told, site):
    offer(site, "def Made(side):\n    raise ValueError('side must be positive')")
    found = refusal(open_perceiver, changed(DESCRIPTOR, {"options": options}))
    assert re.fullmatch(rf"perception\.options: plugin:mine \(mine 1\.0\):? {told}", found)


def test_a_mark_tells_the_distribution_the_revision_and_the_files_that_options_name(site, tmp_path):
    offer(site, "class Made:\n    revision = 'b7'", distribution="someone-else", version="2.1")
    (tmp_path / "weights").write_bytes(b"one")
    settings = changed(DESCRIPTOR, {"options": {"weights": str(tmp_path / "weights"), "side": 4}})
    before = settings.origin
    assert before.files["plugin"] == "someone-else 2.1, revision b7"
    assert settings.changes_since(before, "percepts") == []
    (tmp_path / "copy").write_bytes(b"one")
    moved = changed(settings, {"options": {"weights": str(tmp_path / "copy"), "side": 4}})
    assert moved.changes_since(before, "percepts") == []
    (tmp_path / "weights").write_bytes(b"two!")
    (told,) = settings.changes_since(before, "percepts")
    assert re.fullmatch(r"another file as perception\.options\.weights \(\w{12}, now \w{12}\)", told)
    other = changed(settings, {"options": {"side": 5}})
    told = other.changes_since(before, "percepts")
    assert "perception.options.side = 4 (now 5)" in told
    assert f"perception.options.weights = {tmp_path / 'weights'} (now None)" in told


ENCODING = """
import numpy as np, torch
class Made(torch.nn.Module):
    def forward(self, pictures):
        tokens = torch.nn.functional.avg_pool2d(pictures, 8).permute(0, 2, 3, 1)
        return {answer}
"""


def test_an_encoders_tokens_are_pooled_as_ours_are(site):
    offer(site, ENCODING.format(answer="tokens"), group="tmapr.encoders")
    settings = changed(ENCODER, {"descriptor.grid": [2, 2]})
    percept = open_perceiver(settings, "cpu")(frame())
    picture = settings.image.prepare(frame().image(), SIZE, "area") / 255
    cells = picture.reshape(2, 24, 2, 32).mean(axis=(1, 3)).repeat(3)
    np.testing.assert_allclose(percept.descriptor, cells / np.linalg.norm(cells), rtol=1e-5)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("tokens.flatten(1, 2)", "returned torch.float32 of shape [2, 48, 3] instead of tokens [images, rows,"),
        ("tokens / 0", "returned numbers that are not finite among tokens"),
        ("None", "returned NoneType None instead of tokens"),
        ("tokens.missing", "encoding pictures raised AttributeError: 'Tensor' object has no attribute 'missing'"),
    ],
)
def test_what_are_no_tokens_is_refused_before_the_first_frame(answer, told, site):
    offer(site, ENCODING.format(answer=answer), group="tmapr.encoders")
    assert refusal(open_perceiver, ENCODER, "cpu").startswith(f"plugin:mine (mine 1.0): {told}")


def walk(name, seed=1):
    rng, world = np.random.default_rng(seed), DescriptorField.from_seed(3, dimension=24)
    return record_percepts(world, name, drive(block_loop(60.0, 40.0), 8.0, rng), CONDITIONS["noon"], rng)


@pytest.fixture(scope="module")
def environment():
    return make_map(TRACKED, walk("noon"))


@pytest.fixture(scope="module")
def stream():
    return walk("again", seed=2).percepts[:60]


def test_an_accepted_position_corrects_the_filter_and_the_first_one_starts_it(site, environment, stream):
    offer(site, FIRST, group="tmapr.tracking")
    localizer = build(changed(TRACKED, {"fusion.apr": False}), environment)
    first, second = (localizer.observe(percept) for percept in stream[:2])
    assert first.status is Status.LOCALIZED
    np.testing.assert_array_equal(first.position, first.candidate.position)
    deviation = 2.0 + first.candidate.similarity
    np.testing.assert_allclose(first.covariance, np.eye(2) * deviation**2)
    between = second.position - first.position
    assert 0 < between @ between <= (aim := second.candidate.position - first.position) @ aim
    assert second.nis is not None
    assert np.trace(second.covariance) < np.trace(first.covariance)


def test_stopping_and_continuing_equals_never_stopping_bit_for_bit(site, environment, stream, tmp_path):
    offer(site, FIRST, group="tmapr.tracking")
    whole = build(TRACKED, environment)
    wanted = [whole.observe(percept) for percept in stream]
    environment.save(tmp_path / "map.npz")
    for stop in (0, 1, 17):
        stopped = build(TRACKED, environment)
        found = [stopped.observe(percept) for percept in stream[:stop]]
        stopped.save(tmp_path)
        continued = resume(TRACKED, environment, tmp_path / "state.npz")
        found += [continued.observe(percept) for percept in stream[stop:]]
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours.belief.mean == theirs.belief.mean).all()
            assert (ours.belief.covariance == theirs.belief.covariance).all()
            assert (ours.status, ours.verdict) == (theirs.status, theirs.verdict)


def test_late_and_faulty_frames_never_reach_the_method(site, environment, stream):
    offer(site, FIRST, group="tmapr.tracking")
    localizer = build(TRACKED, environment)
    localizer.observe(stream[3])
    assert localizer.observe(stream[3]).verdict.reason is Reason.REPEATED_STAMP
    assert localizer.observe(stream[2]).verdict.reason is Reason.OLDER_STAMP
    (faulty, *_) = (percept for percept in walk("again", seed=2).percepts if percept.fault)
    assert localizer.observe(faulty).verdict.reason is Reason.FAULTY_FRAME
    assert len(localizer.arrays()["track.method.seen"]) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise IndexError(9)", "judging a frame raised IndexError: 9"),
        ("return best", "judge() returned Candidate Candidate(reference=.* instead of a Judgement with a Verdict"),
        ("return Judgement(Verdict(Reason.ACCEPTED))", "judge() returned the position NoneType None; give two"),
        ("return Judgement(Verdict(Reason.ACCEPTED), best, np.full(2, np.nan), 1.0)", "judge() returned the pos"),
        ("return Judgement(Verdict(Reason.ACCEPTED), best, best.position, 0.0)", "judge() returned the deviation"),
        ("return Judgement(Verdict('accepted'), best)", "judge() returned the reason str accepted; give a Reason"),
        ("return Judgement(Verdict(Reason.JUMPS), 7)", "judge() returned the candidate int 7; give a Candidate"),
        ("return Judgement(Verdict(Reason.JUMPS, float('nan')), best)", "judge() returned the confidence float nan"),
    ],
)
def test_what_is_no_judgement_is_refused_and_the_track_stays(body, told, site, environment, stream):
    offer(site, judging(body), group="tmapr.tracking")
    localizer = build(TRACKED, environment)
    pattern = told if "\\" in told else told.replace("(", r"\(").replace(")", r"\)")
    assert re.match(rf"plugin:mine \(mine 1\.0\): {pattern}", refusal(localizer.observe, stream[0]))
    assert "track.track.belief.stamp" not in localizer.arrays()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{'a b': np.zeros(1)}", "its arrays() has the name 'a b'; use letters"),
        ("{'x': np.array([None])}", "its array 'x', an array of object with shape (1,), has more than finite numbers"),
        ("{'x': np.array([np.inf])}", "its array 'x', an array of float64 with shape (1,), has more than finite"),
        ("None", "giving its arrays raised TypeError: "),
    ],
)
def test_a_state_that_could_not_be_read_back_is_not_written(given, told, site, environment, tmp_path):
    offer(site, FIRST.replace('{"seen": self.seen}', given), group="tmapr.tracking")
    environment.save(tmp_path / "map.npz")
    assert refusal(build(TRACKED, environment).save, tmp_path).startswith(f"plugin:mine (mine 1.0): {told}")
    assert not (tmp_path / "state.npz").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("track.method.seen", None),
        ("track.method.seen", np.array(["x"])),
        ("track.track.belief.mean", np.zeros(3)),
        ("track.track.belief.covariance", None),
    ],
)
def test_a_state_of_somebody_elses_is_taken_up_or_refused_in_a_line(name, value, site, environment, stream, tmp_path):
    offer(site, FIRST, group="tmapr.tracking")
    environment.save(tmp_path / "map.npz")
    localizer = build(TRACKED, environment)
    localizer.observe(stream[0])
    localizer.save(tmp_path)
    header, arrays = load_arrays(tmp_path / "state.npz", "state", STATE_VERSION)
    assert name in arrays
    others = {key: array for key, array in arrays.items() if key != name}
    save_arrays(tmp_path / "state.npz", header, others if value is None else others | {name: value})
    told = refusal(resume, TRACKED, environment, tmp_path / "state.npz")
    assert told.startswith(str(tmp_path / "state.npz"))
    assert told.endswith("remove it to start from A₀")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("tracking.method=rout", "tracking.method: should be 'route', 'paper' or 'plugin:NAME', got 'rout'"),
        ("tracking.method=plugin:", "tracking.method = 'plugin:': write plugin:NAME, of letters"),
        ("tracking.options.window=3", "tracking.options: tracking.method = 'route' takes none; they are for a plug-in"),
        ("perception.options.side=3", "perception.options: perception.encoder = 'default' takes none"),
        ("perception.encoder='plugin:a b'", "perception.encoder = 'plugin:a b': write plugin:NAME"),
    ],
)
def test_settings_that_name_no_plugin_are_refused_without_looking_for_one(setting, told):
    assert refusal(load_settings, Experiment, None, [setting]).startswith(f"settings: {told}")


def test_a_file_that_an_option_names_is_found_from_the_experiments_folder_and_other_texts_stay(tmp_path, monkeypatch):
    (tmp_path / "lab/own").mkdir(parents=True)
    (tmp_path / "lab/own/net.v2").write_bytes(b"weights")
    options = '{ weights = "own/net.v2", kind = "a.b", cells = [1, 2] }'
    text = f'[perception]\nencoder = "plugin:mine.v2"\noptions = {options}\n'
    (tmp_path / "lab/walk.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    read = read_experiment(Path("lab/walk.toml"))
    assert read.perception.encoder == "plugin:mine.v2"
    assert read.perception.options == {"weights": "lab/own/net.v2", "kind": "a.b", "cells": (1, 2)}
    (tmp_path / "runs").mkdir()
    written = dump_experiment(read, tmp_path / "runs")
    assert """options = {"weights" = "../lab/own/net.v2", "kind" = "a.b", "cells" = [1, 2]}""" in written
    (tmp_path / "runs/again.toml").write_text(written)
    assert read_experiment(Path("runs/again.toml")) == read


def test_nothing_is_imported_before_it_is_opened(site):
    module = offer(site, "raise SystemExit('imported')")
    offer(site, "raise SystemExit('imported')", group="tmapr.tracking", distribution="other")
    settings = load_settings(Experiment, None, ["perception.encoder='plugin:mine'", "tracking.method='plugin:mine'"])
    assert settings.perception.choose_plugin().source == "mine 1.0"
    assert settings.system.tracking.choose_plugin().source == "other 1.0"
    assert settings.perception.is_whole
    assert module not in sys.modules
