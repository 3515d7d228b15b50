"""Files that somebody else wrote, with right checksums: each part of each removed, of another kind, size or range.

They are read or refused in one line. Nothing else may happen, neither when they are read nor when they are used.
"""

import copy
import csv
import io
import json
import shutil
import warnings

import numpy as np

from commandline import command
from made_up import thin_percepts, write_block
from tmapr.artifacts.arrays import Header, save_arrays
from tmapr.artifacts.percepts import Recording
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import TmaprError
from tmapr.experiment import load


def finish_run(home, method):
    """A small run in which everything went well."""
    write_block(home, size=60.0)
    (home / "runs/block").rename(home / "run")
    thin_percepts(RunFolder(home / "run"), 10)
    given = (f"tracking.method={method}", "labels.mode=truth", "labels.delay=5")
    options = [word for each in given for word in ("--set", each)]
    for verb in ("map", "run"):
        assert command(verb, home / "block.toml", "--run", home / "run", "--quiet", *options) == 0
    localizer = load(home / "run")
    night = Recording.load(home / "run/percepts/night.npz")
    for percept, truth in zip(night.percepts[:20], night.truth, strict=False):
        localizer.teach(localizer.observe(percept), truth)
    localizer.save(home / "run")
    assert command("evaluate", home / "run", "--quiet") == 0
    return home


def use_localizer(home):
    localizer = load(home / "run")
    night = Recording.load(home / "run/percepts/night.npz")
    for percept, truth in zip(night.percepts[20:24], night.truth[20:24], strict=True):
        localizer.teach(localizer.observe(percept), truth)
    localizer.learn(night.percepts[0], night.truth[0])


def use_percepts(home):
    run(home, "run", home / "run/experiment.toml", "--run", home / "run", "--quiet")


def use_results(home):
    run(home, "evaluate", home / "run", "--quiet")
    run(home, "report", home / "run")


def report(home):
    run(home, "report", home / "run")
    run(home, "report", home / "run", "--table", "fusion")
    run(home, "report", home / "run", "--table", "localization")


def run(home, *arguments):
    assert command(*arguments) in (0, 2)


FLOATS = {
    "NaN": np.nan, "infinite": np.inf, "negative": -3.0, "huge": 1e300, "large": 1e14, "zero": 0.0, "tiny": 1e-300,
}  # fmt: skip
INTEGERS = {"negative": -3, "huge": np.iinfo(np.int64).max, "smallest": np.iinfo(np.int64).min, "large": 10**12}


