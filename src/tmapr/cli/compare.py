"""`tmapr compare`: every method trained and compared on experiments."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmapr.cli.options import Overrides, Quiet, TableFormat, locate_experiment, make_teller, make_watch, needs

if TYPE_CHECKING:
    from tmapr.artifacts.documents.studies import ComparedMethod

_METHODS = "apr,atloc,robustloc,thermalloc"


def compare(  # noqa: PLR0913 (each an option)
    experiments: Annotated[list[Path], typer.Argument(metavar="EXPERIMENT...", help="experiments' TOML files")],
    models: Annotated[str, typer.Option(metavar="NAME,NAME,…", help="networks that take part")] = _METHODS,
    trunks: Annotated[
        str, typer.Option(metavar="own,frozen", help="trunks that baselines are trained on")
    ] = "own,frozen",
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="trainings of our pose head")] = 3,
    baseline_seeds: Annotated[int, typer.Option(metavar="N", min=1, help="trainings of each baseline")] = 1,
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="where to encode and train")] = "auto",
    form: Annotated[TableFormat, typer.Option("--format", help="of the table")] = "text",
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Train every network with one budget, run the system, and compare them on the test sequences.

    Interrupted, the same command goes on where it stopped. What everyone said lies in compare/ of the run folder.
    """
    from tmapr.artifacts.lock import writing
    from tmapr.reports.tables.comparison import describe_methods, tabulate_methods

    with needs("train"):
        from tmapr.perception.network import choose_device
        from tmapr.studies.contest import APR, NETWORKS, Contest
    wanted, kinds = _parse_names(models, _METHODS, "--models"), _parse_names(trunks, "own,frozen", "--trunks")
    # Ours always takes part: the full system needs its pose head.
    entries = [each for each in NETWORKS if each == APR or (each.model in wanted and each.trunk in kinds)]
    results: dict[str, tuple[ComparedMethod, ...]] = {}
    opened = [locate_experiment(path, overrides or [], None, quiet) for path in experiments]
    for settings, folder in opened:
        contest = Contest(settings, folder, choose_device(device), make_watch(settings.name, quiet), make_teller(quiet))
        with writing(folder.path):
            compared = contest.hold(entries, seeds, baseline_seeds)
        results |= {f"{settings.name} · {name}": rows for name, rows in compared.test.items()}
    if form == "text":
        # A terminal is too narrow for several sequences side by side.
        typer.echo("\n".join(tabulate_methods({name: rows}).text() for name, rows in results.items()))
        typer.echo("\n".join(describe_methods(results)))
        return
    table = tabulate_methods(results)
    table = replace(table, notes=(*describe_methods(results), *table.notes))
    typer.echo({"markdown": table.markdown, "latex": table.latex, "json": table.json}[form](), nl=False)


def _parse_names(text: str, allowed: str, option: str) -> list[str]:
    from tmapr.exceptions import InputError

    names, known = [name.strip() for name in text.split(",")], allowed.split(",")
    for name in names:
        if name not in known:
            raise InputError(f"{option} {text}: there is no {name!r}; allowed are {', '.join(known)}")
    return names
