r"""Version 2 of .viz files: its elements as columns of the model, and texts that XML lacks.

XML has no way to say most control characters. In version 2 they are `\x01`, others that it does not
have `\ufffe` or `\ud800`, and a backslash itself is `\\`.
"""

from __future__ import annotations

import re

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Schema

ELEMENTS: dict[str, Schema] = {
    "location": LOCATIONS, "region": REGIONS, "path": PATHS, "metric": METRICS,
}  # fmt: skip
"""Elements in `tables` that are a row each."""

SHARED = ("metric", "repetition", "location")
"""Columns of the profile that an element `profile` has; its elements `value` have the rest."""

ALONE = tuple(column.name for column in PROFILE.columns if column.name not in SHARED)

# XML 1.0 (W3C Recommendation, fifth edition), production 2, and our own sign of an escape.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\\[\\]-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A blank that is not written so is read as a space (3.3.3, normalization of attributes).
_ENTITIES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;",
    "\r": "&#13;",
}  # fmt: skip
_MARKED = re.compile('[&<>"\t\n\r]')
_ESCAPE = re.compile(r"\\(?:\\|x[0-9a-f]{2}|u[0-9a-f]{4})|\\")


def attribute(schema: Schema, column: str) -> str:
    """Return the attribute name of a table's column."""
    if column == "domain":
        return "modes"
    return "id" if f"{column}s" == schema.name else column


def written(text: str) -> str:
    """Return a text as it stands in an attribute or element; `read` gives it back exactly."""
    if not _NOT_IN_XML.search(text) and not _MARKED.search(text):
        return text
    return in_xml(_NOT_IN_XML.sub(_escaped, text))


def in_xml(text: str) -> str:
    """Return a text that has only what XML has, with its own signs as entities."""
    return _MARKED.sub(lambda found: _ENTITIES[found[0]], text)


def decode_text(text: str) -> str:
    """Return the text that `written` made this of.

    Raises:
        ValueError: a backslash begins no escape.
    """
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    if found[0] == "\\":
        return "\\\\"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _unescaped(found: re.Match[str]) -> str:
    text = found[0]
    if text == "\\":
        raise ValueError("a backslash begins no escape")
    return "\\" if text == "\\\\" else chr(int(text[2:], 16))
