"""Whether a critique is about the text under review: quotes are looked up as a person would do it."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise

from autoreason.parsing.patterns import Pattern


class Prose:
    """A text as a critic may quote it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quotes(self, quote: str) -> bool:
        """Whether a quote is in the text, white space and typography aside; an ellipsis may join two passages."""
        return _occurs_in(_ELLIPSIS.split(_plain(_LINE_NUMBER.sub("", quote))), self._plain)

    @cached_property
    def _plain(self) -> str:
        return _plain(self.text)


class Program:
    """A program as a critic may quote it: by its lines, or by the words of its names."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quotes(self, quote: str) -> bool:
        """Whether the code is in the program, white space between symbols aside."""
        parts = [_squeezed(part) for part in _ELLIPSIS.split(_LINE_NUMBER.sub("", quote))]
        return _occurs_in(parts, self._squeezed)

    def is_about(self, reply: str) -> bool:
        """Whether a critique is about this program and not about another one.

        Code from it counts for that, and so do the words of its functions' names and pairs of words that are
        in both; code that is not in it counts against it.
        """
        prose = _CORRECTED.sub("", reply.replace('\\"', '"').replace("\\n", "\n"))
        names = [_squeezed(span) for span in _BACKTICKS.findall(prose)]
        quotes = (_LINE_NUMBER.sub("", quote) for quote in _QUOTES.findall(prose))
        code = (*quotes, *filter(None, _CODE.findall(prose)), *_STRINGS.findall(prose))
        spans = [*names, *map(_squeezed, code)]
        longest = max((len(s) for s in spans if s in self._squeezed), default=0)
        words = _words(prose)
        points = _A_QUOTE * ((longest >= _SHORT) + (longest >= _LONG))
        points += _A_NAME * min(2, len(self._names.intersection(words)))
        points += min(3, len(self._pairs & _pairs(words)))
        points -= min(4, sum(span not in self._squeezed for span in set(names)))
        # The longer a critique, the more of it matches by chance.
        return points >= (1 if len(set(words)) < _BRIEF else 2)

    @cached_property
    def _squeezed(self) -> str:
        return _squeezed(self.text)

    @cached_property
    def _names(self) -> set[str]:
        names = _DEFINED.findall(self.text) or _ASSIGNED.findall(self.text)
        return set(_words(" ".join(names))) - _COMMON

    @cached_property
    def _pairs(self) -> set[frozenset[str]]:
        return _pairs(_words(self.text))


def is_program(text: str) -> bool:
    """Whether a text is Python rather than prose."""
    return bool(_PROGRAM.search(text))


def is_code(quote: str) -> bool:
    """Whether a quote is meant to be code, rather than a sentence about it."""
    bare = _BACKTICKS.sub("", quote)
    return bool(_SIGNS.search(bare)) and not _SENTENCE.search(bare)


def _occurs_in(parts: list[str], text: str) -> bool:
    """Whether the parts follow each other in a text."""
    at = 0
    parts = [part.strip(" .,;:\"'") for part in parts]
    parts = [part for part in parts if any(sign.isalnum() for sign in part)]
    for part in parts:
        start = text.find(part, at)
        if start < 0:
            return False
        at = start + len(part)
    return bool(parts)


def _plain(text: str) -> str:
    bare = text.translate(_SAME)
    return " ".join(re.sub(r"[*_`#]", "", bare).split())


def _squeezed(text: str) -> str:
    return _NO_SPACE.sub("", text.translate(_SAME))


def _words(text: str) -> list[str]:
    """The words of a text in order, names taken apart, endings dropped; without those that join others."""
    words = [word.lower() for word in _WORD.findall(text)]
    return [_stem(word) for word in words if word not in _JOINING]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM // 2:
            word = word.removesuffix(ending)
            break
    return word[:_STEM]


def _pairs(words: list[str]) -> set[frozenset[str]]:
    """Pairs of neighbouring words, unless both are common to all programs."""
    pairs = (frozenset(pair) for pair in pairwise(words))
    return {pair for pair in pairs if len(pair) > 1 and pair - _COMMON}


_SHORT, _LONG = 4, 8
_A_QUOTE, _A_NAME = 3, 3
_BRIEF = 30
_STEM = 6
_SAME = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_ELLIPSIS = re.compile(r"\[?(?:\.\.\.|…)\]?")
_LINE_NUMBER = Pattern(
    r"\A\s*(?:on |in )?lines?\s*\d+(?:\s*(?:-|to|and)\s*\d+)?\s*(?::|-|\bof\b)?\s*", re.I
)
_NO_SPACE = Pattern(r"[\s\"'`]+")
_WORD = Pattern(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{3,}(?![a-z])")
_CORRECTED = Pattern(r"```(?:python|py)\n.*?(?:```|\Z)", re.DOTALL)
_BACKTICKS = Pattern(r"`([^`\n]+)`")
_QUOTES = Pattern(r'"quote"\s*:\s*"((?:[^"\n]|"(?!\s*[,}\n]))*+)')
_STRINGS = Pattern(r"(?<!\w)'([^'\n]{2,80})'(?!\w)")
# What is no code is taken as well, with an empty group: from every letter of it, the rest would be walked again.
_CODE = Pattern(
    r"([A-Za-z_][\w.]*+(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{1,40}\])+"
    r"|[A-Za-z_]\w*+\s*(?:[-+*/%<>=!]=?|//|\*\*)\s*\w+)"
    r"|[A-Za-z_][\w.]*\.|[A-Za-z_]\w*"
)
_DEFINED = Pattern(r"^[^\S\n]*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
_ASSIGNED = Pattern(r"^[^\S\n]*(\w+)\s*=[^=]", re.MULTILINE)
_PROGRAM = Pattern(
    r"^[ \t]*(?:(?:async )?def \w+\(|class \w+\b.*:[ \t]*$|import \w|from [\w.]+ import |print\("
    r"|(?:for|while|if) .*:[ \t]*$|return\b|[A-Za-z_][\w.\[\]]*[ \t]*[-+*/]?=[^=])",
    re.MULTILINE,
)
_SIGNS = Pattern(
    r"[_=()\[\]{}<>%*/]|\w[.]\w|:\s*$|^\s*(?:return|def|import|while|for|if|elif|else)\b"
)
_SENTENCE = Pattern(
    r"\b(?:the|is|are|does|do|it|should|which|that|this|of|an?|to)\b", re.IGNORECASE
)
_JOIN = (
    "the and for with not are that this you your from all each its have will there than then such which where"
    " can but has was does into been their they them any one two would should could must also when what how only"
    " because due use using used"
)
_JOINING = frozenset(_JOIN.split())
_PROGRAM_WORDS = (
    "def return assert test function case len range list number else import print str sum given check example"
    " true element find false append int sort input while result integer count value max math output calculate"
    " elif set lst index initialize num add word char start position first empty get tuple error order split end"
    " contain string array program code python none correct handle"
)
_COMMON = frozenset(map(_stem, _PROGRAM_WORDS.split()))
