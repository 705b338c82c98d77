"""Critiques: problems whose quotes and citations code looks up, read from any format a critic uses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from autoreason.characters import with_whole_characters
from autoreason.events import CritiqueProblem
from autoreason.exchange import Schema, object_schema
from autoreason.knowledge_records import ShownRecord
from autoreason.parsing import pattern
from autoreason.wording import SEVERITIES


class Prose:
    """A text as a critic may quote it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quotes(self, quote: str) -> bool:
        """Whether a quote is in the text, white space and typography aside; an ellipsis may join two passages."""
        return bool(self._passages(quote))

    def places(self, quote: str) -> list[tuple[int, int]]:
        """Where in the text its passages begin and end; empty where it is not in it."""
        at = self._positions
        return [(at[start], at[end - 1] + 1) for start, end in self._passages(quote)]

    def _passages(self, quote: str) -> list[tuple[int, int]]:
        return _find(_ELLIPSIS.split(_plain(_LINE_NUMBER.sub("", quote))), self._plain)

    @cached_property
    def _plain(self) -> str:
        return _plain(self.text)

    @cached_property
    def _positions(self) -> list[int]:
        """Where each character of the plain text stands in the text."""
        kept = [at for at, sign in enumerate(self.text) if sign not in _MARKS]
        bare = "".join(self.text[at] for at in kept)
        found = [kept[word.start() : word.end() + 1] for word in re.finditer(r"\S+", bare)]
        # The white space after a word stands for all that is there; after the last there may be none.
        return [at for word in found for at in word]


class QuotedProgram:
    """A program as a critic may quote it: by its lines, or by the words of its names."""

    def __init__(self, text: str) -> None:
        self.text = text

    def quotes(self, quote: str) -> bool:
        parts = [_squeezed(part) for part in _ELLIPSIS.split(_LINE_NUMBER.sub("", quote))]
        return bool(_find(parts, self._squeezed))

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


def is_code(quote: str) -> bool:
    bare = _BACKTICKS.sub("", quote)
    return bool(_SIGNS.search(bare)) and not _SENTENCE.search(bare)


def _find(parts: list[str], text: str) -> list[tuple[int, int]]:
    """Where the parts are in a text, one after the other; empty where one of them is not."""
    at, found = 0, []
    parts = [part.strip(" .,;:\"'") for part in parts]
    for part in parts:
        if not any(sign.isalnum() for sign in part):
            continue
        start = text.find(part, at)
        if start < 0:
            return []
        at = start + len(part)
        found.append((start, at))
    return found


def _plain(text: str) -> str:
    return " ".join(text.translate(_SAME).translate(_WITHOUT_MARKS).split())


def _squeezed(text: str) -> str:
    return _NO_SPACE.sub("", text.translate(_SAME))


def _words(text: str) -> list[str]:
    """The words of a text in order, names taken apart, endings dropped; without those that join others."""
    words = [word.lower() for word in _WORD.findall(text)]
    return [_stem(word) for word in words if word not in _JOINING]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM // 2:
            return word.removesuffix(ending)[:_STEM]
    return word[:_STEM]


def _pairs(words: list[str]) -> set[frozenset[str]]:
    """Pairs of neighbouring words, unless both are common to all programs."""
    pairs = (frozenset(pair) for pair in pairwise(words))
    return {pair for pair in pairs if len(pair) > 1 and pair - _COMMON}


