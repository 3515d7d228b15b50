"""The parts of a film's frame but the map: pictures, the status in words, the belief over the route, the time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tmapr.artifacts.letters import wrap
from tmapr.reports.drawing.pictures import PagePicture
from tmapr.reports.film.canvas import Box, Canvas
from tmapr.reports.film.colours import (
    ALARM,
    AWAY,
    BELIEF,
    GROUND,
    INK,
    PANEL,
    QUIET,
    RULE,
    STATUSES,
    Colour,
    list_grays,
    list_heat,
)
from tmapr.reports.film.moments import Match, Moment
from tmapr.types import Status

_SMALL, _CAPTION, _VALUE, _STATUS = 18.0, 20.0, 27.0, 46.0
_BAND = 34.0
_LIKELY = 0.5
_AWAY = 100.0

WORDS = {
    Status.LOCALIZED: ("localized", "sure of where it is"),
    Status.APR_ONLY: ("pose head only", "no match; a network guesses"),
    Status.PREDICTING: ("predicting", "not sure; carries on"),
    Status.LOST: ("lost", "does not know, and says so"),
}
WRONG = "sure of where it is, and wrong"
"""What nobody on board can know: it is said where the true position is known, and only there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture, or in words why there is none, under a name and beside a remark."""

    picture: PagePicture | None
    absent: str
    name: str
    remark: str
    believed: bool = True


def draw_picture(canvas: Canvas, box: Box, shown: Shown) -> None:
    """In the colours of heat, or gray where it is not believed; its caption on its lower edge."""
    if shown.picture is None:
        canvas.fill(box, PANEL)
        _write_absent(canvas, box, shown.absent)
    else:
        colours = list_heat() if shown.believed else list_grays()
        canvas.paste(colours[shown.picture], box)
    band = Box(box.left, box.bottom - _BAND, box.width, _BAND)
    with canvas.inside(band).glaze(0.82) as over:
        over.fill(band, GROUND)
    base = box.bottom - 10
    inside = canvas.inside(band)
    used = inside.text(shown.name, (box.left + 10, base), _CAPTION, INK)
    room = canvas.shorten(shown.remark, box.right - 10 - used - 12, _CAPTION)
    inside.text(room, (box.right - 10, base), _CAPTION, INK if shown.believed else QUIET, align="right")


def caption_match(match: Match | None) -> tuple[str, str]:
    """Which reference it is, and what is to be said of it."""
    if match is None:
        return "no match", ""
    if not match.believed:
        return "no match", "not believed"
    far = "" if match.error is None else f"{_format_metres(match.error)} off, "
    return f"match: {match.traverse or 'map'}", f"{far}similarity {match.similarity:.2f}"


def format_clock(seconds: float) -> str:
    """Minutes and seconds, hours where there are some."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def draw_header(canvas: Canvas, box: Box, moment: Moment) -> None:
    """The status in its colour, and beside it the numbers of the moment."""
    colour = STATUSES[moment.status]
    word, meaning = WORDS[moment.status]
    canvas.fill(Box(box.left, box.top, 7.0, box.height), colour)
    canvas.text(word, (box.left + 22, box.top + 42), _STATUS, colour)
    said, tone = (WRONG, ALARM) if moment.wrong else (meaning, QUIET)
    canvas.text(said, (box.left + 23, box.bottom - 7), _SMALL + 2, tone)
    x = box.right
    for fact in reversed(list_facts(moment)):
        canvas.text(fact.value, (x, box.top + 39), _VALUE, fact.colour, "right")
        canvas.text(fact.label, (x, box.bottom - 7), _SMALL, QUIET, align="right")
        x -= fact.width


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name, how many points wide its column is, and its colour."""

    value: str
    label: str
    width: float
    colour: Colour = INK


def list_facts(moment: Moment) -> list[Fact]:
    """The numbers of a moment; what nobody knows is left out."""
    facts = [Fact(_format_metres(moment.radius), "95 % radius", 118.0)]
    if moment.error is not None:
        facts.append(Fact(_format_metres(moment.error), "true error", 114.0, ALARM if moment.wrong else INK))
    facts.append(Fact(f"{np.hypot(*moment.velocity):.1f} m/s", "speed", 142.0))
    if moment.off_map is not None:
        facts.append(
            Fact(f"{100 * moment.off_map:.0f} %", "off the map", 112.0, AWAY if moment.off_map >= _LIKELY else INK)
        )
    return facts


def draw_timeline(
    canvas: Canvas, box: Box, statuses: Int[np.ndarray, " n"], seconds: Float[np.ndarray, " n"], at: float
) -> None:
    """The drive from end to end, so far in the colours of its statuses."""
    canvas.fill(box, RULE)
    length = max(float(seconds[-1]), 1e-9)
    order = list(Status)
    edges = np.flatnonzero(np.diff(statuses)) + 1
    for start, stop in zip([0, *edges.tolist()], [*edges.tolist(), len(statuses)], strict=True):
        begin = float(seconds[start])
        end = min(at, float(seconds[stop]) if stop < len(seconds) else length)
        if end > begin:
            part = Box(box.left + box.width * begin / length, box.top, box.width * (end - begin) / length, box.height)
            canvas.fill(part, STATUSES[order[statuses[start]]])
    x = box.left + box.width * at / length
    canvas.fill(Box(x - 2, box.top - 4, 4.0, box.height + 8), INK)


@dataclass(frozen=True, slots=True)
class BeliefStrip:
    """The mapped way to the right, probabilities upward as roots, and beside it that of being off the map."""

    box: Box
    along: Float[np.ndarray, " refs"]
    """Metres of each row of the map along the traverses."""

    def draw(self, canvas: Canvas, moment: Moment) -> None:
        """The belief of a moment."""
        canvas.fill(self.box, PANEL)
        base, top = self.box.bottom - 12, self.box.top + 34
        left, right = self.box.left + 14, self.box.right - 132
        length = float(self.along.max(initial=0.0))
        words = f"probability along the mapped route, {length:.0f} m"
        canvas.text(words, (left, self.box.top + 24), _SMALL, QUIET)
        canvas.text("off the map", (self.box.right - 14, self.box.top + 24), _SMALL, QUIET, align="right")
        canvas.fill(Box(left, base, right - left, 2.0), RULE)
        scale = (right - left) / max(length, 1.0)
        for x, mass in zip((left + self.along[moment.likely] * scale).tolist(), moment.masses.tolist(), strict=True):
            height = (base - top) * float(np.sqrt(mass))
            canvas.fill(Box(x - 1.5, base - height, 3.0, height), BELIEF)
        away = Box(self.box.right - 14 - _AWAY, top, _AWAY, base - top)
        canvas.fill(Box(away.left, base, away.width, 2.0), RULE)
        height = away.height * float(np.sqrt(moment.off_map or 0.0))
        if height >= 1:
            canvas.fill(Box(away.left, base - height, away.width, height), AWAY)


def _write_absent(canvas: Canvas, box: Box, words: str) -> None:
    """In the middle of the box."""
    lines = wrap(words, (box.width - 40) * canvas.scale, _CAPTION * canvas.scale)
    y = box.top + (box.height - _BAND) / 2 - 13 * (len(lines) - 1)
    for number, line in enumerate(lines):
        canvas.text(line, (box.left + box.width / 2, y + 26 * number), _CAPTION, QUIET, align="middle")


def _format_metres(metres: float) -> str:
    return f"{metres:.1f} m" if metres < 100 else f"{metres:.0f} m"
