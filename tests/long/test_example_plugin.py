"""The example of a plug-in, as its README says: built and installed like any package, and named by an experiment."""

import os
import shutil
import subprocess
import sys
from contextlib import chdir

import numpy as np
import pytest

import tmapr
from commandline import command
from repository import ROOT
from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import load_estimates
from tmapr.exceptions import InputError
from tmapr.types import Reason

TINY, VOTE = "perception.encoder=plugin:tiny-image", "tracking.method=plugin:window-vote"
EXPERIMENT = ("world/experiment.toml", "--quiet")
NO_TOKENS = "perception.encoder = 'plugin:tiny-image': is a descriptor (tmapr-example 0.1.0), and an encoder is needed"


def install(target, version="0.1.0", name="tmapr-example"):
    """Build the example as a wheel, of another name or version, and install it into a folder; that folder."""
    source = target.with_name(f"{target.name}-source")
    shutil.copytree(ROOT / "examples/plugin", source, ignore=shutil.ignore_patterns("__pycache__"))
    described = (source / "pyproject.toml").read_text().replace('"0.1.0"', f'"{version}"')
    (source / "pyproject.toml").write_text(described.replace('"tmapr-example"', f'"{name}"'))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, *offline, "--target", target, source], check=True)
    return target


def run_tmapr(*arguments, cwd, site=None):
    """The real command, in a process that finds what is installed in `site`."""
    places = [site, ROOT / "src", os.environ.get("PYTHONPATH")]
    given = os.environ | {"PYTHONPATH": os.pathsep.join(str(place) for place in places if place)}
    program = [sys.executable, "-m", "tmapr", *map(str, arguments)]
    return subprocess.run(program, cwd=cwd, env=given, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site") / "installed")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A rendered world, mapped and localized as tmapr does without a plug-in."""
    home = tmp_path_factory.mktemp("world")
    with chdir(home):
        simulate = "simulate world --layout folder --traverses noon,noon2:noon --frames 30 --length 160 --quiet"
        for words in (simulate, *(f"{verb} world/experiment.toml --run plain --quiet" for verb in ("map", "run"))):
            assert command(*words.split()) == 0
    return home


@pytest.fixture(scope="module")
def finished(home, site):
    """The same with the example's descriptor and tracking method, by the real command."""
    for verb in ("map", "run"):
        done = run_tmapr(verb, *EXPERIMENT, "--run", "own", "--set", TINY, "--set", VOTE, cwd=home, site=site)
        assert (done.returncode, done.stderr) == (0, "")
    return home / "own"


@pytest.fixture
def installed(site, monkeypatch):
    """The example, for this process."""
    monkeypatch.syspath_prepend(site)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "tmapr_example"]:
        del sys.modules[name]


def test_a_descriptor_and_a_tracking_method_go_all_the_way(home, finished, installed):
    with chdir(home):
        assert command("evaluate", "own", "--quiet") == command("report", "own") == 0
    (name,) = (path.stem for path in (finished / "estimates").glob("*.csv"))
    own, plain = (load_estimates(home / run / f"estimates/{name}.csv") for run in ("own", "plain"))
    assert len(own.positions) == len(plain.positions) == 30
    assert not np.array_equal(own.positions, plain.positions)
    assert Recording.load(finished / f"percepts/{name}.npz").percepts[0].descriptor.shape == (256,)
    told = Provenance.model_validate_json((finished / "provenance.json").read_text())
    assert told.tracking_plugin == "tmapr-example 0.1.0"


def test_its_tracking_method_accepts_what_most_of_the_last_five_matches_lie_around(finished, installed):
    table = load_estimates(finished / "estimates/noon2.csv")
    radius, matches = tmapr.load(finished).memory.reference.place, table.first.positions.values
    around = [np.hypot(*(matches[max(0, row - 4) : row + 1] - matches[row]).T) <= radius for row in range(30)]
    voted = [each.sum() >= 3 for each in around]
    assert [reason in (Reason.ACCEPTED, Reason.RELOCALIZED) for reason in table.reasons] == voted
    assert set(voted) == {True, False}


def test_the_percepts_of_another_version_are_made_again(home, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    newer = install(tmp_path / "newer", version="0.2.0")
    given = ("map", home / "world/experiment.toml", "--run", tmp_path / "run", "--set", TINY, "--set", VOTE)
    before = (tmp_path / "run/percepts/noon.npz").stat().st_ino
    done = run_tmapr(*given, cwd=home, site=newer)
    told = "another plug-in (tmapr-example 0.1.0, revision 1, now tmapr-example 0.2.0, revision 1)"
    assert done.stderr == f"noon: its percepts were made with {told}; all images are encoded again\n"
    assert (tmp_path / "run/percepts/noon.npz").stat().st_ino != before


def test_an_encoder_is_pooled_and_a_pose_head_trained_on_it(home, installed, tmp_path):
    named = (VOTE, "perception.encoder=plugin:gradients", "perception.options.directions=6")
    smaller = ("perception.descriptor.grid=[2, 2]", "training.epochs=1")
    given = [word for each in (*named, *smaller) for word in ("--set", each)]
    with chdir(home):
        for verb in ("train", "map", "run"):
            assert command(verb, *EXPERIMENT, "--run", tmp_path / "run", *given) == 0
    seen = Recording.load(tmp_path / "run/percepts/noon2.npz").percepts[0]
    assert seen.descriptor.shape == (2 * 2 * 6,)
    assert seen.position is not None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("export world/experiment.toml", NO_TOKENS),
        ("export world/experiment.toml --set perception.encoder=plugin:gradients", "whose code ONNX cannot hold"),
        ("map world/experiment.toml --set perception.options.side=300", "a picture of 224x224 has no 300x300 cells"),
        ("map world/experiment.toml --device cuda", "plugin:tiny-image is called with NumPy arrays; leave it out"),
        ("check world/experiment.toml --set tracking.method=plugin:votes", "(installed are plugin:window-vote); pip"),
    ],
)
def test_a_refusal_is_one_line_and_nothing_is_written(words, told, home, installed, capsys, tmp_path):
    verb, experiment, *more = words.split()
    place = ("--run", tmp_path / "run") if verb in ("map", "train") else ()
    with chdir(home):
        before = sorted(home.rglob("*"))
        assert command(verb, experiment, "--set", TINY, *more, *place) == 2
        assert sorted(home.rglob("*")) == before
    error = capsys.readouterr().err
    assert told in error
    assert error.startswith("tmapr: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "run/map.npz").exists()


def test_a_run_folder_of_somebody_else_works_where_the_plugin_is_installed(home, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    with pytest.raises(InputError, match=r"^tracking.method = 'plugin:window-vote': is not installed"):
        tmapr.load(tmp_path / "run")
    experiment = tmp_path / "run/experiment.toml"
    experiment.write_text(experiment.read_text().replace('method = "plugin:window-vote"', 'method = "route"'))
    localizer = tmapr.load(tmp_path / "run")
    with pytest.raises(InputError, match=r"^perception.encoder = 'plugin:tiny-image': is not installed"):
        localizer.step(next(iter(tmapr.open_sequence(home / "world/noon2"))))
    # What is kept of the images does without.
    for percept in Recording.load(tmp_path / "run/percepts/noon2.npz").percepts[:3]:
        assert np.isfinite(localizer.observe(percept).position).all()
