"""The scope contract: limits that code, not a judge, checks in every text."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.facts import FactKind
from autoreason.fields import check_fields
from autoreason.plugins import absolute, load_function, short

HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$", re.MULTILINE)
"""A heading's marks and the rest of its line; what closes it is removed by `heading_text`."""
_UNDERLINED = re.compile(r"^ {0,3}(\S.*)\n {0,3}(?:={2,}|-{2,})[ \t]*$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"^[ \t>#*-]*\d{1,3}[.)](?=\s)|(?=\S*?[^\W_])(\S+)|\S+", re.MULTILINE)
"""The number of an item or a heading; or, as a group, a word; or what has neither letter nor digit."""
_PASSAGE = re.compile(r"[^\n]*?(?:[.!?](?=\s)|(?=\n)|\Z)")
"""A sentence, or a line where that is shorter."""
_MAX_PASSAGE = 160
_SEARCH_SECONDS = 2.0
"""Processor time for one search: some patterns take forever on some texts."""
_TOO_SHORT = "words, at least {} needed"
_TOO_LONG = "words, at most {} allowed"
_CONTAINS = "Contains {}."
_LACKS = "Does not contain {}."
_MISSING = "{} is missing"
_UNWANTED = "{} is there and must not be"
_NO_HEADING = "no heading “{}”"
_FORMATS = {
    "markdown": "Is written in Markdown.",
    "plain": "Is plain text without Markdown.",
    "json": "Is one valid JSON value and nothing else.",
}
Keep = Literal[FactKind, "all", "draft", "strict"]
_MARKUP = re.compile(
    r"^ {0,3}#{1,6}[ \t]|^[ \t]*```|\*\*\S|^[ \t]*[-*+][ \t]+\S|\[[^\]\n]+\]\([^)\n]+\)",
    re.MULTILINE,
)


class Violation(Struct, frozen=True):
    """One rule of the contract that a text breaks."""

    rule: str
    message: str
    words_off: int = 0
    """By how many words a text is too short or too long."""


_Breach = tuple[Violation, str]
"""A violation, and what an author needs to fix it: where it is, or how far off it is."""


def _breach(rule: str, message: str, fix: str = "", words_off: int = 0) -> _Breach:
    return Violation(rule, message, words_off), message + fix


class Contract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits that a text must keep, whatever judges prefer."""

    min_words: Annotated[int | None, "The fewest words a text may have."] = None
    max_words: Annotated[int | None, "The most words a text may have."] = None
    sections: Annotated[tuple[str, ...], "Headings that must exist."] = ()
    must_include: Annotated[
        tuple[str, ...], "What a text must contain, literally or as `/regex/`."
    ] = ()
    must_not_include: Annotated[
        tuple[str, ...], "What a text must not contain, literally or as `/regex/`."
    ] = ()
    format: Annotated[
        Literal["markdown", "plain", "json"] | None,
        "Markdown, text without Markdown, or one JSON value and nothing else.",
    ] = None
    checks: Annotated[
        tuple[str, ...], "Functions of your own, from a text to sentences on what it breaks."
    ] = ()
    keep: Annotated[
        tuple[Keep, ...] | None,
        "Facts that must stay as draft, facts and brief state them: all, or some kinds; with `draft` only the draft's, "
        "which is the default where one is given; with `strict` none may be added.",
    ] = None

    def __post_init__(self) -> None:
        check_fields(self)
        msgspec.structs.force_setattr(self, "checks", tuple(map(absolute, self.checks)))
        least, most = self.min_words, self.max_words
        for name, value in (("min_words", least), ("max_words", most)):
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is {value}; give a number of words of at least 1")
        if least and most and least > most:
            raise InvalidInput(f"min_words ({least}) is over max_words ({most}); change one")
        for name in ("sections", "must_include", "must_not_include"):
            if any(not item.strip() for item in getattr(self, name)):
                raise InvalidInput(f"{name} has an empty entry; remove it or fill it in")
        if self.format == "json" and self.sections:
            raise InvalidInput("format json has no headings; drop `sections` or choose markdown")
        both = set(self.must_include) & set(self.must_not_include)
        if both:
            raise InvalidInput(f"{min(both)!r} is in must_include and must_not_include; drop one")
        for item in (*self.must_include, *self.must_not_include):
            try:
                re.compile(item[1:-1] if _is_regex(item) else "")
            except (re.error, RecursionError, OverflowError) as error:
                raise InvalidInput(
                    f"{item} is not a regular expression: {error}; correct it or drop the slashes"
                ) from None

    @property
    def empty(self) -> bool:
        """Whether there are no limits; what is kept of a draft is one of the task's."""
        return msgspec.structs.replace(self, keep=None) == _NO_LIMITS

    def rules(self) -> tuple[str, ...]:
        """The contract in plain words, for prompts and for people."""
        lines = [f"At least {self.min_words} words."] if self.min_words else []
        lines += [f"At most {self.max_words} words."] if self.max_words else []
        lines += [f"Has a section headed “{heading}”." for heading in self.sections]
        lines += [_CONTAINS.format(_quote_item(item)) for item in self.must_include]
        lines += [_LACKS.format(_quote_item(item)) for item in self.must_not_include]
        lines += [_FORMATS[self.format]] if self.format else []
        lines += map(_check_in_words, self.checks)
        return tuple(lines)

    def sentences(self) -> tuple[str, ...]:
        """What requests say about the contract: its rules, and that a text breaks one of them."""
        wanted, unwanted = _quotes(self.must_include), _quotes(self.must_not_include)
        said = (
            (_TOO_SHORT, filter(None, [self.min_words])),
            (_TOO_LONG, filter(None, [self.max_words])),
            (_NO_HEADING, self.sections),
            (_CONTAINS, wanted),
            (_MISSING, wanted),
            (_LACKS, unwanted),
            (_UNWANTED, unwanted),
        )
        return (*self.rules(), *(words.format(each) for words, values in said for each in values))

    def violations(self, text: str, own: str | None = None) -> tuple[Violation, ...]:
        """Every rule that `text` breaks; empty when it keeps the contract.

        What must be included is looked for in its `own` words, where some of them are only repeated.
        """
        return tuple(violation for violation, _ in self._breaches(text, own))

    def fixes(self, text: str, own: str | None = None) -> tuple[str, ...]:
        """What breaks each of those rules, and where, for the author who is to fix it."""
        return tuple(fix for _, fix in self._breaches(text, own))

    def _breaches(self, text: str, own: str | None) -> list[_Breach]:
        checked = (
            _breach("checks", each) for name in self.checks for each in _load_check(name)(text)
        )
        contents = self._contents(text, text if own is None else own)
        return [*self._length(text), *contents, *self._layout(text), *checked]

    def words_off(self, text: str) -> int:
        """By how many words `text` is longer or shorter than it may be."""
        words = count_words(text)
        low, high = self.min_words or words, self.max_words or words
        return max(low - words, words - high, 0)

    def _length(self, text: str) -> list[_Breach]:
        if not self.min_words and not self.max_words:
            return []
        words, off = count_words(text), self.words_off(text)
        if self.min_words and words < self.min_words:
            short = f"{words} {_TOO_SHORT.format(self.min_words)}"
            return [_breach("min_words", short, f"; add {off} or more", off)]
        if self.max_words and words > self.max_words:
            long = f"{words} {_TOO_LONG.format(self.max_words)}"
            return [_breach("max_words", long, f"; cut {off} or more", off)]
        return []

    def _contents(self, text: str, own: str) -> list[_Breach]:
        missing = [
            _breach("must_include", _MISSING.format(_quote_item(item)))
            for item in self.must_include
            if not _found(item, own)
        ]
        unwanted = [
            _breach("must_not_include", _UNWANTED.format(_quote_item(item)), _place(item, text))
            for item in self.must_not_include
            if _found(item, text)
        ]
        return missing + unwanted

    def _layout(self, text: str) -> list[_Breach]:
        prose = CODE_BLOCK.sub("", text) if self.sections else ""
        marked = (heading_text(found[2]) for found in HEADING.finditer(prose))
        written = [*marked, *_UNDERLINED.findall(prose)]
        headings = {_plain_heading(heading) for heading in written}
        found = [
            _breach("sections", _NO_HEADING.format(required), f"; write the line “## {required}”")
            for required in self.sections
            if _plain_heading(required) not in headings
        ]
        if self.format == "plain" and (markup := _MARKUP.search(text)):
            marks = markup.group().strip()
            found.append(
                _breach("format", f"not plain text: {marks!r} is Markdown", _place(marks, text))
            )
        if self.format == "json":
            try:
                json.loads(text, parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                found.append(_breach("format", f"not valid JSON: {error}"))
        return found


_NO_LIMITS = Contract()


def _load_check(name: str) -> Callable[[str], Sequence[str]]:
    return load_function("contract check", name, "a text", Sequence[str])


def _check_in_words(name: str) -> str:
    """The first line of a check's docstring, which authors and judges read as the rule."""
    lines = (inspect.getdoc(_load_check(name)) or "").splitlines()
    return lines[0] if lines else f"Passes the check “{short(name)}”."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


@lru_cache(64)
def count_words(text: str) -> int:
    return sum(map(bool, _WORD.findall(text)))


def word_starts(text: str) -> list[int]:
    """Where words begin: what white space divides and has a letter or a digit, without the numbers of lists."""
    return [each.start(1) for each in _WORD.finditer(text) if each[1]]


def heading_text(rest: str) -> str:
    """A heading without the marks that may close it."""
    return rest.rstrip(" \t").rstrip("#").rstrip(" \t")


def _plain_heading(heading: str) -> str:
    """A heading without numbering, emphasis or closing punctuation, so that `## 2. **Risks:**` is Risks."""
    bare = re.sub(r"[*_`#]", "", heading).strip()
    bare = re.sub(r"^(\d+[.)]?|[ivxIVX]+[.)])\s+", "", bare)
    return bare.rstrip(":. ").casefold()


def _is_regex(item: str) -> bool:
    return len(item) > 2 and item.startswith("/") and item.endswith("/")


def _found(item: str, text: str) -> bool:
    if not _is_regex(item):
        return item in text
    # Most contracts have no pattern. It reads them as `re` does, and can give up in time.
    import regex

    try:
        return regex.search(item[1:-1], text, timeout=_SEARCH_SECONDS) is not None
    except (regex.error, TimeoutError) as error:
        raise InvalidInput(f"{item} cannot be searched for ({error}); simplify it") from None


def _place(item: str, text: str) -> str:
    """The passage that contains an item, as the end of a sentence about it."""
    passages = (found.group().strip() for found in _PASSAGE.finditer(text))
    place = next((passage for passage in passages if _found(item, passage)), "")
    cut = place if len(place) <= _MAX_PASSAGE else f"{place[:_MAX_PASSAGE]}…"
    return f", in “{cut}”" if place else ""


def _quote_item(item: str) -> str:
    return f"a match of {item}" if _is_regex(item) else f"“{item}”"


def _quotes(items: tuple[str, ...]) -> list[str]:
    """Items as requests quote them; a pattern also without the words that say what it is."""
    return [*map(_quote_item, items), *filter(_is_regex, items)]
