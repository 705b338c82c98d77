"""The scope contract: limits that code, not a judge, checks in every text."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from autoreason.errors import InvalidInput
from autoreason.facts import FactKind, sentence_of
from autoreason.fields import check_fields, check_ranges
from autoreason.plugins import absolute, load_function, short
from autoreason.sentences import SENTENCE_GAP, hide_points

HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$", re.MULTILINE)
"""A heading's marks and the rest of its line, with what closes it."""
_UNDERLINED = r"(?m)^ {0,3}(\S.*)\n {0,3}(?:={2,}|-{2,})[ \t]*$"
CODE_BLOCK = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"^[ \t>#*-]*\d{1,3}[.)](?=\s)|(?=\S*?[^\W_])(\S+)|\S+", re.MULTILINE)
"""The number of an item or a heading; or, as a group, a word; or what has neither letter nor digit."""
_MATCH = "a match of "
_IN_WORDS = re.compile(r"/\(\?i\)(?=.*\\b)(?:\\b)?((?:[\w ]|\\\W)+)(?:\\b)?/")
"""A pattern that is nothing but words, however they begin: what a brief asks for in a quotation."""
_SEARCH_SECONDS = 2.0
"""Processor time for one search: some patterns take forever on some texts."""
_NAMES = "de German, en English, es Spanish, fr French, it Italian, nl Dutch, pt Portuguese"
LANGUAGES: dict[str, str] = dict(each.split() for each in _NAMES.split(", "))
_EMOJI = r"/\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F/"
_MARKS = (
    r"/(?m)^ {0,3}#{1,6}[ \t]|^[ \t]*```|\*\*\S|^[ \t]*[-*+][ \t]+\S|\[[^\]\n]{1,200}\]\([^)\s]/"
)
_FEWEST_TO_TELL, _SURE = 8, 0.9
"""Words and confidence from which a language counts: of 10,500 pieces of manuals 7 were read wrong."""
_ENDED = r"[.!?…:][\"'”’“»)*_]*\Z"
_GAP = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_GAP = rf"{_GAP.pattern}|{SENTENCE_GAP}"
_ITEM = r"(?m)^([ \t]*)(?:[-*+•–]|\d{1,3}[.)])[ \t]+(?=\S)"
Keep = Literal[FactKind, "all", "draft", "strict"]


class Violation(Struct, frozen=True):
    """One rule of the contract that a text breaks."""

    worded = ("message",)
    rule: str
    message: str
    words_off: int = 0
    """By how many words, characters or whatever else is counted a text is too short or too long."""


Breach = tuple[Violation, str]
"""A violation, and what an author needs to fix it: where it is, or how far off it is."""


class Rule(NamedTuple):
    """One limit of a contract."""

    name: str
    """The field, or what is counted."""
    sentence: str
    """In plain words, for prompts and for people."""
    broken: tuple[str, ...]
    """What requests say of a text that breaks it."""
    find: Callable[[str], Iterable[Breach]]


_Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class Contract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits that a text must keep, whatever judges prefer."""

    min_words: Annotated[_Count | None, "The fewest words a text may have."] = None
    max_words: Annotated[_Count | None, "The most words a text may have."] = None
    min_characters: Annotated[_Count | None, "The fewest characters, spaces too."] = None
    max_characters: Annotated[_Count | None, "The most characters, spaces too."] = None
    min_sentences: Annotated[_Count | None, "The fewest sentences; headings are none."] = None
    max_sentences: Annotated[_Count | None, "The most sentences; headings are none."] = None
    min_paragraphs: Annotated[_Count | None, "The fewest paragraphs, lists apart."] = None
    max_paragraphs: Annotated[_Count | None, "The most paragraphs, lists apart."] = None
    min_items: Annotated[_Count | None, "The fewest items of lists, inner ones apart."] = None
    max_items: Annotated[_Count | None, "The most items of lists, inner ones apart."] = None
    emojis: Annotated[Literal["none"] | None, "`none`: there may be no emojis."] = None
    language: Annotated[
        Literal["de", "en", "es", "fr", "it", "nl", "pt"] | None,
        "The language of the text; one too short to tell is let through.",
    ] = None
    sections: Annotated[tuple[str, ...], "Headings that must exist."] = ()
    must_include: Annotated[tuple[str, ...], "What must be there, as it is or as `/regex/`."] = ()
    must_not_include: Annotated[tuple[str, ...], "What must not be there, or `/regex/`."] = ()
    format: Annotated[
        Literal["markdown", "plain", "json"] | None,
        "Markdown, text without Markdown, or one JSON value and nothing else.",
    ] = None
    checks: Annotated[tuple[str, ...], "Your own functions, from a text to what it breaks."] = ()
    keep: Annotated[
        tuple[Keep, ...] | None,
        "Facts that must stay as draft, facts and brief state them: all, or some kinds; with `draft` only the draft's, "
        "which is the default where one is given; with `strict` none may be added.",
    ] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_ranges(Contract, msgspec.structs.asdict(self))
        msgspec.structs.force_setattr(self, "checks", tuple(map(absolute, self.checks)))
        contrary = [f"min_{x} and max_{x}" for x, low, high in self._spans() if low > high > 0]
        contrary += ["format json and sections"] * bool(self.format == "json" and self.sections)
        if {*self.must_include} & {*self.must_not_include}:
            contrary.append("must_include and must_not_include")
        if contrary:
            raise InvalidInput(f"{contrary[0]} exclude each other; change one")
        for item in (*self.sections, *self.must_include, *self.must_not_include):
            if not item.strip():
                raise InvalidInput("a text to look for is empty; write it or leave it out")
            # A pattern that cannot be read is refused.
            _find(item, "")

    @property
    def empty(self) -> bool:
        """Whether there are no limits; what is kept of a draft is one of the task's."""
        return not any(getattr(self, name) for name in self.__struct_fields__ if name != "keep")

    def limits(self) -> Iterator[Rule]:
        """Every limit by itself."""
        for unit, least, most in self._spans():
            bounds = [(least, most)] if least == most else [(least, 0), (0, most)]
            yield from (_length(unit, *each) for each in bounds if any(each))
        for name, value in msgspec.structs.asdict(self).items():
            for item in value if isinstance(value, tuple) else [value]:
                if item and (rule := _RULES.get(name) or _RULES.get(item)):
                    said = LANGUAGES[item] if name == "language" else _quote(item)
                    sentence, broken = (each.format(said) for each in rule[:2])
                    yield _rule(name, sentence, broken, partial(rule[2], item))
        yield from map(_check, self.checks)

    def _spans(self) -> Iterator[tuple[str, int, int]]:
        """The fewest and the most of what is counted; 0 where there is no such limit."""
        for unit in COUNTED:
            yield unit, getattr(self, f"min_{unit}") or 0, getattr(self, f"max_{unit}") or 0

    def rules(self) -> tuple[str, ...]:
        """The contract in plain words, for prompts and for people."""
        return tuple(rule.sentence for rule in self.limits())

    def sentences(self) -> tuple[str, ...]:
        """What requests say about the contract: its rules, and that a text breaks one of them."""
        said = [each for rule in self.limits() for each in (rule.sentence, *rule.broken)]
        # A pattern may be repeated without the words that say what it is.
        return (*said, *(each.replace(_MATCH, "") for each in said if _MATCH in each))

    def violations(self, text: str) -> tuple[Violation, ...]:
        """Every rule that `text` breaks; empty when it keeps the contract."""
        return tuple(violation for violation, _ in self.breaches(text))

    def breaches(self, text: str, own: str | None = None) -> list[Breach]:
        """The same, with what the author needs who is to fix it.

        What must be included is looked for in its `own` words, where some of them are only repeated.
        """
        words = {"must_include": text if own is None else own}
        return [each for rule in self.limits() for each in rule.find(words.get(rule.name, text))]


def _length(unit: str, least: int, most: int) -> Rule:
    how = "Exactly" if least and most else "At least" if least else "At most"
    wrong = {"min": f"at least {least} needed", "max": f"at most {most} allowed"}

    def find(text: str) -> Iterator[Breach]:
        number = COUNTED[unit](text)
        rule, fix = ("min", "add") if number < least else ("max", "cut")
        if (off := max(least - number, number - (most or number))) > 0:
            broken = f"{_name(number, unit)}, {wrong[rule]}"
            yield Violation(f"{rule}_{unit}", broken, off), f"{broken}; {fix} {off} or more"

    said = [f"{unit}, {wrong[rule]}" for rule, bound in (("min", least), ("max", most)) if bound]
    return Rule(unit, f"{how} {_name(least or most, unit)}.", tuple(said), find)


def _rule(name: str, sentence: str, broken: str, look: Callable[[str], str | None]) -> Rule:
    """A rule that a text breaks in one way."""

    def find(text: str) -> Iterator[Breach]:
        if (place := look(text)) is not None:
            yield Violation(name, broken), broken + place

    return Rule(name, sentence, (broken,), find)


def _check(name: str) -> Rule:
    """A check of the user's own; the first line of its docstring is what authors and judges read."""
    check = load_function("contract check", name, "a text", Sequence[str])
    said = (inspect.getdoc(check) or f"Passes the check “{short(name)}”.").splitlines()[0]
    return Rule("checks", said, (), lambda text: [(Violation("checks", x), x) for x in check(text)])


def _find_no_json(_: str, text: str) -> str | None:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return f": {error}"
    return None


@lru_cache(1024)
def count_words(text: str) -> int:
    return sum(map(bool, _WORD.findall(text)))


def word_starts(text: str) -> list[int]:
    """Where words begin: what white space divides and has a letter or a digit, without the numbers of lists."""
    return [each.start(1) for each in _WORD.finditer(text) if each[1]]


