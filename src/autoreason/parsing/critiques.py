"""Critiques: problems whose quotes code looks up, read from any format a critic uses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from autoreason.events import CritiqueProblem
from autoreason.exchange import Schema
from autoreason.parsing.patterns import Pattern
from autoreason.parsing.quotes import Program, Prose, is_code, is_program

SCHEMA = Schema(
    name="critique",
    definition={
        "type": "object",
        "properties": {
            "problems": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "severity": {"type": "string", "enum": ["critical", "major", "minor"]},
                        "kind": {"type": "string", "enum": ["quote", "missing"]},
                        "quote": {"type": "string"},
                        "problem": {"type": "string"},
                    },
                    "required": ["severity", "kind", "quote", "problem"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["problems"],
        "additionalProperties": False,
    },
    plain=(
        "Answer with one JSON object and nothing else, in this form:\n"
        '{"problems": [{"severity": "major", "kind": "quote", "quote": "words from the text", '
        '"problem": "what is wrong with them"}]}\n'
        'Without problems: {"problems": []}'
    ),
)

_SEVERITIES = ("critical", "major", "minor")


class Critique(NamedTuple):
    """The problems with a valid quote, and how many had none."""

    problems: tuple[CritiqueProblem, ...]
    dropped: int


def read_critique(reply: str, text: str, *, program: bool | None = None) -> Critique | None:
    """The problems of a critic's reply that apply to `text`; None where it cannot be read.

    Critics of programs write sentences rather than quotes; such a problem is kept if the critique as a whole
    is clearly about this program. Whether `text` is a program is detected unless `program` says so.
    """
    problems = _read_json(reply)
    in_form = problems is not None
    about = Program(text) if (is_program(text) if program is None else program) else None
    is_quoted = (about or Prose(text)).quotes
    if problems is None:
        problems = _problems(_in_prose(reply, is_quoted))
    if about:
        valid = _about_program(problems, reply, about)
    else:
        valid = tuple(p for p in problems if p.kind == "missing" or is_quoted(p.quote))
    # Prose without a valid quote may be about anything, so it is asked for again in the form.
    return Critique(valid, len(problems) - len(valid)) if in_form or valid else None


def _about_program(
    problems: Sequence[CritiqueProblem], reply: str, program: Program
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
    worst_first = sorted(problems, key=lambda p: _SEVERITIES.index(p.severity))
    return "\n".join(f"- ({p.severity}) {_where(p)}{p.problem}" for p in worst_first)


def _where(problem: CritiqueProblem) -> str:
    return {"quote": f"“{problem.quote}”: ", "missing": "Missing: ", "general": ""}[problem.kind]


def _read_json(reply: str) -> list[CritiqueProblem] | None:
    """The problems in a reply in JSON, valid or broken; None where there is no list of them."""
    items = _last_list(reply)
    if items == []:
        return []
    return _problems(items or ()) or _problems(_fields(reply)) or None


def _problems(items: Iterable[dict[str, Any]]) -> list[CritiqueProblem]:
    return list(dict.fromkeys(problem for item in items if (problem := _problem(item))))


def _last_list(reply: str) -> list[dict[str, Any]] | None:
    """The last list of problems in the reply, whether bare, fenced or in the midst of prose."""
    decoder = json.JSONDecoder()
    last = None
    for start in _LIST.finditer(reply):
        try:
            value, _ = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        items = value.get("problems") if isinstance(value, dict) else value
        if isinstance(items, list) and all(isinstance(item, dict) for item in items):
            last = items
    return last


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
    fields = {
        name: str(item.get(name) or "").strip() for name in ("severity", "kind", "quote", "problem")
    }
    missing = fields["kind"].lower() == "missing"
    if not fields["problem"] and not is_code(fields["quote"]):
        fields |= {"problem": fields["quote"], "quote": ""}
    if not fields["problem"] or fields["problem"] == _PLACEHOLDER:
        return None
    kind = {"kind": "missing", "quote": ""} if missing else {"kind": "quote"}
    severity = fields["severity"].lower()
    severity = severity if severity in _SEVERITIES else "major"
    return msgspec.convert(fields | {"severity": severity} | kind, CritiqueProblem)


_PLACEHOLDER = "what is wrong with them"
# A list without the name must be on its own: "[]" in a sentence is none.
_LIST = Pattern(r'\{\s*"problems"|^[ \t]*\[\s*(?:\{|\])', re.MULTILINE)
# A quote inside a value may not be escaped, so a value ends where something can follow it.
_FIELD = Pattern(
    r'"(?P<name>severity|kind|quote|problem|failure)"\s*:\s*(?:\{\s*"\w+"\s*:\s*)?'
    r'"(?P<value>(?:[^"\n\\]|\\.|"(?!\s*(?:[,}\]]|"\w+"\s*:|$)))*+)',
    re.MULTILINE,
)
_BLOCK = Pattern(r"^```.*?(?:^```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_MARKER = r"(?:\d{1,2}[.)]|[-*•+]|#{1,6})[ \t]"
_ITEM = Pattern(rf"^ ?{_MARKER}+(.+(?:\n(?! ?{_MARKER}|[ \t]*\n).+)*)", re.MULTILINE)
_SEVERITY = Pattern(r"\b(?:critical|major|minor)\b", re.IGNORECASE)
_QUOTED = Pattern(r'`[^`\n]+`|"[^"\n]{3,}"|“[^“”\n]{3,}”')
_FAULT = Pattern(
    r"\b(?:not|never|cannot|incorrect(?:ly)?|wrong(?:ly)?|fail(?:s|ed|ure)?|errors?|missing|misses|lacks?"
    r"|should|instead|bugs?|issues?|problems?|flaw(?:s|ed)?|mistakes?|unnecessary|inefficient|vague"
    r"|unclear|contradicts?|too)\b|n't\b",
    re.IGNORECASE,
)
_NO_FAULT = Pattern(
    r"\b(?:no|any|without) (?:\w+ )?(?:problems?|issues?|errors?|flaws?|bugs?)\b"
    r"|\b(?:is|are|looks?|seems?) (?:\w+ )?(?:correct|fine|good|right)\b",
    re.IGNORECASE,
)
# What leads up to a list, or is no prose at all.
_NO_PROBLEM = Pattern(r"^[{\[]|:$")
_ABSENT = Pattern(
    r"\b(?:missing|lacks?|omits?|leaves? out|no mention|not (?:mention|include|say|state|give|specify|provide))\b",
    re.IGNORECASE,
)
