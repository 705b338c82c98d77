"""Long texts cut to what helps: the part around the first difference, the end of a traceback."""

from __future__ import annotations

EXCERPT = 2000
"""Characters kept of an input or an output."""
TRACE = 4000
"""Characters kept of a traceback."""


def plain(text: str) -> str:
    """A text that can be written down: a program may name characters that are none."""
    return text.encode("utf-8", "backslashreplace").decode()


def excerpt(text: str, at: int = 0, most: int = EXCERPT) -> str:
    """The part of a text around a place; where something was cut, it says how much."""
    text = plain(text)
    if len(text) <= most:
        return text
    start = max(0, min(at - most // 2, len(text) - most))
    before, after = start, len(text) - start - most
    kept = text[start : start + most]
    return f"{_cut(before)}\n{kept}" if not after else _both(kept, before, after)


def _both(kept: str, before: int, after: int) -> str:
    head = f"{_cut(before)}\n" if before else ""
    return f"{head}{kept}\n{_cut(after)}"


def _cut(characters: int) -> str:
    return f"[… {characters:,} characters left out …]"


def ending(text: str, most: int = TRACE) -> str:
    """The end of a text, from the beginning of a line on."""
    text = plain(text)
    if len(text) <= most:
        return text
    kept = text[-most:]
    _, newline, whole_lines = kept.partition("\n")
    kept = whole_lines if newline and whole_lines else kept
    return f"{_cut(len(text) - len(kept))}\n{kept}"
