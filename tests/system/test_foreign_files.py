"""Of every file of a run some foreign ones: read, or refused in one line. All of them are in tests/long."""

import shutil

import pytest

from foreign import KINDS, finish_run, spoil_arrays, survive
from tmapr.exceptions import InputError
from tmapr.experiment import load

SAMPLE = 150
"""Of so many ways to spoil a file one is tried."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish_run(tmp_path_factory.mktemp("finished"), "route")


def test_a_refusal_is_one_line_whatever_it_quotes(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "home")
    path = tmp_path / "home/run/map.npz"
    dict(spoil_arrays(path))["memory.sequences odd text"](path)
    with pytest.raises(InputError) as refused:
        load(tmp_path / "home/run")
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", KINDS)
def test_a_foreign_file_is_read_or_refused_in_one_line(name, finished, tmp_path, capfd):
    wrong, refused = survive(finished, tmp_path, name, SAMPLE, capfd)
    assert not wrong, "\n".join(wrong)
    assert refused
