"""The size of the code and the names in it, held to a budget that only falls (tests/unit/test_house.py).

    python benchmarks/house.py            # what there is, what the budget allows, and what breaks it
    python benchmarks/house.py --list     # and every offender by name
    python benchmarks/house.py --keep     # make what there is the budget, benchmarks/rows/house.json

- lines are physical lines; statements are those of Python's syntax tree, docstrings among them;
- a *long file* has more than 300 lines;
- an *ambiguous type* is a public class, or a CamelCase alias of a module, that more than one file of src defines;
- a *shared stem* is the name of modules in several packages of src, `settings` and dunder names apart;
- a *gerund* is a module or a package of src whose name ends in -ing, words for a thing of the field apart;
- an *unreached module* is imported, at the top, inside a function or by its name in a string, by nothing that begins
  with the commands, `import tmapr`, an entry point, the ROS package or an example.

A number rises only to one that an issue names, in a commit of its own. Lines and statements fall together: lines a
statement may not sink by more than 2 %.
"""

import ast
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "benchmarks/rows/house.json"
FOLDERS = ("src", "tests", "benchmarks", "ros", "examples")
PAGES = (".js", ".css", ".html")
MAX_LINES = 300
MIN_RATIO = 0.98
FIELD_NOUNS = {"training", "tracking", "pooling", "matching"}
ALIAS = re.compile(r"[A-Z]+[a-z]\w*")
MODULE = re.compile(r"tmapr(\.\w+)*")


@dataclass(frozen=True, slots=True)
class File:
    """What is counted in a file; one that is not Python has lines alone."""

    lines: int
    statements: int = 0
    types: Set[str] = frozenset()
    imports: Set[str] = frozenset()


Files = Mapping[str, File]
Offenders = dict[str, list[str]]
"""In which files each of them is."""


@dataclass(frozen=True, slots=True)
class House:
    """Files, lines and statements of each folder, package and kind of page; by each rule, who breaks it."""

    sizes: dict[str, Counter[str]]
    offenders: dict[str, Offenders]

    def ratio(self, folder: str) -> float:
        """Lines a statement."""
        size = self.sizes.get(folder, Counter())
        return size["lines"] / max(size["statements"], 1)


def read_files(root: Path = ROOT) -> dict[str, File]:
    """Every file that is counted, by its path from the root."""
    found = sorted(path for folder in FOLDERS for kind in (".py", *PAGES) for path in (root / folder).rglob(f"*{kind}"))
    return {path.relative_to(root).as_posix(): read_file(path.read_text(), path.suffix) for path in found}


