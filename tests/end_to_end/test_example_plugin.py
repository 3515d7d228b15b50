"""The example of a plug-in, as its README says: built and installed like any package, and named by an experiment."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import chdir
from importlib.metadata import distributions
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tmapr
from commandline import command
from tmapr.artifacts.arrays import load_arrays
from tmapr.artifacts.documents.runs import Provenance
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.trajectory import load_estimates
from tmapr.exceptions import InputError
from tmapr.perception.image import Image
from tmapr.stages import STATE_VERSION
from tmapr.types import Reason

ROOT = Path(__file__).parents[2]
TINY, VOTE = "perception.encoder=plugin:tiny-image", "tracking.method=plugin:window-vote"
EXPERIMENT = ("world/experiment.toml", "--quiet")
NO_TOKENS = "perception.encoder = 'plugin:tiny-image': is a descriptor (tmapr-example 0.1.0), and an encoder is needed"
NEVER = "import sys; sys.exit('a plug-in was imported')"


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


def test_the_example_is_a_distribution_that_offers_what_its_readme_lists(site):
    (found,) = distributions(path=[str(site)])
    offered = {f"{entry.group} {entry.name}" for entry in found.entry_points}
    readme = (ROOT / "examples/plugin/README.md").read_text()
    listed = re.findall(r'"plugin:([\w-]+)"` \| `([\w.]+)`', readme)
    assert offered == {f"{group} {name}" for name, group in listed}
    assert (site / "tmapr_example/py.typed").exists()


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


def test_its_descriptor_is_the_mean_of_cells(home, finished):
    recording = Recording.load(finished / "percepts/noon.npz")
    frame = next(iter(tmapr.open_sequence(home / "world/noon")))
    picture = Image().prepare(frame.image(), (224, 224), "area").astype(float)
    cells = picture.reshape(16, 14, 16, 14).mean(axis=(1, 3)).ravel()
    cells -= cells.mean()
    np.testing.assert_allclose(recording.percepts[0].descriptor, cells / np.linalg.norm(cells), atol=1e-6)


def test_stopping_and_continuing_equals_never_stopping(home, finished, installed, tmp_path):
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    frames = list(tmapr.open_sequence(home / "world/noon2"))
    whole, stopped = tmapr.load(finished, "cpu"), tmapr.load(tmp_path / "run", "cpu")
    wanted = [whole.step(frame) for frame in frames]
    found = [stopped.step(frame) for frame in frames[:11]]
    stopped.save(tmp_path / "run")
    _, kept = load_arrays(tmp_path / "run/state.npz", "state", STATE_VERSION)
    assert kept["track.method.seen"].shape == (5, 2)
    continued = tmapr.load(tmp_path / "run", "cpu")
    found += [continued.step(frame) for frame in frames[11:]]
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.belief.mean == theirs.belief.mean).all()
        assert (ours.belief.covariance == theirs.belief.covariance).all()
        assert (ours.status, ours.verdict.reason) == (theirs.status, theirs.verdict.reason)
    assert len({tuple(later.position) for later in found}) > 5
    assert all(later.stamp > earlier.stamp for earlier, later in pairwise(found))


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
        (
            "export world/experiment.toml",
            NO_TOKENS,
        ),
        ("export world/experiment.toml --set perception.encoder=plugin:gradients", "whose code ONNX cannot hold"),
        (
            "train world/experiment.toml",
            NO_TOKENS,
        ),
        ("map world/experiment.toml --set perception.options.side=300", "a picture of 224x224 has no 300x300 cells"),
        ("map world/experiment.toml --set perception.options.sides=3", "got an unexpected keyword argument 'sides'"),
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


def test_one_name_of_two_distributions_is_refused_with_both(home, installed, capsys, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(install(tmp_path / "other", name="another-example"))
    with chdir(home):
        assert command("map", *EXPERIMENT, "--run", "never", "--set", TINY) == 2
    told = "a descriptor of another-example 0.1.0 and a descriptor of tmapr-example 0.1.0"
    assert told in capsys.readouterr().err
    assert not (home / "never").exists()


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


@pytest.mark.parametrize("words", ["--help", "check world/experiment.toml"])
def test_no_plugin_is_imported_unless_an_experiment_names_it(words, home, site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    for file in (tmp_path / "site/tmapr_example").glob("*.py"):
        file.write_text(NEVER)
    done = run_tmapr(*words.split(), cwd=home, site=tmp_path / "site")
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_tmapr_imports_no_plugin(site):
    program = "import sys, tmapr, tmapr.plugins, tmapr.experiment; sys.exit('tmapr_example' in sys.modules)"
    given = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (site, ROOT / "src")))}
    assert subprocess.run([sys.executable, "-c", program], env=given, check=False).returncode == 0
