"""Critiques: problems whose quotes code looks up, read from whatever form the critic chose."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

from autoreason.events import Problem
from autoreason.exchange import Schema

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
_SAME = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_LIST = re.compile(r'\{\s*"problems"|\[\s*(?:\{|\])')
_ELLIPSIS = re.compile(r"\s*(?:\[?\.\.\.\]?|\[?…\]?)\s*")


class Critique(NamedTuple):
    """The problems that stand, and how many did not."""

    problems: tuple[Problem, ...]
    dropped: int


def read_critique(reply: str, text: str) -> Critique | None:
    """The problems of a critic's reply that hold against `text`; None where it cannot be read."""
    listed = _problems(reply)
    if listed is None:
        return None
    read = [_problem(item) for item in listed]
    stated = [problem for problem in read if problem]
    if listed and not stated:
        return None
    kept = tuple(p for p in stated if p.kind == "missing" or is_quoted(p.quote, text))
    return Critique(kept, len(stated) - len(kept))


def is_quoted(quote: str, text: str) -> bool:
    """Whether the words stand in the text, white space and typography aside; an ellipsis may join two passages."""
    haystack = _plain(text)
    parts = [part.strip(" .,;:\"'") for part in _ELLIPSIS.split(_plain(quote))]
    parts = [part for part in parts if any(sign.isalnum() for sign in part)]
    at = 0
    for part in parts:
        found = haystack.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return bool(parts)


def describe(problems: tuple[Problem, ...]) -> str:
    """The problems as the reviser reads them, worst first."""
    worst_first = sorted(problems, key=lambda p: _SEVERITIES.index(p.severity))
    return "\n".join(
        f"- ({p.severity}) " + _WHERE[p.kind].format(p.quote) + p.problem for p in worst_first
    )


_WHERE = {"quote": "“{}”: ", "missing": "Missing: ", "contract": ""}


def _plain(text: str) -> str:
    bare = text.translate(_SAME)
    return " ".join(re.sub(r"[*_`#]", "", bare).split())


def _problems(reply: str) -> list[Any] | None:
    """The last list of problems in the reply, whether bare, fenced or in the midst of prose."""
    decoder = json.JSONDecoder()
    found = None
    for start in _LIST.finditer(reply):
        try:
            value, _ = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        listed = value.get("problems") if isinstance(value, dict) else value
        if isinstance(listed, list) and all(isinstance(item, dict) for item in listed):
            found = listed
    return found


def _problem(item: dict[str, Any]) -> Problem | None:
    said = {
        name: str(item.get(name) or "").strip() for name in ("severity", "kind", "quote", "problem")
    }
    missing = said["kind"].lower() == "missing"
    if not said["problem"]:
        return None
    kind = {"kind": "missing", "quote": ""} if missing else {"kind": "quote"}
    try:
        return msgspec.convert(said | {"severity": said["severity"].lower()} | kind, Problem)
    except msgspec.ValidationError:
        return None
