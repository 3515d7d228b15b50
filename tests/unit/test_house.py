"""The code keeps to its budget: a number rises only to one that an issue names, in a commit of its own."""

import pytest

import house
from house import count_house, read_file

MANY = "x = 1\n" * 301


@pytest.fixture(scope="module")
def tree():
    """What there is now; every file is parsed once."""
    return count_house(house.read_files(), house.list_entries())


def made(files, entries=()):
    return count_house({path: read_file(text, path[path.rindex(".") :]) for path, text in files.items()}, entries)


def test_no_number_is_above_the_budget(tree):
    assert house.list_rises(tree, house.load_budget()) == []


def test_a_module_counts_for_its_package_and_for_src_and_a_page_for_its_kind():
    found = made(
        {"src/tmapr/a/b/c.py": "if x:\n    y = (\n        1)\n", "src/tmapr/d.py": "", "src/tmapr/a/e.js": "1\n"}
    )
    assert {
        name: tuple(size[unit] for unit in ("files", "lines", "statements")) for name, size in found.sizes.items()
    } == {
        ".js": (1, 1, 0),
        "src": (2, 3, 2),
        "src/tmapr": (1, 0, 0),
        "src/tmapr/a": (1, 3, 2),
    }


@pytest.mark.parametrize(
    ("rule", "files", "offenders"),
    [
        ("long files", {"src/tmapr/a.py": MANY, "src/tmapr/b.py": MANY[6:]}, ["src/tmapr/a.py"]),
        (
            "long files",
            {"tests/unit/a/test_b.py": MANY, "src/tmapr/c.css": MANY},
            ["src/tmapr/c.css", "tests/test_b.py"],
        ),
        ("ambiguous types", {"src/tmapr/a.py": "class Track: 1", "src/tmapr/b.py": "Track = list[int]"}, ["Track"]),
        ("ambiguous types", {"src/tmapr/a.py": "class _Own: 1\nA = 1", "src/tmapr/b.py": "class _Own: 1\nA = 1"}, []),
        ("ambiguous types", {"src/tmapr/a.py": "class Track: 1", "tests/b.py": "class Track: 1"}, []),
        ("shared stems", {"src/tmapr/a/page.py": "", "src/tmapr/b/page.py": ""}, ["page"]),
        ("shared stems", {"src/tmapr/a/settings.py": "", "src/tmapr/b/settings.py": ""}, []),
        ("gerunds", {"src/tmapr/a/map_drawing.py": "", "src/tmapr/telling/__init__.py": ""}, None),
        ("gerunds", {"src/tmapr/tracking/__init__.py": "", "src/tmapr/a/matching.py": "", "tests/fuzzing.py": ""}, []),
    ],
)
def test_offenders_are_found_by_their_names(rule, files, offenders):
    expected = ["tmapr.a.map_drawing", "tmapr.telling"] if offenders is None else offenders
    assert sorted(made(files).offenders[rule]) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/tmapr/cli/run.py", "def run():\n    from tmapr.store.folder import Folder"),
        ("src/tmapr/cli/run.py", "from tmapr.store import folder"),
        ("src/tmapr/__init__.py", "import tmapr.store.folder"),
        ("src/tmapr/__main__.py", "start([python, '-m', 'tmapr.store.folder'])"),
        ("ros/node.py", "from tmapr.store.folder import Folder"),
    ],
)
def test_a_module_is_reached_from_where_the_product_begins(path, text):
    files = {
        path: text,
        "src/tmapr/store/__init__.py": "",
        "src/tmapr/store/folder.py": "",
        "src/tmapr/store/old.py": "",
    }
    assert list(made(files).offenders["unreached modules"]) == ["tmapr.store.old"]


def test_an_entry_point_and_what_is_imported_on_the_way_are_reached():
    files = {
        "src/tmapr/a.py": "import tmapr.b",
        "src/tmapr/b.py": "",
        "tests/test_c.py": "import tmapr.c",
        "src/tmapr/c.py": "",
    }
    assert list(made(files, ["tmapr.a"]).offenders["unreached modules"]) == ["tmapr.c"]


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("a = 1\nb = 2\nc = (\n    3\n)\n", []),
        ("a = 1\nc = (\n    3\n)\n", []),
        ("a = 1\n" * 6, ["6 lines", "6 statements", "1.000 lines a statement"]),
        ("a = 1\nb = 2\nc = 3\n", ["1.000 lines a statement"]),
    ],
)
def test_lines_and_statements_fall_together(now, told):
    kept = made({"benchmarks/a.py": "a = 1\nb = 2\nc = (\n    3\n)\n"})
    rises = house.list_rises(made({"benchmarks/a.py": now}), kept)
    assert [each in line for each, line in zip(told, rises, strict=True)] == [True] * len(told)


def test_a_new_package_and_a_new_offender_are_above_the_budget_though_an_old_one_went(tmp_path):
    house.save_budget(made({"src/tmapr/a/telling.py": ""}), tmp_path / "budget.json")
    rises = house.list_rises(made({"src/tmapr/b/keeping.py": ""}), house.load_budget(tmp_path / "budget.json"))
    assert rises == [
        "src/tmapr/b: 1 files, allowed are 0",
        "gerunds: tmapr.b.keeping is new (src/tmapr/b/keeping.py)",
        "unreached modules: tmapr.b.keeping is new (src/tmapr/b/keeping.py)",
    ]
