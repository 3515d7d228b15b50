"""A map made by real Dask workers: processes of their own, killed amid the work, many or few; always the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count

import pytest

from clustered import digest_results, map_walk
from commandline import command
from tmapr.artifacts.run import RunFolder
from tmapr.cluster.network import DaskWorkers
from tmapr.exceptions import InputError

distributed = pytest.importorskip("distributed")


@contextmanager
def working(number):
    """A scheduler with so many worker processes: its address, and how to list the processes."""
    cluster = distributed.LocalCluster(
        n_workers=number, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield cluster.scheduler_address, lambda: list(client.run(os.getpid).values())


def map_by(address, home, run, watch=iter):
    workers = DaskWorkers(address)
    try:
        return map_walk(home, run, workers, watch)
    finally:
        workers.close()


def assert_same(home, run):
    assert digest_results(RunFolder(home / run)) == digest_results(RunFolder(home / "alone"))


def test_two_workers_one_of_which_is_killed_make_the_same_map(walked):
    with working(2) as (address, list_pids):
        killed = []

        def watch(rows):
            for row in rows:
                if not killed:
                    killed.append(list_pids()[0])
                    os.kill(killed[0], signal.SIGKILL)
                yield row

        map_by(address, walked, "killed", watch)
    assert killed
    assert_same(walked, "killed")


def test_where_no_scheduler_answers_one_line_says_so(walked, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tmapr.cluster.network._ANSWER", 1)
    options = ("--run", tmp_path / "run", "--cluster", "tcp://127.0.0.1:9")
    assert command("map", walked / "walk.toml", *options) == 2
    said = capsys.readouterr().err
    assert said.startswith("tmapr: tcp://127.0.0.1:9: no scheduler answers there (")
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_scheduler_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr("tmapr.cluster.network._JOIN", 0.2)
    with working(0) as (address, _), pytest.raises(InputError, match="has no workers; start some with `dask worker"):
        DaskWorkers(address)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_makes_the_same_map(walked, workers):
    with working(workers) as (address, _):
        map_by(address, walked, f"by-{workers}")
    assert_same(walked, f"by-{workers}")


def test_a_worker_killed_at_any_time_costs_nothing_but_time(walked):
    chance, killed = random.Random(23), []
    for attempt in range(10):
        with working(2) as (address, list_pids):
            map_by(address, walked, f"attempt-{attempt}", kill_amid(chance, list_pids(), killed))
        assert_same(walked, f"attempt-{attempt}")
    assert len(killed) == 10


def kill_amid(chance, pids, killed):
    """Watches the orders and kills one of the processes a moment after a certain one of them, whichever it carries out.

    There are two orders to encode and two to sum.
    """
    after, orders = chance.randrange(4), count()

    def watch(rows):
        for row in rows:
            if next(orders) == after:
                time.sleep(chance.uniform(0.0, 0.5))
                killed.append(chance.choice(pids))
                os.kill(killed[-1], signal.SIGKILL)
            yield row

    return watch


def test_a_scheduler_that_is_lost_is_told_in_a_line_and_the_next_attempt_goes_on(walked):
    run = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
    ]
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as scheduler:
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
        )

        def watch(rows):
            for row in rows:
                scheduler.kill()
                yield row

        with pytest.raises(InputError, match=r"the scheduler was lost .* the same command goes on"):
            map_by(address, walked, "lost", watch)
        worker.kill()
        worker.wait()
        scheduler.stderr.read()
    map_walk(walked, "lost")
    assert_same(walked, "lost")
