"""`tmapr shards`: maps in pieces, for stores and robots."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet, make_teller, make_watch

if TYPE_CHECKING:
    from tmapr.shards.manifest import Manifest

shards = typer.Typer(
    help="Maps in shards: write one to a store, pull it to a robot, give it to a run folder.", no_args_is_help=True
)
Where = Annotated[str, typer.Argument(metavar="STORE", help="a folder, or an URL: s3://… gs://… az://…")]
Home = Annotated[Path, typer.Argument(metavar="DIR", help="the folder that a map was pulled to")]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="what `export` printed, or how it begins; may be left out if there is one")
]


@shards.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run folder with a map")],
    to: Annotated[str, typer.Option("--to", metavar="STORE", help="a folder, or an URL: s3://… gs://… az://…")],
    quiet: Quiet = False,
) -> None:
    """Write a run's map to a store; its name is printed. What is in the store already is not written again."""
    from tmapr.running.sharding import export_map
    from tmapr.store import open_store

    typer.echo(export_map(run, open_store(to), make_teller(quiet)).name)


@shards.command()
def pull(
    store: Where,
    name: Name = "",
    *,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="the folder of this machine that maps lie in")],
    quiet: Quiet = False,
) -> None:
    """Bring a map from a store to this machine: the objects that are not here yet, each checked by its hash."""
    from tmapr.shards.manifest import find_manifest
    from tmapr.shards.pulling import pull as bring
    from tmapr.store import open_store

    opened = open_store(store)
    manifest = bring(opened, find_manifest(opened, name), to, make_teller(quiet))
    if not quiet:
        typer.echo(f"{to}: {_describe(manifest)}")


@shards.command()
def show(
    store: Where,
    name: Annotated[str, typer.Argument(metavar="NAME", help="one of them, or how its name begins")] = "",
    verify: Annotated[bool, typer.Option("--verify", help="read every object and compare it with its hash")] = False,
) -> None:
    """List the maps of a store, or say what one of them is made of."""
    from tmapr.shards.manifest import find_manifest, list_manifests, read_manifest
    from tmapr.shards.pulling import fetch
    from tmapr.store import open_store

    opened = open_store(store)
    if not name:
        for each in list_manifests(opened):
            typer.echo(each)
        return
    manifest = read_manifest(opened, find_manifest(opened, name))
    typer.echo(manifest.name)
    typer.echo(_describe(manifest))
    typer.echo(f"map {manifest.map}")
    typer.echo(f"mapped from {', '.join(sorted(manifest.made_from)) or 'traverses that it does not name'}")
    if verify:
        objects = manifest.objects()
        for number in make_watch("verifying", quiet=False)(range(len(objects))):
            fetch(opened, *objects[number])
        typer.echo(f"all {len(objects)} objects are what their names say")


@shards.command()
def install(
    home: Home,
    name: Name = "",
    *,
    run: Annotated[Path, typer.Option("--run", metavar="RUN", help="the run folder that is given the map")],
    quiet: Quiet = False,
) -> None:
    """Give a run folder a pulled map in place of its own: `run` and `live` then localize in it."""
    from tmapr.running.sharding import install_map
    from tmapr.shards.manifest import find_manifest, read_manifest
    from tmapr.store import FolderStore

    here = FolderStore(home)
    environment = install_map(run, read_manifest(here, find_manifest(here, name)), home)
    if not quiet:
        memory = environment.memory
        typer.echo(f"{run}: {len(memory)} references in {memory.place_count} places")


def _describe(manifest: "Manifest") -> str:
    total = sum(size for _, size in manifest.objects())
    return (
        f"{manifest.references} references of {manifest.dimension} numbers in {manifest.place_count} places,"
        f" {len(manifest.shards)} shards, {total / 1e6:.1f} MB"
    )
