"""What `tmapr bench` found, beside what the paper states: one row per stage, a set of columns per result."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tmapr.artifacts.documents.latency import Latency, StageLatency
from tmapr.reports.tables.errors import list_cells
from tmapr.reports.tables.table import Table, TableCell, TableColumn, head_group

PAPER = "paper (hardware as it states)"
STAGES = {
    "prepare": "image preparation",
    "encode": "preparation, encoder, heads",
    "encode_eager": "preparation, encoder, heads, eager float32",
    "places": "place scores",
    "search": "search",
    "gates_filter": "gates and filter",
    "update": "update",
    "localization": "localization, image to estimate",
    "cycle": "full cycle with update",
    "cycle_eager": "full cycle, eager float32 encoder",
    "place_inference": "place inference alone",
    "ridge_update": "updates of K and W alone",
    "updates": "updates alone",
}
"""The rows, by their keys in JSON."""

_UNTOLD = {"onnxruntime": "as ONNX Runtime chooses", "plug-in": "as the plug-in chooses", "torch": "unknown"}
_THIRDS = ("updates, first third", "updates, middle third", "updates, last third")
_TITLES = {"mean_ms": "mean ms", "p50_ms": "P50 ms", "p95_ms": "P95 ms", "p99_ms": "P99 ms", "floor_ms": "floor ms"}
_GROUP = (*(TableColumn(key, title, 3) for key, title in _TITLES.items()), TableColumn("hz", "Hz", 1))
_STATED_GROUP = tuple(column for column in _GROUP if column.key in ("mean_ms", "p95_ms", "hz"))
_STATED = {
    "localization": StageLatency(mean_ms=41.466, p95_ms=44.015, hz=24.12),
    "cycle": StageLatency(mean_ms=44.237, p95_ms=47.539, hz=22.61),
    "place_inference": StageLatency(mean_ms=5.410, p95_ms=7.207),
    "updates": StageLatency(mean_ms=2.779, p95_ms=3.811),
}
_STATED_THIRDS = (2.843, 2.804, 2.690)
_HARDWARE = "NVIDIA GeForce GTX 1080, float32, batch 1, 224 × 224, AnyThermal; 4 166 descriptors after 20 warm-ups"


def tabulate_latency(results: Sequence[Latency]) -> Table:
    """Results of `tmapr bench` side by side, and the paper's last; the notes say how each was measured."""
    labels = _label_results(results)
    stages: list[Mapping[str, StageLatency | None]] = [
        {**result.stages, "updates": result.updates, "ridge_update": result.ridge_update} for result in results
    ]
    stages.append(_STATED)
    thirds = [*(result.updates.thirds_ms for result in results), _STATED_THIRDS]
    groups = [*[_GROUP] * len(results), _STATED_GROUP]
    columns = [
        column for label, group in zip((*labels, PAPER), groups, strict=True) for column in head_group(label, group)
    ]
    shown = [stage for stage in STAGES if not stage.endswith("_eager") or any(stage in each for each in stages)]
    rows = [
        *((STAGES[stage], *_list_stage(stages, groups, stage)) for stage in shown),
        *((title, *_list_third(thirds, groups, part)) for part, title in enumerate(_THIRDS)),
    ]
    notes = [note for label, result in zip(labels, results, strict=True) for note in _describe_result(label, result)]
    return Table((TableColumn("stage", "stage"), *columns), tuple(rows), (*notes, f"{PAPER}: {_HARDWARE}"))


def _label_results(results: Sequence[Latency]) -> list[str]:
    """Encoder, device and precision; numbered where they are the same."""
    labels = [f"{result.encoder}, {result.device} {result.precision}" for result in results]
    again, count = Counter(labels), Counter[str]()
    for place, label in enumerate(labels):
        count[label] += 1
        labels[place] = f"{label} ({count[label]})" if again[label] > 1 else label
    return labels


def _list_stage(
    results: Sequence[Mapping[str, StageLatency | None]], groups: Sequence[Sequence[TableColumn]], stage: str
) -> list[TableCell]:
    keys = [[column.key for column in group] for group in groups]
    return [cell for stages, each in zip(results, keys, strict=True) for cell in list_cells(stages.get(stage), each)]


def _list_third(
    results: Sequence[tuple[float, float, float]], groups: Sequence[Sequence[TableColumn]], part: int
) -> list[TableCell]:
    empty = [[None] * (len(group) - 1) for group in groups]
    return [cell for thirds, rest in zip(results, empty, strict=True) for cell in (thirds[part], *rest)]


def _describe_result(label: str, result: Latency) -> list[str]:
    height, width = result.size
    heads = "descriptor and pose" if result.pose_head else "descriptor, no pose"
    taught = f" ({result.lessons} of them taught)" if result.lessons else ""
    notes = [
        f"{label}: {result.runtime} on {result.accelerator or result.processor}; batch 1, {height} × {width};"
        f" {result.frames} frames after {result.warmups} warm-ups, {result.accepted} of them with an accepted"
        f" match; images: {result.images}; gives {heads}",
        f"{label}: {result.references} references{taught}, {result.places} places, descriptor {result.descriptor},"
        f" classifier input {result.lift}, {', '.join(result.extensions) or 'no extension'}",
        f"{label}: {result.processor}, {result.cores} cores; threads: {result.threads} of BLAS, encoder"
        f" {result.encoder_threads or _UNTOLD[result.runtime]};"
        f" {', '.join(f'{name} {number}' for name, number in result.versions.items())}",
        f"{label}: last third of {result.updates.count} updates / first third = {result.updates.ratio:.3f}",
    ]
    if result.bandwidth_gb_s:
        notes.append(
            f"{label}: floor: bytes that must be moved, at the {result.bandwidth_gb_s:.0f} GB/s of a copy in this run;"
            " what fits a cache can be faster"
        )
    if result.device == "cuda" and result.precision == "float32":
        notes.append(f"{label}: float32 as in the paper's protocol; other commands encode in perception.precision")
    return [*notes, f"{label}: weights random: times only"] if result.weights == "random" else notes
