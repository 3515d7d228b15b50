"""docs/api.md from the docstrings of what `import tmapr` offers:

python benchmarks/api.py docs/api.md
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import tmapr
from tmapr.artifacts.atomic import write_text

CHAPTERS = {
    "Mapping, loading, running": (
        *("make_map", "load", "run", "follow", "open_run", "open_sequence", "locate_sample", "Run"),
    ),
    "The localizer": ("Localizer", "Lesson"),
    "What it is given": ("Frame", "Odometry", "Sequence", "Recording", "CoordinateFrame"),
    "What it answers": (
        *("Estimate", "Status", "Verdict", "Reason", "Candidate", "Belief", "Recognition", "Answer", "Timings"),
    ),
    "Between the two": ("Percept", "Fault"),
    "What a package of yours may offer": ("Describe", "TrackingMethod", "Judgement", "Memory"),
    "What is read back": ("EstimateTable", "Errors"),
    "What is refused": ("TmaprError", "InputError", "StateError"),
}
INTRODUCTION = """# From a program

Everything here is offered by `import tmapr`, which takes milliseconds: a name brings what it needs when it is used.
Positions are metres in the map's frame, angles radians (0 = East, counter-clockwise), stamps integer nanoseconds.
Types are checked by `mypy --strict`. This page is made from the docstrings:

```sh
python benchmarks/api.py docs/api.md
```
"""


def describe_all() -> Iterator[str]:
    yield INTRODUCTION
    missing = set(tmapr.__all__) - {"__version__", *(name for names in CHAPTERS.values() for name in names)}
    if missing:
        raise ValueError(f"no chapter has {', '.join(sorted(missing))}")
    for title, names in CHAPTERS.items():
        yield f"## {title}\n"
        for name in names:
            yield from describe(name)


def describe(name: str) -> Iterator[str]:
    """A function, or a class with its fields and methods."""
    thing = tmapr.__getattr__(name)
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if isinstance(node, ast.FunctionDef):
        yield from describe_function(node, "tmapr.", "###")
        return
    assert isinstance(node, ast.ClassDef)
    yield f"### `tmapr.{name}`\n"
    yield f"{reflow(ast.get_docstring(node))}\n"
    fields = list(list_fields(node))
    if fields:
        yield "".join(f"- {line}\n" for line in fields)
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or not ast.get_docstring(method):
            continue
        if method.name[0] != "_" or method.name == "__call__":
            yield from describe_function(method, "", "####")


def describe_function(node: ast.FunctionDef, prefix: str, level: str) -> Iterator[str]:
    """Its signature, as it is written, and its docstring."""
    decorators = [ast.unparse(each) for each in node.decorator_list]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    call = "" if "property" in decorators else f"({arguments})"
    yield f"{level} `{prefix}{node.name}{call}{returned.replace(chr(39), '')}`\n"
    yield f"{reflow(ast.get_docstring(node))}\n"


def list_fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields of a value, or the words of an enumeration, each with what is written below it."""
    for place, line in enumerate(node.body):
        below = node.body[place + 1] if place + 1 < len(node.body) else None
        told = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            told = f": {reflow(str(below.value.value))}"
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id[0] != "_":
            yield f"`{line.target.id}: {ast.unparse(line.annotation).replace(chr(39), chr(34))}`{told}"
        elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            yield f"`{line.targets[0].id}` = {ast.unparse(line.value)}{told}"


def reflow(text: str | None) -> str:
    """Paragraphs on a line each: Markdown breaks them as it likes."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), "\n".join(describe_all()))
