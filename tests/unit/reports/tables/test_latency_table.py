"""The table of latencies prints what it is given beside what the paper states."""

import json

import pytest

from tmapr.artifacts.documents.latency import Latency
from tmapr.reports.tables.latency import PAPER, tabulate_latency


def result(encoder="default", **changed):
    """What `tmapr bench` writes."""
    written = {
        "device": "cpu",
        "accelerator": None,
        "processor": "A processor",
        "cores": 2,
        "threads": 1,
        "encoder_threads": None,
        "precision": "float32",
        "encoder": encoder,
        "runtime": "onnxruntime",
        "weights": "trained",
        "pose_head": False,
        "versions": {"numpy": "2.0"},
        "warmups": 20,
        "frames": 200,
        "accepted": 199,
        "images": "made up",
        "size": [224, 252],
        "references": 1000,
        "places": 133,
        "descriptor": 1984,
        "lift": 2048,
        "extensions": ["unscented"],
        "stages": {
            "encode": {"mean_ms": 7.0, "p95_ms": 8.0, "hz": 142.9},
            "localization": {"mean_ms": 9.0, "p95_ms": 10.0, "hz": 111.1},
        },
        "updates": {
            "count": 4000,
            "mean_ms": 2.0,
            "p95_ms": 2.5,
            "hz": 500.0,
            "thirds_ms": [1.0, 2.0, 3.0],
            "ratio": 3.0,
        },
    } | changed
    return Latency.model_validate_json(json.dumps(written))


def rows(table):
    return {row["stage"]: row for row in json.loads(table.json())["rows"]}


def test_a_result_stands_in_columns_of_its_own():
    found = rows(tabulate_latency([result(), result("vit-b14", device="cuda", precision="float16")]))
    localization = found["localization, image to estimate"]
    assert localization["default, cpu float32 mean_ms"] == 9.0
    assert localization["vit-b14, cuda float16 p95_ms"] == 10.0
    assert found["preparation, encoder, heads"]["default, cpu float32 hz"] == 142.9
    assert found["search"]["default, cpu float32 mean_ms"] is None


def test_updates_are_shown_with_their_thirds():
    table = tabulate_latency([result()])
    found = rows(table)
    assert found["updates alone"]["default, cpu float32 hz"] == 500.0
    thirds = [found[f"updates, {part} third"]["default, cpu float32 mean_ms"] for part in ("first", "middle", "last")]
    assert thirds == [1.0, 2.0, 3.0]
    assert "default, cpu float32: last third of 4000 updates / first third = 3.000" in table.notes


@pytest.mark.parametrize(
    ("stage", "mean", "p95", "hz"),
    [
        ("localization, image to estimate", 41.466, 44.015, 24.12),
        ("full cycle with update", 44.237, 47.539, 22.61),
        ("place inference alone", 5.410, 7.207, None),
        ("updates alone", 2.779, 3.811, None),
        ("updates, first third", 2.843, None, None),
        ("updates, middle third", 2.804, None, None),
        ("updates, last third", 2.690, None, None),
        ("image preparation", None, None, None),
    ],
)
def test_the_papers_numbers_are_those_of_its_section_on_efficiency(stage, mean, p95, hz):
    row = rows(tabulate_latency([]))[stage]
    assert [row[f"{PAPER} {key}"] for key in ("mean_ms", "p95_ms", "hz")] == [mean, p95, hz]


def test_results_of_one_name_are_numbered():
    titles = tabulate_latency([result(), result("vit-b14"), result()]).titles
    assert [title.partition(":")[0] for title in titles if "mean ms" in title] == [
        "default, cpu float32 (1)",
        "vit-b14, cpu float32",
        "default, cpu float32 (2)",
        PAPER,
    ]


@pytest.mark.parametrize(("weights", "told"), [("random", True), ("trained", False)])
def test_random_weights_are_told(weights, told):
    notes = tabulate_latency([result(weights=weights)]).notes
    assert ("default, cpu float32: weights random: times only" in notes) is told


def test_the_floor_stands_beside_what_was_measured_and_its_bandwidth_below():
    found = result(stages={"search": {"mean_ms": 0.3, "p95_ms": 0.4, "floor_ms": 0.1}}, bandwidth_gb_s=20.4)
    table = tabulate_latency([found])
    assert rows(table)["search"]["default, cpu float32 floor_ms"] == 0.1
    assert any("at the 20 GB/s of a copy in this run" in note for note in table.notes)


def test_updates_of_k_and_w_alone_have_a_row():
    alone = {"count": 9, "mean_ms": 1.5, "p95_ms": 2.0, "thirds_ms": [1.0, 1.5, 2.0], "ratio": 2.0}
    found = rows(tabulate_latency([result(ridge_update=alone), result("vit-b14")]))["updates of K and W alone"]
    assert found["default, cpu float32 mean_ms"] == 1.5
    assert found["vit-b14, cpu float32 mean_ms"] is None


def test_the_eager_encoder_has_rows_where_one_was_timed():
    eager = {"encode_eager": {"mean_ms": 12.0, "p95_ms": 13.0}}
    assert "preparation, encoder, heads, eager float32" in rows(tabulate_latency([result(stages=eager), result()]))
    assert "preparation, encoder, heads, eager float32" not in rows(tabulate_latency([result()]))


@pytest.mark.parametrize(
    ("device", "precision", "told"), [("cuda", "float32", True), ("cuda", "float16", False), ("cpu", "float32", False)]
)
def test_float32_on_a_gpu_is_told_to_be_the_papers(device, precision, told):
    notes = tabulate_latency([result(device=device, precision=precision)]).notes
    assert any("float32 as in the paper's protocol" in note for note in notes) is told


@pytest.mark.parametrize(("lessons", "told"), [(250, True), (None, False)])
def test_lessons_fewer_than_references_are_told(lessons, told):
    notes = tabulate_latency([result(references=20000, lessons=lessons)]).notes
    assert any("20000 references (250 of them taught)" in note for note in notes) is told
