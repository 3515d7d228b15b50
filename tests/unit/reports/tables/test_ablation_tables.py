"""Tables of ablations print what ablation.json holds, condense several runs by Student's t, and name the best row."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from tmapr.evaluation.bootstrap import mean_interval
from tmapr.exceptions import InputError
from tmapr.reports.tables.ablation import tabulate_loops, tabulate_system
from tmapr.reports.tables.ablation_runs import load_ablations

SUBSETS = ("acil", "u", "g", "h", "ug", "uh", "gh", "ugh")
SYSTEMS = ("apr", "apr+capf", "global", "global+capf", "apr+global+capf", "full")
OFFSETS = (0.0, 0.1, -0.2, 0.4, 0.25)
"""What tells the runs apart."""


def gap(value, half=0.05, verdict="better"):
    return {"value": value, "low": value - half, "high": value + half, "verdict": verdict}


def loops(f1):
    scores = {"precision": f1 + 0.1, "recall": f1 - 0.1, "f1": f1, "decision_recall": f1 + 0.2, "accepted": 7}
    return scores | {"recall_at": {"1": 0.7, "5": 0.8, "10": 0.9}}


def outcome(rmse, **others):
    base = {"frames": 9, "rmse": rmse, "mean": rmse / 2, "median": rmse / 4, "p95": 2 * rmse, "jumps": 3}
    search = {"classes": 12, "constrained": 0.75, "threshold": 0.6}
    return base | search | {"coverage95": 0.9, "loops": None, "difference": None} | others


def subset(key, offset=0.0):
    number = SUBSETS.index(key)
    difference = gap(0.01 * number + offset) if number else None
    test = {"night": outcome(2.0 + offset, loops=loops(0.5 + 0.01 * number), difference=difference)}
    return {"key": key, "title": f"ACIL {key}", "kind": "subset", "settings": {"places.use": []}, "test": test}


def system(key, offset=0.0):
    rmse = {"apr": 9.0, "apr+capf": 8.0, "global": 3.0, "global+capf": 1.5, "apr+global+capf": 2.0, "full": 1.0}[key]
    difference = None if key == "full" else gap(1.0 - rmse + offset)
    found = {"night": outcome(rmse + offset, difference=difference, loops=loops(0.4) if key == "global" else None)}
    return {"key": key, "title": key, "kind": "system", "settings": {}, "test": found}


def ablation(offset=0.0, **others):
    rows = [*(subset(key, offset) for key in SUBSETS), *(system(key, offset) for key in SYSTEMS)]
    base = {"kind": "ablation", "made_by": "tmapr 0.1.0", "experiment": "city", "settings_sha256": "abcdef" * 10}
    base |= {"alignment": "none", "labels": "off"}
    mapped = {"noon": {"rmse": 1.5, "mean": 1.0, "median": 0.8, "extent": 60.0, "share": 0.025}}
    return base | {"apr": {"mapped": mapped}, "rows": rows} | others


@pytest.fixture
def written(tmp_path):
    """Writes ablations into run folders of their own, and reads them as the command does."""

    def write(*contents):
        paths = [tmp_path / f"run-{number}" for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.mkdir()
            (path / "ablation.json").write_text(content if isinstance(content, str) else json.dumps(content))
        return load_ablations(paths)

    return write


def parsed(table):
    return json.loads(table.json())["rows"]


def changed(content, key, sequence="night", **values):
    """The ablation with other values in the outcome of one row."""
    next(row for row in content["rows"] if row["key"] == key)["test"][sequence] |= values
    return content


def test_the_loop_table_has_global_retrieval_and_the_eight_subsets_in_the_order_of_the_file(written):
    table = tabulate_loops(written(ablation()))
    assert [row["method"] for row in parsed(table)] == ["global", *(f"ACIL {key}" for key in SUBSETS)]


def test_a_row_of_the_loop_table_holds_the_values_of_the_file(written):
    row = parsed(tabulate_loops(written(ablation())))[3]
    assert row == {
        "run": "city",
        "runs": 1,
        "sequence": "night",
        "protocol": "test",
        "method": "ACIL g",
        "classes": 12,
        "constrained": 0.75,
        "threshold": 0.6,
        "precision": 0.62,
        "recall": 0.42000000000000004,
        "decision_recall": 0.72,
        "f1": 0.52,
        "accepted": 7,
        "recall_at_1": 0.7,
        "recall_at_5": 0.8,
        "recall_at_10": 0.9,
        "rmse": 2.0,
        "difference": 0.02,
        "low": 0.02 - 0.05,
        "high": 0.02 + 0.05,
        "verdict": "better",
    }


def test_global_retrieval_does_not_show_its_difference_of_rmse_as_one_of_f1(written):
    row = parsed(tabulate_loops(written(ablation(), ablation(0.1))))[0]
    assert row["method"] == "global"
    assert [row[key] for key in ("difference", "low", "high", "verdict")] == [None] * 4


def test_the_system_table_has_six_rows_with_the_values_of_the_file(written):
    rows = parsed(tabulate_system(written(ablation())))
    assert [row["method"] for row in rows] == list(SYSTEMS)
    assert rows[3] == {
        "run": "city",
        "runs": 1,
        "sequence": "night",
        "protocol": "test",
        "method": "global+capf",
        "frames": 9,
        "rmse": 1.5,
        "mean": 0.75,
        "median": 0.375,
        "jumps": 3,
        "coverage95": 0.9,
        "difference": -0.5,
        "low": -0.55,
        "high": -0.45,
        "verdict": "better",
    }


def test_the_mean_row_is_the_mean_of_the_runs_and_its_interval_students(written):
    row = parsed(tabulate_system(written(*map(ablation, OFFSETS))))[-3]
    assert row["method"] == "global+capf"
    assert row["rmse"] == pytest.approx(1.5 + np.mean(OFFSETS))
    assert row["median"] == pytest.approx((1.5 + np.mean(OFFSETS)) / 4)
    differences = np.array(OFFSETS) - 0.5
    expected = stats.t.interval(0.95, 4, loc=differences.mean(), scale=stats.sem(differences))
    assert row["difference"] == pytest.approx(differences.mean())
    assert (row["low"], row["high"]) == pytest.approx(expected)


@pytest.mark.parametrize("table", [tabulate_loops, tabulate_system])
def test_every_number_of_a_mean_row_is_the_mean_of_its_column(written, rng, table):
    contents = []
    for _ in range(3):
        scores = dict(zip(loops(0.5), rng.random(5).tolist(), strict=False))
        scores["recall_at"] = dict(zip(("1", "5", "10"), rng.random(3).tolist(), strict=True))
        names = ("frames", "rmse", "mean", "median", "jumps", "coverage95", "classes", "constrained", "threshold")
        figures = dict(zip(names, rng.random(9).tolist(), strict=True))
        content = changed(ablation(), "ug", loops=scores, **figures)
        contents.append(changed(content, "apr", **figures))
    *single, mean = (row for row in parsed(table(written(*contents))) if row["method"] in ("ACIL ug", "apr"))
    numbers = [key for key, value in mean.items() if isinstance(value, float) and key not in ("low", "high")]
    assert len(numbers) == {tabulate_loops: 13, tabulate_system: 7}[table]
    for key in numbers:
        assert mean[key] == pytest.approx(np.mean([row[key] for row in single]))


@pytest.mark.parametrize("count", [2, 3, 5, 40])
def test_the_interval_of_a_mean_equals_scipys(rng, count):
    values = rng.normal(3.0, 2.0, count)
    found = mean_interval(values.tolist())
    expected = stats.t.interval(0.95, count - 1, loc=values.mean(), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)


def test_a_mean_of_one_value_has_no_interval():
    with pytest.raises(ValueError, match="at least two values, got 1"):
        mean_interval([1.0])


@pytest.mark.parametrize(
    ("differences", "of_f1", "of_rmse"),
    [
        ((0.5, 0.51, 0.49), "better", "worse"),
        ((-0.5, -0.51, -0.49), "worse", "better"),
        ((0.5, -0.4, 0.1), "not told apart", "not told apart"),
        ((0.0, 0.0, 0.0), "not told apart", "not told apart"),
    ],
)
def test_more_f1_is_better_and_less_rmse_of_full_is(written, differences, of_f1, of_rmse):
    contents = [
        changed(changed(ablation(), "ug", difference=gap(value)), "apr", difference=gap(value)) for value in differences
    ]
    given = written(*contents)
    (ug,) = (row for row in parsed(tabulate_loops(given)) if (row["run"], row["method"]) == ("all", "ACIL ug"))
    (apr,) = (row for row in parsed(tabulate_system(given)) if (row["run"], row["method"]) == ("all", "apr"))
    assert (ug["verdict"], apr["verdict"]) == (of_f1, of_rmse)


@pytest.mark.parametrize("lacking", [{"jumps": None}, {"difference": None}, {"loops": None}, {"rmse": None}])
def test_a_mean_is_given_only_where_every_run_has_the_value(written, lacking):
    contents = [ablation(), changed(ablation(0.1), "ug", **lacking), ablation(0.2)]
    contents = [contents[0], changed(contents[1], "apr", **lacking), contents[2]]
    given = written(*contents)
    loop = next(row for row in parsed(tabulate_loops(given))[::-1] if row["method"] == "ACIL ug")
    part = next(row for row in parsed(tabulate_system(given))[::-1] if row["method"] == "apr")
    for row in (loop, part):
        assert row["run"] == "all"
        for key, gone in {"jumps": "jumps", "difference": "low", "loops": "f1", "rmse": "rmse"}.items():
            if gone in row:
                assert (row[gone] is None) == (key in lacking)


@pytest.mark.parametrize(("table", "key"), [(tabulate_loops, "ug"), (tabulate_system, "full")])
def test_a_row_of_a_stream_says_so_and_the_mean_of_several_does_too(written, table, key):
    named = ("stream truth+120", "stream truth+120, trained on")
    shown = table(written(*(changed(ablation(), key, protocol=name) for name in named)))
    rows = [row["protocol"] for row in parsed(shown) if row["method"].split()[-1] == key]
    assert rows == [*named, " | ".join(named)]
    assert {row["protocol"] for row in parsed(shown) if row["method"].split()[-1] != key} == {"test"}
    assert any(note.startswith("stream truth+120: while it was scored") for note in shown.notes)
    assert any(note.startswith("trained on: ") for note in shown.notes)


def test_a_sequence_that_one_run_has_is_not_averaged(written):
    more = ablation()
    for row in more["rows"]:
        row["test"]["dusk"] = outcome(5.0)
    rows = parsed(tabulate_system(written(ablation(), more)))
    assert [row["runs"] for row in rows if row["sequence"] == "dusk"] == [1] * 6
    assert [row["runs"] for row in rows if row["sequence"] == "night"] == [1] * 12 + [2] * 6


@pytest.mark.parametrize(
    ("difference", "ends"),
    [
        (gap(-0.5, verdict="better"), "-0.50 m [-0.55, -0.45]: full beats it"),
        (gap(0.3, verdict="worse"), "0.30 m [0.25, 0.35]: it beats full"),
        (gap(0.01, verdict="not told apart"), "0.01 m [-0.04, 0.06]: not told apart"),
        (None, "no interval"),
    ],
)
def test_the_sentence_names_the_best_other_row_and_which_of_the_two_wins(written, difference, ends):
    given = written(changed(ablation(), "global", rmse=0.5, difference=difference))
    sentence = tabulate_system(given).notes[0]
    assert "best other row: global 0.50 m" in sentence
    assert sentence.endswith(ends)


def test_the_best_other_row_is_one_of_the_run_whose_full_system_it_is(written):
    whole, part = ablation(experiment="whole"), ablation(experiment="part")
    part["rows"] = [row for row in part["rows"] if row["key"] == "global"]
    part["rows"][0] |= {"key": "another", "title": "another"}
    part["rows"][0]["test"]["night"]["rmse"] = 0.1
    sentence = tabulate_system(written(whole, part)).notes[0]
    assert sentence.startswith("whole · night (n = 1): full RMSE 1.00 m; best other row: global+capf 1.50 m")


@pytest.mark.parametrize("table", [tabulate_loops, tabulate_system])
def test_an_oracle_is_called_one_once(written, table):
    notes = table(written(*(ablation(offset, alignment="apr-oracle") for offset in (0.0, 0.1)))).notes
    assert sum("alignment apr-oracle (ORACLE)" in note for note in notes) == 2
    assert sum(note.startswith("ORACLE: ") for note in notes) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "content: "),
        ("[]", "content: "),
        (ablation(kind="errors"), "kind: "),
        (ablation(rows=[{"key": "u", "title": "U", "kind": "subset"}]), "rows.0.test: "),
        (changed(ablation(), "acil", rmse="2.0"), "rows.0.test.night.rmse: "),
        (changed(ablation(), "acil", rmse=float("nan")), "rows.0.test.night.rmse: "),
    ],
)
def test_a_damaged_file_is_refused_with_the_place_and_the_way_out(written, tmp_path, content, says):
    with pytest.raises(InputError, match=re.escape(says)) as refusal:
        written(content)
    assert str(tmp_path / "run-0/ablation.json") in str(refusal.value)
    assert "tmapr ablate" in str(refusal.value)


def test_a_run_without_an_ablation_is_refused(tmp_path):
    with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path))}: .*ablation\.json.*tmapr ablate"):
        load_ablations([tmp_path])


def test_a_run_given_twice_would_count_as_two_and_is_refused(written, tmp_path):
    written(ablation())
    with pytest.raises(InputError, match=r"run-0: .*twice"):
        load_ablations([tmp_path / "run-0", tmp_path / "." / "run-0" / ".." / "run-0"])


def test_hostile_names_stay_in_their_cell(written):
    content = ablation()
    content["rows"] = [system("full")]
    content["rows"][0] |= {"title": r"a|b & \input{x}" + "\n\x1b[31m"}
    table = tabulate_system(written(content))
    assert r"| a\|b &amp; \\input{x} �\[31m |" in table.markdown()
    assert r"& a|b \& \textbackslash{}input\{x\}" in table.latex()
    assert "\x1b" not in table.text()
