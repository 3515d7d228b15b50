"""How a snippet is followed in a home: commands are run, programs executed, experiments and lists of frames read."""

import os
import shlex
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from glob import glob
from pathlib import Path

import numpy as np
from blocks import Block, Line, list_lines
from checkout import shell_environment
from tables import APART, GIVEN
from world import copy_linked

import tmapr
from commandline import command
from tmapr.experiment import is_data_there, read_experiment

_SHELL_ONLY = set(";|&<>{}$~")
_WRITTEN = ("--out", "--sheet")


@dataclass(frozen=True, slots=True)
class Site:
    """Where `weights pull` finds its file, and that file's SHA-256."""

    address: str
    digest: str


@dataclass(slots=True)
class Home:
    """A page's home, and what its programs printed."""

    folder: Path
    site: Site
    printed: str = ""
    programs: list[Block] = field(default_factory=list)

    @property
    def installed(self) -> Path:
        """Where its packages go."""
        return self.folder / "installed"

    def follow(self, block: Block) -> None:
        """Do what a block says; programs are put off until `execute`."""
        if block.language == "sh":
            for line in list_lines(block):
                if line.typed not in APART:
                    self.run(line)
        elif block.language == "toml":
            self.check_experiment(block)
        elif block.language == "csv":
            self.read_frames(block)
        elif block.language == "python":
            self.programs.append(block)

    def run(self, line: Line) -> None:
        """Run a command; whatever it was to write is there."""
        words = shlex.split(line.typed)
        with chdir(self.folder):
            # Here `tmapr` is called in this process, since a new one takes seconds to load.
            simple = Path(words[0]).name == "tmapr" and not _SHELL_ONLY & set(line.typed)
            if words[:2] == ["pip", "install"]:
                code = self._install(words[2:])
            else:
                code = self._call(line) if simple else _run_shell(line.typed)
            assert code == 0, f"{line.place}: {line.typed}: exit code {code}"
            for option in set(_WRITTEN) & set(words):
                path = Path(words[words.index(option) + 1])
                assert path.exists(), f"{line.place}: {line.typed}: did not write {path}"

    def _call(self, line: Line) -> int:
        more = GIVEN.get(line.typed, "").format(address=self.site.address, digest=self.site.digest)
        words = [word for each in shlex.split(f"{line.typed} {more}")[1:] for word in _expand(each)]
        try:
            return command(*words)
        except Exception as error:
            error.add_note(f"{line.place}: {line.typed}")
            raise

    def _install(self, words: list[str]) -> int:
        """Into this home, without a network: the environment of these tests stays as it is."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", self.installed]
        sys.path.insert(0, str(self.installed))
        return subprocess.run([*pip, *offline, *words], check=False).returncode

    def leave(self) -> None:
        """What was installed here is not found any more."""
        sys.path[:] = [place for place in sys.path if place != str(self.installed)]

    def check_experiment(self, block: Block) -> None:
        """Write an experiment file and load it; with its data at hand, a run would go through."""
        path = self.folder / (block.named_file(".toml") or "snippet.toml")
        path.write_text(block.text)
        with chdir(self.folder):
            data = read_experiment(path).data
            named = {name for names in data.roles.values() for name in names}
            if all(is_data_there(data, name) for name in named):
                self.run(Line(block.place, f"tmapr check {path.name}"))

    def read_frames(self, block: Block) -> None:
        """Put a list of frames in place of the one that it shows, in a copy of that drive, and read it."""
        drive = (self.folder / block.named_file("frames.csv")).parent
        copy_linked(drive, shown := self.folder / "shown" / drive.name)
        (shown / "frames.csv").write_text(block.text)
        _, *rows = (line.split(",") for line in block.lines)
        frames = list(tmapr.open_sequence(shown))
        assert [frame.stamp for frame in frames] == [int(stamp) for stamp, *_ in rows], block.place
        np.testing.assert_array_equal([frame.position for frame in frames], [list(map(float, row[2:])) for row in rows])
        assert all(frame.image().size for frame in frames), block.place

    def execute(self) -> None:
        """Run the page's programs, one after the other in one process: a later one may use names of an earlier."""
        if not self.programs:
            return
        program = "\n".join(block.text for block in self.programs)
        found = shell_environment()
        found["PYTHONPATH"] = os.pathsep.join((found["PYTHONPATH"], str(self.installed)))
        given = {"cwd": self.folder, "env": found, "capture_output": True, "text": True}
        done = subprocess.run([sys.executable, "-c", program], check=False, **given)
        assert done.returncode == 0, f"{self.programs[0].place}: {done.stderr}"
        self.printed = done.stdout


def _run_shell(typed: str) -> int:
    given = {"env": shell_environment(), "stdin": subprocess.DEVNULL}
    return subprocess.run(["bash", "-c", typed], check=False, **given).returncode


def _expand(word: str) -> list[str]:
    """File names as a shell expands them; a GPU that is not here is a CPU."""
    if "*" in word:
        return sorted(glob(word))
    return ["cpu"] if word == "cuda" and not _has_gpu() else [word]


@cache
def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
