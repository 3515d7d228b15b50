"""One test sequence on the page: its numbers, its map, its error over time, its verdicts."""

from tmapr.evaluation.loops import RADIUS
from tmapr.reports.errors import error_view
from tmapr.reports.evidence import SequenceEvidence, Track
from tmapr.reports.markup import element, escaped
from tmapr.reports.stretches import SILENCE
from tmapr.reports.summary import loops, tracks
from tmapr.reports.trajectory import map_view, unseen
from tmapr.reports.verdicts import reason_bars, similarity_view


def sequence_section(sequence: SequenceEvidence, reference: Track, frame: str, level: int) -> str:
    """Tables and figures under a heading of the given level."""
    tests = {sequence.name: sequence.figures}
    names = ("x", "y") if frame == "local" else ("east", "north")
    heading = element(f"h{level}", {}, escaped(sequence.name))
    count = element("p", {"class": "note"}, f"{sequence.figures['frames']} frames")
    tables = tracks(tests).without("sequence", "frames").html() + loops(tests).without("sequence").html()
    figures = [
        _figure(map_view(sequence, reference, names), _map_caption(unseen(sequence, reference))),
        _figure(error_view(sequence), _ERRORS),
        _figure(reason_bars(sequence.name, sequence.figures["reasons"]), _REASONS),
    ]
    similarities = similarity_view(sequence)
    if similarities is not None:
        figures.append(_figure(similarities, _SIMILARITIES))
    explained = element("p", {"class": "note"}, escaped(_TABLES))
    return element("section", {}, heading, count, tables, explained, *figures)


def _figure(drawing: str, caption: str) -> str:
    return element("figure", {}, drawing, element("figcaption", {}, escaped(caption)))


def _map_caption(outside: int) -> str:
    strayed = f" {outside} fused positions lie outside the view." if outside else ""
    thinned = "Lines keep every bend of more than a quarter of a pixel"
    return f"Map.{strayed} {thinned}; none crosses {SILENCE:g} s without a frame."


_TABLES = (
    "Retrieval is the best candidate of every frame that has one, before the gates. A candidate is right within"
    f" {RADIUS:g} m of the truth; d-recall counts only frames whose best candidate is right. An honest filter has a"
    " NEES of 2 and .95 of the frames in its 95 % ellipse. The time is that of a step after perception."
)
_ERRORS = (
    "Error over time. Where the fused line leaves the band, the filter claimed more than it knew. Each pixel column"
    " keeps its first, lowest, highest and last value; what lies beyond the axis is drawn on its edge."
)
_REASONS = "What the gates said of each frame."
_SIMILARITIES = (
    f"Similarity of the first candidate: right ones (within {RADIUS:g} m of the truth) upward, wrong ones downward. A"
    " good threshold has the wrong ones on its left and the right ones on its right."
)
