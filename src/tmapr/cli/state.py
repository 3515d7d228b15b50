"""`tmapr state`: what a run has learned, and taking it back, joining and sending it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmapr.cli.options import Quiet
from tmapr.exceptions import InputError

if TYPE_CHECKING:
    from tmapr.journal.journal import Entry
    from tmapr.journal.runs import LearnedRun
    from tmapr.journal.telling import StateTold
    from tmapr.journal.undoing import Undone

state = typer.Typer(
    help="What a run has learned: show it, compare it, take it back, join it with others.",
    no_args_is_help=True,
)
Run = Annotated[Path, typer.Argument(metavar="RUN", help="a run folder")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@state.command()
def show(
    run: Run,
    lessons: Annotated[int, typer.Option(min=0, metavar="N", help="list the newest so many lessons")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say what was learned, what the journal has of it, and what can be unlearned."""
    from tmapr.journal.runs import open_run
    from tmapr.journal.telling import tell

    told = tell(open_run(run), lessons)
    typer.echo(told.as_json(indent=2) if as_json else "\n".join(_describe(told)))


@state.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="a run folder")],
    second: Annotated[Path, typer.Argument(metavar="B", help="another one of the same map")],
    places: Annotated[int, typer.Option(min=0, metavar="N", help="list so many places, the farthest apart first")] = 10,
    as_json: AsJson = False,
) -> None:
    """Compare what two runs have learned: lessons of one and not of the other, and how far the weights are apart."""
    from tmapr.journal.telling import compare

    found = compare(first, second, places)
    if as_json:
        typer.echo(found.as_json(indent=2))
        return
    typer.echo(
        f"lessons in {first} only: {found.only_first}, in {second} only: {found.only_second}, in both: {found.both}"
    )
    typer.echo(f"weights apart by {found.distance:.3g} of those of {first}")
    for each in found.places:
        typer.echo(f"  place at ({each.place[0]:.1f}, {each.place[1]:.1f}): {each.distance:.3g}")


@state.command()
def rollback(
    run: Run,
    to: Annotated[str | None, typer.Option(metavar="LESSON", help="keep this lesson and all before it")] = None,
    before: Annotated[
        int | None, typer.Option(metavar="STAMP", help="keep what was learned before, nanoseconds")
    ] = None,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="take back the last so many lessons")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="go back to the map, as if nothing was ever learned")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Go back to an earlier state, as if nothing had been learned since."""
    from tmapr.journal.runs import changing_run, forget_state
    from tmapr.journal.undoing import list_standing, roll_back

    if sum((to is not None, before is not None, last is not None, everything)) != 1:
        raise InputError("say how far to go back with one of --to, --before, --last and --all")
    if everything:
        forget_state(run)
        _say(f"{run}: as it was mapped; all that was learned and its journal are gone", quiet)
        return
    with changing_run(run) as opened:
        standing = list_standing(opened)
        undone = roll_back(opened, _choose(opened, standing, to, before, last))
    _say(_tell_undone(run, undone), quiet)


def _choose(
    run: "LearnedRun", standing: "list[Entry]", to: str | None, before: int | None, last: int | None
) -> "Callable[[Entry], bool]":
    """Which lessons have to go."""
    if to is not None:
        names = [entry.name for entry in standing]
        wanted = _read_name(to)
        if wanted not in names:
            raise InputError(f"{run.folder.path}: the lesson {to} is not in its journal, or was taken back already")
        gone = set(names[names.index(wanted) + 1 :])
    elif before is not None:
        return lambda entry: entry.stamp >= before
    else:
        gone = {entry.name for entry in standing[-(last or 0) :]}
    return lambda entry: entry.name in gone


@state.command()
def unlearn(
    run: Run,
    lessons: Annotated[list[str] | None, typer.Argument(metavar="LESSON…", help="as `state show` names them")] = None,
    stamps: Annotated[
        tuple[int, int] | None, typer.Option(metavar="FIRST LAST", help="all that was learned between, nanoseconds")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Take single lessons back, wherever they stand among the others."""
    from tmapr.journal.runs import changing_run
    from tmapr.journal.telling import find_lessons
    from tmapr.journal.undoing import unlearn as take_back

    if bool(lessons) == bool(stamps):
        raise InputError("name the lessons to unlearn, or give --stamps FIRST LAST")
    with changing_run(run) as opened:
        names = find_lessons(opened, *stamps) if stamps else [_read_name(name) for name in lessons or ()]
        if not names:
            raise InputError(f"{run}: no lesson of its journal was learned between {stamps}")
        undone = take_back(opened, names)
    _say(_tell_undone(run, undone), quiet)


@state.command()
def merge(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="the run folder that all of them began with")],
    robots: Annotated[list[Path], typer.Argument(metavar="RUN…", help="run folders, or files of `state export`")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="the run folder to make")],
    quiet: Quiet = False,
) -> None:
    """Join what several robots learned from one map: exactly as if one had learned all of it."""
    from tmapr.journal.joining import join

    joined = join(base, robots, out)
    _say(f"{out}: {joined.lessons} lessons in {joined.places} places; {joined.journaled} can be unlearned", quiet)


@state.command()
def export(
    run: Run,
    out: Annotated[Path, typer.Option(metavar="FILE.npz", help="the file to write")],
    quiet: Quiet = False,
) -> None:
    """Write all that a run has learned, its journal included, to one file that `state merge` takes."""
    from tmapr.journal.joining import export as write

    _say(f"{out}: {write(run, out)} lessons", quiet)


def _describe(told: "StateTold") -> list[str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(told.kinds.items()))
    lines = [
        f"{told.run}: {told.lessons} lessons{f' ({kinds})' if kinds else ''}, {told.places} places"
        f" of which {told.mapped_places} were mapped",
        f"guard: {told.guard}",
        f"saved: {told.saved or 'never'}"
        + (f"; {told.ahead} lessons since are in the journal only" if told.ahead else ""),
    ]
    if not told.journal_segments:
        return [*lines, "journal: none; nothing can be unlearned"]
    size = f"{told.journal_bytes / 1e6:.1f} MB in {told.journal_segments} files"
    gone = told.lessons - told.removable
    lines += [
        f"journal: {told.journal_lessons} lessons, {size}; {told.taken_back} taken back",
        f"can be unlearned: {told.removable}" + (f"; {gone} older ones are no longer in the journal" if gone else ""),
    ]
    if told.first_stamp_ns is not None:
        lines.append(f"stamps: {told.first_stamp_ns} to {told.last_stamp_ns}")
    if told.journal_torn:
        lines.append(
            f"torn: {told.journal_torn} bytes of a record that was being written; the next drive cuts them off"
        )
    for each in told.newest:
        where = f"({each.place[0]:.1f}, {each.place[1]:.1f})"
        lines.append(f"  {each.name}  {each.kind:8}  frame {each.frame}  stamp {each.stamp_ns}  at {where}")
    return lines


def _tell_undone(run: Path, undone: "Undone") -> str:
    if not undone.lessons:
        return f"{run}: there is nothing to take back"
    return f"{run}: {undone.lessons} lessons taken back ({undone.way}); {undone.left} left"


def _read_name(text: str) -> int:
    try:
        if len(text) != 16:
            raise ValueError(text)
        return int(text, 16)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is no lesson: `tmapr state show --lessons 10` names them, 16 digits each"
        ) from None


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(line)
