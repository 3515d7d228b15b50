"""What each part adds: the eight subsets of U, G and H (the paper's Table IV) and the system's parts (Table V)."""

from collections.abc import Iterator, Sequence

from tmapr.evaluation.ablation import FULL
from tmapr.evaluation.comparison import Standing
from tmapr.reports.findings import Ablation, Gap, LoopFigures, Outcome, Variant
from tmapr.reports.over_runs import RECALLS_AT, Ablated, Line, lines
from tmapr.reports.summary import alignment, warnings
from tmapr.reports.table import Cell, Column, Table

GLOBAL = "global"
"""Key of global retrieval alone in ablation.json."""

_WHICH = (Column("run", "run"), Column("runs", "n", 0), Column("sequence", "sequence"), Column("method", "method"))
_METRES = Column("rmse", "RMSE m", 2)
_DIFFERENCE = Column("difference", "full less row m", 2)
_LOOPS = (
    *_WHICH,
    Column("precision", "precision", 4),
    Column("recall", "recall", 4),
    Column("decision_recall", "d-recall", 4),
    Column("f1", "F1", 4),
    Column("accepted", "accepted", 1),
    *(Column(f"recall_at_{count}", f"R@{count}", 4) for count in RECALLS_AT),
    _METRES,
    Column("difference", "F1 less ACIL", 4),
    Column("low", "from", 4),
    Column("high", "to", 4),
    Column("verdict", "verdict"),
)
_SYSTEM = (
    *_WHICH,
    Column("frames", "frames", 1),
    _METRES,
    Column("mean", "mean m", 2),
    Column("median", "median m", 2),
    Column("jumps", "jumps", 1),
    Column("coverage95", "in 95 %", 3),
    _DIFFERENCE,
    Column("low", "from", 2),
    Column("high", "to", 2),
    Column("verdict", "full is"),
)
_RECALLS = (
    "recall: of the queries with a reference within 10 m; d-recall: of those whose best candidate is correct; F1 uses"
    " recall; all before gates and fusion"
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


def loops_table(given: Sequence[Ablated]) -> Table:
    """Loop recognition of the eight subsets, beneath global retrieval where the ablation has it."""
    rows = [
        (*_of(line), *_loop_cells(line.outcome.loops), line.outcome.rmse, *_gap_cells(line.outcome.difference))
        for line in lines(given, _recognizers)
    ]
    return Table(_LOOPS, tuple(rows), (_RECALLS, _INTERVALS, *_origins(given)))


def system_table(given: Sequence[Ablated]) -> Table:
    """Errors of the system's parts, and whether all of them together beat the best of the others."""
    found = list(lines(given, lambda ablation: [each for each in ablation.rows if each.kind == "system"]))
    rows = [(*_of(line), *_error_cells(line.outcome), *_gap_cells(line.outcome.difference)) for line in found]
    notes = [*_sentences(found), _FRAMES, _INTERVALS, *_origins(given), *_pose_heads(given)]
    return Table(_SYSTEM, tuple(rows), tuple(notes))


def _recognizers(ablation: Ablation) -> list[Variant]:
    """The subsets, after global retrieval: its difference is one of RMSE and has no place beside theirs."""
    first = [
        each.model_copy(update={"test": {name: _undifferenced(one) for name, one in each.test.items()}})
        for each in ablation.rows
        if each.key == GLOBAL and any(one.loops for one in each.test.values())
    ]
    return [*first, *(each for each in ablation.rows if each.kind == "subset")]


def _undifferenced(outcome: Outcome) -> Outcome:
    return outcome.model_copy(update={"difference": None})


def _of(line: Line) -> tuple[Cell, ...]:
    return (line.run, line.runs, line.sequence, line.variant.title)


def _loop_cells(loops: LoopFigures | None) -> tuple[Cell, ...]:
    loops = loops or LoopFigures()
    scores = (loops.precision, loops.recall, loops.decision_recall, loops.f1, loops.accepted)
    return (*scores, *(loops.recall_at.get(count) for count in RECALLS_AT))


def _error_cells(outcome: Outcome) -> tuple[Cell, ...]:
    metres = (outcome.rmse, outcome.mean, outcome.median)
    return (outcome.frames, *metres, outcome.jumps, outcome.coverage95)


def _gap_cells(gap: Gap | None) -> tuple[Cell, ...]:
    return (gap.value, gap.low, gap.high, gap.verdict) if gap else (None, None, None, None)


def _sentences(found: Sequence[Line]) -> Iterator[str]:
    """For each sequence, full beside the best other row: of the mean over runs where there is one."""
    for sequence in dict.fromkeys(line.sequence for line in found):
        here = [line for line in found if line.sequence == sequence]
        whole = [line for line in here if line.variant.key == FULL]
        if not whole:
            yield f"{sequence}: the full system has no row; nothing is compared with it"
            continue
        full = max(whole, key=lambda line: line.runs)
        others = [line for line in here if line.run == full.run and line.variant.key != FULL]
        yield f"{full.run} · {sequence} (n = {full.runs}): {_sentence(full, others)}"


def _sentence(full: Line, others: Sequence[Line]) -> str:
    begin = f"{full.variant.title} RMSE {_METRES.shown(full.outcome.rmse)} m"
    known = [(line.outcome.rmse, line) for line in others if line.outcome.rmse is not None and line.runs == full.runs]
    if not known:
        return f"{begin}; there is no other row to compare with"
    rmse, best = min(known, key=lambda pair: pair[0])
    begin += f"; best other row: {best.variant.title} {_METRES.shown(rmse)} m"
    gap = best.outcome.difference
    if gap is None:
        return f"{begin}; their difference has no interval"
    value, low, high = map(_DIFFERENCE.shown, (gap.value, gap.low, gap.high))
    told = _OUTCOMES.get(gap.verdict, gap.verdict)
    return f"{begin}; on common frames full less it {value} m [{low}, {high}]: {told}"


def _origins(given: Sequence[Ablated]) -> list[str]:
    """Where each run's numbers come from, then what must be said of how they were aligned and labelled."""
    said, warned = [], []
    for one in given:
        found = one.ablation
        stated = {"alignment": found.alignment or "not stated", "labels": found.labels or "not stated"}
        said.append(
            f"{one.run}: run {one.folder}; made by {found.made_by}; labels {stated['labels']};"
            f" alignment {alignment(stated)}; settings {found.settings_sha256[:12]}"
        )
        warned += warnings(stated)
    return [*said, *dict.fromkeys(warned)]


def _pose_heads(given: Sequence[Ablated]) -> Iterator[str]:
    """Whether the pose head is a fair input: its error where it should be at its best."""
    for one in given:
        for sequence, errors in one.ablation.apr.mapped.items():
            share = 100 * errors.rmse / errors.extent
            yield (
                f"{one.run}: APR under the mapped condition, {sequence}: RMSE {_METRES.shown(errors.rmse)} m,"
                f" {share:.1f} % of the route's extent of {errors.extent:.0f} m"
            )