def read_file(text: str, suffix: str = ".py") -> File:
    """The syntax tree is walked once and let go: a thousand of them are a burden to the collector."""
    if suffix != ".py":
        return File(text.count("\n"))
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    types = {node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    assigned = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    types |= {name.id for name in assigned if isinstance(name, ast.Name) and ALIAS.fullmatch(name.id)}
    return File(text.count("\n"), statements, types, {name for node in nodes for name in _list_imports(node)})


def _list_imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
        return [node.value]
    return []


def count_house(files: Files, entries: Iterable[str] = ()) -> House:
    """What there is; `entries` are modules that are started by their names."""
    sizes: dict[str, Counter[str]] = defaultdict(Counter)
    for path, file in files.items():
        for group in _list_groups(PurePosixPath(path)):
            sizes[group] += Counter(files=1, lines=file.lines, statements=file.statements)
    modules = {_name_module(path): path for path in files if path.startswith("src/") and path.endswith(".py")}
    stems = [(PurePosixPath(path).stem, path) for path in modules.values()]
    types = [(name, path) for path in modules.values() for name in files[path].types]
    gerunds = [name for name in modules if name.endswith("ing") and name.split(".")[-1] not in FIELD_NOUNS]
    offenders = {
        "long files": {_name_long(path): [path] for path, file in files.items() if file.lines > MAX_LINES},
        "ambiguous types": _find_repeated(types),
        "shared stems": _find_repeated(each for each in stems if each[0] not in ("settings", "__init__", "__main__")),
        "gerunds": {name: [modules[name]] for name in gerunds},
        "unreached modules": {name: [modules[name]] for name in _find_unreached(files, modules, entries)},
    }
    return House(dict(sorted(sizes.items())), offenders)


def _list_groups(path: PurePosixPath) -> list[str]:
    """A page is of its kind, a module of its package and of src, any other file of its folder."""
    if path.suffix in PAGES:
        return [path.suffix]
    return ["src", "/".join(path.parts[:-1][:3])] if path.parts[0] == "src" else [path.parts[0]]


def _name_long(name: str) -> str:
    """Without the folders of a test, which has its name whatever folder it moves to."""
    path = PurePosixPath(name)
    return name if path.parts[0] == "src" else f"{path.parts[0]}/{path.name}"


def _name_module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _find_repeated(found: Iterable[tuple[str, str]]) -> Offenders:
    where: Offenders = defaultdict(list)
    for name, path in found:
        where[name].append(path)
    return {name: paths for name, paths in sorted(where.items()) if len(paths) > 1}


def _find_unreached(files: Files, modules: Mapping[str, str], entries: Iterable[str]) -> list[str]:
    begins = ("tmapr.cli", "tmapr.__main__")
    waiting = {name for name in modules if name == "tmapr" or name.startswith(begins)} | (modules.keys() & set(entries))
    for path, file in files.items():
        if path.startswith(("ros/", "examples/")):
            waiting |= _find_imported(file, modules)
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= _find_imported(files[modules[name]], modules) - reached
    return sorted(modules.keys() - reached)


def _find_imported(file: File, modules: Mapping[str, str]) -> set[str]:
    """Modules that a file may import, with the packages that they are in."""
    parts = [name.split(".") for name in file.imports]
    return {".".join(each[:end]) for each in parts for end in range(1, len(each) + 1)} & modules.keys()


def list_entries(root: Path = ROOT) -> list[str]:
    """Modules that the package's entry points name."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    groups = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    return [value.split(":")[0] for group in groups for value in group.values()]


def list_rises(now: House, kept: House) -> list[str]:
    """What breaks the budget, a line each."""
    told = []
    for name, size in now.sizes.items():
        allowed = kept.sizes.get(name, Counter())
        told += [f"{name}: {n} {unit}, allowed are {allowed[unit]}" for unit, n in size.items() if n > allowed[unit]]
    for folder in FOLDERS[:3]:
        ratio, least = now.ratio(folder), MIN_RATIO * kept.ratio(folder)
        if ratio < least:
            told.append(f"{folder}: {ratio:.3f} lines a statement, allowed are {least:.3f} or more")
    for rule, found in now.offenders.items():
        new = found.keys() - kept.offenders.get(rule, {}).keys()
        told += [f"{rule}: {name} is new ({', '.join(found[name])})" for name in sorted(new)]
    return told


def load_budget(path: Path = BUDGET) -> House:
    kept = json.loads(path.read_text())
    sizes = {name: Counter(size) for name, size in kept["sizes"].items()}
    return House(sizes, {rule: {name: [] for name in names} for rule, names in kept["offenders"].items()})


def save_budget(house: House, path: Path = BUDGET) -> None:
    kept = {"sizes": house.sizes, "offenders": {rule: sorted(found) for rule, found in house.offenders.items()}}
    path.write_text(json.dumps(kept, indent=1) + "\n")


def describe(now: House, kept: House) -> Iterator[str]:
    """Two tables: sizes, and how many break each rule; what the budget allows in brackets."""
    yield "| | files | lines | statements |\n|---|---:|---:|---:|"
    for name in sorted(now.sizes.keys() | kept.sizes.keys()):
        size, allowed = now.sizes.get(name, Counter()), kept.sizes.get(name, Counter())
        cells = [f"{size[unit]} ({allowed[unit]})" for unit in ("files", "lines", "statements")]
        yield f"| {name} | {' | '.join(cells)} |"
    yield "\n| rule | offenders |\n|---|---:|"
    for rule, found in now.offenders.items():
        yield f"| {rule} | {len(found)} ({len(kept.offenders.get(rule, {}))}) |"


def main() -> None:
    now = count_house(read_files(), list_entries())
    kept = load_budget() if BUDGET.exists() else House({}, {})
    print(*describe(now, kept), "", *list_rises(now, kept), sep="\n")
    if "--list" in sys.argv:
        for rule, found in now.offenders.items():
            print(f"\n{rule}", *(f"{name}: {', '.join(paths)}" for name, paths in found.items()), sep="\n  ")
    if "--keep" in sys.argv:
        save_budget(now)


if __name__ == "__main__":
    main()
