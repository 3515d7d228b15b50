"""Settings survive the way to a file and back, and every mistake in one gets a line of its own."""

import re
import tomllib
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from pydantic import Field

from tmapr.config import Settings, changed, dump_toml, load_settings, settings_digest
from tmapr.config.tree import as_tree, from_tree
from tmapr.exceptions import InputError
from tmapr.experiment import Data, Experiment
from tmapr.fusion.capf import Fusion
from tmapr.labels import Labels
from tmapr.places.classifier import Places
from tmapr.places.projection import Projection
from tmapr.retrieval.search import Retrieval
from tmapr.system import System
from tmapr.tracking import Gates, Tracking


def read(model, text):
    """Settings from the text of a file, as `load_settings` reads them."""
    return from_tree(model, tomllib.loads(text), "text")


DEFAULTS = Experiment()
CHANGED = Experiment(
    name="campus-2.night_1",
    data=Data(layout="ms2", root='C:\\maps\\"été" # 1', reference="noon/left", adapt=("dusk",), test=("night", "rain")),
    system=System(
        places=Places(cell=7.5, use=(), ridge=1e-6, projection=Projection(kind="pca", dimension=64, seed=3)),
        retrieval=Retrieval(mode="global", candidates=8, best_places=0),
        tracking=Tracking(gates=Gates(bounds=(-1e6, -0.1, 1 / 3, 2e10))),
        fusion=Fusion(noise="acceleration", position_noise=0.0),
        labels=Labels(mode="truth", delay=0),
    ),
)


@pytest.fixture
def experiment(tmp_path):
    """A file with the given text, read with the given overrides."""

    def read(text, *overrides):
        path = tmp_path / "experiment.toml"
        path.write_text(text, encoding="utf-8")
        return load_settings(Experiment, path, overrides)

    return read


@pytest.mark.parametrize("settings", [DEFAULTS, CHANGED], ids=["defaults", "changed"])
def test_what_is_written_reads_back_equal(settings, experiment):
    assert experiment(dump_toml(settings)) == settings


class Weather(Enum):
    DRY = "dry"
    WET = "wet"


class Part(Settings):
    on: bool = Field(True, description="whether it works")
    weather: Weather = Field(Weather.DRY, description="dry | wet")
    often: tuple[bool, ...] = Field((), description="when it works")


class Whole(Settings):
    part: Part = Field(Part(), description="a part")


class Spare(Settings):
    part: Part | None = Field(None, description="a part, if there is one")


SWITCHED = Whole(part=Part(on=False, weather=Weather.WET, often=(True, False)))


def test_switches_and_choices_read_back_equal():
    assert read(Whole, dump_toml(SWITCHED)) == SWITCHED


def test_switches_and_choices_can_be_overridden():
    overrides = ["part.on=false", "part.weather=wet", "part.often=[true, false]"]
    assert load_settings(Whole, overrides=overrides) == SWITCHED


FINITE = st.floats(-1e12, 1e12).filter(lambda number: number == 0 or abs(number) >= 1e-12)


@budget(derandomize=True)
@given(
    bounds=st.none()
    | st.tuples(FINITE, FINITE, FINITE, FINITE).map(lambda b: (min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2]))),
    ridge=st.floats(1e-6, 1e6),
)
def test_every_number_reads_back_to_the_last_bit(bounds, ridge):
    settings = Experiment(system=System(tracking=Tracking(gates=Gates(bounds=bounds)), places=Places(ridge=ridge)))
    assert read(Experiment, dump_toml(settings)) == settings


