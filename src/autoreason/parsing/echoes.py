"""Texts that repeat the request they answer: the words of a prompt are no part of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from autoreason.prompts import PromptSet

_PHRASE = 7
"""Words in a row that are no coincidence."""
_LINE = 3
"""Words of a line that is a whole line of a prompt, such as a heading."""
_TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
_WORD = re.compile(r"\w+")


def find_echo(text: str, prompts: PromptSet, *allowed: str) -> str:
    """The first passage that is word for word in the prompts and not in the task; empty where there is none."""
    prompt_phrases = _phrases_of(tuple(prompts.sources.values()))
    allowed_phrases = _phrases("\n".join(allowed))
    words = list(_WORD.finditer(text))
    casefolded = [word.group().casefold() for word in words]
    for at in range(len(words) - _PHRASE + 1):
        phrase = " ".join(casefolded[at : at + _PHRASE])
        if phrase in prompt_phrases and phrase not in allowed_phrases:
            return text[words[at].start() : words[at + _PHRASE - 1].end()]
    for line in text.splitlines():
        plain = _plain(line)
        if plain in prompt_phrases and plain not in allowed_phrases and len(plain.split()) >= _LINE:
            return line.strip()
    return ""


@lru_cache(maxsize=16)
def _phrases_of(sources: tuple[str, ...]) -> frozenset[str]:
    """Everything in prompts that a text must not repeat, without the values of their variables."""
    parts = (part for source in sources for part in _TAG.split(source))
    return frozenset(phrase for part in parts for phrase in _phrases(part))


def _phrases(text: str) -> frozenset[str]:
    return frozenset(_each_phrase(text))


def _each_phrase(text: str) -> Iterator[str]:
    words = [word.casefold() for word in _WORD.findall(text)]
    for at in range(len(words) - _PHRASE + 1):
        yield " ".join(words[at : at + _PHRASE])
    yield from filter(None, map(_plain, text.splitlines()))


def _plain(line: str) -> str:
    return " ".join(_WORD.findall(line.casefold()))
