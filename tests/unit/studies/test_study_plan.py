"""A plan says all that is asked; what it cannot mean is refused in a line with file, key, value and the way out."""

import pytest

from repository import ROOT
from tmapr.exceptions import InputError
from tmapr.studies.study_plan import read_plan
from tmapr.studies.worlds import list_places

PLANS = sorted((ROOT / "experiments/studies").glob("*.toml"))
WORLDS = "[worlds]\nfirst_style = {}\nseed = 1\n{}\n"


@pytest.fixture
def plan(tmp_path):
    def write(*lines, style=2, purpose="choose", more=""):
        text = [f'name = "trial"\npurpose = "{purpose}"', *lines, WORLDS.format(style, more) if style else ""]
        (tmp_path / "trial.toml").write_text("\n".join(text))
        return tmp_path / "trial.toml"

    return write


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_plan_that_ships_has_the_name_of_its_file(path):
    assert read_plan(path).name == path.stem


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_what_is_chosen_on_is_even_and_what_is_reported_odd(path):
    plan = read_plan(path)
    styles = {place.world.style % 2 for place in list_places(plan, ROOT) if place.world}
    assert styles <= {int(plan.purpose == "report")}


def test_the_worlds_for_choosing_stay_the_same():
    places = list_places(read_plan(ROOT / "experiments/studies/development.toml"), ROOT)
    assert [(place.name, place.seed) for place in places] == [
        *(("campus-2", 301), ("campus-4", 302), ("campus-6", 303), ("city-2", 304), ("city-4", 305), ("city-6", 306)),
        *(("valley-2", 307), ("valley-4", 308), ("valley-6", 309)),
        *(("aliased-city-8", 310), ("aliased-city-10", 311), ("aliased-city-12", 312)),
    ]
    weathers = {place.name: [each.weather.hour for each in place.traverses] for place in places}
    assert weathers["campus-2"] == weathers["valley-2"]
    assert len({place.world.seed for place in places}) == 12


@pytest.mark.parametrize(
    ("lines", "given", "named"),
    [
        ((), {"style": 3}, ("first_style = 3", "even")),
        ((), {"style": 2, "purpose": "report"}, ("first_style = 2", "odd")),
        ((), {"style": 0}, ("[worlds]", "[real]")),
        (("drive = ['night']",), {}, ("drive", "drives")),
        ((), {"more": "nights = ['noght']"}, ("worlds", "'noght'", "night")),
        (("every = [0]",), {}, ("every", "[0]")),
        (("drives = ['noon']",), {}, ("drives", "'noon'")),
        (("[[disturbance]]\nname = 'earthquake'",), {}, ("disturbance.name", "'earthquake'", "teleport")),
        (("[[disturbance]]\nname = 'stop'\nbegin = 0.7",), {}, ("'stop'", "begin = 0.7", "end = 0.6")),
        (("[[method]]\nname = 'a'\n[[method]]\nname = 'a'",), {}, ("'a'", "twice")),
        (("[[method]]\nname = 'a'\nset = ['places.cel = 3']",), {}, ("method 'a'", "places.cel", "'cell'")),
        (("[[method]]\nname = 'a'\nset = ['tracking.method = \"plugin:none\"']",), {}, ("plugin:none", "install")),
        (("[[method]]\nname = 'a'\nset = ['labels.mode = \"fused\"']",), {}, ("labels.mode", "leave it off")),
    ],
)
def test_a_plan_that_means_nothing_is_refused(plan, lines, given, named):
    with pytest.raises(InputError) as refused:
        read_plan(plan(*lines, **given))
    assert "\n" not in str(refused.value)
    assert all(word in str(refused.value) for word in ("trial.toml", *named))


def test_a_plan_that_is_not_there_is_told_with_those_that_are(tmp_path):
    with pytest.raises(InputError, match="experiments/studies"):
        read_plan(tmp_path / "none.toml")


def test_settings_given_beside_a_plan_hold_for_its_methods_and_the_plan_s_own_for_itself(plan):
    sure, first = "name = 'sure'\nset = ['tracking.certainty = 0.9']", "name = 'first'\nbaseline = 'first'"
    path = plan(f"[[method]]\n{sure}\n[[method]]\n{first}")
    changed = read_plan(path, ["worlds.count=2", "places.cell=7.0"], "small")
    assert changed.worlds.count == 2
    (method,) = changed.method
    assert (method.name, method.system.places.cell, method.system.tracking.certainty) == ("small", 7.0, 0.9)
    assert [each.name for each in read_plan(path, (), "first").method] == ["first"]


@pytest.mark.parametrize(("overrides", "method"), [(["places.cell=7.0"], None), ([], "other")])
def test_a_changed_method_needs_a_name_and_a_name_a_method(plan, overrides, method):
    with pytest.raises(InputError, match="--method"):
        read_plan(plan(), overrides, method)
