"""A run folder may come from elsewhere: what is locked, written or swept in it is never reached through a link."""

import os

import pytest

from tmapr.artifacts.atomic import write_text
from tmapr.artifacts.lock import writing
from tmapr.artifacts.results import renewing
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError

LEFT = ".index.html.abcd1234.partial"


@pytest.fixture
def run(tmp_path):
    """A run with results, beside a folder of somebody's own."""
    for name in ("v2/index.html", f"v2/{LEFT}", "v2/000007/notes", "important.txt"):
        write_text(tmp_path / name, "mine")
    publish(tmp_path / "run", "old")
    return tmp_path / "run"


def publish(path, content):
    with writing(path), renewing(RunFolder(path)) as staged:
        write_text(staged.errors, content)
        write_text(staged.estimates("night"), content)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (".lock", "../important.txt"),
        (".lock", "errors.json"),
        (".lock", "../nowhere"),
        (".results", "../v2"),
        (".results", "estimates"),
        (".results/000007", "../../v2"),
        (".results/next", "../../v2"),
        ("errors.json", "../important.txt"),
        ("estimates/noon.csv", "../../important.txt"),
        ("percepts", "../v2"),
        ("report", "../v2"),
        ("report/index.html", "../../v2/index.html"),
        ("cache/crops/noon", "../../../v2"),
        ("journal/000001.journal", "../../important.txt"),
        ("live/journal", "../../v2"),
    ],
)
def test_a_writer_refuses_a_link_and_nothing_changes(run, name, target):
    if (run / name).exists():
        (run / name).rename(run.parent / "moved")
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).symlink_to(target)
    before = files(run.parent)
    with pytest.raises(InputError, match=r"is a link to .*; remove the link, or put a copy in its place") as refused:
        publish(run, "new")
    assert str(refused.value).startswith(f"{run / name}: ")
    assert files(run.parent) == before


def test_a_folder_of_the_run_is_not_swept_through_a_link(run):
    write_text(run / f"thesis/{LEFT}", "mine")
    (run / "report").symlink_to("thesis")
    publish(run, "new")
    assert (run / f"thesis/{LEFT}").exists()


@pytest.mark.parametrize("name", [".thesis.partial", "thesis.abcd1234.partial", ".thesis.draft.partial"])
def test_only_names_that_the_product_gives_are_swept(run, name):
    write_text(run / "report" / name, "mine")
    publish(run, "new")
    assert (run / "report" / name).exists()


def test_a_log_that_was_there_before_stays(tmp_path):
    write_text(tmp_path / "run/log.txt", "mine")
    with writing(tmp_path / "run"):
        pass
    assert (tmp_path / "run/log.txt").read_text() == "mine"


def test_a_file_is_never_written_through_a_link_but_that_of_published_results(run):
    (run / "state.npz").symlink_to("../important.txt")
    write_text(run / "state.npz", "new")
    write_text(run / "errors.json", "new")
    assert (run.parent / "important.txt").read_text() == "mine"
    assert [(run / name).is_symlink() for name in ("state.npz", "errors.json")] == [False, True]
    assert (run / "errors.json").read_text() == "new"


def test_links_that_the_product_makes_go_on_working(run):
    row = RunFolder(run / "ablate/full")
    row.path.mkdir(parents=True)
    write_text(run / f"percepts/{LEFT}", "the run's")
    row.percepts_folder.symlink_to("../../percepts")
    publish(row.path, "row")
    assert (run / f"percepts/{LEFT}").exists()
    publish(run, "new")
    assert (run / "errors.json").read_text() == (run / "estimates/night.csv").read_text() == "new"
    assert os.readlink(run / "errors.json") == ".results/current/errors.json"


def test_a_run_folder_that_is_itself_a_link_is_written(run):
    (run.parent / "linked").symlink_to(run)
    publish(run.parent / "linked", "new")
    assert (run / "errors.json").read_text() == "new"
