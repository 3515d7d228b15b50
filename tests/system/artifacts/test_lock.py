"""A folder has one writer: others are told who it is, and a killed one holds nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tmapr.artifacts.lock import LOCK, writing
from tmapr.exceptions import InputError

HOLDER = "import sys, time; from pathlib import Path; from tmapr.artifacts.lock import writing\n"
HOLDER += "with writing(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)"


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path / "run"], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def hold(folder):
    with writing(folder):
        (folder / "written").touch()


def test_a_second_writer_is_told_who_the_first_one_is(holder, tmp_path):
    with pytest.raises(InputError) as refused:
        hold(tmp_path / "run")
    for named in (f"{tmp_path}/run", f"process {holder.pid}", f"host {os.uname().nodename}", "--run"):
        assert named in str(refused.value)
    assert not (tmp_path / "run/written").exists()


def test_a_killed_writer_holds_nothing(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    hold(tmp_path / "run")


@pytest.mark.parametrize(
    "name", [f"{name}.q_7xk2ab.partial" for name in (".ablation.json", "report/.index.html", "apr/000001/.a")]
)
def test_what_a_killed_writer_left_is_swept_by_the_next_holder_whatever_it_writes(tmp_path, name):
    half = tmp_path / "run" / name
    half.parent.mkdir(parents=True)
    half.touch()
    hold(tmp_path / "run")
    assert not half.exists()


def test_one_process_holds_several_folders_and_one_of_them_again_and_again(tmp_path):
    with writing(tmp_path / "run"):
        hold(tmp_path / "run/ablate/u")
        with pytest.raises(InputError, match=f"process {os.getpid()} on host"):
            hold(tmp_path / "run")
    hold(tmp_path / "run")


def test_a_folder_in_which_nothing_came_to_be_goes_again(tmp_path):
    with writing(tmp_path / "new"):
        assert [path.name for path in (tmp_path / "new").iterdir()] == [LOCK]
    assert not (tmp_path / "new").exists()


def test_whatever_the_lock_file_says_the_refusal_is_one_line(holder, tmp_path):
    for said in (b"", b"\xff\xfe", b'{"pid": "x"}', b"[]", b'{"pid": 1, "host": "' + b"x" * 9000):
        (tmp_path / "run" / LOCK).write_bytes(said)
        with pytest.raises(InputError, match="is being written by another process; wait for it"):
            hold(tmp_path / "run")


def test_a_folder_that_may_not_be_written_is_no_folder_to_run_in(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        hold(Path(tmp_path / "file"))
