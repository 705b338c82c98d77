"""What a text says that the texts it was made of do not: a cut leaves words out and adds none."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")


def find_additions(text: str, *sources: str) -> tuple[str, ...]:
    """The sentences of a text that are not what remains of a paragraph of a source once words are taken out.

    Case, punctuation and layout do not count, nor does the order of sentences. A paragraph and not a sentence
    is what must contain the words, so that two sentences may be cut to one.
    """
    paragraphs = [
        _words(part) for source in sources for part in _PARAGRAPH_END.split(source) if part.strip()
    ]
    return tuple(
        sentence
        for sentence in _sentences(text)
        if not any(_remains_of(paragraph, _words(sentence)) for paragraph in paragraphs)
    )


def _sentences(text: str) -> Iterator[str]:
    """Sentences; a line break ends one too, which asks less of a list or a wrapped line, and never more."""
    return (part.strip() for part in _SENTENCE_END.split(text) if _WORD.search(part))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _remains_of(paragraph: list[str], words: list[str]) -> bool:
    """Whether the words are in the paragraph in their order, with others between them or not."""
    left = iter(paragraph)
    return all(word in left for word in words)
