"""Which code, settings and machine a row comes from: the present source as a digest, the commit, the processor."""

import ast
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tmapr.artifacts.documents.decisions import Machine, MadeBy
from tmapr.config.dump import tree_digest
from tmapr.config.tree import as_tree
from tmapr.device import find_processor
from tmapr.plugins import TRACKING, choose_offer, is_plugin
from tmapr.studies.study_plan import AskedMethod

PACKAGE = Path(__file__).resolve().parents[1]
ROOTS = (
    *("tmapr.localizer", "tmapr.system", "tmapr.running.progressive", "tmapr.evaluation.decisions"),
    *("tmapr.studies.cases", "tmapr.studies.worlds"),
)
"""Modules that make a row; what they import, wherever that is written, can change it, too."""


def digest_source(roots: Sequence[str] = ROOTS, folder: Path = PACKAGE) -> str:
    """SHA-256 of the syntax trees of all modules that `roots` import within the package, and of theirs.

    Comments, docstrings and the layout of lines are no part of it, and neither is what `tmapr/__init__.py` offers.
    """
    waiting, trees = list(roots), dict[str, ast.Module]()
    while waiting:
        name = waiting.pop()
        path = folder.joinpath(*name.split(".")[1:])
        files = [each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()]
        if files and name not in trees:
            trees[name] = ast.parse(files[0].read_text())
            waiting += _list_imports(trees[name], folder.name)
    found = hashlib.sha256()
    for name, tree in sorted(trees.items()):
        found.update(f"{name} {ast.dump(_strip_texts(tree))}\n".encode())
    return found.hexdigest()


def _list_imports(tree: ast.Module, package: str) -> Iterator[str]:
    """What may be a module of the package, and the packages that it is in, short of the outermost."""
    for node in ast.walk(tree):
        begins = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            parts = f"{begins}{each.name}".split(".")
            if parts[0] == package:
                yield from (".".join(parts[:end]) for end in range(2, len(parts) + 1))


def _strip_texts(tree: ast.Module) -> ast.Module:
    """Without statements that are a constant and nothing else, docstrings among them: they do nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [
                each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            ]
    return tree


def digest_method(method: AskedMethod) -> str:
    """Names what a method does: every setting, its baseline, and the version of a plug-in, which is imported."""
    system = method.system
    named = system.tracking.method
    mark = choose_offer("tracking.method", named, TRACKING).mark if is_plugin(named) else ""
    return tree_digest(as_tree(system) | {"baseline": method.baseline, "plugin": mark})


def describe_maker(source: str, settings: str, data: str) -> MadeBy:
    """What makes rows here and now."""
    commit, dirty = _ask_git()
    return MadeBy(commit=commit, dirty=dirty, source=source, settings=settings, data=data, machine=_describe_machine())


@cache
def _ask_git() -> tuple[str | None, bool]:
    """The commit of the checkout that the package lies in, and whether its sources differ from it."""

    def ask(*words: str) -> str | None:
        try:
            told = subprocess.run(["git", "-C", str(PACKAGE), *words], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        return told.stdout.strip()

    # Installed into somebody's own repository it is no part of that.
    tracked = ask("ls-files", "--error-unmatch", "localizer.py")
    return (ask("rev-parse", "HEAD"), bool(ask("status", "--porcelain", "--", "."))) if tracked else (None, False)


@cache
def _describe_machine() -> Machine:
    versions = {name: version(name) for name in ("numpy", "numba")}
    return Machine(processor=find_processor(), cores=os.cpu_count() or 1, python=platform.python_version(), **versions)
