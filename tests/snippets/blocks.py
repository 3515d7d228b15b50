"""What the pages show: fenced blocks, the lines of commands in them, and commands within sentences."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("python", "toml", "sh", "csv", "text")
"""What is followed, each in its way; `text` is what nobody types: trees, synopses, what a command printed."""

_FENCE = re.compile(r"^\s*```(.*)$")
_COMMENT = re.compile(r"(?:^|\s+)#\s.*$")
_INLINE = re.compile(r"`([^`]+)`")
_TYPED = re.compile(r"(?:\.venv/bin/)?(?:tmapr|make|python|pip|docker)\s")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: where it opens, and the text of the page before that."""

    page: Path
    number: int
    language: str
    lines: tuple[str, ...]
    before: str

    @property
    def place(self) -> str:
        """As an editor finds it."""
        return f"{name_page(self.page)}:{self.number}"

    @property
    def text(self) -> str:
        """What is between the fences."""
        return "".join(f"{line}\n" for line in self.lines)

    def named_file(self, suffix: str) -> str | None:
        """The file that it says it is in its first line, or the last one named in the paragraph before it."""
        paragraph = self.before.rstrip().rpartition("\n\n")[2]
        own = re.match(rf"# (\S+{re.escape(suffix)})$", self.lines[0])
        named = [own[1]] if own else re.findall(rf"`([\w/.-]+{re.escape(suffix)})`", paragraph)
        return named[-1] if named else None


@dataclass(frozen=True, slots=True)
class Line:
    """A command as it is typed, without its comment."""

    place: str
    typed: str


def name_page(page: Path) -> str:
    """Its path in the checkout."""
    return str(page.relative_to(ROOT))


def read_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    lines = page.read_text().splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if (fence := _FENCE.match(line)) is None:
            continue
        if opened is None:
            opened, language = number, fence[1].strip()
            continue
        inside = tuple(lines[opened + 1 : number])
        found.append(Block(page, opened + 1, language, inside, "\n".join(lines[:opened])))
        opened = None
    if opened is not None:
        raise ValueError(f"{name_page(page)}:{opened + 1}: the block is not closed")
    return found


def list_lines(block: Block) -> list[Line]:
    """The commands of a block."""
    lines = block.text.replace("\\\n", " ").splitlines()
    typed = (" ".join(_COMMENT.sub("", line).split()) for line in lines)
    return [Line(block.place, each) for each in typed if each]


def list_inline(page: Path) -> list[str]:
    """Commands in backticks within sentences."""
    sentences = re.sub(r"^\s*```.*?^\s*```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = (" ".join(each.split()) for each in _INLINE.findall(sentences))
    return [each for each in found if _TYPED.match(each)]
