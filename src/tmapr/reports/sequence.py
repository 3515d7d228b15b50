"""One test sequence on the page: its numbers, its explorer, its verdicts, its matches."""

from tmapr.evaluation.loops import RADIUS
from tmapr.reports.evidence import RunEvidence, SequenceEvidence
from tmapr.reports.explorer import explorer
from tmapr.reports.looks import jumping, matched, pictured
from tmapr.reports.markup import element, escaped
from tmapr.reports.matching import Matching
from tmapr.reports.pictures import Album
from tmapr.reports.summary import decisions, detoured, honesty, poses, rankings, tracks
from tmapr.reports.verdicts import reason_bars, similarity_view


def sequence_section(run: RunEvidence, sequence: SequenceEvidence, album: Album, frames: int, level: int) -> str:
    """Tables and figures under a heading of the given level; pictures of at most so many frames join the album."""
    tests = {sequence.name: sequence.figures}
    heading = element(f"h{level}", {}, escaped(sequence.name))
    count = element("p", {"class": "note"}, f"{sequence.figures['frames']} frames")
    tables = [table(tests).without("sequence", "frames").html() for table in _SHOWN]
    explained = element("p", {"class": "note"}, escaped(_TABLES))
    away = detoured(sequence.name, sequence.figures)
    explained += element("p", {}, escaped(away)) if away else ""
    match = Matching(run, sequence)
    figures = [
        *jumping(run, sequence),
        (reason_bars(sequence.name, sequence.figures["reasons"]), _REASONS),
        (similarity_view(sequence), _SIMILARITIES),
        *(matched(match) if match.judged else ()),
    ]
    drawn = [figure(drawing, caption) for drawing, caption in figures if drawing is not None]
    looks = pictured(match) if match.judged else ""
    parts = (heading, count, *tables, explained, explorer(run, sequence, album, frames), *drawn, looks)
    return element("section", {}, *parts)


def figure(drawing: str, caption: str) -> str:
    """A drawing, which scrolls on a narrow screen, and its caption, which does not."""
    plot = element("div", {"class": "plot"}, drawing)
    return element("figure", {}, plot, element("figcaption", {}, escaped(caption)))


_SHOWN = (tracks, decisions, rankings, honesty, poses)
_TABLES = (
    "Retrieval is the best candidate of every frame that has one, before the gates. A candidate is right within"
    f" {RADIUS:g} m of the truth; d-recall counts only frames whose best candidate is right. R@N is the share of frames"
    " with a right reference among the first N, of those that can have one; P=1 means without a single wrong match. An"
    " honest filter has a NEES and a NIS of 2 and .95 of the frames in its 95 % ellipse. The time is that of a step"
    " after perception."
)
_REASONS = "What the gates said of each frame."
_SIMILARITIES = (
    f"Similarity of the first candidate: right ones (within {RADIUS:g} m of the truth) upward, wrong ones downward. A"
    " good threshold has the wrong ones on its left and the right ones on its right."
)
