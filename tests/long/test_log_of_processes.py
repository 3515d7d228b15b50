"""RUN/log.txt of several processes at once, and of one on a terminal."""

import os
import re
import subprocess
import sys

from tmapr.artifacts.logbook import EARLIER, LARGEST, LOG
from walked import write_walk

WRITER = """
import sys, time
from pathlib import Path
from tmapr.artifacts.logbook import append
for number in range(400):
    append(Path(sys.argv[1]), f"{sys.argv[2]} {number} " + sys.argv[2] * 500, when=time.time())
"""


def test_writers_at_once_mix_lines_and_never_parts_of_them_nor_lose_any_when_it_begins_anew(tmp_path):
    (tmp_path / LOG).write_bytes(b"0" * (LARGEST - 200_000) + b"\n")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name], env=os.environ) for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    told = ((tmp_path / EARLIER).read_text() + (tmp_path / LOG).read_text()).splitlines()[1:]
    found = [re.fullmatch(r"\S+Z \d+ ([abc]) (\d+) ((?:aa|bb|cc)+)", line) for line in told]
    assert all(found)
    assert all(set(match[3]) == {match[1]} and len(match[3]) == 500 for match in found)
    assert sorted((match[1], int(match[2])) for match in found) == [(name, row) for name in "abc" for row in range(400)]


def test_progress_bars_and_colours_are_not_logged(tmp_path):
    """On a real terminal, which a pseudo-terminal is."""
    home = write_walk(tmp_path)
    typed = ["-m", "tmapr", "map", "walk.toml", "--run", "run"]
    code = f"import pty, sys; sys.exit(pty.spawn([sys.executable, *{typed!r}]) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=os.environ | {"TERM": "xterm"}, capture_output=True
    )
    assert done.returncode == 0
    assert b"\x1b[" in done.stdout  # a bar was drawn
    told = (home / "run" / LOG).read_text().splitlines()
    assert not any("\x1b" in line or "━" in line or "0:00:0" in line for line in told)
    assert any("references in" in line for line in told)
