"""The interactive part of a sequence: a map and an error curve on which a frame can be pointed at, and its card.

The drawings are the page's own SVG and the script is a page long: a plotting library would bring 4.5 MB of script to
every report. All that is shown is written here, numbers as text and places as pixels; the script looks up the frame
nearest to the pointer and puts it there. Without it, the figures and the sampled frames are still on the page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tmapr.artifacts.trajectory import Column
from tmapr.evaluation.loops import RADIUS
from tmapr.reports.drawing.lines import SILENCE
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import encode_jpeg
from tmapr.reports.drawing.svg import layer_keys
from tmapr.reports.figures.error_curve import CURSOR, ErrorAxes, draw_errors, list_error_keys
from tmapr.reports.figures.trajectory_map import MapAxes, count_unseen, draw_map, list_map_keys
from tmapr.reports.page.belief import list_beliefs, render_certainty, render_strip
from tmapr.reports.page.document import render_data
from tmapr.reports.page.figure import render_figure
from tmapr.reports.page.footage import Album, Footage
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.reports.tables.table import NOTHING
from tmapr.types import Reason

Pixels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """A frame as the script knows it: where it lies on the two drawings, its pictures' numbers, and its card."""

    title: str
    match_title: str
    fused: Pixels
    truth: Pixels | None
    match: Pixels | None
    moment: float
    error: float | None
    wrong: bool
    picture: int | None
    match_picture: int | None
    verdict: str
    facts: Sequence[str]


def render_explorer(run: ReportedRun, sequence: ReportedSequence, album: Album, frames: int) -> str:
    """The figures and the card of one sequence; the pictures of at most so many frames go into the album."""
    footage = Footage.of(run, sequence, frames)
    names = ("x", "y") if run.errors.frame.kind == "local" else ("east", "north")
    drawn = draw_map(sequence, run.references, names, footage.samples)
    plots = (
        render_figure(drawn, _caption_map(run, sequence, names), "map", layer_keys(list_map_keys(sequence))),
        _render_steps(len(footage.rows), sequence),
        render_strip(run, sequence),
        render_figure(draw_errors(sequence), _ERRORS, "strip", layer_keys(list_error_keys(sequence))),
        render_certainty(run, sequence),
    )
    shown = [asdict(frame) for frame in _list_frames(run, sequence, footage, album)]
    believed = list_beliefs(run, sequence, footage.rows.tolist())
    data = render_data({"frames": shown, "cursor": CURSOR} | ({"belief": believed} if believed else {}))
    absent = (element("p", {"class": "note"}, escape(words)) for words in footage.absent)
    both = element("div", {"class": "explorer"}, element("div", {"class": "plots"}, *plots), _render_card(), data)
    return both + _render_samples(sequence, footage) + "".join(absent)


def _list_frames(run: ReportedRun, sequence: ReportedSequence, footage: Footage, album: Album) -> list[ShownFrame]:
    view, axis = MapAxes.of(sequence, run.references), ErrorAxes.of(sequence)
    errors = sequence.errors(sequence.fused)
    fused, truth, match = (
        view(of.values).round(1) for of in (sequence.fused, sequence.truth, sequence.table.reference_positions)
    )
    moments, heights = axis(sequence.seconds, errors.values).round(1).T
    wrong, memory = sequence.misled, run.memory

    def frame(row: int, card: FrameCard) -> ShownFrame:
        matched = footage.matched.get(row)
        query = footage.queries.found.get(row)
        answer = None if matched is None else footage.matches.found.get(matched)
        return ShownFrame(
            title=f"frame {row} of {sequence.name}",
            match_title="no match" if matched is None else f"match: {memory.describe(matched)}",
            fused=tuple(fused[row].tolist()),
            truth=tuple(truth[row].tolist()) if sequence.truth.known[row] else None,
            match=None if matched is None else tuple(match[row].tolist()),
            moment=float(moments[row]),
            error=float(heights[row]) if errors.known[row] else None,
            wrong=bool(wrong[row]),
            picture=None if query is None else album.add(query),
            match_picture=None if answer is None else album.add(answer),
            verdict=card.verdict,
            facts=card.facts,
        )

    rows = footage.rows.tolist()
    return [frame(row, card) for row, card in zip(rows, write_cards(sequence, rows), strict=True)]


def _render_steps(count: int, sequence: ReportedSequence) -> str:
    """A slider: keys and fingers know how to move one."""
    named = f"frames of {sequence.name}"
    slider = {"type": "range", "min": "0", "max": str(count - 1), "value": "0", "aria-label": named}
    hint = (
        f"{count} of {len(sequence.table.stamps)} frames can be looked at: point at one, or step with the arrow keys."
    )
    return element("div", {"class": "steps", "hidden": "hidden"}, element("input", slider), escape(hint))


def _render_card() -> str:
    shot = element("div", {"class": "picture"}, "no image") + element("figcaption", {}, NOTHING)
    shots = element("div", {"class": "shots"}, *[element("figure", {}, shot)] * 2)
    said = element("p", {"class": "verdict"}, NOTHING)
    listed = element("dl", {}, *(element("dt", {}, name) + element("dd", {}, NOTHING) for name in FACTS))
    attributes = {"class": "card", "hidden": "hidden", "aria-label": "the frame that is looked at"}
    return element("section", attributes, shots, said, listed)


