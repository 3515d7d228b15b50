"""`tmapr study`: methods asked in rendered worlds and on real sets, as a plan says."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tmapr.cli.options import Overrides, Quiet, make_teller, make_watch


def study(  # noqa: PLR0913 (each an option)
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="the study's TOML file")],
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="ask this method alone; with --set: its name")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="METHOD", help="compare with its rows (default: the plan's first)")
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="places at a time")] = 1,
    rows: Annotated[Path, typer.Option(metavar="DIR", help="where rows are kept")] = Path("benchmarks/rows"),
    home: Annotated[Path, typer.Option(metavar="DIR", help="where data/ and runs/ of the worlds are")] = Path(),
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="write the tables there, too")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="write them as LaTeX")] = None,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Make the rows of a study that are missing, and print its tables.

    Interrupted, the same command goes on where it stopped.

    tmapr study experiments/studies/styles.toml --workers 2
    """
    from tmapr.artifacts.atomic import write_text
    from tmapr.reports.tables.study_tables import compare_methods, tabulate_study
    from tmapr.studies.run_study import load_rows, run_study
    from tmapr.studies.study_plan import read_plan

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the workers: there is one for each core
    asked = read_plan(plan, overrides or [], method)
    folder = rows / asked.name
    other = load_rows(folder / against) if against and against not in [each.name for each in asked.method] else None
    found = run_study(asked, rows, home, workers, make_teller(quiet), make_watch(asked.name, quiet))
    base = against or next(iter(found))
    tables = [tabulate_study(found | ({base: other} if other else {}))]
    if other or len(found) > 1:
        tables.append(compare_methods(found, base, other or found[base]))
    told = "\n".join(table.markdown() for table in tables)
    typer.echo(told, nl=False)
    if markdown:
        write_text(markdown, told)
    if latex:
        write_text(latex, "\n".join(table.latex() for table in tables))
