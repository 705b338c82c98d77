"""An author's reply: the document, and after it the notes that no judge ever sees."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from autoreason.jobs.randomness import BOUNDARY

# Only marks around everything, before or after everything, are marks: a text may be about such tags.
_WRAPPED = re.compile(r"\A\s*<document>(.*)</document>\s*(.*)\Z", re.IGNORECASE | re.DOTALL)
_NOTES = re.compile(
    r"[ \t]*<notes>(?:[ \t]*\n(?P<open>(?:(?!</notes>).)*)\Z|(?P<closed>.*)</notes>\s*\Z)",
    re.IGNORECASE | re.DOTALL,
)
_NOTES_FIRST = re.compile(r"\A\s*<notes>(.*?)</notes>[ \t]*\n\s*(?=\S)", re.IGNORECASE | re.DOTALL)
# A boundary copied from the request: between its brackets, or alone on a line.
_MARK = re.compile(
    rf"<{{2,3}}(?:END )?[A-Z]+ (?:\w+ )?{BOUNDARY}>{{2,3}}[ \t]*\n?|^(?:[A-Z]+ )?{BOUNDARY}[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
"""Words; of scripts without spaces single characters."""
_FENCED = re.compile(r"\A```(?:markdown|md|text|json)?[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL)


class Document(NamedTuple):
    """A text and its author's notes on it."""

    text: str
    notes: str


def read_document(reply: str) -> Document:
    """The document and the notes of a reply; a model may mark the document too, though it is not asked to."""
    wrapped = _WRAPPED.match(reply)
    if wrapped:
        return Document(_bare(wrapped[1]), _split(wrapped[2]).notes)
    return _split(reply)


def _split(reply: str) -> Document:
    """Text and notes, where notes come before it or at the end on lines of their own."""
    before = _NOTES_FIRST.match(reply)
    reply = reply[before.end() :] if before else reply
    start = reply.lower().rfind("<notes>")
    notes = _NOTES.match(reply, reply.rfind("\n", 0, start) + 1) if start >= 0 else None
    if not notes:
        return Document(_bare(reply), before[1].strip() if before else "")
    return Document(_bare(reply[: notes.start()]), (notes["closed"] or notes["open"] or "").strip())


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in white space at most: clones are never judged."""
    # Most texts part ways within a few words, which is far quicker to see.
    return one.split(None, 9)[:9] == other.split(None, 9)[:9] and one.split() == other.split()


def share_changed(one: str, other: str) -> float:
    """The share of words that two texts do not have in common, each as often as it occurs."""
    counts, others = (Counter(_WORD.findall(text.casefold())) for text in (one, other))
    total = counts.total() + others.total()
    return (total - 2 * (counts & others).total()) / total if total else 0.0


def _bare(body: str) -> str:
    body = _MARK.sub("", body).strip()
    fenced = _FENCED.match(body)
    return fenced.group(1).strip() if fenced and "\n```" not in fenced.group(1) else body
