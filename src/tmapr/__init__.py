"""Localize a robot from a thermal camera alone, day and night, in an environment mapped once.

What a program needs has a name here; nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tmapr.artifacts.documents.runs import Errors as Errors
    from tmapr.artifacts.percepts import Recording as Recording
    from tmapr.artifacts.trajectory import EstimateTable as EstimateTable
    from tmapr.data.sample import locate_sample as locate_sample
    from tmapr.data.sequence import Sequence as Sequence
    from tmapr.exceptions import InputError as InputError
    from tmapr.exceptions import StateError as StateError
    from tmapr.exceptions import TmaprError as TmaprError
    from tmapr.live.events import Answer as Answer
    from tmapr.live.events import Timings as Timings
    from tmapr.localizer import Localizer as Localizer
    from tmapr.places.lessons import Lesson as Lesson
    from tmapr.plugins import Describe as Describe
    from tmapr.plugins import Judgement as Judgement
    from tmapr.plugins import TrackingMethod as TrackingMethod
    from tmapr.program import Run as Run
    from tmapr.program import follow as follow
    from tmapr.program import load as load
    from tmapr.program import make_map as make_map
    from tmapr.program import open_run as open_run
    from tmapr.program import open_sequence as open_sequence
    from tmapr.program import run as run
    from tmapr.retrieval.memory import Memory as Memory
    from tmapr.types import Belief as Belief
    from tmapr.types import Candidate as Candidate
    from tmapr.types import CoordinateFrame as CoordinateFrame
    from tmapr.types import Estimate as Estimate
    from tmapr.types import Fault as Fault
    from tmapr.types import Frame as Frame
    from tmapr.types import Odometry as Odometry
    from tmapr.types import Percept as Percept
    from tmapr.types import Reason as Reason
    from tmapr.types import Recognition as Recognition
    from tmapr.types import Status as Status
    from tmapr.types import Verdict as Verdict

    __version__: str

_ROOMS = {
    "program": ("load", "make_map", "run", "follow", "open_run", "open_sequence", "Run"),
    "localizer": ("Localizer",),
    "live.events": ("Answer", "Timings"),
    "types": (
        *("Frame", "Odometry", "Percept", "Recognition", "Candidate", "Verdict", "Belief", "Estimate"),
        *("CoordinateFrame", "Fault", "Reason", "Status"),
    ),
    "data.sample": ("locate_sample",),
    "data.sequence": ("Sequence",),
    "artifacts.percepts": ("Recording",),
    "artifacts.trajectory": ("EstimateTable",),
    "artifacts.documents.runs": ("Errors",),
    "places.lessons": ("Lesson",),
    "plugins": ("Describe", "TrackingMethod", "Judgement"),
    "retrieval.memory": ("Memory",),
    "exceptions": ("TmaprError", "InputError", "StateError"),
}
"""Where a name lives: an import of NumPy, numba and pydantic is worth half a second."""
__all__ = sorted(["__version__", *(name for names in _ROOMS.values() for name in names)])


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("tmapr")
    for room, names in _ROOMS.items():
        if name in names:
            return vars(import_module(f"tmapr.{room}"))[name]
    raise AttributeError(f"module 'tmapr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
