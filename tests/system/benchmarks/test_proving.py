"""What a method is chosen on and what it is reported on never meet, in any study."""

import pytest

from proving import CHOOSING, REPORTING
from proving_rows import METHOD, ROWS, load_current, load_rows
from tmapr.exceptions import InputError


def test_reporting_is_in_odd_styles_and_choosing_in_even_ones():
    assert {ground.style % 2 for ground in REPORTING} == {1}
    assert {ground.style % 2 for ground in CHOOSING} == {0}
    assert not {ground.seed for ground in REPORTING} & {ground.seed for ground in CHOOSING}


def test_there_are_five_worlds_of_every_kind_each_in_a_style_of_its_own():
    kinds = [ground.kind for ground in REPORTING]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(("campus", "city", "valley", "aliased city"), 5)
    assert len({ground.name for ground in REPORTING}) == len({ground.seed for ground in REPORTING}) == 20
    assert [ground.kind for ground in REPORTING if ground.trained] == ["campus", "city", "valley", "aliased city"]


@pytest.mark.parametrize("study", ["styles", "sabotage"])
def test_kept_rows_are_of_reporting_worlds_in_odd_styles(study):
    worlds = {ground.name: ground for ground in REPORTING}
    rows = {name: row for name, row in load_rows(ROWS / study / METHOD).items() if row.style is not None}
    assert rows.keys() == {name for name, ground in worlds.items() if study == "styles" or ground.trained}
    for name, row in rows.items():
        assert (row.name, row.kind) == (name, worlds[name].kind)
        assert (row.style, row.seed) == (worlds[name].style, worlds[name].seed)
        assert row.style % 2 == 1


def test_nothing_of_the_choosing_worlds_is_kept():
    studies = {"styles", "sabotage", "places", "learning", "ablations", "twins", "field", "faults", "soak"}
    assert {path.name for path in ROWS.iterdir() if path.is_dir()} == studies
    kept = {path.stem for study in ("places", "learning", "ablations") for path in (ROWS / study).glob("*/*.json")}
    kept |= {path.stem for path in (ROWS / "twins").glob("*.json")}
    assert kept
    assert not {name for name in kept for ground in CHOOSING if name.startswith(ground.name)}


def test_a_row_of_other_settings_is_not_taken_for_today_s(tmp_path):
    kept = next(iter(load_rows(ROWS / "styles" / METHOD).values()))
    path = tmp_path / "other.json"
    kept.model_copy(update={"settings": "of another method"}).save(path)
    with pytest.raises(InputError, match="other settings; give a changed method a name"):
        load_current(path)
