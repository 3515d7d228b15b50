"""What the tests of pages share: one browser, one run and its page."""

import pytest

from browsing import start_browser, written
from filmed import filmed_run
from tmapr.reports.page.page import render_page
from tmapr.reports.reported import ReportedRun


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    started = start_browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def filmed(tmp_path_factory):
    """A finished run with images; read-only."""
    return ReportedRun.load(filmed_run(tmp_path_factory.mktemp("filmed")).path)


@pytest.fixture(scope="session")
def report(filmed):
    """Its page."""
    return written(filmed.folder.path / "page.html", render_page([filmed]))