def _count_ended(parts: Sequence[str]) -> int:
    """Parts that end like a sentence, or all if none does: a greeting and a name at the end are neither."""
    parts = [each.strip() for each in parts if re.search(r"\w", each)]
    return sum(re.search(_ENDED, each) is not None for each in parts) or len(parts)


def count_paragraphs(text: str) -> int:
    prose = HEADING.sub("\n", CODE_BLOCK.sub("\n\n", text))
    return _count_ended([each for each in _GAP.split(prose) if not re.match(_ITEM, each)])


def count_sentences(text: str) -> int:
    prose = HEADING.sub("\n", re.sub(_ITEM, "\n\n", CODE_BLOCK.sub("\n\n", text)))
    return _count_ended(re.split(_SENTENCE_GAP, hide_points(prose)))


def count_items(text: str) -> int:
    indents = [len(each) for each in re.findall(_ITEM, CODE_BLOCK.sub("", text))]
    least = min(indents, default=0)
    return sum(each <= least + 1 for each in indents)


COUNTED: dict[str, Callable[[str], int]] = {
    "words": count_words,
    "characters": lambda text: len(text.strip()),
    "sentences": count_sentences,
    "paragraphs": count_paragraphs,
    "items": count_items,
}


def _name(number: int, unit: str) -> str:
    return f"{number} {unit[:-1] if number == 1 else unit}"


@lru_cache
def _load_detector() -> Any:
    # It takes a second, two thirds of it to unpack the model, and few contracts name a language.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    detector.set_languages(LANGUAGES)
    return detector


@lru_cache(1024)
def _find_other_language(wanted: str, text: str) -> str | None:
    """What a text is in instead; None where that is not clear."""
    prose = CODE_BLOCK.sub("", text)
    if count_words(prose) < _FEWEST_TO_TELL:
        return None
    found, sure = _load_detector().classify(prose)
    return f", but in {LANGUAGES[found]}" if found != wanted and sure >= _SURE else None


def _plain_heading(heading: str) -> str:
    """A heading without numbering, emphasis or closing punctuation, so that `## 2. **Risks:**` is Risks."""
    bare = re.sub(r"[*_`#]", "", heading).strip()
    bare = re.sub(r"^(\d+[.)]?|[ivxIVX]+[.)])\s+", "", bare)
    return bare.rstrip(":. ").casefold()


def _miss_heading(required: str, text: str) -> str | None:
    prose = CODE_BLOCK.sub("", text)
    written = [*(each for _, each in HEADING.findall(prose)), *re.findall(_UNDERLINED, prose)]
    is_there = _plain_heading(required) in map(_plain_heading, written)
    return None if is_there else f"; write the line “## {required}”"


def _is_regex(item: str) -> bool:
    return len(item) > 2 and item.startswith("/") and item.endswith("/")


def _find(item: str, text: str) -> tuple[int, int] | None:
    """Where a text has an item; None where it does not."""
    if not _is_regex(item):
        start = text.find(item)
        return None if start < 0 else (start, start + len(item))
    # Most contracts have no pattern. It reads them as `re` does, and can give up in time.
    import regex

    try:
        found = regex.search(item[1:-1], text, timeout=_SEARCH_SECONDS)
    except (regex.error, RecursionError, OverflowError, TimeoutError) as error:
        raise InvalidInput(f"{item} cannot be searched for ({error}); simplify it") from None
    return found.span() if found else None


def _place(item: str, text: str) -> str | None:
    """The sentence that contains an item, as the end of one about it; None where the text does not."""
    span = _find(item, text)
    return span and f", in “{sentence_of(text, span)}”"


def _quote(item: str) -> str:
    if words := _IN_WORDS.fullmatch(item):
        item = words[1].replace("\\", "")
    return f"{_MATCH}{item}" if _is_regex(item) else f"“{item}”"


_RULES: dict[str, tuple[str, str, Callable[[str, str], str | None]]] = {
    "emojis": ("Has no emojis.", "it has an emoji", lambda _, x: _place(_EMOJI, x)),
    "language": ("Is written in {}.", "it is not in {}", _find_other_language),
    "sections": ("Has a section headed {}.", "no heading {}", _miss_heading),
    "must_include": ("Contains {}.", "{} is missing", lambda i, x: None if _find(i, x) else ""),
    "must_not_include": ("Does not contain {}.", "{} is there and must not be", _place),
    "markdown": ("Is written in Markdown.", "it is not Markdown", lambda *_: None),
    "plain": ("Is plain text without Markdown.", "it has Markdown", lambda _, x: _place(_MARKS, x)),
    "json": ("Is one valid JSON value and nothing else.", "it is not JSON", _find_no_json),
}
"""Of a field or its value: what it says, what is said of a text that breaks it, and where that is, if it does."""
