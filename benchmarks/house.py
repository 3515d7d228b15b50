"""How the house reads: sizes of files and functions, dicts used as records, names that mislead.

    python benchmarks/house.py                  # the working tree
    python benchmarks/house.py fdac65f HEAD     # two commits side by side

The rules, which do not change with what they find:

- a *dict used as a record*: a line of src with the annotation `dict[str, Any]` or `dict[str, object]`, or `Mapping` so;
- a *type name with several meanings*: a class or a module's type alias (an assignment to a CamelCase name) whose name
  is defined in more than one file of src;
- a *function named by a participle*: one whose name's first or last word is a participle ("found", "opened_parts",
  "_mapped"). Words that are infinitives too (read, run, put, set, cut, spread) do not count, nor do functions that
  return a truth value or an array of them, which are named by statements (`accepted`, `is_done`);
- lines are physical lines, of a file or from a function's `def` to its last one.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

SOURCE = "src/tmapr"
RECORD = re.compile(r"\b(?:dict|Mapping)\[str, (?:Any|object)\]")
TYPE_NAME = re.compile(r"_?[A-Z][a-z]\w*")
IRREGULAR = re.compile(
    "found|held|told|shown|written|drawn|seen|known|taken|made|given|chosen|built|kept|said|met|left|sent|begun|done|gone"
    "|driven|hidden|laid|led|meant|paid|stood|taught|thought|understood|worn|bound|bent|torn|swept|thrown|woken|lost"
)
NO_PARTICIPLE = re.compile("need|seed|feed|speed|bed|red|shed|exceed|embed|proceed")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class House:
    """What was counted in one tree."""

    files: list[int]
    functions: list[int]
    records: list[str]
    ambiguous: dict[str, list[str]]
    participles: list[str]


def count_house(sources: dict[str, str]) -> House:
    files, functions, records, participles = [], [], [], []
    types: dict[str, set[str]] = defaultdict(set)
    for path, text in sources.items():
        tree = ast.parse(text)
        files.append(text.count("\n"))
        records += [f"{path}:{number}" for number, line in enumerate(text.splitlines(), 1) if RECORD.search(line)]
        for node in ast.walk(tree):
            if isinstance(node, Function):
                functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
                if is_named_by_participle(node):
                    participles.append(f"{path}:{node.lineno} {node.name}")
        for name in named_types(tree):
            types[name].add(path)
    ambiguous = {name: sorted(paths) for name, paths in sorted(types.items()) if len(paths) > 1}
    return House(files, functions, records, ambiguous, participles)


def named_types(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if TYPE_NAME.fullmatch(name):
                yield name


def is_named_by_participle(node: Function) -> bool:
    words = node.name.strip("_").split("_")
    states = node.returns is not None and "bool" in ast.unparse(node.returns).lower()
    return not states and (is_participle(words[0]) or is_participle(words[-1]))


def is_participle(word: str) -> bool:
    regular = word.endswith("ed") and not NO_PARTICIPLE.fullmatch(word)
    return regular or IRREGULAR.fullmatch(word) is not None


def read_tree(commit: str | None) -> dict[str, str]:
    """The Python files of src in a commit, or as they lie here."""
    if commit is None:
        return {str(path): path.read_text(encoding="utf-8") for path in sorted(Path(SOURCE).rglob("*.py"))}
    names = _output("git", "ls-tree", "-r", "--name-only", commit, SOURCE).splitlines()
    return {name: _output("git", "show", f"{commit}:{name}") for name in names if name.endswith(".py")}


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rows(house: House) -> dict[str, str]:
    def spread(sizes: list[int]) -> str:
        return f"{median(sizes):.0f}, {quantiles(sizes, n=10)[-1]:.0f}, {max(sizes)}"

    return {
        "files of src": str(len(house.files)),
        "lines of src": str(sum(house.files)),
        "lines a file: median, p90, most": spread(house.files),
        "functions": str(len(house.functions)),
        "lines a function: median, p90, most": spread(house.functions),
        "lines that use a dict as a record": str(len(house.records)),
        "type names with several meanings": str(len(house.ambiguous)),
        "functions named by a participle": str(len(house.participles)),
    }


def main() -> None:
    listed, commits = "--list" in sys.argv, [word for word in sys.argv[1:] if word != "--list"]
    houses = [count_house(read_tree(commit)) for commit in commits or [None]]
    columns = [rows(house) for house in houses]
    print("| | " + " | ".join(commits or ["here"]) + " |\n|---|" + "---:|" * len(columns))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")
    if listed:
        last = houses[-1]
        print("\n".join(["", *last.records, "", *(f"{name}: {', '.join(at)}" for name, at in last.ambiguous.items())]))
        print("\n".join(["", *last.participles]))


if __name__ == "__main__":
    main()