@budget(derandomize=True)
@given(root=st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_reads_back(root):
    settings = Experiment(data=Data(root=root))
    assert read(Experiment, dump_toml(settings)) == settings


def test_a_value_that_is_none_is_written_as_a_comment():
    text = dump_toml(DEFAULTS)
    assert re.search(r"^# bounds = +#", text, re.MULTILINE)
    assert "bounds" not in tomllib.loads(text)["tracking"]["gates"]


@pytest.mark.parametrize("settings", [DEFAULTS, CHANGED], ids=["defaults", "changed"])
def test_every_setting_is_written_with_its_meaning(settings):
    lines = [line for line in dump_toml(settings).splitlines() if line and not line.startswith("[")]
    undescribed = [line for line in lines if not re.search(r"=.* # \S", line)]
    assert undescribed == []


def names_of(settings):
    for name, value in settings:
        if isinstance(value, Settings):
            yield from names_of(value)
        else:
            yield name


def test_no_setting_is_left_out():
    written = re.findall(r"^(?:# )?(\w+) =", dump_toml(DEFAULTS), re.MULTILINE)
    assert sorted(written) == sorted(names_of(DEFAULTS))


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("name=night-2", lambda e: e.name == "night-2"),
        ("data.layout=ms2", lambda e: e.data.layout == "ms2"),
        ("data.root=data/ms2", lambda e: e.data.root == "data/ms2"),
        ('data.root="two words"', lambda e: e.data.root == "two words"),
        ('data.test=["a", "b"]', lambda e: e.data.test == ("a", "b")),
        ("places.use=[]", lambda e: e.system.places.use == ()),
        ("places.cell=7.5", lambda e: e.system.places.cell == 7.5),
        ("places.cell = 7", lambda e: e.system.places.cell == 7.0),
        ("places.projection.dimension=64", lambda e: e.system.places.projection.dimension == 64),
        ("fusion.max_gap=1e-3", lambda e: e.system.fusion.max_gap == 1e-3),
        ("tracking.gates.bounds=[-1, 0, 1.5, 2]", lambda e: e.system.tracking.gates.bounds == (-1.0, 0.0, 1.5, 2.0)),
    ],
)
def test_an_override_sets_one_value(override, value, experiment):
    assert value(experiment("", override))


def test_an_included_file_gives_settings_and_the_file_itself_wins(tmp_path):
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "first.toml").write_text(
        "[tracking.gates]\nmin_similarity = 0.7\nmin_margin = 1.0\nexpiry = 3.0\n"
    )
    (tmp_path / "second.toml").write_text("[tracking.gates]\nmin_margin = 2.0\n[fusion]\nvelocity_noise = 5.0\n")
    own = 'include = ["found/first.toml", "second.toml"]\n[tracking.gates]\nexpiry = 7.0\n'
    (tmp_path / "experiment.toml").write_text(own)
    read = load_settings(Experiment, tmp_path / "experiment.toml", ["tracking.gates.recovery=9"])
    assert read.system.tracking.gates == Gates(min_similarity=0.7, min_margin=2.0, expiry=7.0, recovery=9)
    assert read.system.fusion.velocity_noise == 5.0


@pytest.mark.parametrize(
    ("own", "included", "message"),
    [
        ('include = "other.toml"', "", r"include must be a list of files, got 'other\.toml'"),
        ("include = [1]", "", r"include must be a list of files, got \[1\]"),
        ('include = ["absent.toml"]', "", r"absent\.toml: no such experiment file"),
        ('include = ["other.toml"]', 'include = ["third.toml"]', r"other\.toml: is included by .*must not include"),
        ('include = ["other.toml"]', "[tracking.gates]\nmin_similarty = 0.1", r"did you mean 'min_similarity'"),
    ],
)
def test_a_mistake_in_including_is_one_line(own, included, message, tmp_path):
    (tmp_path / "experiment.toml").write_text(own)
    (tmp_path / "other.toml").write_text(included)
    with pytest.raises(InputError, match=message) as refusal:
        load_settings(Experiment, tmp_path / "experiment.toml")
    assert "\n" not in str(refusal.value)


def test_an_override_leaves_the_rest_of_its_section(experiment):
    assert experiment("[places]\ncell = 7.0\nridge = 2.0", "places.cell=8.0").system.places.ridge == 2.0


