"""Processes of this machine that carry out orders: lines of JSON go in, lines of JSON come out.

They are no forks, which would copy locks amid whatever other threads do, and import nobody's main module. Each ends
with its standard input, however this process ends. One that is lost is started again, and its order is given again.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue

from tmapr.cluster.orders import Order
from tmapr.cluster.work import perform
from tmapr.exceptions import InputError
from tmapr.types import Watch

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from tmapr.cluster.pool import serve; serve(json.loads(sys.argv[2]))"
)
_TRIES = 4
"""Processes that may be lost over one order before it is to blame."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Pool:
    """So many processes, each on its share of the cores; they are started as they are needed, and stay until closed."""

    def __init__(self, count: int) -> None:
        cores = sorted(os.sched_getaffinity(0))
        shares = [cores[place::count] or [cores[place % len(cores)]] for place in range(count)]
        self._processes = [_Process(share) for share in shares]

    def carry_out(self, orders: Sequence[Order], watch: Watch) -> None:
        """All of them side by side."""
        idle = SimpleQueue[_Process]()
        for process in self._processes:
            idle.put(process)
        threads = ThreadPoolExecutor(max_workers=len(self._processes))
        try:
            futures = [threads.submit(_give, idle, order) for order in orders]
            done = as_completed(futures)
            for _ in watch(range(len(orders))):
                next(done).result()
        except BaseException:
            for process in self._processes:  # or the threads would wait for what nobody wants any more
                process.stop()
            raise
        finally:
            threads.shutdown(cancel_futures=True)

    def close(self) -> None:
        """End them."""
        for process in self._processes:
            process.close()


def _give(idle: "SimpleQueue[_Process]", order: Order) -> None:
    process = idle.get()
    try:
        process.ask(order)
    finally:
        idle.put(process)


class _Process:
    """One of them; it is started when it is first asked."""

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = cores
        self._child: subprocess.Popen[str] | None = None
        self._stopped = False

    def ask(self, order: Order) -> None:
        """Have an order carried out."""
        for _ in range(_TRIES):
            if self._stopped:
                return
            answer = self._exchange(order.as_json())
            if answer:
                _raise_told(json.loads(answer), order)
                return
        raise InputError(
            f"{order.what}: {_TRIES} processes ended over it, the last with {self._end()}; is there memory enough?"
            " What is done is kept, and the same command goes on"
        )

    def _exchange(self, line: str) -> str:
        """The answer; nothing where the process has ended."""
        if self._child is None or self._child.poll() is not None:
            self._child = self._start()
        if not self._child.stdin or not self._child.stdout:
            raise ValueError("a process is asked through pipes")
        with suppress(BrokenPipeError):
            self._child.stdin.write(line + "\n")
            self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer.endswith("\n"):
            self._end()
            return ""
        return answer

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), json.dumps(self._cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | _ONE_THREAD,
            start_new_session=True,  # Ctrl-C is ours to answer
        )

    def _end(self) -> str:
        """How it ended, in words; its pipes are closed, and it is waited for."""
        code = 0
        if self._child and self._child.stdout and not self._child.stdout.closed:
            self._child.communicate()
        if self._child:
            code = self._child.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """End it, whatever it is doing: what it writes is there as a whole or not at all. It is not started again."""
        self._stopped = True
        if self._child:
            self._child.kill()

    def close(self) -> None:
        """Stop it while nobody asks it anything."""
        self.stop()
        self._end()


def _raise_told(told: dict[str, str], order: Order) -> None:
    if "refused" in told:
        raise InputError(told["refused"])
    if "failed" in told:
        raise RuntimeError(f"{order.what}: {told['failed']}")


def serve(cores: Sequence[int]) -> None:
    """Carry out the orders that come in on standard input, on some cores, until it ends."""
    os.sched_setaffinity(0, cores)
    # What a library prints is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(line)) + "\n")
        answers.flush()


def _answer(line: str) -> dict[str, str]:
    try:
        return {"done": perform(line)}
    except InputError as error:
        return {"refused": str(error)}
    except Exception:
        return {"failed": traceback.format_exc()}
