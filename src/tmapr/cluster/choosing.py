"""What `--cluster` and `--job` say."""

import re

from tmapr.cluster.pool import Pool
from tmapr.cluster.workers import Workers
from tmapr.exceptions import InputError
from tmapr.perception.bulk import count_cores

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+")
_MOST = 1024
_ALLOWED = "allowed are local, pool, a number of processes, and a Dask scheduler's address as tcp://HOST:8786"


def choose_workers(cluster: str) -> Workers:
    """Those that are asked for; Dask is loaded only for its own."""
    if cluster == "pool" or cluster.isdecimal():
        count = count_cores() if cluster == "pool" else int(cluster)
        if not 1 <= count <= _MOST:
            raise InputError(f"--cluster {cluster}: must be within 1 and {_MOST} processes")
        return Pool(count)
    if cluster != "local" and not _ADDRESS.fullmatch(cluster):
        raise InputError(f"--cluster {cluster}: {_ALLOWED}")
    from tmapr.cluster.network import DaskWorkers

    return DaskWorkers(cluster)


def read_share(job: str) -> tuple[int, int]:
    """K and N of K/N."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", job)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"--job {job}: must be K/N with K from 1 to N, as 3/16")
    return int(found[1]), int(found[2])
