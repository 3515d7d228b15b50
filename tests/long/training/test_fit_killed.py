"""A training that learns to the end, and one that is killed again and again and loses nothing."""

import os
import signal
import subprocess
import sys
import time

from safetensors.torch import load_file

from fitting import QUICK, SETTINGS, examples, new_learner, train
from repository import SUPPORT

LONG = SETTINGS.model_copy(update={"epochs": 20})

# Importing takes seconds, so one process does it and forks a trainer for every line that it reads.
TRAINERS = f"""
import os, sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from fitting import SETTINGS, checkpoints, plan
from tmapr.training.fit import fit

LONG = SETTINGS.model_copy(update={{"epochs": 20}})

def say(line):
    os.write(1, f"{{line}}\\n".encode())  # one call, so that a kill never leaves half a line

for _ in sys.stdin:
    trainer = os.fork()
    if not trainer:
        say(os.getpid())
        for epoch in fit(plan(LONG), checkpoints(Path(sys.argv[1]), LONG)):
            say("ended")
        os._exit(0)
    os.waitpid(trainer, 0)
    say("gone")
"""


def test_the_head_learns_eight_frames_to_a_centimetre():
    learner, given = new_learner(QUICK), examples(8)
    for epoch in range(1, 350):
        learner.learn(given, epoch)
    assert learner.errors(given).max() < 0.01


def test_killed_again_and_again_it_reaches_the_same_weights_bit_for_bit(tmp_path, rng):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1, "start_new_session": True}
    killed = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", TRAINERS, str(killed)], **pipes) as process:
        try:
            for delay in rng.uniform(0, 0.05, 3):
                process.stdin.write("\n")
                trainer = int(process.stdout.readline())
                assert process.stdout.readline() == "ended\n"
                time.sleep(delay)
                os.kill(trainer, signal.SIGKILL)
                while process.stdout.readline() != "gone\n":
                    pass
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert 0 < len(train(killed, LONG)) < LONG.epochs
    train(tmp_path / "whole", LONG)
    mine, theirs = (load_file(folder / "apr/000020/head.safetensors") for folder in (killed, tmp_path / "whole"))
    assert {name: value.tolist() for name, value in mine.items()} == {n: value.tolist() for n, value in theirs.items()}
    assert (killed / "apr/best").read_text() == (tmp_path / "whole/apr/best").read_text()
