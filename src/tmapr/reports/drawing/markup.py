"""Text and elements of HTML and SVG. Nothing from a file reaches a page but through `escape`."""

import html
import re
from collections.abc import Mapping

# Control characters and lone surrogates: no XML document can hold them, not even escaped, and a terminal obeys some.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: str) -> str:
    """Text that means itself between tags and inside quoted attributes."""
    return html.escape(replace_unprintable(text))


def replace_unprintable(text: str) -> str:
    """The text with a mark where a terminal or an XML document could not hold a character."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def element(tag: str, attributes: Mapping[str, str | float], *children: str) -> str:
    """An element; attributes are escaped here, children are markup already. Coordinates keep a tenth of a pixel."""
    head = "".join(f' {name}="{escape(_format_value(value))}"' for name, value in attributes.items())
    return f"<{tag}{head}>{''.join(children)}</{tag}>" if children else f"<{tag}{head}/>"


def tenths(value: float) -> str:
    """A coordinate with one decimal, and none where it is zero."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _format_value(value: str | float) -> str:
    return value if isinstance(value, str) else tenths(value)
