"""One page of HTML that needs nothing beside itself: no script, no font, no picture from elsewhere.

It is well-formed XML too, so that a mistake in it shows in a test and not in somebody's browser.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files

from tmapr.reports.drawing.markup import element, escape

_HEAD = (
    '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'
    '<link rel="icon" href="data:,"/>'
)
_DATA = {"type": "application/json"}


def render_document(
    title: str, body: str, *, marks: str = "", data: Mapping[str, object] | None = None, script: str = "explorer.js"
) -> str:
    """A whole page; `data` is for the script, each part by its id, and `marks` are elements of the head."""
    # A parser of XML sees no markup between these marks; to one of HTML they are comments of the script.
    code = f"//<![CDATA[\n{_read_resource(script)}//]]>\n"
    style = element("style", {}, _read_resource("page.css"))
    head = element("head", {}, _HEAD, _render_policy(code), element("title", {}, escape(title)), marks, style)
    given = (render_data(content, {"id": name}) for name, content in (data or {}).items())
    whole = element("html", {"lang": "en"}, head, _render_body(body, *given, element("script", {}, code)))
    return f"<!DOCTYPE html>\n{whole}\n"


def render_data(content: object, attributes: Mapping[str, str] | None = None) -> str:
    """Data for the script, in which nothing can end the element: HTML sees no markup in it, and XML neither."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", {**_DATA, **(attributes or {})}, text)


def _render_body(body: str, *scripts: str) -> str:
    return element("body", {}, element("main", {}, body), *scripts)


def _read_resource(name: str) -> str:
    return files("tmapr.reports.page").joinpath(name).read_text(encoding="utf-8")


def _render_policy(script: str) -> str:
    """Whatever a name might contain, a browser that obeys this loads nothing and runs one script, known by its hash."""
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{known}'"
    return element("meta", {"http-equiv": "Content-Security-Policy", "content": allowed})
