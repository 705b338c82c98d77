"""What an author sends back: the document, and after it the notes that no judge ever sees."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPEN = re.compile(r"<document>", re.IGNORECASE)
_CLOSE = re.compile(r"</document>", re.IGNORECASE)
_NOTES = re.compile(r"<notes>\s*(.*?)\s*(?:</notes>|\Z)", re.IGNORECASE | re.DOTALL)
_FENCED = re.compile(r"\A```(?:markdown|md|text|json)?[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL)


class Document(NamedTuple):
    """A text and what its author says of it."""

    text: str
    notes: str


def read_document(reply: str) -> Document:
    """The document and the notes of a reply; a model may mark the document too, though none is asked to."""
    opening = _OPEN.search(reply)
    if not opening:
        notes = _last(_NOTES, reply)
        body = reply[: notes.start()] if notes else reply
        return Document(_bare(body), notes.group(1) if notes else "")
    # A document may itself contain the marks: the outermost pair counts.
    closing = _last(_CLOSE, reply[opening.end() :])
    rest = reply[opening.end() :]
    body, after = (rest[: closing.start()], rest[closing.end() :]) if closing else (rest, "")
    notes = _last(_NOTES, after if closing else body)
    if notes and not closing:
        body = body[: notes.start()]
    return Document(_bare(body), notes.group(1) if notes else "")


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in white space at most: clones are never judged."""
    # Most texts part ways within a few words, which is far quicker to see.
    return one.split(None, 9)[:9] == other.split(None, 9)[:9] and one.split() == other.split()


def _bare(body: str) -> str:
    body = body.strip()
    fenced = _FENCED.match(body)
    return fenced.group(1).strip() if fenced and "\n```" not in fenced.group(1) else body


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return max(pattern.finditer(text), key=re.Match.start, default=None)
