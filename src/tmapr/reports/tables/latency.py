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

PARTS = {
    "copy_in": "copy to the device",
    "preparation": "preparation",
    "network": "network with its heads",
    "encode": "preparation, network, heads",
    "asked": "drive's condition, sigma points",
    "search_read": "search's read of the references",
    "ridge_read": "read of K and W",
    "place_scores": "place scores, with the read of K and W",
    "conclude": "scores and ranking",
    "recognition": "recognition as a whole",
    "route_filter": "route filter",
    "crossing": "copy to the host",
    "lesson": "lesson of U, G, H, K and W, K unread",
    "flush": "K rewritten, every sixteenth lesson",
    "update": "update as a whole",
}
"""The rows of a frame on a device, by their keys in JSON."""

_UNTOLD = {"onnxruntime": "as ONNX Runtime chooses", "plug-in": "as the plug-in chooses", "torch": "unknown"}
_THIRDS = ("updates, first third", "updates, middle third", "updates, last third")
_GROUP = (TableColumn("mean_ms", "mean ms", 3), TableColumn("p95_ms", "P95 ms", 3), TableColumn("hz", "Hz", 1))
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
    stages = [*({**result.stages, "updates": result.updates} for result in results), _STATED]
    thirds = [*(result.updates.thirds_ms for result in results), _STATED_THIRDS]
    columns = [column for label in (*labels, PAPER) for column in head_group(label, _GROUP)]
    rows = [
        *((title, *_list_stage(stages, stage)) for stage, title in STAGES.items()),
        *((title, *_list_third(thirds, part)) for part, title in enumerate(_THIRDS)),
    ]
    notes = [note for label, result in zip(labels, results, strict=True) for note in _describe_result(label, result)]
    return Table((TableColumn("stage", "stage"), *columns), tuple(rows), (*notes, f"{PAPER}: {_HARDWARE}"))


def tabulate_parts(result: Latency) -> Table | None:
    """A frame on a device part by part, each beside its floor; None where none was there."""
    if result.device_stages is None or result.frame is None:
        return None
    keys = ("p50_ms", "p99_ms", "floor_ms")
    frame, parts = result.frame, result.device_stages
    rows = [(PARTS.get(name, name), *list_cells(part, keys)) for name, part in parts.items()]
    rows.append(("whole frame with update, on the clock", frame.p50_ms, frame.p99_ms, frame.floor_ms))
    rows.append((f"the paper's, mean, on its {result.paper_card}", result.paper_ms, None, None))
    titles = zip(keys, ("median ms", "P99 ms", "floor ms"), strict=True)
    updates = result.updates
    notes = (
        f"by events on {result.accelerator or result.processor}; floor: bytes that must be moved, at"
        f" {result.bandwidth_gb_s or 0.0:.0f} GB/s there and {result.link_gb_s or 0.0:.1f} GB/s to it, as copied in"
        " this run; none where launches are what it costs",
        f"{updates.count} updates: mean {updates.mean_ms:.3f} ms, worst {updates.worst_ms or 0.0:.3f} ms, thirds"
        f" {', '.join(f'{third:.3f}' for third in updates.thirds_ms)} ms",
    )
    return Table((TableColumn("part", "part"), *(TableColumn(*each, 4) for each in titles)), tuple(rows), notes)


def _label_results(results: Sequence[Latency]) -> list[str]:
    """Encoder, device and precision; numbered where they are the same."""
    labels = [f"{result.encoder}, {result.device} {result.precision}" for result in results]
    again, count = Counter(labels), Counter[str]()
    for place, label in enumerate(labels):
        count[label] += 1
        labels[place] = f"{label} ({count[label]})" if again[label] > 1 else label
    return labels


def _list_stage(results: Sequence[Mapping[str, StageLatency]], stage: str) -> list[TableCell]:
    return [cell for stages in results for cell in list_cells(stages.get(stage), [column.key for column in _GROUP])]


def _list_third(results: Sequence[tuple[float, float, float]], part: int) -> list[TableCell]:
    return [cell for thirds in results for cell in (thirds[part], None, None)]


def _describe_result(label: str, result: Latency) -> list[str]:
    height, width = result.size
    heads = "descriptor and pose" if result.pose_head else "descriptor, no pose"
    notes = [
        f"{label}: {result.runtime} on {result.accelerator or result.processor}; batch 1, {height} × {width};"
        f" {result.frames} frames after {result.warmups} warm-ups, {result.accepted} of them with an accepted"
        f" match; images: {result.images}; gives {heads}",
        f"{label}: {result.references} references, {result.places} places, descriptor {result.descriptor},"
        f" classifier input {result.lift}, {', '.join(result.extensions) or 'no extension'}",
        f"{label}: {result.processor}, {result.cores} cores; threads: {result.threads} of BLAS, encoder"
        f" {result.encoder_threads or _UNTOLD[result.runtime]};"
        f" {', '.join(f'{name} {number}' for name, number in result.versions.items())}",
        f"{label}: last third of {result.updates.count} updates / first third = {result.updates.ratio:.3f}",
    ]
    return [*notes, f"{label}: weights random: times only"] if result.weights == "random" else notes
