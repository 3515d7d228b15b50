"""Every snippet of README and docs is followed, in order, in a home of its page's own; all of them succeed."""

import json
from pathlib import Path

import pytest
from blocks import PAGES, ROOT, list_lines, name_page, read_blocks
from parsing import parse_line
from tables import APART, LONG, NOT_RUN, REAL

from tmapr import open_sequence

COMMANDS = {
    line.typed: line
    for page in PAGES
    for block in read_blocks(page)
    if block.language == "sh"
    for line in list_lines(block)
}
SETS = ROOT.parent / "shared/data"


def is_followed(page):
    """Whether a page has something that is neither long nor left out."""
    blocks = [block for block in read_blocks(page) if block.language != "text"]
    return any(block.language != "sh" or {line.typed for line in list_lines(block)} - APART for block in blocks)


FOLLOWED = list(filter(is_followed, PAGES))
FINDINGS = [page for page in FOLLOWED if page.parent.name == "results"]


@pytest.mark.parametrize("page", [page for page in FOLLOWED if page not in FINDINGS], ids=name_page)
def test_every_snippet_of_a_page_works(page, follow):
    follow(page)


@pytest.mark.long
@pytest.mark.parametrize("page", FINDINGS, ids=name_page)
def test_every_snippet_of_a_finding_works(page, follow):
    """Studies that print their kept rows: seldom touched, and each study has tests of its own."""
    follow(page)


@pytest.mark.long
@pytest.mark.parametrize("typed", LONG)
def test_a_command_that_takes_long_works(typed, new_home):
    new_home().run(COMMANDS[typed])


@pytest.mark.long
@pytest.mark.skipif(not SETS.is_dir(), reason=f"the real sets are not at {SETS}")
@pytest.mark.parametrize("typed", sorted(REAL))
def test_a_command_on_real_images_works(typed, new_home):
    new_home().run(COMMANDS[typed])


@pytest.mark.parametrize("typed", NOT_RUN)
def test_a_command_that_is_not_run_could_be_typed(typed, checkout):
    parse_line(typed, checkout)


def median_error(run: Path, sequence: str) -> float:
    return json.loads((run / "errors.json").read_text())["test"][sequence]["fused"]["median"]


def test_the_readmes_program_ends_localized(follow):
    assert follow(ROOT / "README.md").printed.startswith("localized")


def test_your_data_are_localized_as_the_page_says(follow):
    home = follow(ROOT / "docs/data.md").folder
    assert median_error(home / "runs/street", "night") < 1.0
    assert median_error(home / "runs/site", "evening") < 1.0


def test_your_bag_becomes_the_folder_that_the_page_says(follow):
    home = follow(ROOT / "docs/data.md").folder
    bag, folder = open_sequence(home / "morning.bag"), open_sequence(home / "data/morning")
    assert [frame.stamp for frame in folder] == [frame.stamp for frame in bag]
    assert all((ours.image() == theirs.image()).all() for ours, theirs in zip(folder, bag, strict=True))
