"""`make paper`: what is missing is told at once, what is done stays done, and every printed number has ours beside."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import paper
from commandline import command
from paper_tables import compare_cells
from repository import ROOT
from tmapr.bench.random_vit import make_random_vit
from tmapr.perception.salad import Salad
from tmapr.reports.tables.table import Table, TableColumn

HOME = ROOT
MS2 = {
    "_2021-08-06-10-59-33": "noon",
    "_2021-08-06-17-44-55": "rain",
    "_2021-08-13-17-06-04": "dusk",
    "_2021-08-13-21-18-04": "night",
}
STHEREO = {
    "sthereo_07_valley_morning": "noon",
    "sthereo_08_valley_afternoon": "overcast",
    "sthereo_09_valley_evening": "dusk",
}
PULL = "tmapr weights pull anythermal --out weights"
STAGES = ["check", "train", "map", "run", "evaluate", "ablate", "bench"]


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def outline_ms2(root):
    """The folders of the drives that are needed, with a file in each."""
    for drive in MS2:
        for part in ("thr/img_left/000000.png", "thr/img_right/000000.png", "gps_imu/data/000000.txt"):
            touch(root / "sync_data" / drive / part)
        touch(root / "odom" / drive / "thr/000000.txt")


def outline_sthereo(root):
    for drive in STHEREO:
        for part in ("image/stereo_thermal_14_left/1.png", "image/stereo_thermal_14_right/2.png"):
            touch(root / drive / part)
        touch(root / drive / "pose/global_pose.csv")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place with data and weights in name only."""
    monkeypatch.chdir(tmp_path)
    outline_ms2(tmp_path / "data/ms2")
    outline_sthereo(tmp_path / "data/sthereo")
    for name in ("model20.pth", "model_35.pth"):
        touch(tmp_path / "weights" / name)
    return tmp_path


@pytest.fixture
def ask(monkeypatch, capsys):
    """Exit code, output and complaint, with commands that only note how they were called and end with a code."""

    def call(*arguments, code=0, failing=""):
        called = []

        def note(words, **_):
            called.append(words[3:])
            return SimpleNamespace(returncode=code if words[3] == failing or not failing else 0)

        monkeypatch.setattr(sys, "argv", ["paper.py", *map(str, arguments)])
        monkeypatch.setattr(paper.subprocess, "run", note)
        ended = paper.main()
        printed = capsys.readouterr()
        return ended, called, printed.out, printed.err.splitlines()

    return call


@pytest.mark.parametrize(
    ("removed", "title", "drive", "source"),
    [
        ("ms2/sync_data/_2021-08-13-21-18-04", "MS2", "_2021-08-13-21-18-04", "multi-spectral-stereo-dataset"),
        ("ms2/sync_data/_2021-08-06-17-44-55/thr/img_right", "MS2", "_2021-08-06-17-44-55", "sync_data and odom"),
        ("sthereo/sthereo_09_valley_evening", "STheReO", "sthereo_09_valley_evening", "rpmsthereo"),
    ],
)
def test_a_drive_that_is_not_whole_is_told_with_where_to_get_it(removed, title, drive, source, home, ask):
    shutil.rmtree(home / "data" / removed)
    code, called, _, lines = ask("data")
    assert (code, called, len(lines)) == (2, [], 1)
    assert lines[0].startswith(f"{title}, drive {drive}: ")
    assert Path(removed).relative_to(title.lower()).as_posix().split("/")[-1] in lines[0]
    assert source in lines[0]


def test_what_is_missing_is_told_all_at_once_and_nothing_is_made(home, ask):
    shutil.rmtree(home / "weights")
    shutil.rmtree(home / "data/ms2/odom")
    shutil.rmtree(home / "data/sthereo")
    code, called, _, lines = ask("data")
    assert (code, called) == (2, [])
    assert [line.split(":")[0] for line in lines] == [
        "weights/model20.pth",
        "weights/model_35.pth",
        *(f"MS2, drive {drive}" for drive in MS2),
        "STheReO is left out",
    ]
    assert not (home / "runs").exists()


def test_stages_come_in_order_with_the_settings_and_the_first_that_fails_is_the_last(home, ask):
    code, called, _, _ = ask("data", "--set", "training.epochs=2", "--runs", "here", code=2, failing="bench")
    assert (code, [words[0] for words in called]) == (2, STAGES)
    assert all("training.epochs=2" in words for words in called if words[0] not in ("evaluate", "bench"))
    assert all("here/paper-ms2-campus" in words for words in called if words[0] != "check")