def _render_samples(sequence: ReportedSequence, footage: Footage) -> str:
    """Some frames, numbered as on the map."""
    entries = []
    for number, row in enumerate(footage.samples, start=1):
        picture = footage.queries.found[row]
        told = f" {sequence.seconds[row]:.1f} s, {sequence.table.reasons[row].value}"
        image = {"src": encode_jpeg(picture), "alt": f"frame {row}"}
        entries.append(element("li", {}, element("img", image), element("b", {}, str(number)), escape(told)))
    return element("ol", {"class": "sampled"}, *entries) if entries else ""


def _caption_map(run: ReportedRun, sequence: ReportedSequence, names: tuple[str, str]) -> str:
    outside, wrong = count_unseen(sequence, run.references), int(sequence.misled.sum())
    strayed = f" {outside} fused positions lie outside the view." if outside else ""
    led = f"{wrong} accepted match{'' if wrong == 1 else 'es'}" if wrong else "no accepted match"
    return (
        f"Map in metres, {names[0]} to the right and {names[1]} upward.{strayed} A line leads from a frame to its match"
        f" where that was accepted and is wrong, farther than {RADIUS:g} m from the truth: {led}. Lines keep every bend"
        f" of more than a quarter of a pixel; none crosses {SILENCE:g} s without a frame."
    )


_ERRORS = (
    "Position error in metres over time. Where the fused line leaves the band, the filter claimed more than it knew."
    " Each pixel column keeps its first, lowest, highest and last value; what lies beyond is drawn on the edge."
)


REASONS: Mapping[Reason, str] = {
    Reason.ACCEPTED: "the match was believed and corrected the filter",
    Reason.RELOCALIZED: "what was seen since overruled the filter, which starts again there",
    Reason.NO_CANDIDATE: "the search found no reference",
    Reason.FAULTY_FRAME: "the image is frozen, empty, saturated or damaged",
    Reason.REPEATED_STAMP: "the frame before it has the same stamp",
    Reason.OLDER_STAMP: "the frame came later than a newer one",
    Reason.LOOKS_DIFFERENT: "the similarity of the match is below the threshold",
    Reason.OUT_OF_BOUNDS: "the match lies outside the bounds that were set",
    Reason.FAR_FROM_APR: "the match lies too far from the position of the pose head",
    Reason.FAR_FROM_BELIEF: "the match lies too far from where the filter believes to be",
    Reason.JUMPS: "the match is farther from the last accepted one than the camera can have moved",
    Reason.UNCONFIRMED: "it and the matches before it that agree do not suffice yet",
    Reason.ISOLATED: "too few of the best matches lie near the first",
    Reason.AMBIGUOUS: "a match elsewhere scores nearly as well",
    Reason.OFF_MAP: "more likely than any place is that the camera has left the map",
}
"""Why it was decided so."""

FACTS = (
    "status",
    "error",
    "error of APR",
    "error of the match",
    "similarity",
    "score",
    "margin",
    "support",
    "leverage",
    "confidence",
    "innovation",
    "time",
    "stamp, ns",
)
"""What is told of a frame; an error is a distance to the truth."""


@dataclass(frozen=True, slots=True)
class FrameCard:
    """The verdict with its reason in words, and the values of `FACTS`."""

    verdict: str
    facts: tuple[str, ...]


def write_cards(sequence: ReportedSequence, rows: Sequence[int]) -> list[FrameCard]:
    """What the page tells of each of these frames."""
    wrong, told = sequence.misled.tolist(), list(_list_numbers(sequence))
    return [
        FrameCard(_describe_verdict(sequence.table.reasons[row], wrong[row]), _list_facts(sequence, row, told))
        for row in rows
    ]


def _describe_verdict(reason: Reason, wrong: bool) -> str:
    """The gates cannot know that an accepted match is wrong; the reader must."""
    warning = ". WRONG: the match shows another place" if wrong else ""
    return f"{reason.value}: {REASONS[reason]}{warning}"


def _list_numbers(sequence: ReportedSequence) -> Iterator[tuple[Column, str]]:
    """The columns of numbers with their formats."""
    table = sequence.table
    for track in (sequence.fused, sequence.apr, table.reference_positions):
        yield sequence.errors(track), "{:.2f} m"
    for column in (table.similarities, table.scores, table.margins, table.supports, table.leverages, table.confidences):
        yield column, "{:.3f}"
    yield table.innovations, "{:.2f} m"


def _list_facts(sequence: ReportedSequence, row: int, columns: Sequence[tuple[Column, str]]) -> tuple[str, ...]:
    numbers = (_format_number(float(of.values[row]), form) if of.known[row] else NOTHING for of, form in columns)
    moment = (f"{sequence.seconds[row]:.2f} s", str(sequence.table.stamps[row]))
    return (sequence.table.statuses[row].value, *numbers, *moment)


def _format_number(value: float, form: str) -> str:
    # A margin is infinite where there is no match elsewhere.
    return form.format(value).replace("-", "\N{MINUS SIGN}").replace("inf", "∞")
