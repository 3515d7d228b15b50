"""Names of sequences become file names one to one; those of today's runs stay where they are."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmapr.artifacts.names import LONGEST, file_name, refuse_names
from tmapr.artifacts.run import RunFolder
from tmapr.exceptions import InputError
from tmapr.experiment import Data

KEPT = {"noon": "noon", "a/b": "a__b", "sync/left": "sync__left", "a_b/c_d": "a_b__c_d", "/a/": "a", "50%": "50%"}
SPOKEN = st.text(st.sampled_from("ab_/%.-é5F2E"), min_size=1, max_size=8)


@pytest.mark.parametrize("name", KEPT)
def test_an_unambiguous_name_keeps_its_file(name):
    assert file_name(name) == KEPT[name]


@pytest.mark.parametrize("names", [("a/b", "a__b"), ("a_/b", "a/_b"), ("a__b", "a%5F%5Fb"), ("a___b", "a/_b")])
def test_two_names_have_two_files(names, tmp_path):
    assert len({RunFolder(tmp_path).percepts(name) for name in names}) == 2


def named_by(file):
    """What a file was named after: the inverse, written down on its own."""
    if file.startswith("___") and not file.startswith("____"):
        return unquote(file[3:].replace("__", "/"))
    return file.replace("__", "/")


@given(SPOKEN.filter(lambda name: name.strip("/")))
def test_a_file_tells_its_name(name):
    assert named_by(file_name(name)) == name.strip("/")


@given(SPOKEN.filter(lambda name: name.strip("/") and not re.search("__|_/|/_", name.strip("/"))))
def test_names_without_pairs_of_underscores_keep_todays_file(name):
    inner = name.strip("/")
    assert file_name(name) == inner.replace("/", "__") or inner in (".", "..")


@pytest.mark.parametrize("name", [".", ".."])
def test_no_name_leads_out_of_its_folder(name, tmp_path):
    folder = RunFolder(tmp_path).cache("tokens", name)
    assert folder.resolve().parent == (tmp_path / "cache/tokens").resolve()


ALIKE = [("Noon", "noon"), ("caf\u00e9", "cafe\u0301"), ("a/b", "A/b"), ("/a", "a"), ("STRASSE", "straße")]


@pytest.mark.parametrize("names", ALIKE)
def test_names_that_a_file_system_may_take_for_one_are_refused_with_both(names):
    with pytest.raises(InputError, match=f"data: {names[0]!r} and {names[1]!r} are one name to some file systems"):
        refuse_names(names, "data")


def test_a_name_may_have_several_roles():
    refuse_names(["noon", "night", "noon"], "data")


@pytest.mark.parametrize("name", ["", "/", "a\0b", "a\nb", "x" * (LONGEST + 1), "é" * (LONGEST // 2 + 1)])
def test_what_no_file_can_be_called_is_refused(name):
    with pytest.raises(InputError, match="cannot name files; use 1 to 200 bytes"):
        refuse_names([name], "data")


def test_an_experiment_is_refused_whatever_the_roles():
    with pytest.raises(ValueError, match="'Noon' and 'noon' are one name"):
        Data(reference="Noon", adapt=("noon",))