def table_of(titles, *rows):
    decimals = {"rmse": 2, "mean": 2, "median": 2, "apr_rmse": 2, "fused_rmse": 2, "gain_over_apr": 1}
    scores = dict.fromkeys(("precision", "recall", "decision_recall", "f1"), 4)
    return Table(tuple(TableColumn(key, key, (decimals | scores).get(key)) for key in titles), rows)


TABLES = {
    "localization": table_of(
        ("run", "sequence", "method", "source", "alignment", "rmse", "mean", "median"),
        ("ours", "4/left", "APR", "run", "none", 9.0, 9.0, 9.0),
        ("ours", "4/left", "fused", "run", "none", 10.0, 8.34, 6.0),
        ("ours", "4/left", "AtLoc (own trunk)", "compare", "none", 123.02, None, 1.0),
        ("ours", "3/left", "fused", "run", "none", 1.0, 1.0, 1.0),
    ),
    "fusion": table_of(
        ("run", "sequence", "alignment", "apr_rmse", "fused_rmse", "gain_over_apr"),
        ("ours", "4/left", "none", 20.0, 10.0, 50.0),
    ),
    "loops": table_of(
        ("run", "sequence", "method", "precision", "recall", "decision_recall", "f1"),
        ("ours", "valley/left", "global top-1", 0.5, 0.1, 1.0, 0.2),
        ("ours", "valley/left", "ACIL + U + G + H", 0.0, 0.0, 0.0, 0.0),
    ),
    "system": table_of(("run", "sequence", "method", "rmse"), ("ours", "4/left", "APR + CAPF", 19.88)),
}
COMPARED = [
    ("Table II", "MS2", "TM-APR", "rmse", "13.53", "10.00", "-3.53", "-26.1"),
    ("Table II", "MS2", "TM-APR", "mean", "8.34", "8.34", "+0.00", "+0.0"),
    ("Table II", "MS2", "AtLoc", "rmse", "61.51", "123.02", "+61.51", "+100.0"),
    ("Table II", "MS2", "AtLoc", "mean", "54.50", None, None, None),
    ("Table II", "Real-UGV-Campus", "TM-APR", "rmse", "0.96", None, None, None),
    ("Table III", "MS2", None, "apr_rmse", "19.07", "20.00", "+0.93", "+4.9"),
    ("Table III", "MS2", None, "gain_over_apr", "29.1", "50.0", "+20.9", "+71.8"),
    # Our F1 from precision .5 and d-recall 1, as the paper makes its own.
    ("Table IV", "STherO Valley", "Global AnyThermal-VPR", "f1", "0.4883", "0.6667", "+0.1784", "+36.5"),
    ("Table IV", "STherO Valley", "ACIL+U+G+H", "precision", "0.5419", "0.0000", "-0.5419", "-100.0"),
    ("Table IV", "STherO Valley", "ACIL+U+G+H", "f1", "0.6845", None, None, None),
    ("Table IV", "STherO Valley", "ACIL", "precision", "0.5171", None, None, None),
    ("Table V", "MS2", "APR + CAPF", "rmse", "19.88", "19.88", "+0.00", "+0.0"),
    ("Table V", "MS2", "full", "rmse", "13.53", None, None, None),
]


@pytest.mark.parametrize("row", COMPARED, ids=lambda row: " ".join(filter(None, row[:4])))
def test_a_printed_number_stands_beside_ours_with_the_difference(row):
    assert row in compare_cells(TABLES, {"MS2": "4/left", "STherO Valley": "valley/left"}).rows