_MARKS = "*_`#"
_WITHOUT_MARKS = str.maketrans("", "", _MARKS)
_SHORT, _LONG = 4, 8
_A_QUOTE, _A_NAME = 3, 3
_BRIEF = 30
_STEM = 6
_SAME = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_ELLIPSIS = re.compile(r"\[?(?:\.\.\.|…)\]?")
_LINE_NUMBER = pattern(
    r"\A\s*(?:on |in )?lines?\s*\d+(?:\s*(?:-|to|and)\s*\d+)?\s*(?::|-|\bof\b)?\s*", re.I
)
_NO_SPACE = pattern(r"[\s\"'`]+")
_WORD = pattern(r"[A-Z][a-z]{2,}|[a-z]{3,}|[A-Z]{3,}(?![a-z])")
_CORRECTED = pattern(r"```(?:python|py)\n.*?(?:```|\Z)", re.DOTALL)
_BACKTICKS = pattern(r"`([^`\n]+)`")
_QUOTES = pattern(r'"quote"\s*:\s*"((?:[^"\n]|"(?!\s*[,}\n]))*+)')
_STRINGS = pattern(r"(?<!\w)'([^'\n]{2,80})'(?!\w)")
# What is not code is taken as well, with an empty group: from every letter of it, the rest would be walked again.
_CODE = pattern(
    r"([A-Za-z_][\w.]*+(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{1,40}\])+"
    r"|[A-Za-z_]\w*+\s*(?:[-+*/%<>=!]=?|//|\*\*)\s*\w+)"
    r"|[A-Za-z_][\w.]*\.|[A-Za-z_]\w*"
)
_DEFINED = pattern(r"^[^\S\n]*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
_ASSIGNED = pattern(r"^[^\S\n]*(\w+)\s*=[^=]", re.MULTILINE)
_PROGRAM = pattern(
    r"^[ \t]*(?:(?:async )?def \w+\(|class \w+\b.*:[ \t]*$|import \w|from [\w.]+ import |print\("
    r"|(?:for|while|if) .*:[ \t]*$|return\b|[A-Za-z_][\w.\[\]]*[ \t]*[-+*/]?=[^=])",
    re.MULTILINE,
)
_SIGNS = pattern(
    r"[_=()\[\]{}<>%*/]|\w[.]\w|:\s*$|^\s*(?:return|def|import|while|for|if|elif|else)\b"
)
_SENTENCE = pattern(r"\b(?:the|is|are|does|do|it|should|which|that|this|of|an?|to)\b", re.I)
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

_CITATION = re.compile(r"\br[0-9a-f]{10}\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLAUSE = re.compile(r"[\];]|[.,](?=\s|$)|\n|\br[0-9a-f]{10}\b")
_REACH = 60
"""Characters after a record's name in which a figure is the record's."""


def split_cited(
    problems: Sequence[CritiqueProblem], shown: Sequence[ShownRecord]
) -> tuple[tuple[CritiqueProblem, ...], int]:
    """The problems whose citations are true, and how many were not."""
    figures = {record.id: _numbers(record.figure) for record in shown}
    kept = tuple(each for each in problems if _is_true(each.problem, figures))
    return kept, len(problems) - len(kept)


def _is_true(problem: str, figures: dict[str, set[str]]) -> bool:
    """Whether every record was shown, and every figure next to its name is the record's."""
    for found in _CITATION.finditer(problem):
        known = figures.get(found.group())
        after = problem[found.end() : found.end() + _REACH]
        if known is None or not _numbers(_CLAUSE.split(after, maxsplit=1)[0]) <= known:
            return False
    return True


def _numbers(text: str) -> set[str]:
    """Numbers as they can be compared: `1,200` and `1200`, `12.0` and `12` are the same."""
    whole = (re.sub(r",(?=\d{3}\b)", "", each).replace(",", ".") for each in _NUMBER.findall(text))
    return {each.rstrip("0").rstrip(".") if "." in each else each for each in whole}


def critique_schema(criteria: Sequence[str] = ()) -> Schema:
    """The shape of a critique; with the names of criteria each problem may belong to one of them."""
    fields: dict[str, Any] = {
        "severity": {"type": "string", "enum": ["critical", "major", "minor"]},
        "kind": {"type": "string", "enum": ["quote", "missing"]},
        "quote": {"type": "string"},
        "problem": {"type": "string"},
    }
    example = {"problem": _PLACEHOLDER}
    if criteria:
        fields["criterion"] = {"type": "string", "enum": [*criteria, ""]}
        example["criterion"] = criteria[0]
    return Schema(
        name="critique",
        definition=object_schema({"problems": {"type": "array", "items": object_schema(fields)}}),
        plain=(
            "Answer with one JSON object and nothing else, in this form:\n"
            '{"problems": [{"severity": "major", "kind": "quote", "quote": "words from the text", '
            f"{json.dumps(example, ensure_ascii=False)[1:]}]}}\n"
            'Without problems: {"problems": []}'
        ),
    )


class Critique(NamedTuple):
    """The problems with a valid quote, and how many had none."""

    problems: tuple[CritiqueProblem, ...]
    dropped: int


def read_critique(
    reply: str, text: str, program: bool | None = None, criteria: Sequence[str] = ()
) -> Critique | None:
    """The problems of a critic's reply that apply to `text`; None where it cannot be read.

    Critics of programs write sentences rather than quotes; such a problem is kept if the critique as a whole
    is clearly about this program. Whether `text` is a program is detected unless `program` says so.
    """
    items = _last_list(reply)
    # In JSON, valid or broken.
    problems = [] if items == [] else _problems(items or ()) or _problems(_fields(reply))
    in_form = items == [] or bool(problems)
    about = QuotedProgram(text) if (_PROGRAM.search(text) if program is None else program) else None
    is_quoted = (about or Prose(text)).quotes
    if not in_form:
        problems = _problems(_in_prose(reply, is_quoted))
    if about:
        valid = _about_program(problems, reply, about)
    else:
        valid = tuple(p for p in problems if p.kind == "missing" or is_quoted(p.quote))
    names = {name.casefold(): name for name in criteria}
    valid = tuple(
        replace(p, criterion=names.get(p.criterion.partition(": ")[0].casefold(), ""))
        for p in valid
    )
    # Prose without a valid quote may be about anything, so it is asked for again in the form.
    return Critique(valid, len(problems) - len(valid)) if in_form or valid else None


def _about_program(
    problems: Sequence[CritiqueProblem], reply: str, program: QuotedProgram
) -> tuple[CritiqueProblem, ...]:
    if not program.is_about(reply):
        return ()
    valid = []
    for problem in problems:
        if problem.quote and program.quotes(problem.quote):
            valid.append(problem)
        elif problem.kind == "missing":
            valid.append(replace(problem, quote=""))
        elif not is_code(problem.quote):
            valid.append(replace(problem, kind="general", quote=""))
    return tuple(valid)


def describe(problems: tuple[CritiqueProblem, ...]) -> str:
    """The problems as the reviser reads them, worst first."""
    worst_first = sorted(problems, key=lambda p: [*SEVERITIES].index(p.severity))
    where = {"quote": "“{}”: ", "missing": "Missing: ", "general": ""}
    return "\n".join(
        f"- ({p.severity}) {where[p.kind].replace('{}', p.quote)}{p.said}" for p in worst_first
    )


def _problems(items: Iterable[dict[str, Any]]) -> list[CritiqueProblem]:
    return list(dict.fromkeys(problem for item in items if (problem := _problem(item))))


def _last_list(reply: str) -> list[dict[str, Any]] | None:
    """The last list of problems in the reply, whether bare, fenced or in the midst of prose."""
    decoder = json.JSONDecoder()
    # No reply has more lists than this; it bounds the work on one that only ever begins.
    for start in [each.start() for each in _LIST.finditer(reply)][: -_MAX_LISTS - 1 : -1]:
        try:
            value, _ = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        items = value.get("problems") if isinstance(value, dict) else value
        if isinstance(items, list) and all(isinstance(item, dict) for item in items):
            return items
    return None


def _fields(reply: str) -> Iterator[dict[str, str]]:
    """Problems in JSON that is broken or has a form of its own: where a field comes again, another begins."""
    item: dict[str, str] = {}
    for field in _FIELD.finditer(reply):
        name, value = field["name"], field["value"].replace('\\"', '"').replace("\\n", " ")
        if name in item:
            yield item
            item = {}
        # The reason for a failure says more than the requirement.
        item["problem" if name == "failure" else name] = value
    yield item


def _in_prose(reply: str, is_quoted: Callable[[str], bool]) -> Iterator[dict[str, str]]:
    """Problems as a list in words, or as paragraphs; those that find no fault are left out."""
    prose = _BLOCK.sub("\n\n", reply)
    for item in [item[1] for item in _ITEM.finditer(prose)] or prose.split("\n\n"):
        words = " ".join(item.replace("**", "").split())
        if not _FAULT.search(words) or _NO_FAULT.search(words) or _NO_PROBLEM.search(words):
            continue
        severity = _SEVERITY.search(words)
        # Prose quotes both what the text has and what it should have.
        quotes = [quote.strip('"`“”') for quote in _QUOTED.findall(item)]
        quoted = next(filter(is_quoted, quotes), "".join(quotes[:1]))
        yield {
            "severity": severity[0] if severity else "",
            "kind": "missing" if _ABSENT.search(words) and not quoted else "quote",
            "quote": quoted,
            "problem": words,
        }


def _problem(item: dict[str, Any]) -> CritiqueProblem | None:
    names = ("severity", "kind", "quote", "problem", "criterion")
    fields = {name: with_whole_characters(str(item.get(name) or "")).strip() for name in names}
    missing = fields["kind"].lower() == "missing"
    if not fields["problem"] and not is_code(fields["quote"]):
        fields |= {"problem": fields["quote"], "quote": ""}
    if not fields["problem"] or fields["problem"] == _PLACEHOLDER:
        return None
    kind = {"kind": "missing", "quote": ""} if missing else {"kind": "quote"}
    severity = fields["severity"].lower()
    severity = severity if severity in SEVERITIES else "major"
    return msgspec.convert(fields | {"severity": severity} | kind, CritiqueProblem)


_MAX_LISTS = 50
_PLACEHOLDER = "what is wrong with them"
# A list without the name must be on its own: "[]" in a sentence is none.
_LIST = pattern(r'\{\s*"problems"|^[ \t]*\[\s*(?:\{|\])', re.MULTILINE)
# A quote inside a value may not be escaped, so a value ends where something can follow it.
_FIELD = pattern(
    r'"(?P<name>severity|kind|quote|problem|failure|criterion)"\s*:\s*(?:\{\s*"\w+"\s*:\s*)?'
    r'"(?P<value>(?:[^"\n\\]|\\.|"(?!\s*(?:[,}\]]|"\w+"\s*:|$)))*+)',
    re.MULTILINE,
)
_BLOCK = pattern(r"^```.*?(?:^```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_MARKER = r"(?:\d{1,2}[.)]|[-*•+]|#{1,6})[ \t]"
_ITEM = pattern(rf"^ ?{_MARKER}+(.+(?:\n(?! ?{_MARKER}|[ \t]*\n).+)*)", re.MULTILINE)
_SEVERITY = pattern(r"\b(?:critical|major|minor)\b", re.IGNORECASE)
_QUOTED = pattern(r'`[^`\n]+`|"[^"\n]{3,}"|“[^“”\n]{3,}”')
_FAULT = pattern(
    r"\b(?:not|never|cannot|incorrect(?:ly)?|wrong(?:ly)?|fail(?:s|ed|ure)?|errors?|missing|misses|lacks?"
    r"|should|instead|bugs?|issues?|problems?|flaw(?:s|ed)?|mistakes?|unnecessary|inefficient|vague"
    r"|unclear|contradicts?|too)\b|n't\b",
    re.IGNORECASE,
)
_NO_FAULT = pattern(
    r"\b(?:no|any|without) (?:\w+ )?(?:problems?|issues?|errors?|flaws?|bugs?)\b"
    r"|\b(?:is|are|looks?|seems?) (?:\w+ )?(?:correct|fine|good|right)\b",
    re.IGNORECASE,
)
# What leads up to a list, or is not prose at all.
_NO_PROBLEM = pattern(r"^[{\[]|:$")
_ABSENT = pattern(
    r"\b(?:missing|lacks?|omits?|leaves? out|no mention|not (?:mention|include|say|state|give|specify|provide))\b",
    re.IGNORECASE,
)
