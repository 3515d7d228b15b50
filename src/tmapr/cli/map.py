"""`tmapr map`: the reference traverses become M₀ and A₀."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import (
    Device,
    ExperimentFile,
    Force,
    Overrides,
    Quiet,
    RunOption,
    Verify,
    choose_trust,
    make_encoding,
    make_watch,
    needs,
    open_experiment,
)
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.artifacts.run import RunFolder
    from tmapr.experiment import Experiment
    from tmapr.running.encoding import Encoding
    from tmapr.system import Map

Cluster = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="work in parts: local | tcp://HOST:PORT (Dask) | pool | number of processes"),
]
Job = Annotated[
    str | None, typer.Option(metavar="K/N", help="encode the Kth of N shares and end, as a task of a job array")
]


def map_reference(  # noqa: PLR0913 (each an option)
    experiment: ExperimentFile,
    device: Device = "auto",
    overrides: Overrides = None,
    run: RunOption = None,
    verify: Verify = False,
    force: Force = False,
    cluster: Cluster = None,
    job: Job = None,
    quiet: Quiet = False,
) -> None:
    """Map the reference traverses; their images are encoded first if their percepts are not there yet."""
    from tmapr.running.running import map_experiment

    settings, folder = open_experiment(experiment, overrides or [], run, quiet)
    encoding = make_encoding(settings, folder, device, quiet, choose_trust(verify, force))
    if job is not None:
        if cluster or force:
            raise InputError("--job: goes without --cluster and --force; the shares are joined by --cluster afterwards")
        _encode_share(settings, folder, encoding, job, device, quiet)
        return
    if cluster is not None:
        environment = _map_in_parts(settings, folder, encoding, cluster, device, force, quiet)
    else:
        environment = map_experiment(settings, folder, make_watch("mapping", quiet), encoding)
    if not quiet:
        typer.echo(f"{folder.map}: {len(environment.memory)} references in {environment.memory.place_count} places")


def _map_in_parts(
    settings: "Experiment",
    folder: "RunFolder",
    encoding: "Encoding",
    cluster: str,
    device: str,
    force: bool,
    quiet: bool,
) -> "Map":
    from tmapr.cluster.choosing import choose_workers
    from tmapr.cluster.mapping import ClusterMapping

    with needs("cluster"):
        workers = choose_workers(cluster)
    watches = make_watch("encoding", quiet), make_watch("mapping", quiet)
    with closing(workers):
        return ClusterMapping(settings, folder, workers, device, *watches, anew=force).make(encoding)


def _encode_share(
    settings: "Experiment", folder: "RunFolder", encoding: "Encoding", job: str, device: str, quiet: bool
) -> None:
    from tmapr.cluster.choosing import read_share
    from tmapr.cluster.mapping import encode_share

    done = encode_share(settings, folder, encoding, read_share(job), device, make_watch("encoding", quiet))
    if not quiet:
        typer.echo(f"{folder.path}: {done} parts of share {job} are encoded")
