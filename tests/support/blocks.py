"""What the pages show: fenced blocks, the commands in them and within sentences, and whether those could be typed."""

import re
from dataclasses import dataclass
from pathlib import Path

from typer.main import get_command

from repository import ROOT
from tmapr.cli.main import app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("python", "toml", "sh", "csv", "text")
"""What is followed, each in its way; `text` is what nobody types: trees, synopses, what a command printed."""

_BLOCK = re.compile(r"^([ ]*)```([^\n]*)\n(.*?)^[ ]*```[ ]*$", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"(?:\.venv/bin/)?(?:tmapr|make|python|pip|docker)\s")
_TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: where it opens, what is in it, and the text of the page before that."""

    place: str
    language: str
    text: str
    before: str

    @property
    def commands(self) -> list[str]:
        """As they are typed, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [typed for line in lines if (typed := " ".join(re.sub(r"(?:^|\s+)#\s.*$", "", line).split()))]

    def named_file(self, suffix: str) -> str | None:
        """The file that it says it is in its first line, or the last one named in the paragraph before it."""
        paragraph = self.before.rstrip().rpartition("\n\n")[2]
        own = re.match(rf"# (\S+{re.escape(suffix)})\n", self.text)
        named = [own[1]] if own else re.findall(rf"`([\w/.-]+{re.escape(suffix)})`", paragraph)
        return named[-1] if named else None


def name_page(page: Path) -> str:
    """Its path in the checkout."""
    return str(page.relative_to(ROOT))


def read_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        found.append(Block(f"{name_page(page)}:{len(before.splitlines()) + 1}", match[2].strip(), match[3], before))
    return found


def list_inline(page: Path) -> list[str]:
    """Commands in backticks within sentences."""
    found = (" ".join(each.split()) for each in re.findall(r"`([^`]+)`", _BLOCK.sub("", page.read_text())))
    return [each for each in found if _TYPED.match(each)]


def check_typed(typed: str) -> None:
    """Refuse a command whose verb, option, target or script is not there; arguments may be left out."""
    words = [word.rstrip(";") for word in typed.replace("…", "").split() if not re.match(r"\w+=|time$", word)]
    name, rest = Path(words[0]).name, words[1:]
    if name == "make":
        assert set(rest) <= _TARGETS, typed
    elif name == "python":
        scripts = rest[2:] if rest[:2] == ["-m", "pytest"] else rest[:1]
        assert all(list(ROOT.glob(script)) for script in scripts if not script.startswith("-")), typed
    elif name == "tmapr" and not rest[0].isupper():
        found = get_command(app)
        while rest and hasattr(found, "commands") and not rest[0].startswith("-"):
            assert rest[0] in found.commands, typed
            found, rest = found.commands[rest[0]], rest[1:]
        known = {option for each in found.params for option in (*each.opts, *each.secondary_opts)}
        known |= {"--help", "--install-completion", "--show-completion"}
        assert {word for word in rest if re.fullmatch(r"--[a-z][a-z0-9-]*", word)} <= known, typed
