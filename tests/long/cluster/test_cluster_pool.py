"""A map made by processes of this machine: the same whoever is lost, and one line where it cannot be made."""

import os
import signal

import pytest

from clustered import digest_results, map_walk, read_walk
from tmapr.artifacts.run import RunFolder
from tmapr.cluster.encoding import plan_encoding
from tmapr.cluster.pool import Pool
from tmapr.cluster.workshop import Workshop
from tmapr.exceptions import InputError
from tmapr.running.encoding import Encoding


def children():
    """Processes of this one that carry out orders."""
    found = []
    for entry in os.listdir(f"/proc/{os.getpid()}/task"):
        with open(f"/proc/{os.getpid()}/task/{entry}/children") as listed:
            found += map(int, listed.read().split())
    return [pid for pid in found if b"tmapr.cluster.pool" in command_line(pid)]


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as told:
            return told.read()
    except OSError:
        return b""


def test_two_processes_one_of_which_is_killed_make_the_same_map(walked):
    killed = []

    def watch(rows):
        for row in rows:
            if not killed:
                pid = wait_for_child()
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            yield row

    pool = Pool(2)
    folder = map_walk(walked, "pool", pool, watch)
    pool.close()
    assert killed
    assert digest_results(folder) == digest_results(RunFolder(walked / "alone"))
    assert not children()


def wait_for_child():
    while True:
        found = children()
        if found:
            return found[0]


def test_an_order_that_cannot_be_carried_out_is_refused_in_a_line(walked):
    folder = RunFolder(walked / "broken")
    (orders,) = plan_encoding(
        read_walk(walked), Workshop.of(folder), Encoding(read_walk(walked), folder), "cpu", 8
    ).values()
    wrong = orders[0].model_copy(update={"experiment": "gone.toml"})
    pool = Pool(1)
    with pytest.raises(InputError, match=r"gone\.toml: .*\(on "):
        pool.carry_out([wrong], iter)
    pool.close()
    assert not children()
