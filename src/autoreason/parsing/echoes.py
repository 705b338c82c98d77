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
_QUOTE = re.compile(r"[.,]?[\"“”„«»]")
"""A quotation mark, and what American English puts before it."""
_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_BEGINS = re.compile(
    # A line or a sentence begins, whatever marks, severity or number stand there.
    r"""(?:(?:\A|\n)[\s*#_>.:\d)"“-]*|[.!?:;][*_"”)]*\s+[*_"“(\[-]*\s*)(?:\(\w+\)\s*)?[\d\s]*\Z"""
)
_BEFORE = 40
"""Characters before a sentence that say whether it begins there."""
_ENDS = r"""(?=[*_)\]]*(?:[.,;:!?"“”]|\s*$))"""


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


def find_sentences(text: str, sentences: tuple[str, ...], *allowed: str) -> list[re.Match[str]]:
    """Where a text has one of these as a sentence of its own, in any capitals; not where the task has it."""
    found = _sentences_in(text, sentences)
    allowed_text = _plain("\n".join(allowed)) if found else ""
    return [match for match in found if _plain(match.group()) not in allowed_text]


@lru_cache(maxsize=64)
def _sentences_in(text: str, sentences: tuple[str, ...]) -> list[re.Match[str]]:
    plain = _plain(text)
    # Far quicker than the pattern, which says where.
    if not any(sentence in plain for sentence in map(_plain, sentences)):
        return []
    return [
        match
        for match in _any_of(sentences).finditer(text)
        if _BEGINS.search(text[max(0, match.start() - _BEFORE) : match.start()])
    ]


@lru_cache(maxsize=64)
def _any_of(sentences: tuple[str, ...]) -> re.Pattern[str]:
    words = (map(_one_word, sentence.rstrip(".").split()) for sentence in sentences)
    each = sorted((r"\s+".join(parts) for parts in words), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(each)}){_ENDS}", re.IGNORECASE | re.MULTILINE)


def _one_word(word: str) -> str:
    """The pattern of a word, whatever quotation marks a model writes."""
    return _QUOTE.pattern.join(map(re.escape, _QUOTE.split(word)))


def _plain(text: str) -> str:
    plain = " ".join(text.casefold().translate(_PLAIN_QUOTES).split())
    return plain.replace('."', '"').replace(',"', '"').rstrip(".")


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
