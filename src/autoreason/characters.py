"""Characters that must not act where a text is shown: on a terminal, on a page, in a spreadsheet."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Signs that change the order in which others are shown, so that a text can look like another."""
_UNSEEN = re.compile(
    r"[\s\x00-\x1f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe0f\ufeff\uffa0]*"
)
_LINKS = re.compile(r"[\\\[\]]|(?<=:)//|(?<=www)\.|@", re.IGNORECASE)
"""What makes a link or an image in Markdown, spelled out or found by itself; also what would undo an escape."""
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_ACTING = re.compile("|".join(each.pattern for each in (_CONTROLS, _BIDI, _NOT_IN_XML)))
"""Any of them: looking once for what nearly no text has is quicker than taking it out three times."""
# `html.escape` would load its table of 2,000 characters into every run.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def without_controls(text: str) -> str:
    """The text without what would steer a terminal, and with what would reorder it spelled out."""
    # Most texts have none of them, which this finds at once.
    if text.isprintable():
        return text
    return _BIDI.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", _CONTROLS.sub("", text))


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: it is empty, white space, or signs without width."""
    return _UNSEEN.fullmatch(text) is not None


def with_whole_characters(text: str) -> str:
    """The text with a sign of its own for each half of a character, which an escape in JSON can be."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def in_markdown(text: str) -> str:
    """The text as one line of a page in Markdown: no HTML, link, image or control in it acts."""
    line = " ".join(without_controls(text).split())
    escaped = _LINKS.sub(lambda sign: "".join(f"\\{each}" for each in sign[0]), line)
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


def for_xml(text: str) -> str:
    """The text without what no XML may have; a writer of XML escapes the rest."""
    return _NOT_IN_XML.sub("", without_controls(text)) if _ACTING.search(text) else text


def in_markup(text: str) -> str:
    """The text for HTML and SVG, where nothing in it acts."""
    return for_xml(text).translate(_MARKUP)


def in_csv(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    cell = without_controls(text)
    return f"'{cell}" if cell[:1] in ("=", "+", "@") else cell
