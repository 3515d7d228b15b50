"""Every verb of the command once, in this process, on the shared street; what takes long is refused in a line."""

import shlex
import shutil
from contextlib import chdir

import pytest
from typer.main import get_command

from commandline import command
from tmapr.cli.main import app

LIVE = "runs/street/live"
SMALLEST = ("epochs=1", "layers=1", "heads=2", "width=16")
TINY = " ".join(
    ("--device cpu --quiet --set 'data.train=[\"noon\"]'", *(f"--set training.{each}" for each in SMALLEST))
)
DONE = {
    # verb: what is typed behind it, and the verbs that must have been done before
    "simulate": ("world --layout folder --family campus --traverses noon --frames 3 --length 80 --quiet",),
    "init": ("data/noon data/night --out other.toml",),
    "check": ("street.toml",),
    "import": ("data/noon imported",),
    "train": (f"street.toml --run runs/trained {TINY}",),
    "calibrate": ("street.toml --set data.test=[] --set data.validation='[\"night\"]' --out chosen.toml --quiet",),
    "map": ("street.toml --run runs/other --quiet",),
    "show": ("runs/street --out shown.html",),
    "run": ("street.toml --run runs/other --quiet", "map"),
    "live": ("runs/street --source data/night --rate 0 --learn fused --quiet",),
    "evaluate": ("runs/street",),
    "report": ("runs/street --table fusion",),
    "film": ("runs/street --to 1 --width 320 --out film.gif --quiet",),
    "view": ("runs/street street.rrd",),
    "bench": ("runs/street --frames 2 --updates 20 --out bench.json --quiet",),
    "config": ("street.toml",),
    "preview": ("data/noon/images/00.jpg --out seen.png",),
    "export": ("runs/street --out track.gpx",),
    "state show": (LIVE, "live"),
    "state diff": (f"runs/street {LIVE}", "live"),
    "state export": (f"{LIVE} --out sent.npz", "live"),
    "state merge": (f"runs/street {LIVE} --out runs/merged", "live"),
    "state unlearn": ("runs/merged --stamps 0 4000000000000000000", "state merge"),
    "state rollback": (f"{LIVE} --last 1", "live"),
    "upkeep extend": ("runs/street night --out runs/longer --quiet",),
    "upkeep drop": ("runs/longer --traverse night --out runs/shorter", "upkeep extend"),
    "upkeep diff": ("runs/street runs/longer", "upkeep extend"),
    "upkeep join": ("runs/street runs/longer --out runs/joined", "upkeep extend"),
    "fleet publish": ("lab runs/street",),
    "fleet pull": ("lab --to runs/robot --robot robot", "fleet publish"),
    "fleet push": ("lab runs/robot --robot robot", "fleet pull"),
    "fleet merge": ("lab --out runs/all", "fleet push"),
    "fleet status": ("lab", "fleet publish"),
}
REFUSED = {
    # verb: what is typed behind it, and what the line names; these take longer than a test here may
    "demo": ("--out street.toml --quick", "street.toml"),
    "compare": ("street.toml", "data.train"),
    "ablate": ("street.toml --set data.test=[]", "data.test"),
    "study": ("street.toml", "street.toml"),
    "weights pull": ("dinov2 --from http://host/x --yes", "https"),
    "weights inspect": ("street.toml", "street.toml"),
    "weights train": ("head.safetensors --real nowhere", "nowhere"),
}


def list_verbs(found, path=()):
    inner = getattr(found, "commands", {})
    return [verb for name in inner for verb in list_verbs(inner[name], (*path, name))] if inner else [" ".join(path)]


def test_every_verb_is_in_the_table():
    assert sorted([*DONE, *REFUSED]) == sorted(list_verbs(get_command(app)))


@pytest.fixture(scope="module")
def do(street, tmp_path_factory):
    """Runs a verb in a copy of the street, after the verb that it needs; each of them once."""
    home, codes = tmp_path_factory.mktemp("every"), {}
    shutil.copytree(street, home, symlinks=True, dirs_exist_ok=True)

    def run(verb):
        if verb not in codes:
            typed, *before = DONE[verb]
            assert all(run(each) == 0 for each in before)
            codes[verb] = command(*verb.split(), *shlex.split(typed))
        return codes[verb]

    with chdir(home):
        yield run


@pytest.mark.parametrize("verb", DONE)
def test_a_verb_does_its_work(verb, do, capsys):
    assert do(verb) == 0, capsys.readouterr().err


@pytest.mark.parametrize("verb", REFUSED)
def test_a_verb_refuses_in_one_line_what_it_cannot_do(verb, do, capsys):
    typed, named = REFUSED[verb]
    assert command(*verb.split(), *shlex.split(typed)) == 2
    said = capsys.readouterr().err
    assert named in said
    assert said.count("\n") == 1
