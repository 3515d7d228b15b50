"""One page of HTML that needs nothing beside itself: no script, no font, no picture from elsewhere.

It is well-formed XML too, so that a mistake in it shows in a test and not in somebody's browser.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from tmapr.reports.drawing.markup import element, escape

_HEAD = (
    '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'
    '<link rel="icon" href="data:,"/>'
)
_SCRIPTS = ("plots.js", "zoom.js", "terms.js")
_STYLES = ("page.css", "plots.css")
_DATA = {"type": "application/json"}


def render_document(title: str, body: str, *, script: str, pictures: Sequence[str] = (), marks: str = "") -> str:
    """A whole page; the script finds the pictures by their numbers, and `marks` are elements of the head."""
    # A parser of XML sees no markup between these marks; to one of HTML they are comments of the script.
    code = f"//<![CDATA[\n{''.join(map(_read_resource, (*_SCRIPTS, script)))}//]]>\n"
    style = element("style", {}, *map(_read_resource, _STYLES))
    head = element("head", {}, _HEAD, _render_policy(code), element("title", {}, escape(title)), marks, style)
    parts = (element("main", {}, body), render_data(pictures, {"id": "pictures"}), element("script", {}, code))
    whole = element("html", {"lang": "en"}, head, element("body", {}, *parts))
    return f"<!DOCTYPE html>\n{whole}\n"


def render_data(content: object, attributes: Mapping[str, str] | None = None) -> str:
    """Data for the script, in which nothing can end the element: HTML sees no markup in it, and XML neither."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", {**_DATA, **(attributes or {})}, text)


def _read_resource(name: str) -> str:
    return files("tmapr.reports.page").joinpath(name).read_text(encoding="utf-8")


def _render_policy(script: str) -> str:
    """Whatever a name might contain, a browser that obeys this loads nothing and runs one script, known by its hash."""
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{known}'"
    return element("meta", {"http-equiv": "Content-Security-Policy", "content": allowed})
