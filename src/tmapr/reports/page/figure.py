"""A drawing with its keys and its caption, as every part of the page shows one."""

from tmapr.reports.drawing.markup import element, escape


def render_figure(drawn: str, caption: str, kind: str | None = None, keys: str = "") -> str:
    """A drawing under its keys, which scrolls on a narrow screen, and its caption, which does not."""
    plot = element("div", {"class": "plot"}, drawn)
    attributes = {"class": kind} if kind else {}
    return element("figure", attributes, keys, plot, element("figcaption", {}, escape(caption)))
