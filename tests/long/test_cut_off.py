"""Whatever cuts a command off: afterwards there are the old results or the new, and given again it ends in the new."""

import shutil
import subprocess
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from interruptions import others_of, results_of, serving
from tmapr.artifacts.images import write_frame
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.running.evaluating import read_errors
from tmapr.running.finished import FinishedRun
from walked import COUNT, view, write_list, write_walk

HERE = ("--run", "run", "--quiet")
TINY = ("training.epochs=2", "training.layers=1", "training.heads=2", "training.batch=8", "training.width=16")
SMALL = ("--family", "campus", "--length", "100", "--traverses", "noon,dusk", "--quiet")
VERBS = {
    "map": ("map", "changed.toml", *HERE, "--set", "places.cell=20"),
    "run": ("run", "changed.toml", *HERE, "--learn", "fused"),
    "evaluate": ("evaluate", "run", "--align", "planar", "--quiet"),
    "report": ("report", "run"),
    "calibrate": ("calibrate", "walk.toml", *HERE),
    "import": ("import", "data/noon", "run", "--quiet"),
    "train": ("train", "walk.toml", *HERE, "--device", "cpu", *(word for each in TINY for word in ("--set", each))),
    "ablate": ("ablate", "walk.toml", *HERE, "--workers", "2"),
    "simulate": ("simulate", "run", "--layout", "folder", "--frames", "6", *SMALL),
}
NEW = ("import", "simulate")
"""Verbs that write a folder of their own."""

KILLS = {"map": 65, "run": 75, "evaluate": 45, "report": 25, "import": 40, "calibrate": 20, "train": 20, "ablate": 10,
         "simulate": 15}  # fmt: skip
COARSE = {"ablate": 64}
"""Pages by which the disk grows from try to try, where one at a time would take hours."""

ALONE = ["unshare", "-Urm"]


@dataclass
class Scene:
    """A home in which every verb has something to do; the run folder before, and after each of them."""

    home: Path
    server: object
    seconds: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)

    @property
    def run(self):
        return self.home / "run"

    def restore(self, verb):
        """The folder as it is before a verb."""
        shutil.rmtree(self.run, ignore_errors=True)
        if verb not in NEW:
            shutil.copytree(self.home / "before", self.run, symlinks=True)

    def learn(self, verb):
        """What the folder is after a verb that nothing cut off, and how long that takes."""
        self.restore(verb)
        self.seconds[verb] = self.server.check(*VERBS[verb])
        self.after[verb] = results_of(self.run), others_of(self.run)

    def check(self, verb, folder=None):
        """Refuse anything but the old results or the new ones; whether they are the new."""
        folder = folder or self.run
        old = ({}, {}) if verb in NEW else (results_of(self.home / "before"), others_of(self.home / "before"))
        new, now = self.after[verb], (results_of(folder), others_of(folder))
        assert now[0] in (old[0], new[0])
        RunFolder(folder).trained_head  # noqa: B018 (refused unless the best epoch so far is whole)
        for name in (set(old[1]) | set(new[1]) | set(now[1])) - {"apr/best"}:
            assert now[1].get(name) in (old[1].get(name), new[1].get(name)), name
        if verb not in NEW and now[0] == old[0]:
            assert read_errors(FinishedRun.load(RunFolder(folder))).test["night"].frames == COUNT
        return now == new

    def finish(self, verb, folder=None, **task):
        """The same command again ends in what it would have been, and nothing else is left."""
        self.server.check(*VERBS[verb], **task)
        folder = folder or self.run
        assert (results_of(folder), others_of(folder)) == self.after[verb]
        if verb == "simulate":  # which takes no lock: what is young may be somebody's
            return
        litter = [path for path in folder.rglob(".*") if path.name not in (".lock", ".results")]
        assert litter == []


def make_home(home):
    """Sequences, two experiments that differ in an image and in positions, and a finished run of the first."""
    write_walk(home)
    for row in range(COUNT):
        write_frame(home / f"data/dusk/{row:02}.png", view(row, 200))
    write_list(home / "data/dusk", range(COUNT))
    given = (home / "walk.toml").read_text().replace("data = { ", 'data = { train = ["noon"], validation = ["dusk"], ')
    (home / "walk.toml").write_text(given)
    shutil.copytree(home / "data", home / "changed")
    (home / "changed.toml").write_text(given.replace(str(home / "data"), str(home / "changed")))
    write_frame(home / "changed/noon/07.png", view(7, seed=42))
    write_list(home / "changed/night", range(COUNT), shift=0.5)


def make_before(home, server):
    for verb in ("map", "run"):
        server.check(verb, "walk.toml", *HERE)
    server.check("evaluate", "run", "--quiet")
    for name in ("report/index.html", "calibrated.toml", "ablation.json"):
        (home / "run" / name).parent.mkdir(exist_ok=True)
        (home / "run" / name).write_text("old")
    (home / "run").rename(home / "before")


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    home = tmp_path_factory.mktemp("scene")
    make_home(home)
    with serving(home, trains=True) as server:
        make_before(home, server)
        yield Scene(home, server)