def mutations(array):
    """The array made wrong in every way."""
    yield "removed", None
    yield "as text", array.astype("U")
    yield "as floats", np.zeros(array.shape)
    yield "as integers", np.zeros(array.shape, np.int64)
    yield "as booleans", np.zeros(array.shape, bool)
    yield "as bytes", np.zeros(array.shape, "S3")
    yield "complex", np.zeros(array.shape, complex)
    yield "one axis more", array[None]
    yield "flat", array.ravel()
    yield "a number", np.array(1.0)
    yield "empty", np.zeros(0, array.dtype)
    if array.ndim:
        yield "a row less", array[:-1]
        yield "a row more", np.concatenate([array, array[:1]])
        yield "no rows", array[:0]
        yield "one column", array[..., :1]
        yield "backwards", array[::-1]
    if array.dtype.kind in "fiu" and array.size:
        changed = array.astype(array.dtype if array.dtype.kind == "f" else np.int64)
        for name, value in (FLOATS if array.dtype.kind == "f" else INTEGERS).items():
            with np.errstate(all="ignore"):
                one = changed.copy()
                one.flat[one.size // 2] = value
                yield name, one
                yield f"all {name}", np.full_like(changed, value)
    if array.dtype.kind == "U" and array.size:
        yield "odd text", np.full(array.shape, "\0\n'\"é" * 3)


def spoil_arrays(path):
    """Each way of spoiling an array file, as a name and what does it."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    fields = json.loads(str(arrays.pop("header")))

    def rewrite(name, value):
        kept = {**arrays, name: value}
        header = Header(fields["kind"], fields["version"], fields["settings"], fields["notes"])
        return lambda path: save_arrays(path, header, {key: each for key, each in kept.items() if each is not None})

    for name, array in arrays.items():
        for how, value in mutations(array):
            yield f"{name} {how}", rewrite(name, value)
    for place, how, changed in spoil_tree(fields["notes"]):
        header = Header(fields["kind"], fields["version"], fields["settings"], changed)
        yield f"notes.{place} {how}", lambda path, header=header: save_arrays(path, header, arrays)
    for place in ("kind", "version", "settings", "notes", "arrays"):
        for how, value in WRONG.items():
            yield (
                f"header.{place} {how}",
                lambda path, place=place, value=value: forge(path, arrays, fields, place, value),
            )


def forge(path, arrays, fields, place, value):
    np.savez(path, header=np.array(json.dumps({**fields, place: value})), **arrays)


WRONG = {
    "null": None, "text": "odd\n", "a number": 7, "negative": -3.5, "true": True, "a list": [], "an object": {},
    "nested": {"a": [{"b": [[]]}]}, "huge": 1e308, "a long number": 10**400, "NaN": float("nan"), "long": "x" * 10_000,
}  # fmt: skip


def spoil_tree(tree, place=()):
    """Every part of a JSON document removed or replaced; of a list the first entry."""
    entries = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree[:1]))
    for key, value in entries:
        removed = copy.copy(tree)
        del removed[key]
        yield ".".join(map(str, (*place, key))), "removed", removed
        for how, wrong in WRONG.items():
            changed = copy.copy(tree)
            changed[key] = wrong
            yield ".".join(map(str, (*place, key))), how, changed
        if isinstance(value, dict | list) and value:
            for inner, how, below in spoil_tree(value, (*place, key)):
                changed = copy.copy(tree)
                changed[key] = below
                yield inner, how, changed


def spoil_document(path):
    tree = json.loads(path.read_text())
    for place, how, changed in spoil_tree(tree):
        yield f"{place} {how}", lambda path, changed=changed: path.write_text(json.dumps(changed))
    for how, text in {"empty": "", "a list": "[]", "null": "null", "deep": "[" * 10**6, "text": "\xff"}.items():
        yield how, lambda path, text=text: path.write_bytes(text.encode("latin-1"))


CELLS = ["", "x", "nan", "inf", "-inf", "1e308", "-3", "9" * 30, "9" * 5000, "0", "1e-320", " 1 ", "٣", "True", "1_0"]


def spoil_table(path):
    header, *rows = list(csv.reader(path.read_text().splitlines()))

    def rewrite(rows):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return lambda path: path.write_text(text.getvalue())

    for column, name in enumerate(header):
        yield f"{name} removed", rewrite([row[:column] + row[column + 1 :] for row in (header, *rows)])
        yield f"{name} twice", rewrite([[*row, row[column]] for row in (header, *rows)])
        for cell in CELLS:
            changed = copy.deepcopy(rows)
            changed[len(rows) // 2][column] = cell
            yield f"{name} {cell[:10]!r}", rewrite([header, *changed])
            yield (
                f"all of {name} {cell[:10]!r}",
                rewrite([header, *([cell if at == column else each for at, each in enumerate(row)] for row in rows)]),
            )
    yield "no rows", rewrite([header])
    yield "no header", rewrite(rows)
    yield "a short row", rewrite([header, rows[0][:-1], *rows])


KINDS = {
    "map.npz": (spoil_arrays, use_localizer),
    "state.npz": (spoil_arrays, use_localizer),
    "percepts/night.npz": (spoil_arrays, use_percepts),
    "percepts/noon.npz": (
        spoil_arrays,
        lambda home: run(home, "map", home / "run/experiment.toml", "--run", home / "run"),
    ),
    "estimates/night.belief.npz": (spoil_arrays, use_results),
    "estimates/night.candidates.npz": (spoil_arrays, use_results),
    "estimates/night.csv": (spoil_table, use_results),
    "provenance.json": (spoil_document, use_results),
    "errors.json": (spoil_document, report),
}


def survive(finished, folder, name, step, capfd):
    """Spoil a file in one way after another; what went wrong, and how many were refused."""
    spoilings, use = KINDS[name]
    wrong, refused = [], 0
    for number, (what, spoil) in enumerate(spoilings(finished / "run" / name)):
        if number % step:
            continue
        home = folder / "home"
        shutil.copytree(finished, home)
        spoil(home / "run" / name)
        capfd.readouterr()
        try:
            with warnings.catch_warnings(action="error"):
                use(home)
        except TmaprError as error:
            refused += 1
            if "\n" in str(error):
                wrong.append(f"{what}: {error}")
        except Exception as error:
            wrong.append(f"{what}: {type(error).__name__}: {error}")
        said = capfd.readouterr().err
        refused += said.startswith("tmapr: ")
        if not all(line.startswith("tmapr: ") for line in said.splitlines()):
            wrong.append(f"{what}: {said}")
        shutil.rmtree(home)
    return wrong, refused
