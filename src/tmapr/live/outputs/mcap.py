"""A log of a drive for Foxglove: every message that a robot would hear, and the thermal images, in MCAP.

Times in the file are those of the drive's own clock, so that they never run back; each message's header, and its time
of publication, have the camera's stamp. What is a second old is on disk in whole chunks: after a kill any reader that
goes through a file from its beginning finds it (`mcap recover` makes it whole).
"""

import logging
import time
from pathlib import Path
from typing import Any

from tmapr.exceptions import InputError
from tmapr.live.definitions import load_types, to_rosbags
from tmapr.live.events import Answer, Health, Scene
from tmapr.live.messages import TOPICS, Frames, Message, name_topic
from tmapr.live.outputs.appender import Appender
from tmapr.live.outputs.pictures import PICTURE_TOPICS, Pictures, show_picture
from tmapr.live.speaker import Speaker

_log = logging.getLogger("tmapr")
_RELEASE = "ROS2_JAZZY"
_NODE = "tmapr"
_CHUNK = 1 << 20
_MOST_FLUSHES = 3600
"""The index of a file is in memory until it ends: about a kilobyte for each."""


class McapSink:
    """Writes `X.mcap`; a file that is there stays, and the log goes on in `X-2.mcap`.

    So it does when a file has `largest` bytes, by default an hour or more at 10 Hz with small pictures.
    """

    name = "mcap"
    complete = True

    def __init__(
        self, path: Path, frames: Frames | None = None, pictures: Pictures = "small", largest: int = 1 << 30
    ) -> None:
        if path.suffix != ".mcap":
            raise InputError(f"{path}: a log's name ends in .mcap; name it {path.name}.mcap")
        self.path = path
        """Of the file that is being written."""
        self._named = path
        self._speaker = Speaker(frames)
        self._pictures = pictures
        self._largest = largest
        self._notes: dict[str, str] = {}
        self._log: _Log | None = None
        self._clock: tuple[int, int] | None = None
        """The drive's time of the last answer, and what `time.monotonic_ns` said when it came."""

    def begin(self, scene: Scene) -> None:
        """Open the file, so that what stands in its way is known before the drive begins."""
        _load_mcap()
        load_types(_RELEASE)
        self._notes = _note(scene)
        try:
            self._named.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            self._give_up()
            raise InputError(f"{self._named}: cannot be written ({error.strerror}); name another file") from None
        if self.path != self._named:
            _log.warning("%s: is there already; the log goes to %s", self._named, self.path)

    def take(self, answer: Answer) -> None:
        """What is said of a frame, and its picture."""
        self._clock = answer.estimate.stamp, time.monotonic_ns()
        messages = self._speaker.speak(answer)
        if self._pictures != "none":
            picture = show_picture(answer, self._pictures, self._speaker.frames)
            messages += [picture] if picture else []
        self._write(messages, answer.estimate.stamp, answer.stamp)

    def report(self, health: Health) -> None:
        """How the drive is doing, at the drive's time as it would be by now; and all so far is put on disk."""
        if self._clock is None:
            return
        stamp, came = self._clock
        now = stamp + time.monotonic_ns() - came
        self._write([self._speaker.diagnose(health, now)], now, now)
        if self._log:
            self._flush(self._log)

    def close(self) -> None:
        """End the file with its index."""
        log, self._log = self._log, None
        if log:
            try:
                log.finish()
            except OSError as error:
                raise _refuse(log.path, error) from None

    def _write(self, messages: list[Message], drive_time: int, stamp: int) -> None:
        if min(drive_time, stamp) < 0:
            raise InputError(f"{self.path}: stamp {min(drive_time, stamp)}: MCAP knows no time before 1970")
        try:
            log = self._log or self._open()
            for message in messages:
                log.add(message, drive_time, stamp)
        except OSError as error:
            self._give_up()
            raise _refuse(self.path, error) from None
        if log.waiting:
            self._flush(log)

    def _flush(self, log: "_Log") -> None:
        try:
            log.flush()
            if log.size > self._largest or log.flushes >= _MOST_FLUSHES:
                self._log = None
                log.finish()
        except OSError as error:
            self._give_up()
            raise _refuse(log.path, error) from None

    def _open(self) -> "_Log":
        self._log = _Log(_create_next(self._named), self._pictures, self._notes)
        self.path = self._log.path
        self._log.flush()
        return self._log

    def _give_up(self) -> None:
        """The file stays as far as it is whole; the next answer begins another one, if there is room again."""
        log, self._log = self._log, None
        if log:
            log.abandon()


class _Log:
    """One file."""

    def __init__(self, file: Appender, pictures: Pictures, notes: dict[str, str]) -> None:
        writer = _load_mcap()
        self.path = file.path
        self.flushes = 0
        self._file = file
        self._types = load_types(_RELEASE)
        self._writer = writer.Writer(file, chunk_size=_CHUNK, compression=writer.CompressionType.ZSTD)
        self._writer.start(profile="ros2", library="tmapr")
        self._writer.add_metadata("drive", notes)
        shown = [] if pictures == "none" else [PICTURE_TOPICS[pictures]]
        self._channels = {topic: self._announce(topic, kind) for topic, kind in [*TOPICS.items(), *shown]}
        self._counts = dict.fromkeys(self._channels, 0)

    @property
    def size(self) -> int:
        return self._file.flushed

    @property
    def waiting(self) -> int:
        """Bytes of whole chunks that are not on disk."""
        return self._file.waiting

    def _announce(self, topic: str, kind: str) -> int:
        text, _ = self._types.generate_msgdef(kind, ros_version=2)
        schema = self._writer.register_schema(name=kind, encoding="ros2msg", data=text.encode())
        return int(self._writer.register_channel(name_topic(topic, _NODE), "cdr", schema))

    def add(self, message: Message, drive_time: int, stamp: int) -> None:
        data = bytes(self._types.serialize_cdr(to_rosbags(message, self._types), message.type))
        self._counts[message.topic] += 1
        channel, count = self._channels[message.topic], self._counts[message.topic]
        self._writer.add_message(channel, drive_time, data, publish_time=stamp, sequence=count)

    def flush(self) -> None:
        self.flushes += 1
        self._writer.flush()

    def finish(self) -> None:
        self._writer.finish()
        self._file.close()

    def abandon(self) -> None:
        self._file.abandon()
        if not self.size:
            self.path.unlink(missing_ok=True)


def _note(scene: Scene) -> dict[str, str]:
    """What the file says of itself."""
    frame = scene.localizer.frame
    return {
        "map": scene.map_folder.name,
        "source": scene.source,
        "coordinates": frame.kind,
        "zone": frame.zone or "",
        "origin": " ".join(map(repr, frame.origin)),
    }


def _create_next(path: Path) -> Appender:
    """The file, or the first of `X-2`, `X-3` … that is not there yet."""
    number, tried = 1, path
    while True:
        try:
            return Appender(tried, "xb")
        except FileExistsError:
            number += 1
            tried = path.with_stem(f"{path.stem}-{number}")


def _refuse(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: the log cannot be written ({error.strerror}); it goes on in a new file once it can")


def _load_mcap() -> Any:
    try:
        from mcap import writer
    except ImportError as error:
        raise InputError(f"a log in MCAP needs mcap 1.6 ({error}); pip install 'tmapr[live]'") from None
    return writer
