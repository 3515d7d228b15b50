"""No snippet hides: each block says what it is, each table of exceptions is of commands that the pages have."""

import re

import pytest
from blocks import LANGUAGES, PAGES, Block, list_inline, list_lines, name_page, read_blocks
from parsing import check_named
from tables import GIVEN, LONG, NOT_RUN, REAL

BLOCKS = [block for page in PAGES for block in read_blocks(page)]
TYPED = [line.typed for block in BLOCKS if block.language == "sh" for line in list_lines(block)]
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(?:tmapr|make|python|pip|docker|git|cd) ")


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_block_says_what_it_is(page):
    assert [block.place for block in read_blocks(page) if block.language not in LANGUAGES] == []


def is_synopsis(block: Block) -> bool:
    """Whether it stands right below the heading of its command, where tests/test_pages.py reads it."""
    heading = block.before.rstrip().rpartition("\n")[2].removeprefix("### ")
    return name_page(block.page) == "docs/commands.md" and block.lines[0].startswith(heading)


def test_no_command_is_called_text():
    texts = [block for block in BLOCKS if block.language == "text" and not is_synopsis(block)]
    assert [block.place for block in texts if any(map(COMMAND.match, block.lines))] == []


@pytest.mark.parametrize("table", [LONG, REAL, GIVEN, NOT_RUN], ids=["LONG", "REAL", "GIVEN", "NOT_RUN"])
def test_a_table_has_only_commands_of_the_pages(table):
    assert set(table) - set(TYPED) == set()


def test_a_command_is_in_one_table():
    assert not (LONG.keys() & NOT_RUN.keys() | REAL & (LONG.keys() | NOT_RUN.keys()))


def test_every_exception_has_a_reason():
    assert all((LONG | NOT_RUN).values())


@pytest.mark.parametrize("page", [page for page in PAGES if list_inline(page)], ids=name_page)
def test_commands_in_sentences_name_what_is_there(page):
    for typed in list_inline(page):
        check_named(typed)
