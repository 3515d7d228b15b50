"""Every part of every file of a run spoilt in every way: read, or refused in one line."""

import jaxtyping
import pytest

from foreign import KINDS, finish_run, survive


@pytest.fixture(scope="module", autouse=True)
def unchecked():
    """As users run it: a wrong kind is to be found by the reader, not by the tests' own checks."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="module", params=["route", "paper"])
def finished(request, tmp_path_factory):
    return finish_run(tmp_path_factory.mktemp("finished"), request.param)


@pytest.mark.parametrize("name", KINDS)
def test_every_part_of_a_foreign_file_is_read_or_refused_in_one_line(name, finished, tmp_path, capfd):
    if not (finished / "run" / name).exists():
        pytest.skip("the paper's method has no belief over the route")
    wrong, _ = survive(finished, tmp_path, name, 1, capfd)
    assert not wrong, "\n".join(wrong)