def kill_often(scene, verb, kills):
    """How many kills came before the new results were there."""
    if verb not in scene.after:
        scene.learn(verb)
    early = 0
    for moment in np.random.default_rng(kills).uniform(0, 1.1, size=kills):
        scene.restore(verb)
        scene.server.run(*VERBS[verb], kill_after=float(moment * scene.seconds[verb]))
        done = scene.check(verb)
        early += not done
        if not (done and verb == "import"):  # a folder that is imported to the end is refused
            scene.finish(verb)
    return early


@pytest.mark.parametrize("verb", VERBS)
def test_three_hundred_kills_leave_the_old_results_or_the_new(scene, verb):
    # Were all kills too late, nothing would have been tested.
    assert kill_often(scene, verb, KILLS[verb]) > 0


def can_mount(home):
    tried = subprocess.run([*ALONE, "mount", "-t", "tmpfs", "none", home], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.fixture(scope="module")
def small_disk(scene):
    """Runs a verb on a file system with so many pages, or inodes, to spare; without one, files of so many pages."""
    if not can_mount(scene.home):
        yield None
        return
    trains = scene.server.trains
    with serving(scene.home, *ALONE, trains=trains) as server:
        yield server


MOUNT = """
umount -l run 2>/dev/null || true; rm -rf run; mkdir run; mount -t tmpfs -o size=64m none run; {fill}
used=$(df --output=used -k run | tail -1); nodes=$(df --output=iused run | tail -1)
mount -o remount,{room} run
"""
COPY = "rm -rf out; cp -a run out"


def fill_disk(scene, server, verb, room):
    """The exit code, and the folder as it was left, of a verb on a disk with little room."""
    fill = "true" if verb in NEW else "cp -a before/. run/"
    code = server.run(*VERBS[verb], first=MOUNT.format(fill=fill, room=room), then=COPY)
    return code, scene.home / "out"


def fill_often(scene, server, verb, rooms):
    """Give a verb a little more room each time until it is enough; how often it was not."""
    if verb not in scene.after:
        scene.learn(verb)
    for tries, room in enumerate(rooms):
        code, out = fill_disk(scene, server, verb, room)
        said = server.said.read_text()
        if code == 0:
            assert scene.check(verb, out)
            return tries
        assert code == 2, said
        assert said.count("tmapr: ") == 1, said
        assert "full" in said or "No space left" in said, said
        scene.check(verb, out)
        if tries % 10 == 0:
            server.check(*VERBS[verb], first="mount -o remount,size=64m,nr_inodes=100000 run", then=COPY)
            assert scene.check(verb, out)
    raise AssertionError("no disk was large enough")


def pages(step):
    return (f"size=$(( used + {4 * number} ))k" for number in count(1, step))  # none at all would mean no limit


def inodes():
    return (f"nr_inodes=$(( nodes + {number} ))" for number in count())


def limit_often(scene, verb, step):
    """The same where nothing can be mounted: files may not grow beyond so many bytes."""
    if verb not in scene.after:
        scene.learn(verb)
    for largest in count(4096, step):  # what the command says has to go into a file too
        scene.restore(verb)
        code = scene.server.run(*VERBS[verb], largest=largest)
        if code == 0:
            assert scene.check(verb)
            return
        assert code == 2, scene.server.said.read_text()
        scene.check(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_is_full_at_any_write_leaves_the_old_results_or_the_new(scene, small_disk, verb):
    if small_disk is None:
        limit_often(scene, verb, 4096 * COARSE.get(verb, 1))
        return
    assert fill_often(scene, small_disk, verb, pages(COARSE.get(verb, 1))) > 0
    if verb not in COARSE:
        assert fill_often(scene, small_disk, verb, inodes()) > 0


def test_fifty_pairs_of_runs_at_once_do_not_mix(scene):
    wanted = {"a": ("--learn", "fused"), "b": ("--set", "fusion.max_gap=3.5")}
    expected = {}
    for name, options in wanted.items():
        scene.restore("run")
        scene.server.check("run", "walk.toml", *HERE, *options)
        expected[name] = results_of(scene.run)
    refused = 0
    with serving(scene.home) as other:
        for wait in np.random.default_rng(50).uniform(0, 0.5, size=50):
            scene.restore("run")
            servers = {"a": scene.server, "b": other}
            servers["a"].start("run", "walk.toml", *HERE, *wanted["a"])
            time.sleep(wait)
            servers["b"].start("run", "walk.toml", *HERE, *wanted["b"])
            codes = {name: server.wait() for name, server in servers.items()}
            results = results_of(scene.run)
            assert results in [expected[name] for name, code in codes.items() if code == 0]
            for name in (name for name, code in codes.items() if code):
                said = servers[name].said.read_text()
                assert "run: is being written by process" in said
                assert said.count("\n") == 1
                refused += 1
    assert refused > 0


def test_a_reader_sees_one_result_while_runs_go_on(scene):
    scene.restore("run")
    with pytest.raises(InputError, match="no such run folder"):
        FinishedRun.load(RunFolder(scene.home / "nothing"))
    seen = set()
    scene.server.start("run", "walk.toml", *HERE, "--learn", "fused")
    while len(seen) < 2:
        run = FinishedRun.load(RunFolder(scene.run))
        assert run.provenance.labels == run.experiment.system.labels.description
        seen.add(run.provenance.labels)
    assert scene.server.wait() == 0
    assert seen == {"off", "fused"}
