"""Draws moments into a recording: the same for a drive that goes on and for one that is read back."""

from dataclasses import dataclass, field
from math import nan

import numpy as np
import rerun as rr

from tmapr.live.events import Health
from tmapr.live.viewer import blueprint as at
from tmapr.live.viewer.map_drawing import MapDrawing
from tmapr.live.viewer.moments import Moment
from tmapr.live.viewer.picture_panel import PicturePanel
from tmapr.live.viewer.pictures import ReferencePictures
from tmapr.live.viewer.route_bars import RouteBars
from tmapr.live.viewer.trail import to_rgb
from tmapr.reports.film.canvas import Points
from tmapr.reports.film.colours import ALIKE, AWAY, BELIEF, QUIET, STATUSES
from tmapr.reports.film.panels import WORDS
from tmapr.retrieval.memory import Memory
from tmapr.types import Reason, Status, Verdict

_MILLISECONDS = 1e3
_CURVES = {
    at.TRUST: {"similarity": ALIKE, "this place": BELIEF, "off the map": AWAY},
    at.SEMI_AXIS: {"semi-axis": STATUSES[Status.LOCALIZED]},
    at.LATENCY: {
        "queued": QUIET,
        "perception": STATUSES[Status.PREDICTING],
        "waiting": AWAY,
        "localization": STATUSES[Status.LOCALIZED],
    },
}
_LEVELS = {Status.LOCALIZED: "INFO", Status.APR_ONLY: "WARN", Status.PREDICTING: "WARN", Status.LOST: "ERROR"}
_RESEMBLES_NOTHING = "nothing in the map resembles this"


@dataclass(frozen=True, slots=True)
class Drive:
    """What is known of a drive before it is drawn: the map has room for positions that are known to come."""

    name: str
    timed: bool
    known: Points = field(default_factory=lambda: np.zeros((0, 2)))


