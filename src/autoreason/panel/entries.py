"""The texts a panel is held over: two to ten, all different, perhaps cut to one length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.task import Entry
from autoreason.tournament.documents import same_text

FEWEST, MOST = 2, 10
_SENTENCE = re.compile(r"[^\n]*?[.!?…][\"'”’)\]*_]*(?=\s|\Z)|[^\n]+")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LAST_HEADING = re.compile(r"\n[ \t]*#{1,6} [^\n]*\Z")


def make_entries(texts: Mapping[str, str], *, equal_length: bool = False) -> tuple[Entry, ...]:
    """Texts ready to be judged; whatever cannot be compared is one clear sentence."""
    if not FEWEST <= len(texts) <= MOST:
        raise InvalidInput(
            f"a panel compares {FEWEST} to {MOST} texts, not {len(texts)}; give as many"
        )
    for name, text in texts.items():
        if not text.strip():
            raise InvalidInput(f"{name} is empty; there is nothing to judge in it")
    if equal_length:
        texts = cut_alike(texts)
    for (name, text), (other, second) in combinations(texts.items(), 2):
        if same_text(text, second):
            alike = "begin alike and are the same once cut" if equal_length else "are the same text"
            raise InvalidInput(f"{name} and {other} {alike}; leave one of them out")
    return tuple(Entry(name=name, text=text.strip()) for name, text in texts.items())


def cut_alike(texts: Mapping[str, str]) -> dict[str, str]:
    """All texts no longer than the shortest, each ending with a whole sentence, its layout as it was."""
    most = min(count_words(text) for text in texts.values())
    return {name: cut(text, most) for name, text in texts.items()}


def cut(text: str, words: int) -> str:
    """The beginning of a text, up to so many words, to the end of a sentence; never less than the first one."""
    if count_words(text) <= words:
        return text.strip()
    end = taken = 0
    for sentence in _SENTENCE.finditer(text):
        taken += count_words(sentence.group())
        if end and taken > words:
            break
        end = sentence.end()
    return _tidy(text[:end])


def _tidy(text: str) -> str:
    """Without a code block that lost its end or a heading that lost its section."""
    fences = list(_FENCE.finditer(text))
    if len(fences) % 2 and text[: fences[-1].start()].strip():
        text = text[: fences[-1].start()]
    text = text.strip()
    while heading := _LAST_HEADING.search(text):
        text = text[: heading.start()].rstrip()
    return text
