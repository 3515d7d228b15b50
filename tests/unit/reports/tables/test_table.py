"""A table prints the same digits everywhere and lets nothing through that its format would obey."""

import json
from html.parser import HTMLParser

import pytest

from tmapr.reports.tables.table import Table, TableColumn

COLUMNS = (TableColumn("run", "run"), TableColumn("rmse", "RMSE m", 2), TableColumn("jumps", "jumps", 0))
TABLE = Table(COLUMNS, (("noon", 3.14159, 12), ("night", None, None)), ("labels off",))


def holding(name):
    return Table(COLUMNS, ((name, 1.0, 1),), (name,))


@pytest.mark.parametrize("form", [Table.text, Table.markdown, Table.latex, Table.html])
def test_a_number_has_the_digits_of_its_column_in_every_format(form):
    assert "3.14" in form(TABLE)
    assert "3.141" not in form(TABLE)


@pytest.mark.parametrize("form", [Table.text, Table.markdown, Table.latex, Table.html, Table.json])
def test_the_notes_are_in_every_format(form):
    assert "labels off" in form(TABLE)


def test_json_keeps_the_value_itself():
    assert json.loads(TABLE.json())["rows"][0] == {"run": "noon", "rmse": 3.14159, "jumps": 12}


def test_none_is_a_dash_to_read_and_null_to_parse():
    assert TABLE.cells[1] == ("night", "–", "–")
    assert json.loads(TABLE.json())["rows"][1]["rmse"] is None


def test_a_pipe_in_a_name_does_not_open_a_cell():
    assert r"| a\|b |" in holding("a|b").markdown()


def test_markdown_carries_no_tag():
    assert "<" not in holding("<img src=x>").markdown()


@pytest.mark.parametrize(
    ("name", "safe"),
    [("_2021/left", r"\_2021/left"), (r"\input{x}", r"\textbackslash{}input\{x\}"), ("50 %", r"50 \%"), ("a~^", "")],
)
def test_latex_commands_in_a_name_are_text(name, safe):
    written = holding(name).latex()
    assert f"{safe} & 1.00 & 1" in written if safe else r"\textasciitilde{}\textasciicircum{}" in written


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.text = set(), ""

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.seen.add(tag)

    def handle_data(self, data):
        self.text += data


def test_a_script_in_a_name_is_text_on_a_page():
    tags = Tags()
    tags.feed(holding('"><script>alert(1)</script>').html())
    assert "script" not in tags.seen
    assert '"><script>alert(1)</script>' in tags.text


@pytest.mark.parametrize("form", [Table.text, Table.markdown, Table.latex, Table.html])
def test_a_terminal_code_in_a_name_is_not_obeyed(form):
    assert "\x1b" not in form(holding("\x1b[31mred"))


def test_a_line_break_in_a_name_does_not_end_a_row():
    assert "| a b | 1.00 | 1 |" in holding("a\nb").markdown()


def test_a_column_can_be_left_out():
    less = TABLE.without("rmse")
    assert less.titles == ("run", "jumps")
    assert less.cells[0] == ("noon", "12")
    assert less.notes == TABLE.notes


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 1 has 2 cells, the table has 3 columns"):
        Table(COLUMNS, (("noon", 1.0, 2), ("night", 1.0)))