MISTAKES = {
    "a misspelt key": (
        "[tracking.gates]\nmin_similarty = 0.5",
        r"tracking\.gates\.min_similarty: .*did you mean 'min_similarity'",
    ),
    "a misspelt section": ("[trackng.gates]\nexpiry = 1.0", r"trackng: unknown setting; did you mean 'tracking'"),
    "a misspelt deeper key": ("[places.projection]\nsed = 1", r"places\.projection\.sed: .*did you mean 'seed'"),
    "an unknown section": ("[weather]\nrain = 1", r"weather: unknown setting; known here: name, data"),
    "an unknown key": ("[labels]\nzzz = 1", r"labels\.zzz: unknown setting; known here: mode, delay"),
    "a word for a number": ('[places]\ncell = "wide"', r"places\.cell: .*got 'wide'"),
    "a fraction for a count": ("[labels]\ndelay = 1.5", r"labels\.delay: .*got 1\.5"),
    "a value for a section": ("places = 3", r"places: .*got 3"),
    "a section for a value": ("[name]\nx = 1", r"name: .*got a section"),
    "a word for a list": ('[data]\ntrain = "a"', r"data\.train: .*got 'a'"),
    "a number in a list of words": ("[data]\ntrain = [1]", r"data\.train\.0: .*got 1"),
    "too few bounds": ("[tracking.gates]\nbounds = [1, 2, 3]", r"tracking\.gates\.bounds"),
    "an unknown choice": ('[retrieval]\nmode = "best"', r"retrieval\.mode: .*'places', got 'best'"),
    "a number out of choice": ("[retrieval]\ncandidates = 3", r"retrieval\.candidates: .*1 or 8, got 3"),
    "an unknown extension": ('[places]\nuse = ["magic"]', r"places\.use\.0: .*got 'magic'"),
    "too small": ("[places]\ncell = 0", r"places\.cell: .*greater than 0, got 0"),
    "too large": (
        "[tracking.gates]\nmin_similarity = 1.01",
        r"tracking\.gates\.min_similarity: .*equal to 1, got 1\.01",
    ),
    "negative": ("[labels]\ndelay = -1", r"labels\.delay: .*equal to 0, got -1"),
    "not a number": ("[places]\ncell = nan", r"places\.cell: .*finite.*got nan"),
    "infinite": ("[tracking.gates]\nexpiry = inf", r"tracking\.gates\.expiry: .*finite.*got inf"),
    "infinite bounds": ("[tracking.gates]\nbounds = [0, 0, inf, 1]", r"tracking\.gates\.bounds\.2: .*finite.*got inf"),
    "a test sequence that trains": (
        '[data]\ntest = ["a", "b"]\ntrain = ["b"]',
        r"data\.test and data\.train share 'b'",
    ),
    "a test sequence that validates": (
        '[data]\ntest = ["a"]\nvalidation = ["a"]',
        r"data\.test and data\.validation share 'a'",
    ),
    "a test sequence that adapts": (
        '[data]\ntest = ["a"]\nadapt = ["c", "a"]',
        r"data\.test and data\.adapt share 'a'",
    ),
    "a test sequence twice": ('[data]\ntest = ["a", "b", "a"]', r"data\.test names 'a' twice"),
    "the reference as a test": ('[data]\nreference = "a"\ntest = ["a"]', r"data\.test names the reference 'a'"),
    "a name with a slash": ('name = "night/left"', r"name: .*got 'night/left'"),
    "an empty name": ('name = ""', r"name: .*got ''"),
    "not TOML": ("cell 15", r"is not TOML: .*line 1"),
    "a key twice": ("name = 'a'\nname = 'b'", r"is not TOML"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_file_is_one_line_with_file_and_key(text, message, experiment):
    with pytest.raises(InputError, match=message) as refused:
        experiment(text)
    assert re.fullmatch(r"[^\n]*experiment\.toml: [^\n]+", str(refused.value))


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        ("", "places.cell", "--set places.cell: write it as section.key=value"),
        ("", "=3", "--set =3: write it as"),
        ("", "places..cell=3", r"--set places\.\.cell=3: write it as"),
        ("", "places.cell=", "nothing is not a TOML value"),
        ("", "data.test=[a", r"\[a is not a TOML value"),
        ("[places]\ncell = 7.0", "places.cell.x=3", "--set places.cell.x=3: cell is a value, not a section"),
        ("", "places.cel=3", r"places\.cel: unknown setting; did you mean 'cell'"),
        ("", "places.cell=nan", r"places\.cell: .*got nan"),
        ("", "places=3", "places: .*got 3"),
    ],
)
def test_a_mistake_in_an_override_is_one_line_with_its_key(text, override, message, experiment):
    with pytest.raises(InputError, match=message) as refused:
        experiment(text, override)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.toml: no such experiment file; `tmapr init RECORDING` writes one$"):
        load_settings(Experiment, tmp_path / "nowhere.toml")


def test_a_folder_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=f"{tmp_path.name}: is a folder"):
        load_settings(Experiment, tmp_path)


