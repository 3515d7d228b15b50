"""Commands that are cut off: by a kill at some moment, or by a disk that is full.

Importing takes seconds, so one process does it and forks another for every command; nothing else of it is shared. It
may live in a namespace of its own, in which everybody may mount a small file system.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from tmapr.artifacts.run import RESULTS
from walked import without_times

SERVER = """
import json, os, resource, signal, subprocess, sys, time
import onnxruntime, tmapr.reports.page.page, tmapr.reports.reported, tmapr.running.running
if sys.argv[1:] == ["torch"]:
    import tmapr.studies.ablation_summary, tmapr.studies.calibration, tmapr.training.fit, tmapr.training.plan
from tmapr.cli.main import run

for line in sys.stdin:
    task = json.loads(line)
    subprocess.run(["sh", "-ec", task.get("first", "")], check=True, cwd=task["home"])
    child = os.fork()
    if not child:
        said = os.open(task["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(said, 1), os.dup2(said, 2), os.chdir(task["home"])
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        if "largest" in task:
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest"], resource.RLIM_INFINITY))
        sys.argv = ["tmapr", *task["arguments"]]
        code = 1
        try:
            run()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    if task.get("kill_after") is not None:
        time.sleep(task["kill_after"])
        os.kill(child, signal.SIGKILL)  # it may have ended, but it is still ours: nobody has waited for it
    _, status = os.waitpid(child, 0)
    subprocess.run(["sh", "-ec", task.get("then", "")], check=True, cwd=task["home"])
    os.write(1, f"{os.waitstatus_to_exitcode(status)}\\n".encode())
"""


class Server:
    """Runs commands in a folder, one after another."""

    def __init__(self, process, home, trains):
        self.trains = trains
        self._process = process
        self._home = home
        self.said = home / f"said-{process.pid}.txt"

    def run(self, *arguments, **task):
        """The exit code; a command is killed `kill_after` so many seconds, if it has not ended by itself."""
        self.start(*arguments, **task)
        return self.wait()

    def start(self, *arguments, **task):
        """Begin a command."""
        given = {"arguments": [*map(str, arguments)], "home": str(self._home), "said": str(self.said)}
        self._process.stdin.write(json.dumps(given | task) + "\n")

    def wait(self):
        """The exit code of the command that was begun."""
        return int(self._process.stdout.readline())

    def check(self, *arguments, **task):
        """Run a command that must succeed; the seconds it took."""
        began = time.perf_counter()
        assert self.run(*arguments, **task) == 0, self.said.read_text()
        return time.perf_counter() - began


@contextmanager
def serving(home, *inside, trains=False):
    """A server; `inside` is a command that runs it in a namespace. Without torch it is there sooner."""
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(
        [*inside, sys.executable, "-c", SERVER, *["torch"] * trains], env=alone, start_new_session=True, **pipes
    ) as process:
        try:
            yield Server(process, home, trains)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def results_of(folder):
    """What belongs together, as anybody reads it: no names but the promised ones."""
    folder = Path(folder)
    found = (path for part in ("percepts", "estimates") for path in sorted((folder / part).glob("[!.]*")))
    names = [*RESULTS, *(str(path.relative_to(folder)) for path in found)]
    return {name: content_of(folder / name) for name in names if (folder / name).exists()}


def others_of(folder):
    """Everything else that is read: each file for itself."""
    folder = Path(folder)
    kept = ("calibrated.toml", "ablation.json", "report/index.html", "apr/best", "frames.csv", "*/frames.csv")
    return {str(path.relative_to(folder)): content_of(path) for pattern in kept for path in folder.glob(pattern)}


def content_of(path):
    """Bytes, and of documents all but what a clock said."""
    return without_times(path.read_text()) if path.suffix == ".json" else path.read_bytes()
