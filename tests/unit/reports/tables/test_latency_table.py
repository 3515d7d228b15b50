"""The table of latencies prints what it is given beside what the paper states."""

import json

import pytest

from tmapr.artifacts.documents.latency import Latency
from tmapr.reports.tables.latency import PAPER, tabulate_latency, tabulate_parts


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


def part(p50, floor=None):
    return {"mean_ms": p50, "p50_ms": p50, "p99_ms": 2 * p50, "floor_ms": floor}


@pytest.fixture
def there():
    """What `tmapr bench --device cuda` writes."""
    return result(
        accelerator="A GPU",
        device_stages={"search_read": part(0.1, 0.08), "conclude": part(0.02)},
        frame={"p50_ms": 1.4, "p99_ms": 2.4, "floor_ms": 0.3},
        bandwidth_gb_s=4200.0,
        link_gb_s=55.0,
        paper_ms=44.2,
        paper_card="NVIDIA GeForce GTX 1080",
    )


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("search's read of the references", [0.1, 0.2, 0.08]),
        ("scores and ranking", [0.02, 0.04, None]),
        ("whole frame with update, on the clock", [1.4, 2.4, 0.3]),
        ("the paper's, mean, on its NVIDIA GeForce GTX 1080", [44.2, None, None]),
    ],
)
def test_parts_of_a_device_stand_beside_their_floor(title, cells, there):
    found = {row["part"]: row for row in json.loads(tabulate_parts(there).json())["rows"]}
    assert [found[title][key] for key in ("p50_ms", "p99_ms", "floor_ms")] == cells


def test_without_a_device_there_are_no_parts():
    assert tabulate_parts(result()) is None
