"""Ctrl-C and SIGTERM as a process gets them: exit code 130 or 143, a line for what is kept, and that it is kept.

The signal comes when the work is known to be under way, from what it has written; nothing depends on a clock.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tmapr
from commandline import command
from interruptions import results_of
from walked import COUNT, write_walk

PACKAGE = Path(tmapr.__file__).parent
SLOW = """
import os, signal, sys, time
import tmapr.{module} as slowed
real, calls, stop_at = slowed.{function}, 0, {at}
def slow(*given, **named):
    global calls
    calls += 1
    if calls == stop_at:
        print('at it', flush=True)
        time.sleep(60)  # the signal comes now
    return real(*given, **named)
slowed.{function} = slow
from tmapr.cli.main import run
run()
"""
"""A command in which some call is the one that the signal meets."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    write_walk(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def interrupt(arguments, at, number=signal.SIGINT):
    """Run a command until it comes to a call, send it a signal there; its exit code and what it complained of."""
    module, function, count = at
    program = SLOW.format(module=module, function=function, at=count)
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while (line := process.stdout.readline()) and line != "at it\n":
            pass
        assert line, process.stderr.read()
        process.send_signal(number)
        _, complaint = process.communicate()
    return process.returncode, complaint.splitlines()


ENCODED = ("running.assembly", "Assembly._append", 12)
"""The twelfth percept that is put beside the others; the encoding before it has long been done."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_while_encoding_what_is_encoded_is_kept_at_once_and_the_same_command_goes_on(home, number, code, capsys):
    arguments = ("map", "walk.toml", "--run", "run")
    assert interrupt(arguments, ENCODED, number) == (
        code,
        [
            f"tmapr: interrupted: 11 of {COUNT} images of noon are kept; the same command goes on",
            "tmapr: interrupted: run: has no results yet",
        ],
    )
    assert command(*arguments) == 0
    assert f"noon: goes on where an encoding was interrupted; 5 of {COUNT} images are left" in capsys.readouterr().err
    told = (home / "run/log.txt").read_text()
    assert f"ended: exit code {code} after" in told
    assert "tmapr: interrupted: 11 of 16 images of noon are kept" in told


def test_while_running_the_last_results_are_untouched(home):
    for verb in ("map", "run"):
        assert command(verb, "walk.toml", "--run", "run", "--quiet") == 0
    before = results_of("run")
    arguments = ("run", "walk.toml", "--run", "run", "--learn", "fused")
    code, complaint = interrupt(arguments, ("running.progressive", "perf_counter", 20))
    assert (code, complaint) == (130, ["tmapr: interrupted: run: its results are those from before"])
    assert results_of("run") == before
    assert [path.name for path in Path("run").rglob(".*") if path.name not in (".lock", ".results")] == []


def test_an_import_begins_anew_and_says_so(home):
    arguments = ("import", "data/noon", "copy")
    code, complaint = interrupt(arguments, ("data.folder", "write_frame", 6))
    assert (code, complaint) == (130, ["tmapr: interrupted: copy: 5 images were written; the same command begins anew"])
    assert command(*arguments, "--quiet") == 0
    assert len(list(Path("copy/images").iterdir())) == COUNT


def test_a_simulation_keeps_the_traverses_that_are_whole(home):
    arguments = ("simulate", "town", "--layout", "folder", "--family", "campus", "--length", "100")
    arguments += ("--traverses", "noon,dusk", "--frames", "4")
    code, complaint = interrupt(arguments, ("data.folder", "write_frame", 6))
    kept = "tmapr: interrupted: town: 1 traverses are whole and kept; the same command goes on"
    assert (code, complaint) == (130, [kept])
    noon = Path("town/noon/frames.csv").stat().st_mtime_ns
    assert command(*arguments, "--quiet") == 0
    assert Path("town/noon/frames.csv").stat().st_mtime_ns == noon


def test_a_report_leaves_the_page_that_was_there(home):
    for verb in ("map", "run"):
        assert command(verb, "walk.toml", "--run", "run", "--quiet") == 0
    assert command("report", "run") == 0
    page = Path("run/report/index.html").read_bytes()
    code, complaint = interrupt(("report", "run"), ("reports.page.page", "escape", 1))
    assert (code, complaint) == (130, ["tmapr: interrupted: run: its results are those from before"])
    assert Path("run/report/index.html").read_bytes() == page


def test_where_nothing_is_written_that_is_said(home):
    code, complaint = interrupt(("check", "data/noon"), ("data.examination", "probe", 3))
    assert (code, complaint) == (130, ["tmapr: interrupted: nothing that was there before has changed"])


TINY = ("training.epochs=3", "training.layers=1", "training.heads=2", "training.batch=8", "training.width=16")


def test_a_training_goes_on_from_its_last_whole_epoch(home):
    pytest.importorskip("torch")
    write_walk(home, adapt=("dusk",))
    given = (home / "walk.toml").read_text().replace("data = { ", 'data = { train = ["noon"], validation = ["dusk"], ')
    (home / "walk.toml").write_text(given)
    arguments = ("train", "walk.toml", "--run", "run", "--device", "cpu")
    arguments += tuple(word for each in TINY for word in ("--set", each))
    code, complaint = interrupt(arguments, ("training.fit", "shuffle", 2))
    assert code == 130
    assert complaint[0] == "tmapr: interrupted: run/apr: epoch 1 of 3 is the last whole one; the same command goes on"
    assert command(*arguments) == 0
    assert Path("run/apr/last").read_text().strip() == "000003"


def test_a_demo_goes_on(home):
    arguments = ("demo", "--quick", "--out", "shown")
    code, complaint = interrupt(arguments, ("running.assembly", "Assembly._append", 30))
    assert code == 130
    assert "tmapr: interrupted: shown: steps that are done are kept; the same command goes on" in complaint
    assert re.fullmatch(r"tmapr: interrupted: 29 of 120 images of noon are kept; .*", complaint[0])
    rendered = Path("shown/data/noon/frames.csv").stat().st_mtime_ns
    assert command(*arguments) == 0
    assert Path("shown/data/noon/frames.csv").stat().st_mtime_ns == rendered


def test_a_real_process_is_stopped_in_the_middle_of_whatever_it_does(home):
    """Without a call that is slowed: at a moment that is chosen by what it has told."""
    for row in range(3):
        with subprocess.Popen(
            [sys.executable, "-m", "tmapr", "map", "walk.toml", "--run", f"run{row}", "-v"],
            env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert "writes into" in process.stderr.readline()
            time.sleep(0.1 * row)
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate()
        # Python ends by the signal itself if it came while a dataclass was made, though it was caught: 130 to a shell.
        assert process.returncode in (130, -signal.SIGINT), complaint
        assert "tmapr: interrupted: " in complaint
        assert "Traceback" not in complaint
        assert command("map", "walk.toml", "--run", f"run{row}", "--quiet") == 0


CUT_OFF = """
import os, signal, sys
from pathlib import Path
from tmapr.artifacts import results
from tmapr.artifacts.run import RunFolder
from tmapr.running import planning, running

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

home = RunFolder(Path("runs/walk"))
experiment, folder = planning.plan_drive(home, [Path("others/night")])
if sys.argv[1] == "seeding":
    planning.write_text = die
elif sys.argv[1] == "linking":
    results._point = die
planning.seed_run(home, folder, experiment)
results._publish = die
running.run_experiment(experiment, folder)
"""


@pytest.mark.parametrize("moment", ["seeding", "linking", "publishing"])
def test_a_kill_while_a_source_is_localized_leaves_a_folder_that_can_be_run(home, moment):
    (home / "walk.toml").write_text((home / "walk.toml").read_text().replace(str(home / "data"), "data"))
    shutil.copytree("data/night", "others/night")
    for verb in ("map", "run"):
        assert command(verb, "walk.toml", "--quiet") == 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    killed = subprocess.run([sys.executable, "-c", CUT_OFF, moment], env=environment, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert not Path("runs/night/provenance.json").exists()
    assert command("run", "runs/walk", "--source", "others/night", "--quiet") == 0
    assert Path("runs/night/estimates/night.csv").read_text() == Path("runs/walk/estimates/night.csv").read_text()
