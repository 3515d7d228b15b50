"""What each part adds: the eight subsets of U, G and H (the paper's Table IV) and the system's parts (Table V)."""

from collections.abc import Iterator, Sequence

from tmapr.artifacts.documents.runs import LoopFigures
from tmapr.artifacts.documents.studies import Ablation, AblationRow, Gap, RowFigures
from tmapr.reports.tables.ablation_runs import RECALLS_AT, AblatedRun, AblationLine, list_lines
from tmapr.reports.tables.errors import list_warnings, name_alignment
from tmapr.reports.tables.stream import PROTOCOL
from tmapr.reports.tables.table import Table, TableCell, TableColumn
from tmapr.studies.ablation import FULL
from tmapr.studies.comparison import Standing

GLOBAL = "global"
"""Key of global retrieval alone in ablation.json."""

_WHICH = (
    TableColumn("run", "run"),
    TableColumn("runs", "n", 0),
    TableColumn("sequence", "sequence"),
    PROTOCOL,
    TableColumn("method", "method"),
)
_METRES = TableColumn("rmse", "RMSE m", 2)
_DIFFERENCE = TableColumn("difference", "full less row m", 2)
_LOOPS = (
    *_WHICH,
    TableColumn("classes", "classes", 0),
    TableColumn("constrained", "constrained", 3),
    TableColumn("threshold", "threshold", 3),
    TableColumn("precision", "precision", 4),
    TableColumn("recall", "recall", 4),
    TableColumn("decision_recall", "d-recall", 4),
    TableColumn("f1", "F1", 4),
    TableColumn("accepted", "similar", 1),
    *(TableColumn(f"recall_at_{count}", f"R@{count}", 4) for count in RECALLS_AT),
    _METRES,
    TableColumn("difference", "F1 less ACIL", 4),
    TableColumn("low", "from", 4),
    TableColumn("high", "to", 4),
    TableColumn("verdict", "verdict"),
)
_SYSTEM = (
    *_WHICH,
    TableColumn("frames", "frames", 1),
    _METRES,
    TableColumn("mean", "mean m", 2),
    TableColumn("median", "median m", 2),
    TableColumn("jumps", "jumps", 1),
    TableColumn("coverage95", "in 95 %", 3),
    _DIFFERENCE,
    TableColumn("low", "from", 2),
    TableColumn("high", "to", 2),
    TableColumn("verdict", "full is"),
)
_RECALLS = (
    "recall: of the queries with a reference within 10 m; d-recall: of those whose best candidate is correct; F1 uses"
    " recall; all before gates and fusion"
)
_SEARCH = (
    "classes: places that the classifier knew; constrained: share of the frames in which they narrowed the search;"
    " threshold: the similarity that counts as a loop, of each row its own where it was calibrated"
)
_INTERVALS = (
    "from, to: paired 95 % interval of the difference, for n = 1 over resampled blocks of frames, for more Student's t"
    " over the n runs; a mean is given where every run has the value"
)
_FRAMES = (
    "errors are over the frames that a row places, full less row over common frames: where frames differ, it is not the"
    " difference of the two RMSEs"
)
_OUTCOMES = {Standing.BETTER.value: "full beats it", Standing.WORSE.value: "it beats full"}


def tabulate_loops(given: Sequence[AblatedRun]) -> Table:
    """Loop recognition of the eight subsets, beneath global retrieval where the ablation has it."""
    rows = [
        (
            *_identify(line),
            *_list_search(line),
            *_list_loops(line.outcome.loops),
            line.outcome.rmse,
            *_list_f1_gap(line),
        )
        for line in list_lines(given, _choose_recognizers)
    ]
    return Table(_LOOPS, tuple(rows), (_RECALLS, _SEARCH, _INTERVALS, *_list_origins(given)))


def tabulate_system(given: Sequence[AblatedRun]) -> Table:
    """Errors of the system's parts, and whether all of them together beat the best of the others."""
    found = list(list_lines(given, lambda ablation: [each for each in ablation.rows if each.kind == "system"]))
    rows = [(*_identify(line), *_list_errors(line.outcome), *_list_gap(line.outcome.difference)) for line in found]
    notes = [*_describe_systems(found), _FRAMES, _INTERVALS, *_list_origins(given), *_describe_pose_heads(given)]
    return Table(_SYSTEM, tuple(rows), tuple(notes))


