"""The process that a verb runs in: its terminal, its threads, and what it may lack.

Before NumPy, OpenCV or torch are loaded. Whoever sets one of the variables is obeyed.
"""

import codecs
import errno
import io
import os
import sys
import unicodedata
from contextlib import suppress

from tmapr.exceptions import TmaprError

_QUIET_THREADS = {
    # The online half streams one vector at a time, where a second BLAS thread gains nothing and, on a busy machine,
    # turns a millisecond into a scheduler's quantum.
    "OPENBLAS_NUM_THREADS": "1",
    # A thread of torch that waits for the others sleeps: on a machine that others load too, spinning takes the very
    # core that the one waited for would need.
    "OMP_WAIT_POLICY": "PASSIVE",
}
_SILENT = {"OPENCV_LOG_LEVEL": "SILENT", "OPENCV_FFMPEG_LOGLEVEL": "-8"}
_PLAIN = {"–": "-", "—": "-", "−": "-", "→": "->", "×": "x", "·": "*", "≤": "<=", "≥": ">=", "±": "+-", "λ": "lambda",
          "⁄": "/", "°": "deg", "∞": "inf", "“": '"', "”": '"', "’": "'"}  # fmt: skip
_SHORTAGES = ("allocate memory", "bad_alloc", "bad allocation", "insufficient memory", "failed to map segment",
              "start new thread", "allocating memory", "out of memory")  # fmt: skip

_LEAST_ADDRESSES = 1 << 30  # loaded, the libraries hold 570 MiB; a run with them, 790


def prepare() -> None:
    """Threads that do not spin, libraries that do not write beside us, a terminal that takes every character."""
    for name, value in (_QUIET_THREADS | _SILENT).items():
        os.environ.setdefault(name, value)
    codecs.register_error("tmapr", _spell_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tmapr")


def demand_memory() -> None:
    """Refuse a limit under which no verb can work.

    Out of memory, an interpreter that loads a library may crash instead of raising, and OpenBLAS tries for ever.
    """
    with suppress(ImportError):  # no such limit exists where Python has no `resource`
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY and most < _LEAST_ADDRESSES:
            raise TmaprError(
                f"not enough memory: this process may use {most >> 20} MiB of addresses, and needs "
                f"{_LEAST_ADDRESSES >> 20}; raise the limit with `ulimit -v unlimited`"
            )


def explain(error: BaseException) -> str | None:
    """What the surroundings lack, in a line with the way out; None if the error is not theirs."""
    shortage = _find_shortage(error)
    if shortage is not None:
        lacking = " ".join(str(shortage).split())[:200]
        return f"not enough memory{f' ({lacking})' if lacking else ''}; close other programs, or give this one more"
    if isinstance(error, UnicodeEncodeError):
        return f"{_spell(error.object)[:200]}: holds a name that is not UTF-8, which no file of ours can; rename it"
    if not isinstance(error, OSError):
        return None
    told = " ".join(str(error).split())
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{told}: this process may open too few files; raise the limit with `ulimit -n 256`"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{told}; make room and run the command again"
    return told


def _find_shortage(error: BaseException | None) -> BaseException | None:
    """The error, or what led to it, that was for want of memory; libraries say so in words alone."""
    if error is None or isinstance(error, MemoryError) or any(words in str(error).lower() for words in _SHORTAGES):
        return error
    return _find_shortage(error.__cause__ or error.__context__)


def _spell_plainly(error: UnicodeError) -> tuple[str, int]:
    """For terminals that know fewer characters: an arrow becomes `->`, `é` an e, and a letter of Greek its name."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _spell(error.object[error.start : error.end]), error.end


def _spell(text: str) -> str:
    return "".join(character if character.isascii() else _spell_one(character) for character in text)


def _spell_one(character: str) -> str:
    byte = ord(character) - 0xDC00
    if 0x80 <= byte <= 0xFF:  # how Python names a byte of a path that is not UTF-8
        return f"\\x{byte:02x}"
    if character in _PLAIN:
        return _PLAIN[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK"):
        return name.rpartition(" ")[2].lower()
    parts = unicodedata.normalize("NFKD", character)
    return "".join(_PLAIN.get(part, part) for part in parts).encode("ascii", "ignore").decode() or "?"
