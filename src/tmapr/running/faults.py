"""Images that cannot be used, counted in words."""

from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

from tmapr.data.sequence import Sequence
from tmapr.exceptions import InputError
from tmapr.types import Fault


def refuse_unusable(sequence: Sequence, faults: Iterable[Fault]) -> NoReturn:
    """Say why no image can be used: the first one's own refusal if it has one."""
    next(iter(sequence)).image()
    found = describe_faults(faults)
    raise InputError(f"{sequence.name}: none of its images can be used ({found}); look with `tmapr check --sheet`")


def describe_faults(faults: Iterable[Fault]) -> str:
    """How many images there are of each fault."""
    counts = Counter("unreadable" if fault is Fault.INVALID else str(fault) for fault in faults)
    return ", ".join(f"{count} {fault}" for fault, count in counts.items())