def _choose_recognizers(ablation: Ablation) -> list[AblationRow]:
    """The subsets, after global retrieval."""
    recognizes = {each.key: any(one.loops for one in each.test.values()) for each in ablation.rows}
    first = [each for each in ablation.rows if each.key == GLOBAL and recognizes[each.key]]
    return [*first, *(each for each in ablation.rows if each.kind == "subset")]


def _identify(line: AblationLine) -> tuple[TableCell, ...]:
    return (line.run, line.runs, line.sequence, line.outcome.protocol, line.variant.title)


def _list_search(line: AblationLine) -> tuple[TableCell, ...]:
    """By what it searches; global retrieval alone knows no classes."""
    classes = None if line.variant.key == GLOBAL else line.outcome.classes
    return classes, line.outcome.constrained, line.outcome.threshold


def _list_loops(loops: LoopFigures | None) -> tuple[TableCell, ...]:
    loops = loops or LoopFigures()
    scores = (loops.precision, loops.recall, loops.decision_recall, loops.f1, loops.accepted)
    return (*scores, *((loops.recall_at or {}).get(count) for count in RECALLS_AT))


def _list_errors(outcome: RowFigures) -> tuple[TableCell, ...]:
    metres = (outcome.rmse, outcome.mean, outcome.median)
    return (outcome.frames, *metres, outcome.jumps, outcome.coverage95)


def _list_f1_gap(line: AblationLine) -> tuple[TableCell, ...]:
    """The difference of global retrieval is one of RMSE and has no place beside those of F1."""
    return _list_gap(None if line.variant.key == GLOBAL else line.outcome.difference)


def _list_gap(gap: Gap | None) -> tuple[TableCell, ...]:
    return (gap.value, gap.low, gap.high, gap.verdict) if gap else (None, None, None, None)


def _describe_systems(found: Sequence[AblationLine]) -> Iterator[str]:
    """For each sequence, full beside the best other row: of the mean over runs where there is one."""
    for sequence in dict.fromkeys(line.sequence for line in found):
        here = [line for line in found if line.sequence == sequence]
        whole = [line for line in here if line.variant.key == FULL]
        if not whole:
            yield f"{sequence}: the full system has no row; nothing is compared with it"
            continue
        full = max(whole, key=lambda line: line.runs)
        others = [line for line in here if line.run == full.run and line.variant.key != FULL]
        yield f"{full.run} · {sequence} (n = {full.runs}): {_describe_system(full, others)}"


def _describe_system(full: AblationLine, others: Sequence[AblationLine]) -> str:
    begin = f"{full.variant.title} RMSE {_METRES.format(full.outcome.rmse)} m"
    known = [(line.outcome.rmse, line) for line in others if line.outcome.rmse is not None and line.runs == full.runs]
    if not known:
        return f"{begin}; there is no other row to compare with"
    rmse, best = min(known, key=lambda pair: pair[0])
    begin += f"; best other row: {best.variant.title} {_METRES.format(rmse)} m"
    gap = best.outcome.difference
    if gap is None:
        return f"{begin}; their difference has no interval"
    value, low, high = map(_DIFFERENCE.format, (gap.value, gap.low, gap.high))
    told = _OUTCOMES.get(gap.verdict, gap.verdict)
    return f"{begin}; on common frames full less it {value} m [{low}, {high}]: {told}"


def _list_origins(given: Sequence[AblatedRun]) -> list[str]:
    """Where each run's numbers come from, then what must be said of how they were aligned and labelled."""
    said, warned = [], []
    for one in given:
        found = one.ablation
        alignment, labels = found.alignment, found.labels
        said.append(
            f"{one.run}: run {one.folder}; made by {found.made_by}; labels {labels};"
            f" alignment {name_alignment(alignment)}; settings {found.settings_sha256[:12]}; {_tell_calibration(found)}"
        )
        protocols = [outcome.protocol for row in found.rows for outcome in row.test.values()]
        warned += list_warnings(alignment, labels, protocols)
    return [*said, *dict.fromkeys(warned)]


def _tell_calibration(found: Ablation) -> str:
    if not found.calibrated_on:
        return "rows share one threshold"
    return f"each row calibrated on {', '.join(found.calibrated_on)}"


def _describe_pose_heads(given: Sequence[AblatedRun]) -> Iterator[str]:
    """Whether the pose head is a fair input: its error where it should be at its best."""
    for one in given:
        for sequence, errors in one.ablation.apr.mapped.items():
            share = 100 * errors.rmse / errors.extent
            yield (
                f"{one.run}: APR under the mapped condition, {sequence}: RMSE {_METRES.format(errors.rmse)} m,"
                f" {share:.1f} % of the route's extent of {errors.extent:.0f} m"
            )
