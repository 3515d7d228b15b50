"""The parts of a drawing that a reader can move: layers, named by their roles, the keys that take them away, a marker.

Without a script nothing moves: the keys are then a legend, every layer is there, and the marker is nowhere.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tmapr.reports.figure import Key, dots, legend, lines
from tmapr.reports.markup import element, escaped

_SWATCH = "0 0 22 12"
_SPOTS = ("here", "matched")


def layer(role: str, *marks: str) -> str:
    """Marks that come and go together."""
    return element("g", {"data-layer": role}, *marks)


def marker(*roles: str) -> str:
    """Marks of the frame that is looked at, empty for now: spots, and lines for all other roles."""
    shapes = (dots(np.zeros((0, 2)), role) if role in _SPOTS else lines([], role) for role in roles)
    return element("g", {"class": "marker"}, *shapes)


def layer_keys(keys: Sequence[Key]) -> str:
    """A legend, each entry of which is the switch of its layer."""
    return element("div", {"class": "keys"}, *map(_switch, keys))


def _switch(key: Key) -> str:
    swatch = element("svg", {"viewBox": _SWATCH, "aria-hidden": "true"}, legend([replace(key, words="")], 0.0, 6.0))
    attributes = {"type": "button", "data-switch": key.role, "aria-pressed": "true", "disabled": "disabled"}
    return element("button", attributes, swatch, escaped(key.words))
