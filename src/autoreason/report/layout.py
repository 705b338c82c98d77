"""Sentences on a terminal: whole words, and labels in a column of their own."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDEST = 100
"""Columns that a sentence takes at most; longer lines are hard to read."""
_LABEL = 11
_NARROWEST = 20
_HARD = "\u00a0"
_TOGETHER = re.compile(
    r"p [<=] \S+|\d+ (?:h|min) \d\d (?:min|s)\b"
    r"|(?:(?:under|over) |(?:\d+ / )+)?[\d.,]+ (?:%|(?:ms|s|min|h|MB|GB)\b)"
)


def join_units(text: str) -> str:
    """The text with a no-break space between every number and its unit."""
    return _TOGETHER.sub(lambda found: found[0].replace(" ", _HARD), text)


def restore_spaces(text: str) -> str:
    """The text with plain spaces again."""
    return text.replace(_HARD, " ")


def wrap(sentence: str, width: int, indent: str = "") -> list[str]:
    """Lines of whole words that never part a number from its unit; `indent` begins all but the first."""
    lines = textwrap.wrap(
        join_units(sentence),
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return list(map(restore_spaces, lines))


def lay_out(labelled: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Labels and sentences as lines of at most `width` columns, sentences aligned."""
    lines = []
    column = max([_LABEL, *(len(label) + 2 for label, _ in labelled)])
    for label, sentence in labelled:
        indent = column if label else 0
        # Narrow terminals get whole words, however few fit on a line.
        wrapped = wrap(sentence, max(_NARROWEST, min(width, WIDEST) - indent))
        lines += [(f"{label if i == 0 else '':<{indent}}", part) for i, part in enumerate(wrapped)]
    return lines
