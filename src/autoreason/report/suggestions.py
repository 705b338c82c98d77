"""Changes as suggestions that a person takes one by one: a patch, or CriticMarkup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import pairwise

from autoreason.report.changes import Block, Reasons, pair, reason, split_blocks

_LIKE = 0.3
_PIECE_END = re.compile(r"(?<=[.!?])[\"”’)*_]*\s+|\n\s*")
_OPENER = re.compile(r"\{(?=\+\+|--|~~|>>|==)")
_IN_MARK = re.compile(
    r"(?<=\{)(?=\+\+|--|~~|>>|==)|(?:(?<=\+\+)|(?<=--)|(?<=~~)|(?<=<<)|(?<===))(?=\})|(?<=~)(?=>)"
)


def to_patch(before: str, after: str) -> str:
    """A unified diff in which no hunk needs lines around it."""
    old, new = ([f"{line}\n" for line in text.split("\n")] for text in (before, after))
    return "".join(unified_diff(old, new, "draft", "result", n=0))


def to_criticmarkup(before: str, after: str, reasons: Reasons) -> str:
    """The draft with a mark for each sentence that changed, and why; marks within the texts are taken apart."""
    parts = []
    for one, other in suggest(split_pieces(before), split_pieces(after)):
        if one == other:
            # An empty comment keeps a brace apart from signs that would make a mark of it.
            parts.append(_OPENER.sub("{{>><<}", one))
            continue
        end = one[len(one.rstrip()) :] if one.strip() and other.strip() else ""
        end = end if end == other[len(other.rstrip()) :] else ""
        gone, come = (
            [p for p in _IN_MARK.split(each.removesuffix(end)) if p] for each in (one, other)
        )
        if len(gone) == len(come) == 1:
            parts.append(f"{{~~{gone[0]}~>{come[0]}~~}}")
        else:
            parts += [f"{{--{each}--}}" for each in gone] + [f"{{++{each}++}}" for each in come]
        if why := reason(" ".join(block.text for block in split_blocks(one)), reasons):
            parts.append(f"{{>>{why.replace('{', '(').replace('}', ')')}<<}}")
        parts.append(end)
    return "".join(parts)


def split_pieces(text: str) -> list[str]:
    """The sentences and lines of a text, each with the white space behind it."""
    ends = {0, *(each.end() for each in _PIECE_END.finditer(text)), len(text)}
    return [text[start:end] for start, end in pairwise(sorted(ends))]


def suggest(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pieces of two texts side by side, in order; empty where one has nothing."""
    before, after = ([Block("sentence", each) for each in row] for row in (old, new))
    for one, other in pair(before, after, _LIKE):
        yield one.text if one else "", other.text if other else ""
