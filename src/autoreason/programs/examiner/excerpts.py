"""Long texts cut to what helps: the part around the first difference, the end of a traceback."""

from __future__ import annotations

MAX_EXCERPT = 2000
"""Characters kept of an input or an output."""
MAX_TRACE = 4000
"""Characters kept of a traceback."""


def printable(text: str) -> str:
    """A text that can be encoded: a program may print characters that cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def excerpt(text: str, at: int = 0, max_length: int = MAX_EXCERPT) -> str:
    """The part of a text around a place, with marks that say how much was cut."""
    text = printable(text)
    if len(text) <= max_length:
        return text
    start = max(0, min(at - max_length // 2, len(text) - max_length))
    before, after = start, len(text) - start - max_length
    kept = text[start : start + max_length]
    head = f"{_cut_mark(before)}\n" if before else ""
    tail = f"\n{_cut_mark(after)}" if after else ""
    return f"{head}{kept}{tail}"


def _cut_mark(characters: int) -> str:
    return f"[… {characters:,} characters left out …]"


def end_of_text(text: str, max_length: int = MAX_TRACE) -> str:
    """The end of a text, from the beginning of a line on."""
    text = printable(text)
    if len(text) <= max_length:
        return text
    kept = text[-max_length:]
    _, newline, whole_lines = kept.partition("\n")
    kept = whole_lines if newline and whole_lines else kept
    return f"{_cut_mark(len(text) - len(kept))}\n{kept}"
