"""How a drive is doing, as ROS's monitors read it: one status for the drive and one for each of its parts."""

from tmapr.live.events import Health, Part
from tmapr.live.messages import DIAGNOSTICS, TOPICS, Message, Value
from tmapr.types import Status

OK, WARN, ERROR = 0, 1, 2
_DRIVE = "tmapr"


class Diagnosis:
    """Remembers what was counted last: only what was dropped since then is news."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}

    def diagnose(self, health: Health, status: Status | None, stamp: int) -> Message:
        """One message. `status` is the last frame's, None before the first; `stamp` is when this is said.

        Of the drive, ERROR: lost, or nothing answered yet; WARN: predicting, by the pose head alone, a part that is
        late, frames dropped since the last message. Of a part, ERROR: late; WARN: dropped frames, a note.
        """
        statuses = [self._tell_drive(health, status), *map(self._tell_part, health.parts)]
        value = {"header": {"stamp": stamp, "frame_id": ""}, "status": statuses}
        return Message(DIAGNOSTICS, TOPICS[DIAGNOSTICS], value)

    def _tell_drive(self, health: Health, status: Status | None) -> Value:
        dropped = self._count_new("", health.dropped)
        found: list[tuple[int, str]] = []
        if status is None:
            found.append((ERROR, "no frame answered yet"))
        elif status is not Status.LOCALIZED:
            found.append((ERROR if status is Status.LOST else WARN, str(status)))
        if health.late:
            found.append((WARN, f"late: {', '.join(health.late)}"))
        if dropped:
            found.append((WARN, f"{dropped} frames dropped"))
        counted = {
            "seconds": f"{health.seconds:.1f}",
            "frames taken": str(health.taken),
            "frames answered": str(health.answered),
            "frames dropped": str(health.dropped),
            "lessons": str(health.lessons),
            "rollbacks": str(health.rollbacks),
        }
        return _status("", found or [(OK, str(status))], counted)

    def _tell_part(self, part: Part) -> Value:
        dropped = self._count_new(part.name, part.dropped)
        found: list[tuple[int, str]] = []
        if part.late:
            found.append((ERROR, f"late: busy for {part.busy:.1f} s" if part.busy else f"silent for {part.idle:.1f} s"))
        if dropped:
            found.append((WARN, f"{dropped} frames dropped"))
        if part.note:
            found.append((WARN, part.note))
        counted = {
            "frames done": str(part.done),
            "frames dropped": str(part.dropped),
            "busy seconds": f"{part.busy:.1f}",
            "idle seconds": f"{part.idle:.1f}",
        }
        return _status(part.name, found or [(OK, "ok")], counted)

    def _count_new(self, name: str, total: int) -> int:
        before = self._before.get(name, 0)
        self._before[name] = total
        return total - before


def _status(name: str, found: list[tuple[int, str]], counted: dict[str, str]) -> Value:
    return {
        "level": max(level for level, _ in found),
        "name": f"{_DRIVE}: {name}" if name else _DRIVE,
        "message": "; ".join(text for _, text in found),
        "hardware_id": "",
        "values": [{"key": key, "value": value} for key, value in counted.items()],
    }