def test_every_number_that_the_paper_prints_has_one_row():
    rows = compare_cells(TABLES, {}).rows
    count = {"Table II": 3 * 4 * 3, "Table III": 3 * 3, "Table IV": 9 * 3, "Table V": 4}
    assert {table: sum(row[0] == table for row in rows) for table in count} == count
    assert len({row[:4] for row in rows}) == len(rows) == sum(count.values())
    assert not any(row[5] for row in rows)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Both data sets of the paper, some frames of each drive, rendered."""
    data = tmp_path_factory.mktemp("paper") / "data"
    for layout, drives, family, length in (("ms2", MS2, "campus", 80), ("sthereo", STHEREO, "valley", 400)):
        traverses = ",".join(f"{name}:{weather}" for name, weather in drives.items())
        options = {"--layout": layout, "--family": family, "--seed": 2, "--frames": 8, "--length": length}
        words = [word for pair in options.items() for word in pair]
        assert command("simulate", data / layout, *words, "--traverses", traverses, "--quiet") == 0
    return data


BRIEFLY = ("--set", "training.epochs=1", "--set", "training.copies=1", "--frames", "1", "--updates", "3")


def start(home, data, *options):
    """The program in a process of its own, and all that it starts in one group with it."""
    words = [
        sys.executable,
        HOME / "benchmarks/paper.py",
        data,
        "--device",
        "cpu",
        "--workers",
        "2",
        *BRIEFLY,
        *options,
    ]
    paths = os.pathsep.join(str(HOME / each) for each in ("src", "benchmarks"))
    return subprocess.Popen(
        list(map(str, words)),
        cwd=home,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(*arguments):
    """What it prints up to its end, which is a good one."""
    program = start(*arguments)
    printed = program.communicate()[0]
    assert program.returncode == 0, printed
    return printed


def kill_at(line, *arguments):
    """Kill it, and what it started, when it says so."""
    program = start(*arguments)
    for said in program.stdout:
        if said.startswith(line):
            os.killpg(program.pid, signal.SIGKILL)
            program.communicate()
            return
    pytest.fail(f"it ended with {program.wait()} and never said {line!r}")


def began(printed):
    return re.findall(r"^\$ tmapr (\w+)", printed, re.MULTILINE)


def done(printed, title):
    return re.findall(rf"^{title}: (\w+) is done$", printed, re.MULTILINE)


def test_killed_between_stages_it_goes_on_where_it_stopped(rendered, tmp_path):
    small = ("--set", 'perception={encoder="default"}')
    kill_at("$ tmapr map", tmp_path, rendered, *small)
    kill_at("$ tmapr ablate", tmp_path, rendered, *small)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*") if path.name == "training.json"}
    assert kept
    printed = finish(tmp_path, rendered, *small)
    assert done(printed, "MS2") == STAGES[:5]
    assert began(printed) == [*STAGES[5:], *STAGES]
    assert all(path.stat().st_mtime_ns == made for path, made in kept.items())
    again = finish(tmp_path, rendered, *small)
    assert began(again) == []
    assert again.partition("# The paper")[2] == printed.partition("# The paper")[2]


def write_weights(folder):
    """AnyThermal's two files as they are published, filled at random."""
    folder.mkdir()
    student = {"backbone_model_state_dict": {**make_random_vit().state_dict(), "mask_token": torch.zeros(1, 768)}}
    torch.save({"epoch": 20, "student_model_type": "dinov2_vitb14", "student_model_state_dict": student},
               folder / "model20.pth")  # fmt: skip
    torch.manual_seed(1)
    head = Salad(channels=768, clusters=64, cluster_dim=128, token_dim=256, hidden=512).state_dict()
    widths = {"num_channels": 768, "num_clusters": 64, "cluster_dim": 128, "token_dim": 256}
    thermal = {
        "backbone_path": "/data/checkpoints/model20.pth",
        "model_type": "dinov2_vitb14",
        "head_config": {"agg_arch": "SALAD", "agg_config": widths},
        "vpr_head": {f"0.{name}": tensor for name, tensor in head.items()},
    }
    torch.save({"thermal_state_dict": thermal}, folder / "model_35.pth")


def test_rendered_data_and_random_weights_in_their_published_layouts_go_through(rendered, tmp_path):
    write_weights(tmp_path / "weights")
    printed = finish(tmp_path, rendered)
    assert began(printed) == STAGES * 2
    tables = (tmp_path / "runs/paper/tables.md").read_text()
    assert tables in printed
    assert "AnyThermal" in tables
    assert "descriptor 8448, classifier input 8448" in tables
    assert tables.count("ORACLE") > 4
    beside = re.findall(r"^\| Table (\w+) \| (MS2|STherO Valley) \| .* \| ([-+\d.]+) \|$", tables, re.MULTILINE)
    assert {(number, recordings) for number, recordings, _ in beside} == {
        ("II", "MS2"), ("III", "MS2"), ("V", "MS2"),
        ("II", "STherO Valley"), ("III", "STherO Valley"), ("IV", "STherO Valley"),
    }  # fmt: skip
