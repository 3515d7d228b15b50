"""A drawing with its heading, its keys and its caption, as every part of the page shows one."""

from tmapr.reports.drawing.markup import element, escape


def render_figure(drawn: str, caption: str, kind: str | None = None, keys: str = "", heading: str = "") -> str:
    """A drawing under its heading and its keys, above its caption; the heading is markup."""
    plot = element("div", {"class": "plot"}, drawn)
    attributes = {"class": kind} if kind else {}
    return element("figure", attributes, heading, keys, plot, element("figcaption", {}, escape(caption)))
