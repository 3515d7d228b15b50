"""A map that can be zoomed and moved: the buttons of the script that does it, and what else it listens to."""

from collections.abc import Sequence

from tmapr.reports.drawing.markup import element, escape
from tmapr.reports.drawing.svg import Key, layer_keys

_BUTTONS = {"in": ("+", "zoom in"), "out": ("\N{MINUS SIGN}", "zoom out"), "reset": ("whole map", "show the whole map")}
_HINT = "Zoom with the buttons, with Ctrl and the wheel, or with two fingers; drag to move."


def render_map(drawn: str, caption: str, keys: Sequence[Key], beneath: str = "") -> str:
    """A drawing of `draw_window` with its keys, its buttons, hidden until the script serves them, and its caption."""
    buttons = (
        element("button", {"type": "button", "data-zoom": name, "aria-label": words, "title": words}, sign)
        for name, (sign, words) in _BUTTONS.items()
    )
    bar = element("div", {"class": "zoom", "hidden": "hidden"}, *buttons, element("span", {"class": "note"}, _HINT))
    plot = element("div", {"class": "plot"}, drawn)
    caption = element("figcaption", {}, escape(caption))
    return element("figure", {"class": "map"}, layer_keys(keys), plot, bar, beneath, caption)
