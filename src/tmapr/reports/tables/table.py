"""A table: the values as they were computed, and one way to print each column.

A number has the same digits in a terminal, in Markdown, LaTeX and HTML; JSON keeps the value itself. None prints as a
dash. Every value that comes from a file is escaped for the format that it goes into.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tmapr.reports.drawing.markup import element, escape, replace_unprintable

TableCell = str | int | float | None
NOTHING = "–"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "—": "---",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")


@dataclass(frozen=True, slots=True)
class Term:
    """Words for a page instead of letters, and what they mean; `key` where the meaning is listed under another one."""

    words: str
    meaning: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a page words a table: terms by the keys of columns, and words by those that cells and notes begin with."""

    columns: Mapping[str, Term] = field(default_factory=dict)
    openings: Mapping[str, str] = field(default_factory=dict)

    def title(self, column: "TableColumn") -> str:
        """Markup of what stands above a column; one of a group keeps the group's name."""
        group, _, key = column.key.rpartition(" ")
        term = self.columns.get(key)
        if term is None:
            return escape(column.title)
        headed = f"{group}: {term.words}" if group and column.title.startswith(f"{group}: ") else None
        return link_term(key, term, headed)

    def spell(self, text: str) -> str:
        """A cell or a note with its first letters spelled out."""
        opening = next((opening for opening in self.openings if text.startswith(opening)), None)
        return text if opening is None else self.openings[opening] + text.removeprefix(opening)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column by its key in JSON and its title elsewhere; one of numbers has a count of decimals."""

    key: str
    title: str
    decimals: int | None = None

    def format(self, value: TableCell) -> str:
        """The one spelling of a value."""
        if value is None:
            return NOTHING
        return f"{value:.{self.decimals or 0}f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values; the notes say what a reader must know to trust them."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} has {len(row)} cells, the table has {len(self.columns)} columns")

    @property
    def titles(self) -> tuple[str, ...]:
        """What stands above the columns."""
        return tuple(column.title for column in self.columns)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows as they are printed."""
        return tuple(
            tuple(column.format(value) for column, value in zip(self.columns, row, strict=True)) for row in self.rows
        )

    def without(self, *keys: str) -> "Table":
        """The same table less some columns."""
        kept = [place for place, column in enumerate(self.columns) if column.key not in keys]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return Table(tuple(self.columns[place] for place in kept), rows, self.notes)

    def known(self) -> "Table":
        """The same table less rows and columns of numbers of which nothing is known."""
        numbers = [place for place, column in enumerate(self.columns) if column.decimals is not None]
        rows = tuple(row for row in self.rows if any(row[place] is not None for place in numbers))
        empty = {self.columns[place].key for place in numbers if all(row[place] is None for row in rows)}
        return Table(self.columns, rows, self.notes).without(*empty)

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [tuple(map(_join_lines, line)) for line in (self.titles, *self.cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = [
            "  ".join(
                cell.ljust(width) if column.decimals is None else cell.rjust(width)
                for cell, width, column in zip(line, widths, self.columns, strict=True)
            )
            for line in lines
        ]
        return "".join(f"{line.rstrip()}\n" for line in [*aligned, *map(_join_lines, self.notes)])

    def markdown(self) -> str:
        """A pipe table, its notes as a list beneath."""
        rule = ["---" if column.decimals is None else "---:" for column in self.columns]
        lines = [map(_escape_markdown, self.titles), rule, *(map(_escape_markdown, line) for line in self.cells)]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return table + "".join(f"\n- {_escape_markdown(note)}" for note in self.notes) + ("\n" if self.notes else "")

    def latex(self) -> str:
        """A tabular for the package booktabs, its notes as last lines."""
        layout = "".join("l" if column.decimals is None else "r" for column in self.columns)
        head, *body = (f"{' & '.join(map(_escape_latex, line))} \\\\" for line in (self.titles, *self.cells))
        span = f"\\multicolumn{{{len(self.columns)}}}{{l}}"
        notes = [f"{span}{{\\footnotesize {_escape_latex(note)}}} \\\\" for note in self.notes]
        rules = [f"\\begin{{tabular}}{{{layout}}}", "\\toprule", head, "\\midrule", *body, "\\bottomrule", *notes]
        return "\n".join([*rules, "\\end{tabular}"]) + "\n"

    def json(self) -> str:
        """Rows by key, with unrounded numbers."""
        keys = [column.key for column in self.columns]
        rows = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return json.dumps({"rows": rows, "notes": self.notes}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def html(self, wording: Wording | None = None, caption: str = "") -> str:
        """A table whose rows are headed by their first cell, its notes as paragraphs beneath."""
        worded = wording or Wording()
        kinds = ["words" if column.decimals is None else "number" for column in self.columns]
        head = [_th(worded.title(column), kind, "col") for column, kind in zip(self.columns, kinds, strict=True)]
        body = [self._row(line, kinds, worded) for line in self.cells]
        rows = element("thead", {}, element("tr", {}, *head)) + element("tbody", {}, *body)
        # Beside the box and not in the table: it stays where the table scrolls.
        named = element("p", {"class": "caption"}, escape(caption)) if caption else ""
        notes = "".join(element("p", {"class": "note"}, escape(worded.spell(note))) for note in self.notes)
        # What scrolls must be reached by keys, too.
        box = {"class": "table", "tabindex": "0", "role": "group", "aria-label": caption or "table"}
        return named + element("div", box, element("table", {}, rows)) + notes

    def _row(self, line: Sequence[str], kinds: Sequence[str], wording: Wording) -> str:
        # Numbers are never spelled out, and neither are names: only the fixed words of a column of words.
        told = [
            escape(wording.spell(cell) if column.key in wording.columns and kind == "words" else cell)
            for cell, column, kind in zip(line, self.columns, kinds, strict=True)
        ]
        cells = (element("td", {"class": kind}, cell) for cell, kind in zip(told[1:], kinds[1:], strict=True))
        return element("tr", {}, _th(told[0], kinds[0], "row"), *cells)


def link_term(key: str, term: Term, words: str | None = None) -> str:
    """A term as a link to its meaning in the page's list."""
    return element("a", {"class": "term", "href": f"#term-{term.key or key}"}, escape(words or term.words))


def head_group(name: str, columns: Sequence[TableColumn]) -> list[TableColumn]:
    """The columns of one of several groups side by side; the first is titled with the group's name."""
    first, *rest = (TableColumn(f"{name} {column.key}", column.title, column.decimals) for column in columns)
    return [TableColumn(first.key, f"{name}: {first.title}", first.decimals), *rest]


def _th(title: str, kind: str, scope: str) -> str:
    return element("th", {"class": kind, "scope": scope}, title)


def _join_lines(text: str) -> str:
    return replace_unprintable(" ".join(text.split()))


def _escape_markdown(text: str) -> str:
    # Angle brackets too: Markdown lets HTML through.
    return _MARKDOWN.sub(r"\\\1", html.escape(_join_lines(text), quote=False))


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _join_lines(text))
