"""The command `tmapr`: one thin file per verb, heavy imports only inside the verb that needs them."""

import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tmapr.cli.ablate import ablate
from tmapr.cli.bench import bench
from tmapr.cli.calibrate import calibrate
from tmapr.cli.check import check
from tmapr.cli.compare import compare
from tmapr.cli.config import config
from tmapr.cli.demo import demo
from tmapr.cli.evaluate import evaluate
from tmapr.cli.export import export
from tmapr.cli.film import film
from tmapr.cli.fleet import fleet
from tmapr.cli.import_ import import_recording
from tmapr.cli.init import init
from tmapr.cli.interruption import Interrupted, find_interrupt, heeding
from tmapr.cli.journal import Journal, listening
from tmapr.cli.live import live
from tmapr.cli.map import map_reference
from tmapr.cli.preview import preview
from tmapr.cli.report import report
from tmapr.cli.run import run as run_verb
from tmapr.cli.show import show
from tmapr.cli.simulate import simulate
from tmapr.cli.state import state
from tmapr.cli.study import study
from tmapr.cli.surroundings import demand_memory, explain, prepare
from tmapr.cli.train import train
from tmapr.cli.upkeep import upkeep
from tmapr.cli.version import describe_installation
from tmapr.cli.view import view
from tmapr.cli.weights import weights
from tmapr.exceptions import TmaprError

_VERBOSE = ("-v", "--verbose")


class Verbs(TyperGroup):
    """The command's verbs."""

    def invoke(self, ctx: Any) -> Any:
        """Let an interruption pass, with what was noted on it."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, Exception) as error:
            stop = find_interrupt(error)
            if stop is None:
                raise
            raise Interrupted(stop) from error


app = typer.Typer(
    cls=Verbs,
    help="Localize a robot from a thermal camera alone, day and night, in an environment mapped once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> bool:
    if asked:
        typer.echo(describe_installation())
        raise typer.Exit
    return asked


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="say which version this is")
    ] = False,
    _verbose: Annotated[bool, typer.Option(*_VERBOSE, help="say what is being done, and how long it took")] = False,
) -> None:
    """Options of the command itself; `--verbose` may stand behind a verb, too, and is seen to by `run`."""
    demand_memory()


app.command()(demo)
app.command()(simulate)
app.command()(init)
app.command()(check)
app.command("import")(import_recording)
app.command()(train)
app.command("map")(map_reference)
app.command()(show)
app.command("run")(run_verb)
app.command()(live)
app.command()(evaluate)
app.command()(report)
app.command()(film)
app.command()(view)
app.command()(compare)
app.command()(calibrate)
app.command()(ablate)
app.command()(study)
app.command()(bench)
app.command()(config)
app.command()(preview)
app.add_typer(state, name="state")
app.add_typer(upkeep, name="upkeep")
app.add_typer(fleet, name="fleet")
app.add_typer(weights, name="weights")
app.command()(export)


def run() -> None:
    """Exit 0: done; 2: the user can fix it, and one line says how; 130: interrupted; 1: a bug, with its traceback."""
    prepare()
    with listening() as journal, heeding():
        try:
            _run(journal)
        except SystemExit as ended:
            journal.end(f"exit code {ended.code or 0}")
            raise
        except BaseException:
            journal.note(traceback.format_exc())
            journal.end("exit code 1")
            raise


def _run(journal: Journal) -> None:
    try:
        words = _leave_out_verbose(sys.argv[1:])
        journal.verbose = len(words) < len(sys.argv) - 1
        app(words, prog_name="tmapr")
    except Interrupted as stop:
        for kept in stop.kept:
            print(f"tmapr: interrupted: {kept}", file=sys.stderr)
        sys.exit(stop.code)
    except TmaprError as error:
        sys.exit(_refuse(str(error)))
    except Exception as error:
        lacking = explain(error)
        if lacking is None:
            raise
        sys.exit(_refuse(lacking))


def _leave_out_verbose(words: list[str]) -> list[str]:
    """What is left when `-v` is taken from wherever it is, short of what `--` says to leave alone."""
    end = words.index("--") if "--" in words else len(words)
    return [*(word for word in words[:end] if word not in _VERBOSE), *words[end:]]


def _refuse(reason: str) -> int:
    print(f"tmapr: {' '.join(reason.split())}", file=sys.stderr)
    return 2
