"""Orders by Dask: on as many processes as this machine has cores, or on a cluster by its scheduler's address.

Of Dask's is the network, and who may speak there: whoever reaches a scheduler can run code on all its workers. What
they make lies in files, so that nothing is lost with a worker's memory.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from os import sched_getaffinity, sched_setaffinity
from uuid import uuid4

from distributed import Client, LocalCluster, Worker, WorkerPlugin, as_completed
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from tmapr.cluster.orders import Order
from tmapr.cluster.work import perform
from tmapr.exceptions import InputError
from tmapr.types import Watch

LOCAL = "local"
_PATIENCE = 30
"""Seconds for a scheduler to answer, and for a first worker to be there."""
_GOES_ON = "what is done is kept, and the same command goes on"


class OwnCore(WorkerPlugin):
    """Gives each worker of this machine a core: a network would take all of them for every one."""

    def setup(self, worker: Worker) -> None:
        """By the worker's number."""
        cores = sorted(sched_getaffinity(0))
        sched_setaffinity(0, {cores[int(worker.name) % len(cores)]})


@dataclass(frozen=True, slots=True)
class DaskWorkers:
    """The workers of a scheduler, or, where its address is `local`, of one that is started for the occasion."""

    address: str

    def carry_out(self, orders: Sequence[Order], watch: Watch) -> None:
        """All of them, on whoever is there; who comes later helps, and who is lost is replaced."""
        if not orders:
            return
        with self._connecting() as client:
            # Dask keeps what has a known name; ours are kept as files, and are asked for anew.
            asked, lines = uuid4().hex, [order.as_json() for order in orders]
            keys = [f"{order.stage}-{order.key[:16]}-{asked}" for order in orders]
            futures = client.map(perform, lines, key=keys, pure=False)
            try:
                for future, _ in zip(as_completed(futures), watch(range(len(orders))), strict=False):
                    future.result()
            except KilledWorker as lost:
                raise InputError(
                    f"{self.address}: {lost.allowed_failures + 1} workers were lost over one order, the last at"
                    f" {lost.last_worker.address}; is there memory enough? {_GOES_ON.capitalize()}"
                ) from None
            except (CommClosedError, CancelledError, TimeoutError) as error:
                raise InputError(f"{self.address}: the scheduler was lost ({error!r}); {_GOES_ON}") from None
            finally:
                if client.status == "running":
                    client.cancel(futures, force=True)

    @contextmanager
    def _connecting(self) -> Iterator[Client]:
        if self.address == LOCAL:
            with (
                LocalCluster(threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster,
                Client(cluster) as client,
            ):
                client.register_plugin(OwnCore())
                yield client
            return
        with self._reach() as client:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError:
                raise InputError(
                    f"{self.address}: the scheduler has no workers; start some with `dask worker {self.address}"
                    " --nthreads 1`"
                ) from None
            yield client

    def _reach(self) -> Client:
        try:
            return Client(self.address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).split("\n", 1)[0]
            raise InputError(
                f"{self.address}: no scheduler answers there ({reason[:160]}); start one with `dask scheduler`, or see"
                " to its address"
            ) from None
