"""Names of sequences as names of files, one to one.

`/` becomes `__`. A name that has `__`, or `_` beside a `/`, or ends as files of keypoints do would be taken for another
one: it begins with `___`, and its own underscores and percent signs are written as in a URL. No other name gives three
underscores in a row, but for an even number of more. Slashes at both ends do not count.
"""

import re
import unicodedata
from collections.abc import Iterable

from tmapr.exceptions import InputError

LONGEST = 200
"""Bytes: a file name may have 255, and some of them go to suffixes and to temporary names."""

_AMBIGUOUS = re.compile(r"__|_/|/_|^\.\.?$|\.keypoints$")
_ESCAPED = "___"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def file_name(name: str) -> str:
    """What the file or folder of a sequence is called, without a suffix."""
    inner = name.strip("/")
    if _AMBIGUOUS.search(inner):
        inner = _ESCAPED + re.sub(r"[%_]|^\.+$", lambda found: "".join(f"%{ord(each):02X}" for each in found[0]), inner)
    return inner.replace("/", "__")


def refuse_names(names: Iterable[str], what: str) -> None:
    """Refuse names that no file can have, and two that some file systems would not tell apart: case, encoding."""
    seen: dict[str, str] = {}
    for name in names:
        written = file_name(name)
        if not written or _CONTROL.search(name) or len(written.encode("utf-8", "replace")) > LONGEST:
            raise InputError(
                f"{what}: {name[:60]!r} cannot name files; use 1 to {LONGEST} bytes without control characters"
            )
        other = seen.setdefault(_fold(written), name)
        if other != name:
            raise InputError(f"{what}: {other!r} and {name!r} are one name to some file systems; rename one of them")


def _fold(name: str) -> str:
    """What names have in common that differ in case or in how their accents are encoded alone."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
