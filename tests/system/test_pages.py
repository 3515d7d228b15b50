"""The pages for people say what is there: every command and option, every link, every room, every file of the tour."""

import re
import shlex
from itertools import chain

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from repository import ROOT
from tmapr.cli.main import app

SOURCE = ROOT / "src/tmapr"
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs/commands.md").read_text()
RESULTS = (ROOT / "docs/results.md").read_text()
TOUR = (ROOT / "docs/tour.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
CHOICES = re.compile(r"[<\[](\w+(?:\|\w+)+)[>\]]")  # as --help prints them, in angles or in brackets


def list_commands(command, path=()):
    """Every verb and sub-verb by what one types."""
    for name, found in getattr(command, "commands", {}).items():
        yield " ".join((*path, name)), found
        yield from list_commands(found, (*path, name))


def read_sections(page):
    """The text under each heading `### tmapr VERB`."""
    found = {}
    for part in re.split(r"^#+ ", page, flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        if title.startswith("tmapr "):
            found[title.removeprefix("tmapr ")] = text
    return found


VERBS = dict(list_commands(get_command(app)))
SECTIONS = read_sections(COMMANDS)


def synopsis(verb):
    (first, *_) = re.findall(r"```(?:text)?\n(.*?)```", SECTIONS[verb], re.DOTALL)
    return first


def long_options(command):
    names = chain.from_iterable((*option.opts, *option.secondary_opts) for option in command.params)
    return {name for name in names if name.startswith("--")}


def test_every_verb_has_a_section_and_no_section_is_of_another():
    assert set(SECTIONS) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_section_names_the_options_of_its_command_and_no_others(verb):
    assert set(LONG_OPTION.findall(SECTIONS[verb])) == long_options(VERBS[verb])


@pytest.mark.parametrize("verb", VERBS)
def test_a_synopsis_names_all_that_can_be_given(verb):
    text = synopsis(verb)
    assert text.startswith(f"tmapr {verb}")
    assert set(LONG_OPTION.findall(text)) == long_options(VERBS[verb])
    arguments = [given for given in VERBS[verb].params if given.param_type_name == "argument"]
    for name in ((given.metavar or given.name.upper()).strip("[]") for given in arguments):
        assert name in text.split("--")[0]


@pytest.mark.parametrize("verb", VERBS)
def test_a_section_has_the_choices_that_help_prints(verb):
    told = CliRunner().invoke(app, [*verb.split(), "--help"], env={"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"})
    assert told.exit_code == 0
    assert [choices for choices in CHOICES.findall(told.output) if choices not in SECTIONS[verb]] == []


def test_no_page_of_commands_names_an_option_that_does_not_exist():
    # Typer adds those of completion when it is run.
    shell = {"--install-completion", "--show-completion"}
    known = {"--help"}.union(shell, long_options(get_command(app)), *map(long_options, VERBS.values()))
    assert set(LONG_OPTION.findall(COMMANDS)) <= known


@pytest.mark.parametrize("verb", [verb for verb in VERBS if not hasattr(VERBS[verb], "commands")])
def test_the_examples_of_a_section_can_be_typed(verb):
    lines = "".join(re.findall(r"```sh\n(.*?)```", SECTIONS[verb], re.DOTALL)).splitlines()
    assert lines
    for line in lines:
        typed, words = shlex.split(line), ["tmapr", *verb.split()]
        assert typed[: len(words)] == words
        VERBS[verb].make_context(verb, typed[len(words) :])


def test_the_readme_is_short_and_narrow():
    lines = README.splitlines()
    assert len(lines) <= 110
    assert max(map(len, lines)) <= 110


def test_the_readmes_tree_names_every_room_and_no_other():
    tree = README.partition("src/tmapr/\n")[2].partition("```")[0]
    named = set(re.findall(r"(?:^  |   )(\w+(?:/|\.py))(?= )", tree, re.MULTILINE))
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in SOURCE.iterdir() if path.name[0] != "_"}
    assert named == rooms - {"exceptions.py", "py.typed"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    relative = [target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")]
    assert [target for target in relative if not (page.parent / target).exists()] == []


def test_every_study_is_a_finding():
    studies = {f"results/{path.name}" for path in (ROOT / "docs/results").glob("*.md")}
    assert set(re.findall(r"\((results/\w+\.md)\)", RESULTS)) == studies


def test_the_tour_passes_files_that_exist():
    named = re.findall(r"[\w/]*\w\.py\b", TOUR)
    assert named
    assert [name for name in named if not (SOURCE / name.removeprefix("src/tmapr/")).is_file()] == []


@pytest.mark.parametrize(("file", "name"), re.findall(r"`([\w/]+\.py)` → `([\w.]+)`", TOUR))
def test_the_tour_names_what_a_file_holds(file, name):
    source = (SOURCE / file).read_text()
    assert all(re.search(rf"\b(?:def|class) {part}\b", source) for part in name.split("."))
