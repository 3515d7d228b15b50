"""The interactive part of a sequence: a map and an error curve on which a frame can be pointed at, and its card.

The drawings are the page's own SVG and the script is a page long: a plotting library would bring 4.5 MB of script to
every report. All that is shown is written here, numbers as text and places as pixels; the script looks up the frame
nearest to the pointer and puts it there. Without it, the figures and the sampled frames are still on the page.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tmapr.evaluation.loops import RADIUS
from tmapr.reports.drawing.lines import SILENCE
from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.pictures import encode_jpeg
from tmapr.reports.drawing.svg import layer_keys
from tmapr.reports.figures.ellipse import state_ellipses
from tmapr.reports.figures.error_curve import CURSOR, ErrorAxes, draw_errors, list_error_keys
from tmapr.reports.figures.trajectory_map import GRADES, MapAxes, count_unseen, draw_map, list_map_keys, name_axes
from tmapr.reports.page.belief import list_beliefs, render_certainty, render_strip
from tmapr.reports.page.card import FrameCard, render_card, write_cards
from tmapr.reports.page.document import render_data
from tmapr.reports.page.figure import render_figure
from tmapr.reports.page.footage import Album, Footage
from tmapr.reports.page.glossary import term
from tmapr.reports.page.zooming import render_map
from tmapr.reports.reported import ReportedRun, ReportedSequence
from tmapr.types import Status

Pixels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """A frame as the script knows it: where it lies on the two drawings, its pictures' numbers, and its card."""

    title: str
    match_title: str
    fused: Pixels
    ellipse: tuple[float, float, float]
    """The longer and the shorter semi-axis in pixels, and the turn of the longer to the right in degrees."""
    truth: Pixels | None
    match: Pixels | None
    moment: float
    error: float | None
    wrong: bool
    picture: int | None
    match_picture: int | None
    verdict: str
    facts: Sequence[str]


def render_explorer(
    run: ReportedRun, sequence: ReportedSequence, album: Album, footage: Footage, level: int = 3, name: str = "explorer"
) -> str:
    """The figures and the card of one sequence; the pictures of its frames join the album.

    `level` is that of the figures' headings, `name` what a link leads to.
    """
    names = name_axes(run.errors.frame)
    drawn = draw_map(sequence, run.references, names, footage.samples)
    cards = write_cards(sequence, footage.rows.tolist())
    plots = (
        render_map(
            drawn,
            _caption_map(run, sequence, names),
            list_map_keys(sequence),
            _render_steps(len(footage.rows), sequence) + _tell_statuses(sequence),
        ),
        render_strip(run, sequence, level),
        _render_errors(sequence, level),
        render_certainty(run, sequence, level),
    )
    shown = [asdict(frame) for frame in _list_frames(run, sequence, footage, cards, album)]
    believed = list_beliefs(run, sequence, footage.rows.tolist())
    localized = sequence.trial.localized[footage.rows]
    given = {"frames": shown, "cursor": CURSOR, "first": int(localized.argmax())}
    data = render_data(given | ({"belief": believed} if believed else {}))
    absent = (element("p", {"class": "note"}, escape(words)) for words in footage.absent)
    parts = (element("div", {"class": "plots"}, *plots), _render_card(cards[0]), data)
    both = element("div", {"class": "explorer", "id": name}, *parts)
    return both + _render_samples(sequence, footage) + "".join(absent)


