"""The interactive part of a sequence: a map and an error curve on which a frame can be pointed at, and its card.

The drawings are the page's own SVG and the script is a page long: a plotting library would bring 4.5 MB of script to
every report. All that is shown is written here, numbers as text and places as pixels; the script looks up the frame
nearest to the pointer and puts it there. Without it, the figures and the sampled frames are still on the page.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from tmapr.evaluation.loops import RADIUS
from tmapr.reports.card import FACTS, Card, cards
from tmapr.reports.errors import CURSOR, ErrorAxes, error_keys, error_view
from tmapr.reports.evidence import RunEvidence, SequenceEvidence
from tmapr.reports.footage import Footage
from tmapr.reports.layers import layer_keys
from tmapr.reports.markup import element, escaped
from tmapr.reports.pictures import Album, data_uri
from tmapr.reports.stretches import SILENCE
from tmapr.reports.table import NOTHING
from tmapr.reports.trajectory import View, map_keys, map_view, unseen

_DATA = {"type": "application/json"}

Pixels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shown:
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


def explorer(run: RunEvidence, sequence: SequenceEvidence, album: Album, frames: int) -> str:
    """The figures and the card of one sequence; the pictures of at most so many frames go into the album."""
    footage = Footage.of(run, sequence, frames)
    names = ("x", "y") if run.errors["frame"]["kind"] == "local" else ("east", "north")
    drawn = map_view(sequence, run.reference, names, footage.sampled)
    plots = (
        _figure("map", layer_keys(map_keys(sequence)), drawn, _map_caption(run, sequence, names)),
        _steps(len(footage.rows), sequence),
        _figure("strip", layer_keys(error_keys(sequence)), error_view(sequence), _ERRORS),
    )
    shown = [asdict(frame) for frame in _shown(run, sequence, footage, album)]
    data = data_block({"frames": shown, "cursor": CURSOR})
    absent = (element("p", {"class": "note"}, escaped(words)) for words in footage.absent)
    both = element("div", {"class": "explorer"}, element("div", {"class": "plots"}, *plots), _card(), data)
    return both + _sampled(sequence, footage) + "".join(absent)


def data_block(content: object, attributes: Mapping[str, str] | None = None) -> str:
    """Data for the script, in which nothing can end the element: HTML sees no markup in it, and XML neither."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", {**_DATA, **(attributes or {})}, text)


def _shown(run: RunEvidence, sequence: SequenceEvidence, footage: Footage, album: Album) -> list[Shown]:
    view, axis = View.of(sequence, run.reference), ErrorAxes.of(sequence)
    errors = sequence.errors(sequence.fused)
    fused, truth, match = (view(of.values).round(1) for of in (sequence.fused, sequence.truth, sequence.candidates))
    moments, heights = axis(sequence.seconds, errors.values).round(1).T
    wrong, reference = sequence.misled, run.experiment.data.reference

    def frame(row: int, card: Card) -> Shown:
        found = bool(sequence.references.known[row])
        matched = int(sequence.references.values[row])
        query, answer = footage.queries.found.get(row), footage.matches.found.get(matched)
        return Shown(
            title=f"frame {row} of {sequence.name}",
            match_title=f"match: frame {matched} of {reference}" if found else "no match",
            fused=tuple(fused[row].tolist()),
            truth=tuple(truth[row].tolist()) if sequence.truth.known[row] else None,
            match=tuple(match[row].tolist()) if found else None,
            moment=float(moments[row]),
            error=float(heights[row]) if errors.known[row] else None,
            wrong=bool(wrong[row]),
            picture=None if query is None else album.number(query),
            match_picture=None if answer is None else album.number(answer),
            verdict=card.verdict,
            facts=card.facts,
        )

    rows = footage.rows.tolist()
    return [frame(row, card) for row, card in zip(rows, cards(sequence, rows), strict=True)]


def _figure(kind: str, keys: str, drawn: str, caption: str) -> str:
    plot = element("div", {"class": "plot"}, drawn)
    return element("figure", {"class": kind}, keys, plot, element("figcaption", {}, escaped(caption)))


def _steps(count: int, sequence: SequenceEvidence) -> str:
    """A slider: keys and fingers know how to move one."""
    named = f"frames of {sequence.name}"
    slider = {"type": "range", "min": "0", "max": str(count - 1), "value": "0", "aria-label": named}
    hint = f"{count} of {len(sequence.stamps)} frames can be looked at: point at one, or step with the arrow keys."
    return element("div", {"class": "steps", "hidden": "hidden"}, element("input", slider), escaped(hint))


def _card() -> str:
    shot = element("div", {"class": "picture"}, "no image") + element("figcaption", {}, NOTHING)
    shots = element("div", {"class": "shots"}, *[element("figure", {}, shot)] * 2)
    said = element("p", {"class": "verdict"}, NOTHING)
    listed = element("dl", {}, *(element("dt", {}, name) + element("dd", {}, NOTHING) for name in FACTS))
    attributes = {"class": "card", "hidden": "hidden", "aria-label": "the frame that is looked at"}
    return element("section", attributes, shots, said, listed)


def _sampled(sequence: SequenceEvidence, footage: Footage) -> str:
    """Some frames, numbered as on the map."""
    entries = []
    for number, row in enumerate(footage.sampled, start=1):
        picture = footage.queries.found[row]
        told = f" {sequence.seconds[row]:.1f} s, {sequence.reasons[row].value}"
        image = {"src": data_uri(picture), "alt": f"frame {row}"}
        entries.append(element("li", {}, element("img", image), element("b", {}, str(number)), escaped(told)))
    return element("ol", {"class": "sampled"}, *entries) if entries else ""


def _map_caption(run: RunEvidence, sequence: SequenceEvidence, names: tuple[str, str]) -> str:
    outside, wrong = unseen(sequence, run.reference), int(sequence.misled.sum())
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
