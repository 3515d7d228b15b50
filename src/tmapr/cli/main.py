"""The command `tmapr`: one thin file per verb, heavy imports only inside the verb that needs them."""

import sys

import typer

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
from tmapr.cli.import_ import import_recording
from tmapr.cli.init import init
from tmapr.cli.map import map_reference
from tmapr.cli.preview import preview
from tmapr.cli.report import report
from tmapr.cli.run import run as run_verb
from tmapr.cli.show import show
from tmapr.cli.simulate import simulate
from tmapr.cli.surroundings import explain, prepare
from tmapr.cli.train import train
from tmapr.cli.weights import weights
from tmapr.exceptions import TmaprError

app = typer.Typer(
    help="Localize a robot from a thermal camera alone, day and night, in an environment mapped once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(simulate)
app.command()(init)
app.command()(check)
app.command("import")(import_recording)
app.command()(train)
app.command("map")(map_reference)
app.command()(show)
app.command("run")(run_verb)
app.command()(evaluate)
app.command()(report)
app.command()(film)
app.command()(compare)
app.command()(calibrate)
app.command()(ablate)
app.command()(bench)
app.command()(config)
app.command()(preview)
app.add_typer(weights, name="weights")
app.command()(export)


def run() -> None:
    """Exit 0: done; 2: the user can fix it, and one line says how; 1: a bug, with its traceback."""
    prepare()
    try:
        app()
    except TmaprError as error:
        sys.exit(_refuse(str(error)))
    except Exception as error:
        lacking = explain(error)
        if lacking is None:
            raise
        sys.exit(_refuse(lacking))


def _refuse(reason: str) -> int:
    print(f"tmapr: {' '.join(reason.split())}", file=sys.stderr)
    return 2
