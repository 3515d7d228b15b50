"""A disk that is full while a journal is written."""

import subprocess
import sys

import pytest

from repository import SUPPORT

FULL = """
import sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
from journals import lesson, names, wait_for, write
from tmapr.journal.journal import Journal

folder = Path("disk/journal")
writer = write(folder, lose_at_most=5, fsync_every=1)
number = 0
while number < 5000 and not writer.trouble:
    if writer.ready:
        number += 1
        writer.note(number, number, [lesson(number)])
print("trouble", writer.trouble, writer.ready, number, flush=True)
assert "No space left" in writer.trouble and not writer.ready
assert number < 5000
# Whole records and nothing else are there.
found = Journal.open(folder)
assert found.torn == 0, found.torn
assert number - 5 <= len(found.lessons) <= number
Path("disk/ballast").unlink()
assert wait_for(lambda: writer.ready), writer.trouble
writer.note(number + 1, 0, [lesson(number + 1)])
writer.close()
assert names(folder) == list(range(1, number + 2))
print("well")
"""


def test_a_full_disk_stops_learning_leaves_whole_records_and_is_tried_again(tmp_path):
    """A real one of 300 kB."""
    alone = ["unshare", "-Urm"]
    (tmp_path / "disk").mkdir()
    mount = f"mount -t tmpfs -o size=300k none {tmp_path}/disk"
    if subprocess.run([*alone, "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a file system of their own")
    (tmp_path / "fill.py").write_text(FULL.format(tests=str(SUPPORT)))
    script = f"{mount} && cd {tmp_path} && head -c 260000 /dev/zero > disk/ballast && exec {sys.executable} fill.py"
    done = subprocess.run([*alone, "sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "well"