def _list_frames(
    run: ReportedRun, sequence: ReportedSequence, footage: Footage, cards: Sequence[FrameCard], album: Album
) -> list[ShownFrame]:
    view, axis = MapAxes.of(sequence, run.references), ErrorAxes.of(sequence)
    errors = sequence.errors(sequence.fused)
    fused, truth, match = (
        view(of.values).round(1) for of in (sequence.fused, sequence.truth, sequence.table.reference_positions)
    )
    moments, heights = axis(sequence.seconds, errors.values).round(1).T
    wrong, memory, stated = sequence.misled, run.memory, state_ellipses(sequence)
    # Upward is downward in pixels, so a turn to the left is one to the right.
    ellipses = np.column_stack([stated.longer * view.metre, stated.shorter * view.metre, -np.degrees(stated.angles)])

    def frame(row: int, card: FrameCard) -> ShownFrame:
        matched = footage.matched.get(row)
        query = footage.queries.found.get(row)
        answer = None if matched is None else footage.matches.found.get(matched)
        return ShownFrame(
            title=f"frame {row} of {sequence.name}",
            match_title="no match" if matched is None else f"match: {memory.describe(matched)}",
            fused=tuple(fused[row].tolist()),
            ellipse=tuple(ellipses[row].round(1).tolist()),
            truth=tuple(truth[row].tolist()) if sequence.truth.known[row] else None,
            match=None if matched is None else tuple(match[row].tolist()),
            moment=float(moments[row]),
            error=float(heights[row]) if errors.known[row] else None,
            wrong=bool(wrong[row]),
            picture=None if query is None else album.add(query),
            match_picture=None if answer is None else album.add(answer),
            verdict=card.verdict,
            facts=list(card.facts.values()),
        )

    return [frame(row, card) for row, card in zip(footage.rows.tolist(), cards, strict=True)]


def _render_errors(sequence: ReportedSequence, level: int) -> str:
    known = bool(sequence.truth.known.any())
    heading = element(f"h{level}", {}, "Error over time" if known else "Stated uncertainty over time")
    caption = f"{_ERRORS if known else _STATED} {_KEPT}"
    return render_figure(draw_errors(sequence), caption, "strip", layer_keys(list_error_keys(sequence)), heading)


def _render_steps(count: int, sequence: ReportedSequence) -> str:
    """A slider, since keys and fingers know how to move one, and a button that moves it."""
    named = f"frames of {sequence.name}"
    slider = {"type": "range", "min": "0", "max": str(count - 1), "value": "0", "aria-label": named}
    play = element("button", {"type": "button", "class": "play"}, "Play")
    hint = (
        f"{count} of {len(sequence.table.stamps)} frames can be looked at: play them, point at one, or step with the"
        " arrow keys."
    )
    row = element("div", {"class": "player"}, play, element("input", slider))
    return element("div", {"class": "steps", "hidden": "hidden"}, row, escape(hint))


def _render_card(first: FrameCard) -> str:
    """Empty, for the facts that the cards of a sequence have."""
    names = (term(_TERMS[name], name) if name in _TERMS else escape(name) for name in first.facts)
    return render_card("the frame that is looked at", names)


def _tell_statuses(sequence: ReportedSequence) -> str:
    """The statuses that the track has, each a term."""
    keys = {status: key for status, key in _STATUSES.items() if status in sequence.table.statuses}
    told = ", ".join(map(term, keys.values()))
    return element("p", {"class": "note"}, f"The track is drawn by its status: {told}.")


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
    outside = count_unseen(sequence, run.references)
    strayed = f" {outside} fused positions lie outside the view." if outside else ""
    drawn = f"No line crosses {SILENCE:g} s without a frame."
    return f"In metres, {names[0]} to the right and {names[1]} upward.{strayed}{_caption_truth(sequence)} {drawn}"


def _caption_truth(sequence: ReportedSequence) -> str:
    """What the map says by the truth, where that is known."""
    if not sequence.truth.known.any():
        return ""
    wrong = int(sequence.misled.sum())
    led = f"{wrong} accepted match{'' if wrong == 1 else 'es'}" if wrong else "no accepted match"
    small, medium = GRADES
    return (
        f" A line leads from a frame to its match where that was accepted and is wrong, farther than {RADIUS:g} m from"
        f" the truth: {led}. Errors as colours: up to {small:g} m, up to {medium:g} m, and more."
    )


_ERRORS = (
    "Position error in metres over time. Where the fused line leaves the band, the filter claimed more than it knew."
)
_STATED = "How far off the filter says it may be, in metres over time, and its status beneath."
_KEPT = "Each pixel column keeps its first, lowest, highest and last value; what lies beyond is drawn on the edge."
_STATUSES = {
    Status.LOCALIZED: "localized",
    Status.APR_ONLY: "pose-head-only",
    Status.PREDICTING: "predicting",
    Status.LOST: "lost",
}
_TERMS = {
    name: name for name in ("similarity", "score", "margin", "support", "leverage", "confidence", "innovation")
} | {"stated uncertainty": "semi-axis", "error of the pose head": "apr"}
"""The facts of a card that need a word of explanation, and where it stands."""
