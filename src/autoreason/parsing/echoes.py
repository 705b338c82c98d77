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
    phrases = _phrases_of(tuple(prompts.sources.values()))
    # Few texts repeat a prompt: the others are not searched any further.
    if phrases.isdisjoint(_each_phrase(text)):
        return ""
    phrases -= frozenset(_each_phrase("\n".join(allowed)))
    words = list(_WORD.finditer(text))
    for at, phrase in enumerate(_windows([word.group() for word in words])):
        if phrase in phrases:
            return text[words[at].start() : words[at + _PHRASE - 1].end()]
    for line in text.splitlines():
        plain = _plain(line)
        if plain in phrases and len(plain) >= _LINE:
            return line.strip()
    return ""


@lru_cache(maxsize=16)
def _phrases_of(sources: tuple[str, ...]) -> frozenset[Phrase]:
    """Everything in prompts that a text must not repeat, without the values of their variables."""
    parts = (part for source in sources for part in _TAG.split(source))
    return frozenset(phrase for part in parts for phrase in _each_phrase(part))


def _each_phrase(text: str) -> Iterator[Phrase]:
    return chain(_windows(_WORD.findall(text)), filter(None, map(_plain, text.splitlines())))


def _windows(words: list[str]) -> Iterator[Phrase]:
    """All words in a row that are no coincidence, from the first on."""
    plain = [word.casefold() for word in words]
    return zip(*(plain[at:] for at in range(_PHRASE)), strict=False)


def _plain(line: str) -> Phrase:
    return tuple(_WORD.findall(line.casefold()))
