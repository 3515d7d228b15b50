"""A digest of source sees every number, whatever module it is in, and no comment."""

import pytest

from tmapr.studies.provenance import digest_method, digest_source
from tmapr.studies.study_plan import AskedMethod

START = '''"""Begins."""
from pack.rooms.filter import STEP


def run():
    """Run."""
    from pack import late
'''
MODULES = {
    "__init__.py": "from pack.api import offer\n",
    "start.py": START,
    "rooms/__init__.py": "KIND = 1\n",
    "rooms/filter.py": 'STEP = 0.5\n"""Metres."""\n',
    "late.py": "LAST = 3\n",
    "api.py": "offer = 1\n",
}


@pytest.fixture
def digest(tmp_path):
    def write(**changed):
        for name, text in (MODULES | changed).items():
            path = tmp_path / "pack" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return digest_source(("pack.start",), tmp_path / "pack")

    return write


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("rooms/filter.py", "# half a metre\nSTEP = (\n    0.5\n)\n"),
        ("rooms/filter.py", 'STEP = 0.5\n"""In metres, along the route."""\n'),
        ("start.py", MODULES["start.py"].replace("Run.", "Run it.").replace("Begins.", "It begins.")),
        ("api.py", "offer = 2\n"),
    ],
)
def test_comments_docstrings_and_modules_that_nothing_imports_do_not_count(digest, file, text):
    assert digest() == digest(**{file: text})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("rooms/filter.py", "STEP = 0.25\n"),
        ("rooms/__init__.py", "KIND = 2\n"),
        ("late.py", "LAST = 4\n"),
        ("start.py", MODULES["start.py"] + "run()\n"),
    ],
)
def test_a_changed_number_counts_wherever_it_is_imported(digest, file, text):
    assert digest() != digest(**{file: text})


def test_methods_differ_by_settings_and_baseline_and_not_by_name():
    plain = digest_method(AskedMethod(name="a"))
    assert plain == digest_method(AskedMethod(name="b", set=("tracking.method = 'route'",)))
    assert plain != digest_method(AskedMethod(name="a", set=("places.cell = 7.0",)))
    assert plain != digest_method(AskedMethod(name="a", baseline="first"))
