"""A text as words that can be searched and compared, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ASCII = re.compile(r"[a-z0-9]+")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer: no spaces between words, or endings that hide them."""
# Vowel signs of Indian scripts are marks, which Python does not count as parts of a word.
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
MAX_SIMILARITY = 0.8


def split_words(text: str) -> list[str]:
    """The words of a text without case and diacritics; pairs of signs where a script has no spaces."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    parts = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in parts if not unicodedata.combining(sign))
    found = []
    # Composed again: the decomposition takes Korean syllables apart.
    for word in _WORD.findall(unicodedata.normalize("NFC", plain)):
        if _IS_UNSPACED.match(word):
            # The last sign by itself makes every sign the beginning of a word that is indexed.
            found += [word[at : at + 2] for at in range(len(word))]
        else:
            found.append(word)
    return found


def is_single_sign(word: str) -> bool:
    """Whether a word is one sign of a script that is searched by pairs of signs."""
    return len(word) == 1 and bool(_IS_UNSPACED.match(word))


@lru_cache(20_000)
def word_set(text: str) -> frozenset[str]:
    """The different words of a text."""
    return frozenset(split_words(text))


def plain_text(text: str) -> str:
    """A text as its words alone, for which two copies are the same."""
    return " ".join(split_words(text)) or text


def similarity(one: str, other: str) -> float:
    """The share of the shorter text's words that the other has; 0 where that is over twice as long."""
    return share(word_set(one), word_set(other))


def share(one: frozenset[str], other: frozenset[str]) -> float:
    """The same of two sets of words."""
    short, long = sorted((one, other), key=len)
    if not short or len(long) > 2 * len(short):
        return 0.0
    return len(short & long) / len(short)


def is_too_similar(one: str, other: str) -> bool:
    """Whether knowing how one did gives away how the other did."""
    return similarity(one, other) > MAX_SIMILARITY
