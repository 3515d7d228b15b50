"""Orders by Dask: on as many processes as this machine has cores, or on a cluster by its scheduler's address.

Of Dask's is the network, and who may speak there: whoever reaches a scheduler can run code on all its workers. What
they make lies in files, so that nothing is lost with a worker's memory.
"""

import logging
import os
import signal
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from uuid import uuid4

from distributed import Client, LocalCluster, Worker, WorkerPlugin, as_completed
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from tmapr.cluster.orders import Order
from tmapr.cluster.work import perform
from tmapr.exceptions import InputError
from tmapr.perception.bulk import count_cores
from tmapr.types import Watch

LOCAL = "local"
_FREE = "127.0.0.1:0"
_ANSWER, _JOIN = 10, 60
"""Seconds for a scheduler to answer, and for a first worker to be there."""
_GOES_ON = "What is done is kept, and the same command goes on"


class AtHome(WorkerPlugin):
    """Gives each worker of this machine a core, since a network would take all of them for every one."""

    def setup(self, worker: Worker) -> None:
        """By the worker's number; Ctrl-C is not its to answer."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.name) % len(cores)]})


class DaskWorkers:
    """The workers of a scheduler, or, where its address is `local`, of one that is started for the occasion."""

    def __init__(self, address: str) -> None:
        """Refused where no scheduler answers, or has no workers."""
        self._address = address
        with ExitStack() as opened:
            self._client = self._start(opened) if address == LOCAL else self._reach(opened)
            self._open = opened.pop_all()

    def carry_out(self, orders: Sequence[Order], watch: Watch) -> None:
        """All of them, on whoever is there; who comes later helps, and what a lost one had is given to others."""
        if not orders:
            return
        # Dask would take what has a known name for done; what is done is told by files.
        asked, lines = uuid4().hex, [order.as_json() for order in orders]
        keys = [f"{order.stage}-{order.key[:16]}-{asked}" for order in orders]
        futures = self._client.map(perform, lines, key=keys, pure=False)
        try:
            for future, _ in zip(
                as_completed(futures, loop=self._client.loop), watch(range(len(orders))), strict=False
            ):
                future.result()
        except KilledWorker as lost:
            raise InputError(
                f"{self._address}: {lost.allowed_failures + 1} workers were lost over one order, the last at"
                f" {lost.last_worker.address}; is there memory enough? {_GOES_ON}"
            ) from None
        except (CommClosedError, CancelledError, TimeoutError) as error:
            raise InputError(f"{self._address}: the scheduler was lost ({error!r}). {_GOES_ON}") from None
        finally:
            if self._client.status == "running":
                self._client.cancel(futures, force=True)

    def close(self) -> None:
        """Leave the cluster, and end it if it was started for the occasion."""
        self._open.close()

    def _reach(self, opened: ExitStack) -> Client:
        try:
            client = opened.enter_context(Client(self._address, timeout=_ANSWER, set_as_default=False))
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).split("\n", 1)[0]
            raise InputError(
                f"{self._address}: no scheduler answers there ({reason[:160]}); start one with `dask scheduler`, or see"
                " to its address"
            ) from None
        try:
            client.wait_for_workers(1, timeout=_JOIN)
        except TimeoutError:
            raise InputError(
                f"{self._address}: the scheduler has no workers; start some with `dask worker {self._address}"
                " --nthreads 1`"
            ) from None
        return client

    @staticmethod
    def _start(opened: ExitStack) -> Client:
        """As many workers as this process has cores."""
        # A free port of this machine alone: by default it is one that another cluster may have.
        cluster = LocalCluster(
            n_workers=count_cores(), threads_per_worker=1, dashboard_address=_FREE, silence_logs=logging.CRITICAL
        )
        opened.enter_context(cluster)
        client = opened.enter_context(Client(cluster, set_as_default=False))
        client.register_plugin(AtHome())
        return client
