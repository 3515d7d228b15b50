"""A recording in lines for a terminal: its figures, the topics of a bag, and what is wrong with it."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tmapr.data.examination import Defect, DefectKind, Examination
from tmapr.data.topics import TopicUse

_LISTED = 10
_KINDS = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".jpg": "JPEG", ".jpeg": "JPEG"}


def list_figures(found: Examination) -> Iterator[str]:
    """One to a line."""
    defects = Counter(defect.kind for defect in found.defects)
    health = [f"{defects[kind]} {kind}" for kind in DefectKind if defects[kind] and kind is not DefectKind.UNLOCATED]
    yield format_line("frames", str(found.frames))
    yield format_line("rate", "unknown" if found.rate is None else f"{found.rate:.2f} Hz")
    yield format_line("pauses", str(defects[DefectKind.PAUSE]))
    yield format_line("length", f"{found.length:.1f} m{_name_speed(found)}")
    yield format_line("positions", f"{found.located} of {found.frames} frames")
    yield format_line("images", "; ".join(_list_images(found)) or "none that can be read")
    if found.counts:
        yield format_line("counts", f"{found.counts[0]}..{found.counts[1]}")
    yield format_line("found", ", ".join(health) or "nothing that is wrong")
    hint = "" if len(found.faults) == found.frames else "; --all reads every one"
    yield format_line("read", f"{found.read} of {found.frames} images, {found.usable} of them usable{hint}")


def list_defects(found: Examination) -> Iterator[str]:
    """The first of them; what cannot be read comes first."""
    ranked = sorted(found.defects, key=lambda defect: defect.kind is not DefectKind.UNREADABLE)
    yield from map(_format_defect, ranked[:_LISTED])
    if len(ranked) > _LISTED:
        yield f"    and {len(ranked) - _LISTED} more"


def list_topics(uses: Iterable[TopicUse]) -> Iterator[str]:
    """A bag's topics, and what each is to us."""
    for use in uses:
        read = f"the {' and the '.join(role.replace('_', ' ') for role in use.roles)}" if use.roles else "not read"
        what = "; ".join(filter(None, (read, f"cannot be: {use.remark}" if use.roles and use.remark else use.remark)))
        encoding = f", {use.encoding}" if use.encoding else ""
        yield format_line("topic", f"{use.topic.name} ({use.topic.kind}, {use.topic.count} messages{encoding}): {what}")


def format_line(name: str, text: str) -> str:
    """One figure of a sequence."""
    return f"  {name:<10} {text}"


def _name_speed(found: Examination) -> str:
    return "" if found.top_speed is None else f"; jumps are measured by a top speed of {found.top_speed:.2f} m/s"


def _list_images(found: Examination) -> Iterator[str]:
    kinds = Counter[str]()
    for suffix, count in found.suffixes.items():
        kinds[_KINDS.get(suffix.lower(), suffix)] += count
    several = len(found.headers) > 1
    yield from (f"{header} ({count} images)" if several else str(header) for header, count in found.headers.items())
    if kinds:
        yield ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _format_defect(defect: Defect) -> str:
    where = f"{defect.file}: " if defect.file else ""
    return f"    row {defect.row:<7} {defect.kind:<15} {where}{defect.detail}"
