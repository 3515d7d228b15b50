"""Functions that numba compiles: kept on disk where there is a folder for that, compiled in every process where not.

A service user or a read-only container has neither a home nor a package folder to write to, and numba then refuses to
import what asks for a cache. No folder that others may write to takes its place: what is read back is executed.
NUMBA_CACHE_DIR names one of your own.
"""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`njit` without the GIL."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no folder
            return njit(nogil=True, **options)(function)

    return decorate
