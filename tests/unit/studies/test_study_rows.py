"""A row is kept for what made it, and computed again for anything else; pages cite rows of the present source."""

import re

import pytest

from repository import ROOT
from study_rows import make_row
from tmapr.exceptions import InputError
from tmapr.studies import run_study
from tmapr.studies.provenance import digest_source
from tmapr.studies.study_plan import read_plan
from tmapr.studies.worlds import list_places

PLAN = ROOT / "experiments/studies/development.toml"
CITED = re.compile(r"^<!-- rows: (\S+?)(?:, as of (\w{7,40}))? -->$", re.MULTILINE)
MOST_OLD = 2


@pytest.fixture
def source(monkeypatch):
    """As if all of it had been read."""
    monkeypatch.setattr(run_study, "digest_source", lambda: "now")


@pytest.fixture
def jobs(tmp_path, source):
    plan = read_plan(PLAN, ["worlds.count=1", "worlds.families=['campus', 'city']"])
    places = list_places(plan, tmp_path)
    return lambda: run_study.list_jobs(plan, places, tmp_path)


def list_missing(jobs):
    return {(job.asked.place.name, method.name) for job in jobs for method, _ in job.missing}


def test_without_rows_everything_is_missing(jobs):
    methods = ("default", "first", "sequence")
    assert list_missing(jobs()) == {(place, name) for place in ("campus-2", "city-2") for name in methods}


@pytest.mark.parametrize(
    ("changed", "kept"),
    [({}, True), ({"source": "then"}, False), ({"settings": "others"}, False), ({"data": "other"}, False)],
)
def test_a_row_of_this_source_these_settings_and_this_data_is_not_missing(jobs, tmp_path, changed, kept):
    job, _ = jobs()
    method, settings = job.missing[0]
    made = {"source": job.source, "settings": settings, "data": job.data} | changed
    path = tmp_path / method.name / "campus-2.json"
    path.parent.mkdir()
    make_row("campus-2", **made).save(path)
    assert (("campus-2", "default") in list_missing(jobs())) is not kept


def test_a_row_that_cannot_be_read_is_computed_again(jobs, tmp_path):
    (tmp_path / "default").mkdir()
    (tmp_path / "default/campus-2.json").write_text("{")
    assert ("campus-2", "default") in list_missing(jobs())


def test_rows_of_a_method_without_any_are_refused_with_where_they_would_be(tmp_path):
    with pytest.raises(InputError, match=r"no rows of 'other'"):
        run_study.load_rows(tmp_path / "other")


def find_stale(page, root, source):
    """Rows that a page cites although another source made them, and those that it says are of an earlier commit."""
    stale, old = [], []
    for cited, commit in CITED.findall(page):
        made = {row.made_by.source for row in run_study.load_rows(root / cited)}
        (old if commit else stale if made != {source} else []).append(cited)
    return stale, old


@pytest.fixture(scope="module")
def present():
    """Half a second: all that makes rows is parsed."""
    return digest_source()


def test_no_page_shows_rows_of_another_source(present):
    found = [find_stale(page.read_text(), ROOT, present) for page in (ROOT / "docs").rglob("*.md")]
    assert [stale for stale, _ in found if stale] == []
    assert sum(bool(old) for _, old in found) <= MOST_OLD


@pytest.mark.parametrize(
    ("page", "stale", "old"),
    [
        ("<!-- rows: rows/a/new -->", [], []),
        ("<!-- rows: rows/a/then -->", ["rows/a/then"], []),
        ("<!-- rows: rows/a/then, as of 526b27f -->", [], ["rows/a/then"]),
    ],
)
def test_stale_rows_are_found_unless_the_page_says_of_which_commit_they_are(tmp_path, page, stale, old):
    for method, source in {"new": "now", "then": "then"}.items():
        path = tmp_path / "rows/a" / method / "city-2.json"
        path.parent.mkdir(parents=True)
        make_row("city-2", source=source).save(path)
    assert find_stale(page, tmp_path, "now") == (stale, old)