class Drawing:
    """Owns what was drawn last: what does not change is not sent again."""

    def __init__(self, stream: rr.RecordingStream, memory: Memory, pictures: ReferencePictures, drive: Drive) -> None:
        self._stream, self._memory, self._pictures = stream, memory, pictures
        stream.send_recording_name(drive.name)
        self._map = MapDrawing(stream, memory, drive.known)
        stream.send_blueprint(at.lay_out(self._map.low, self._map.high, timed=drive.timed))
        self._route = RouteBars(stream, memory)
        self._camera = PicturePanel(stream, at.CAMERA, at.CAMERA_WORDS)
        self._match = PicturePanel(stream, at.MATCH, at.MATCH_WORDS)
        self._matched: tuple[int, bool] | str = ""
        """The reference that is shown and whether it is believed, or in words why none is."""
        self._verdict: tuple[Status, Reason] | None = None
        self._late: tuple[str, ...] = ()
        self._health: Health | None = None
        self._describe()

    def draw(self, moment: Moment) -> None:
        """One moment; moments come in their order."""
        self._stream.set_time(at.FRAME, sequence=moment.number)
        self._stream.set_time(at.STAMP, timestamp=np.datetime64(moment.stamp, "ns"))
        self._show_camera(moment)
        self._show_match(moment)
        self._map.draw(moment)
        self._route.draw(moment.route)
        self._judge(moment)
        self._warn()
        self._plot(moment)
        text = describe(moment, self._memory, self._health)
        self._log(at.STATE, rr.TextDocument(text, media_type="text/markdown"))

    def report(self, health: Health) -> None:
        """How the drive is doing; it is drawn with the next answer, whose time it has."""
        self._health = health

    def _describe(self) -> None:
        """Names and colours of curves and states, once."""
        for path, curves in _CURVES.items():
            lines = rr.SeriesLines(names=list(curves), colors=[*map(to_rgb, curves.values())], widths=1.5)
            self._log(path, lines, static=True)
        statuses = rr.StateConfiguration(values=list(Status), colors=[to_rgb(STATUSES[each]) for each in Status])
        self._log(at.STATUS, statuses, static=True)
        believed = [STATUSES[Status.LOCALIZED] if Verdict(each).accepted else QUIET for each in Reason]
        reasons = rr.StateConfiguration(values=list(Reason), colors=[*map(to_rgb, believed)])
        self._log(at.REASON, reasons, static=True)

    def _show_camera(self, moment: Moment) -> None:
        if moment.picture is None:
            self._camera.explain(moment.absent)
            return
        self._camera.show(moment.picture)
        self._camera.write("")

    def _show_match(self, moment: Moment) -> None:
        """The picture only if it is another one: for as long as a robot stands, it is the same."""
        match = moment.match
        if match is None:
            self._explain_match(_RESEMBLES_NOTHING)
            return
        shown = match.row, match.believed
        if shown != self._matched:
            picture = self._pictures.read(match.row)
            if isinstance(picture, str):
                self._explain_match(picture)
                return
            self._match.show(picture, believed=match.believed)
            self._matched = shown
        said = f"similarity {match.similarity:.2f}" if match.believed else f"not believed: {moment.reason}"
        self._match.write(f"{self._memory.describe(match.row)}, {said}")

    def _explain_match(self, why: str) -> None:
        if why != self._matched:
            self._match.explain(why)
            self._matched = why

    def _judge(self, moment: Moment) -> None:
        verdict = moment.status, moment.reason
        if verdict == self._verdict:
            return
        self._verdict = verdict
        self._log(at.STATUS, rr.StateChange(state=moment.status.value))
        self._log(at.REASON, rr.StateChange(state=moment.reason.value))
        words = f"frame {moment.number}: {moment.status}, {moment.reason}"
        self._log(at.VERDICTS, rr.TextLog(words, level=_LEVELS[moment.status], color=to_rgb(STATUSES[moment.status])))

    def _warn(self) -> None:
        """In the log, when other parts are late than before."""
        late = self._health.late if self._health else ()
        if late != self._late:
            words = f"late: {', '.join(late)}" if late else "nothing is late any more"
            self._log(at.VERDICTS, rr.TextLog(words, level="WARN" if late else "INFO"))
        self._late = late

    def _plot(self, moment: Moment) -> None:
        """A curve has a gap where nobody knows its value."""
        similarity = moment.match.similarity if moment.match else nan
        place, away = (moment.route.p_place, moment.route.p_off_map) if moment.route else (nan, nan)
        self._log(at.TRUST, rr.Scalars([similarity, place, away]))
        self._log(at.SEMI_AXIS, rr.Scalars([moment.semi_axis]))
        if moment.timings is not None:
            self._log(at.LATENCY, rr.Scalars([_MILLISECONDS * spent for spent in moment.timings]))

    def _log(self, path: str, part: rr.AsComponents, *, static: bool = False) -> None:
        self._stream.log(path, part, static=static, strict=True)


def describe(moment: Moment, memory: Memory, health: Health | None) -> str:
    """The answer in words and numbers, as Markdown."""
    word, meaning = WORDS[moment.status]
    x, y = moment.position.tolist()
    facts = [("position", f"{x:.2f}, {y:.2f} m, ± {moment.semi_axis:.2f} m (95 %)")]
    if moment.route is not None:
        away = f"off the map {100 * moment.route.p_off_map:.1f} %"
        facts.append(("probability", f"this place {100 * moment.route.p_place:.1f} %, {away}"))
    if moment.match is not None:
        facts.append(("match", f"{memory.describe(moment.match.row)}, similarity {moment.match.similarity:.3f}"))
    if moment.truth is not None:
        facts.append(("true error", f"{np.hypot(*(moment.position - moment.truth)):.2f} m"))
    if health is not None:
        facts.append(("frames", f"{health.answered} answered, {health.dropped} dropped"))
        facts.append(("lessons", f"{health.lessons}, rolled back {health.rollbacks} times"))
    table = "\n".join(f"| {name} | {value} |" for name, value in facts)
    return f"**{word}** · {moment.reason}\n\n{meaning}\n\n| frame | {moment.number} |\n|---|---|\n{table}\n"
