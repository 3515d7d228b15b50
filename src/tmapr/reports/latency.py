"""What `tmapr bench` found, beside what the paper states: one row per stage, a set of columns per result."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tmapr.exceptions import InputError
from tmapr.reports.table import Cell, Column, Table

PAPER = "paper (hardware as it states)"
STAGES = {
    "prepare": "image preparation",
    "encode": "preparation, encoder, heads",
    "places": "place scores",
    "search": "search",
    "gates_filter": "gates and filter",
    "update": "update",
    "localization": "localization, image to estimate",
    "cycle": "full cycle with update",
    "place_inference": "place inference alone",
    "updates": "updates alone",
}
"""The rows, by their keys in JSON."""

_THIRDS = ("updates, first third", "updates, middle third", "updates, last third")
_GROUP = (Column("mean_ms", "mean ms", 3), Column("p95_ms", "P95 ms", 3), Column("hz", "Hz", 1))
_STATED: dict[str, Any] = {
    "stages": {
        "localization": {"mean_ms": 41.466, "p95_ms": 44.015, "hz": 24.12},
        "cycle": {"mean_ms": 44.237, "p95_ms": 47.539, "hz": 22.61},
        "place_inference": {"mean_ms": 5.410, "p95_ms": 7.207},
    },
    "updates": {"mean_ms": 2.779, "p95_ms": 3.811, "thirds_ms": [2.843, 2.804, 2.690]},
}
_HARDWARE = "NVIDIA GeForce GTX 1080, float32, batch 1, 224 × 224, AnyThermal; 4 166 descriptors after 20 warm-ups"


def latency_table(results: Sequence[Mapping[str, Any]]) -> Table:
    """Results of `tmapr bench` side by side, and the paper's last; the notes say how each was measured."""
    labels = _labelled(results)
    found = {**dict(zip(labels, results, strict=True)), PAPER: _STATED}
    columns = [column for label in found for column in _titled(label)]
    rows = [
        *((title, *_cells(found.values(), stage)) for stage, title in STAGES.items()),
        *((title, *_third(found.values(), part)) for part, title in enumerate(_THIRDS)),
    ]
    notes = [note for label, result in zip(labels, results, strict=True) for note in _notes(label, result)]
    return Table((Column("stage", "stage"), *columns), tuple(rows), (*notes, f"{PAPER}: {_HARDWARE}"))


def _labelled(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Encoder, device and precision; numbered where they are the same."""
    for number, result in enumerate(results, start=1):
        if "stages" not in result or "updates" not in result:
            raise InputError(f"result {number}: has no stages and updates, so `tmapr bench` did not write it")
    labels = [f"{result['encoder']}, {result['device']} {result['precision']}" for result in results]
    again, count = Counter(labels), Counter[str]()
    for place, label in enumerate(labels):
        count[label] += 1
        labels[place] = f"{label} ({count[label]})" if again[label] > 1 else label
    return labels


def _titled(label: str) -> list[Column]:
    first, *rest = (Column(f"{label} {column.key}", column.title, column.decimals) for column in _GROUP)
    return [Column(first.key, f"{label}: {first.title}", first.decimals), *rest]


def _cells(results: Collection[Mapping[str, Any]], stage: str) -> list[Cell]:
    figures = [{**result["stages"], "updates": result["updates"]}.get(stage, {}) for result in results]
    return [each.get(column.key) for each in figures for column in _GROUP]


def _third(results: Collection[Mapping[str, Any]], part: int) -> list[Cell]:
    return [cell for result in results for cell in (result["updates"]["thirds_ms"][part], None, None)]


def _notes(label: str, result: Mapping[str, Any]) -> list[str]:
    updates, versions = result["updates"], result["versions"]
    height, width = result["size"]
    heads = "descriptor and pose" if result["pose_head"] else "descriptor, no pose"
    notes = [
        f"{label}: {result['runtime']} on {result['accelerator'] or result['processor']}; batch 1, {height} × {width};"
        f" {result['frames']} frames after {result['warmups']} warm-ups, {result['accepted']} of them matched; images:"
        f" {result['images']}; gives {heads}",
        f"{label}: {result['references']} references, {result['places']} places, descriptor {result['descriptor']},"
        f" classifier input {result['lift']}, {', '.join(result['extensions']) or 'no extension'}",
        f"{label}: {result['processor']}, {result['cores']} cores; threads: {result['threads']} of BLAS, encoder"
        f" {result['encoder_threads'] or 'as ONNX Runtime chooses'};"
        f" {', '.join(f'{name} {number}' for name, number in versions.items())}",
        f"{label}: last third of {updates['count']} updates / first third = {updates['ratio']:.3f}",
    ]
    return [*notes, f"{label}: weights random: times only"] if result["weights"] == "random" else notes
