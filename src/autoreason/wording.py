"""What a text is called: the one table of words and marks for terminal, pages and lists."""

from __future__ import annotations

from typing import Literal, NamedTuple

TextKind = Literal["draft", "rewrite", "new", "merge", "kept"]
"""A text as people meet it: what they began with, what competes with it, and what nothing has beaten."""


class KindWords(NamedTuple):
    """A kind of text in words, with a mark, so that nothing rests on its colour."""

    name: str
    mark: str
    style: str
    """Its colour on a terminal."""

    @property
    def the(self) -> str:
        """`the rewrite`."""
        return f"the {self.name}"


KINDS: dict[TextKind, KindWords] = {
    "draft": KindWords("first draft", "○", "bright_black"),
    "rewrite": KindWords("rewrite", "▲", "green"),
    # On a ballot it takes the place of a rewrite, and its mark.
    "new": KindWords("new draft", "▲", "green"),
    "merge": KindWords("merge", "◆", "magenta"),
    "kept": KindWords("text so far", "■", "blue"),
}
BECOME = "the text it had become"
"""What was made of the first draft, before it is known which of them is the result."""

_WORDS = {
    "autoreason": "refining",
    "single": "one draft",
    "critique_revise": "critic and rewrite",
    "best_of_n": "best of several drafts",
    "passes": "rounds",
    "converged": "settled",
    "kept_contract": "limits kept",
    "overfitted": "public tests alone",
    "value": "gain",
    "claimed": "gain as the loop saw it",
}
"""Strategies and measures whose name is not what people would say."""
SEVERITIES = {"critical": "serious", "major": "serious", "minor": "small"}
"""How bad a fault is that a critic found, in the words people are shown."""


def kind_of(slot: str, *, first: bool, fresh: bool = False) -> TextKind:
    """The kind of a candidate; `first` says that the text so far still is the first draft."""
    if slot == "A":
        return "draft" if first else "kept"
    return "merge" if slot == "AB" else "new" if fresh else "rewrite"


def in_words(name: str) -> str:
    """A strategy or a measure as people are told of it."""
    return _WORDS.get(name, name.replace("_", " "))


def numeral(number: int) -> str:
    """Numbers up to nine as words, others in figures."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else f"{number:,}"
