"""Texts that repeat the request they answer: the words of a prompt are no part of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from autoreason.prompts import PromptSet

Phrase = tuple[str, ...]
_PHRASE = 7
"""Words in a row that are no coincidence."""
_LINE = 3
"""Words of a line that is a whole line of a prompt, such as a heading."""
_TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
_WORD = re.compile(r"\w+")


def find_echo(text: str, prompts: PromptSet, *allowed: str) -> str:
    """The first passage that is word for word in the prompts and not in the task; empty where there is none."""
    sources = tuple(prompts.sources.values())
    if not _has_phrase(text, sources):
        return ""
    phrases = _phrases_of(sources) - frozenset(_each_phrase("\n".join(allowed)))
    matches = list(_WORD.finditer(text))
    for at, phrase in enumerate(_windows(_words(text))):
        if phrase in phrases:
            return text[matches[at].start() : matches[at + _PHRASE - 1].end()]
    for line in text.splitlines():
        words = tuple(_words(line))
        if words in phrases and len(words) >= _LINE:
            return line.strip()
    return ""


# From its writing to the ballot a text is searched several times.
@lru_cache(maxsize=64)
def _has_phrase(text: str, sources: tuple[str, ...]) -> bool:
    return not _phrases_of(sources).isdisjoint(_each_phrase(text))


@lru_cache(maxsize=16)
def _phrases_of(sources: tuple[str, ...]) -> frozenset[Phrase]:
    """Everything in prompts that a text must not repeat, without the values of their variables."""
    parts = (part for source in sources for part in _TAG.split(source))
    return frozenset(phrase for part in parts for phrase in _each_phrase(part))


def _each_phrase(text: str) -> Iterator[Phrase]:
    """Words in a row that are no coincidence, and the words of each line."""
    lines = [_words(line) for line in text.splitlines()]
    return chain(_windows([*chain(*lines)]), filter(None, map(tuple, lines)))


def _windows(words: list[str]) -> Iterator[Phrase]:
    return zip(*(words[at:] for at in range(_PHRASE)), strict=False)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
