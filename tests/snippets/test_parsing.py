"""What stands in for running a command would see a wrong one."""

import pytest
from parsing import check_named, parse_line

WRONG = [
    "tmapr runs street.toml",
    "tmapr run",
    "tmapr run street.toml --lern off",
    "make nothing",
    "python benchmarks/nothing.py",
    "python benchmarks/styles.py --chosing",
    "time OMP_NUM_THREADS=1 tmapr weights push dinov2",
    "tmapr config; tmapr configure",
    ".venv/bin/python -m pytest tests/nowhere",
    "pip install 'tmapr[trains]'",
    "docker build --build-arg BASES=debian .",
    "docker run --rm tmapr demos",
    "another-tool street.toml",
]
RIGHT = [
    "tmapr config; tmapr config street.toml",
    "make styles",
    "python benchmarks/styles.py --choosing",
    "pip install 'tmapr[bags,tables]'",
    'docker run --rm -v "$PWD:/work" tmapr run street.toml --device cuda',
]


def is_refused(check, *given):
    try:
        check(*given)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("typed", WRONG)
def test_what_cannot_be_typed_is_refused(typed, checkout):
    assert is_refused(parse_line, typed, checkout)


@pytest.mark.parametrize("typed", RIGHT)
def test_what_can_be_typed_is_not(typed, checkout):
    parse_line(typed, checkout)


@pytest.mark.parametrize("typed", ["tmapr fun", "tmapr run --lern", "make nothing", "python benchmarks/nothing.py"])
def test_a_wrong_name_in_a_sentence_is_refused(typed):
    assert is_refused(check_named, typed)