def test_text_that_is_not_utf8_is_refused_with_its_place(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "été"'.encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.toml: is not UTF-8 text .* at byte 8"):
        load_settings(Experiment, path)


def test_the_digest_does_not_depend_on_the_order_of_the_file(experiment):
    one = experiment('name = "a"\n[places]\ncell = 7.0\nridge = 2.0\n[labels]\ndelay = 3')
    other = experiment('name = "a"\n[labels]\ndelay = 3\n[places]\nridge = 2\ncell = 7')
    assert settings_digest(one) == settings_digest(other)


@pytest.mark.parametrize(
    "override", ["name=other", "places.cell=15.000000000000002", "tracking.gates.bounds=[0, 0, 1, 1]", "places.use=[]"]
)
def test_the_digest_tells_any_change(override):
    changed = load_settings(Experiment, overrides=[override])
    assert settings_digest(changed) != settings_digest(DEFAULTS)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ('places.cell="15"', "places.cell: input should be a valid number, got '15'"),
        ("labels.delay=true", "labels.delay: input should be a valid integer, got True"),
        ("labels.delay=1.0", "labels.delay: input should be a valid integer, got 1.0"),
        ("data.root=3", "data.root: input should be a valid string, got 3"),
        (
            "tracking.gates.bounds=[1.0, 0.0, 0.0, 5.0]",
            "bounds must be x_min, y_min, x_max, y_max with min not above max",
        ),
        ("name=..", "name: string should match pattern"),
        ("places.cell=1979-05-27", "places.cell: input should be a valid number, got '1979-05-27'"),
    ],
)
def test_a_value_of_another_type_is_not_bent_into_shape(override, message):
    with pytest.raises(InputError) as refusal:
        load_settings(Experiment, overrides=[override])
    assert message in str(refusal.value)


def test_the_order_of_extensions_does_not_matter():
    one, other = (
        load_settings(Experiment, overrides=[f"places.use={text}"])
        for text in ('["mixture", "unscented"]', '["unscented", "mixture", "mixture"]')
    )
    assert settings_digest(one) == settings_digest(other)


def test_settings_are_changed_by_their_path_and_nothing_else_is():
    made = changed(
        CHANGED,
        {"tracking.gates.min_similarity": 0.3, "labels.mode": "off", "name": "other", "places.use": ["mixture"]},
    )
    assert (made.system.tracking.gates.min_similarity, made.system.labels.mode, made.name) == (0.3, "off", "other")
    assert made.system.places.use == ("mixture",)
    same = {"tracking.gates.min_similarity": 0.6, "labels.mode": "truth", "name": CHANGED.name, "places.use": []}
    assert changed(made, same) == CHANGED


def test_a_section_is_changed_whole_and_one_that_is_not_there_is_made():
    part = Part(on=False)
    assert changed(Spare(), {"part": part}).part == part
    assert changed(Spare(), {"part.on": False}).part == part
    assert changed(changed(Spare(), {"part": part}), {"part": None}) == Spare()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"tracking.gates.max_inovation": 3.0},
            "tracking.gates.max_inovation: unknown setting; did you mean 'max_innovation'?",
        ),
        ({"trackin.gates.max_innovation": 3.0}, "trackin: unknown setting; did you mean 'tracking'?"),
        (
            {"tracking.gates.max_innovation": -3.0},
            "tracking.gates.max_innovation: input should be greater than or equal to 0, got -3.0",
        ),
        (
            {"tracking.gates.max_innovation": "3"},
            "tracking.gates.max_innovation: input should be a valid number, got '3'",
        ),
        ({"tracking.gates.max_innovation": float("nan")}, "tracking.gates.max_innovation: input should be"),
        ({"tracking.gates.max_innovation.x": 3.0}, "max_innovation is a value, not a section"),
        ({"tracking.gates.bounds": (1.0, 0.0, 0.0, 0.0)}, "bounds must be x_min, y_min, x_max, y_max"),
    ],
)
@pytest.mark.parametrize("settings", [CHANGED, CHANGED.system], ids=["experiment", "system"])
def test_a_program_is_refused_what_a_file_would_be(settings, values, message):
    with pytest.raises(InputError) as refusal:
        changed(settings, values)
    assert message in str(refusal.value)


def test_a_file_does_not_name_the_section_that_holds_the_system(experiment):
    with pytest.raises(InputError, match=r"system: unknown setting; known here: name, .*, places, retrieval, tracking"):
        experiment("[system.tracking.gates]\nmax_innovation = 3.0")


def test_the_tree_is_what_the_file_says():
    assert from_tree(Experiment, as_tree(CHANGED), "tree") == CHANGED
    assert set(tomllib.loads(dump_toml(CHANGED))) == set(as_tree(CHANGED))
