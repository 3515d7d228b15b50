"""What a stream learned: each sequence while it was scored, over its thirds, and once others were learned after it."""

from collections.abc import Iterable, Iterator, Mapping

from tmapr.artifacts.documents.runs import TRAINED, Errors, SequenceTimings
from tmapr.artifacts.documents.streams import StreamFigures, StretchFigures
from tmapr.reports.tables.table import Table, TableCell, TableColumn, head_group

PROTOCOL = TableColumn("protocol", "protocol")
"""Of every table with rows of several runs."""

_FIGURES = (
    TableColumn("recall_at_1", "R@1", 3),
    TableColumn("f1", "F1", 3),
    TableColumn("rmse", "RMSE m", 2),
)
_PARTS = ("beginning", "middle", "end")
_LEARNING = "while it was learned"
_STRETCHES = (
    "R@1: first candidates within 10 m, of the frames that can have one; parts are thirds of the sequence's frames; all"
    " of these were scored while the sequence was learned"
)
_ASKED = (
    "after …: once that sequence was streamed and all its labels were learned, the sequences up to it are asked again,"
    " as new drives and without learning; against what was found while it was learned one sees what learning all of it"
    " brings, down a column what is forgotten; trajectories are not fitted to the truth in these rows"
)


def tabulate_stream(errors: Errors) -> Table | None:
    """Every streamed sequence, whole and in thirds; None where nothing was streamed."""
    if errors.stream is None:
        return None
    columns = (TableColumn("sequence", "sequence"), PROTOCOL, TableColumn("part", "part"))
    rows = [
        (name, errors.test[name].protocol_name, part, figures.frames, *_list_figures(figures))
        for name, streamed in errors.stream.while_learning.items()
        for part, figures in zip(("whole", *_PARTS), (streamed.whole, *streamed.thirds), strict=True)
    ]
    return Table((*columns, TableColumn("frames", "frames", 0), *_FIGURES), tuple(rows), (_STRETCHES,))


def tabulate_forgetting(stream: StreamFigures | None) -> Table | None:
    """A row for each state that a sequence left, a group of columns for each sequence that it was asked about."""
    if stream is None:
        return None
    columns = [column for name in stream.order for column in head_group(name, _FIGURES)]
    learning = {name: streamed.whole for name, streamed in stream.while_learning.items()}
    told = {_LEARNING: learning} | {f"after {name}": found for name, found in stream.asked_again.items()}
    rows = [(when, *_list_row(found, stream.order)) for when, found in told.items()]
    return Table((TableColumn("asked", "asked"), *columns), tuple(rows), (_ASKED,))


def describe_labels(labels: str, entries: Iterable[SequenceTimings]) -> str:
    """What was learned from while scoring: that of tests, that of the stream, or both."""
    learned = {entry.protocol: entry.labels for entry in entries}
    if "stream" not in learned:
        return labels
    streamed = f"{learned['stream']} (stream)"
    return f"{labels} (test), {streamed}" if "test" in learned else streamed


def warn_of_streams(protocols: Iterable[str]) -> Iterator[str]:
    """What must be said beside figures of these protocols."""
    named = list(dict.fromkeys(protocols))
    taught = dict.fromkeys(name.removesuffix(f", {TRAINED}") for name in named if name.startswith("stream truth"))
    for name in taught:
        yield (
            f"{name}: while it was scored, it learned from the true positions of earlier frames of the same drive; that"
            " is the paper's protocol, and none of its figures may be quoted without the word stream"
        )
    if any(name.endswith(TRAINED) for name in named):
        yield f"{TRAINED}: networks saw this drive in training; its figures do not say how they do on an unseen one"


def _list_row(found: Mapping[str, StretchFigures], order: Iterable[str]) -> list[TableCell]:
    return [cell for name in order for cell in _list_figures(found.get(name))]


def _list_figures(figures: StretchFigures | None) -> tuple[TableCell, ...]:
    return (figures.recall_at_1, figures.f1, figures.rmse) if figures else (None, None, None)
