"""The scope contract: limits that code, not a judge, checks in every text."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput
from autoreason.facts import FactKind
from autoreason.fields import check_fields, check_ranges
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
_TOO_SHORT = "{}, at least {} needed"
_TOO_LONG = "{}, at most {} allowed"
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
_NAMES = "de German, en English, es Spanish, fr French, it Italian, nl Dutch, pt Portuguese"
LANGUAGES: dict[str, str] = dict(each.split() for each in _NAMES.split(", "))
_EMOJI = r"/\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F/"
_FEWEST_TO_TELL = 8
_SURE = 0.9
"""Words and confidence from which a language counts: of 10,500 pieces of manuals 7 were read wrong."""
_ENDED = re.compile(r"[.!?…:][\"'”’“»)*_]*\Z")
_GAP = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_GAP = re.compile(
    rf"{_GAP.pattern}|(?<=[.!?…])[\"'”’“»)*_]*\s+(?=[\"'“„«‘(¿¡*_]*[^\Wa-zß-ÿ_])"
)
_ABBREVIATED = re.compile(
    r"\b(?:[^\W\d_]\.(?:\s?[^\W\d_]\.)*|(?:Dr|Mrs?|Ms|Prof|St|Nr|No|Hr|Fr|Mme|Sra?|Sig|Dott|bzw|ca|vgl|max|min)\."
    r"|\d+\.(?= (?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrh)))"
)
_ITEM = re.compile(r"^([ \t]*)(?:[-*+•–]|\d{1,3}[.)])[ \t]+(?=\S)", re.MULTILINE)
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
    """By how many words, characters or whatever else is counted a text is too short or too long."""


_Breach = tuple[Violation, str]
"""A violation, and what an author needs to fix it: where it is, or how far off it is."""


def _breach(rule: str, message: str, fix: str = "", words_off: int = 0) -> _Breach:
    return Violation(rule, message, words_off), message + fix


_Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class Contract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits that a text must keep, whatever judges prefer."""

    min_words: Annotated[int | None, "The fewest words a text may have."] = None
    max_words: Annotated[int | None, "The most words a text may have."] = None
    min_characters: Annotated[_Count | None, "The fewest characters, spaces too."] = None
    max_characters: Annotated[_Count | None, "The most characters, spaces too."] = None
    min_sentences: Annotated[_Count | None, "The fewest sentences; headings are none."] = None
    max_sentences: Annotated[_Count | None, "The most sentences; headings are none."] = None
    min_paragraphs: Annotated[_Count | None, "The fewest paragraphs, lists apart."] = None
    max_paragraphs: Annotated[_Count | None, "The most paragraphs, lists apart."] = None
    min_items: Annotated[_Count | None, "The fewest items that lists have, inner ones apart."] = (
        None
    )
    max_items: Annotated[_Count | None, "The most items that lists have, inner ones apart."] = None
    emojis: Annotated[Literal["none"] | None, "`none`: there may be no emojis."] = None
    language: Annotated[
        Literal["de", "en", "es", "fr", "it", "nl", "pt"] | None,
        "The language of the text; one too short to tell is let through.",
    ] = None
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
        check_ranges(Contract, msgspec.structs.asdict(self))
        msgspec.structs.force_setattr(self, "checks", tuple(map(absolute, self.checks)))
        for name, value in (("min_words", self.min_words), ("max_words", self.max_words)):
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is {value}; give a number of words of at least 1")
        for unit, least, most in self._spans():
            if least and most and least > most:
                raise InvalidInput(f"min_{unit} ({least}) is over max_{unit} ({most}); change one")
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
        for unit, least, most in self._spans():
            bounds = {"Exactly": least} if least == most else {"At least": least, "At most": most}
            said = [f"{how} {n} {_name(unit, n)}." for how, n in bounds.items() if n]
            lines += said if unit != "words" else []
        lines += ["Has no emojis."] if self.emojis else []
        lines += [f"Is written in {LANGUAGES[self.language]}."] if self.language else []
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
            (_NO_HEADING, self.sections),
            (_CONTAINS, wanted),
            (_MISSING, wanted),
            (_LACKS, unwanted),
            (_UNWANTED, unwanted),
        )
        spans = [*self._spans()]
        lengths = [_TOO_SHORT.format(unit, least) for unit, least, _ in spans if least]
        lengths += [_TOO_LONG.format(unit, most) for unit, _, most in spans if most]
        others = (words.format(each) for words, values in said for each in values)
        return (*self.rules(), *lengths, *others)

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
        """By how many words, or whatever else is counted, `text` is longer or shorter than it may be."""
        return sum(each.words_off for each, _ in self._length(text))

    def _spans(self) -> Iterator[tuple[str, int | None, int | None]]:
        """What is counted and has a limit, with the fewest and the most."""
        for unit in _COUNTED:
            least, most = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if least or most:
                yield unit, least, most

    def _length(self, text: str) -> list[_Breach]:
        found = []
        for unit, least, most in self._spans():
            number = _COUNTED[unit](text)
            said = f"{number} {_name(unit, number)}"
            for rule, bound, off, wrong, fix in (
                ("min", least, (least or number) - number, _TOO_SHORT, "add"),
                ("max", most, number - (most or number), _TOO_LONG, "cut"),
            ):
                if off > 0:
                    words = wrong.format(said, bound)
                    found.append(_breach(f"{rule}_{unit}", words, f"; {fix} {off} or more", off))
        return found

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
        if self.emojis and _found(_EMOJI, text):
            unwanted.append(_breach("emojis", "an emoji is there", _place(_EMOJI, text)))
        if self.language and (found := _find_language(text)) not in ("", self.language):
            unwanted.append(
                _breach("language", f"not in {LANGUAGES[self.language]}, but {LANGUAGES[found]}")
            )
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


def _count_ended(parts: Sequence[str]) -> int:
    """Parts that end like a sentence, or all if none does: a greeting and a name at the end are neither."""
    parts = [each.strip() for each in parts if re.search(r"\w", each)]
    return sum(_ENDED.search(each) is not None for each in parts) or len(parts)


def count_paragraphs(text: str) -> int:
    prose = HEADING.sub("\n", CODE_BLOCK.sub("\n\n", text))
    return _count_ended([each for each in _GAP.split(prose) if not _ITEM.match(each)])


def count_sentences(text: str) -> int:
    prose = HEADING.sub("\n", _ITEM.sub("\n\n", CODE_BLOCK.sub("\n\n", text)))
    return _count_ended(_SENTENCE_GAP.split(_ABBREVIATED.sub("X", prose)))


def count_items(text: str) -> int:
    indents = [len(each) for each in _ITEM.findall(CODE_BLOCK.sub("", text))]
    return sum(each <= min(indents) + 1 for each in indents)


_COUNTED: dict[str, Callable[[str], int]] = {
    "words": count_words,
    "characters": lambda text: len(text.strip()),
    "sentences": count_sentences,
    "paragraphs": count_paragraphs,
    "items": count_items,
}


def _name(unit: str, number: int) -> str:
    """The name of so many; `1 words` is as it has been recorded."""
    return unit[:-1] if number == 1 and unit != "words" else unit


@lru_cache
def _load_detector() -> Any:
    # It takes a second, and few contracts name a language.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    detector.set_languages(LANGUAGES)
    return detector


@lru_cache(64)
def _find_language(text: str) -> str:
    """The language of a text; empty where that is not clear."""
    prose = CODE_BLOCK.sub("", text)
    found, sure = _load_detector().classify(prose)
    return found if count_words(prose) >= _FEWEST_TO_TELL and sure >= _SURE else ""


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


_NO_LIMITS = Contract()
