"""What the benchmarks' provider says: documents no two of which are alike, and judges who prefer the newest."""

from __future__ import annotations

import random
import re
from typing import Any

import msgspec
from msgspec import Struct

_STORY = (
    "the keeper lights a lamp before dusk and counts ships that pass under grey rain while gulls"
    " argue over bread near an old harbour wall where nets dry slowly in salt wind and children"
    " learn knots from patient hands that once hauled sails across cold open water every spring"
)
_LENGTH = 300
_BODIES = 64
_CANDIDATE = re.compile(r"## (\S+)\s+<<<TEXT \S+>>>\s+Note (\d+)")


class Said(Struct):
    """One message of a request."""

    role: str
    content: str


class Shape(Struct):
    """The form an answer must have."""

    name: str
    schema: dict[str, Any]


class Format(Struct):
    """Where a request puts it."""

    json_schema: Shape


class ChatRequest(Struct):
    """As much of a request as matters here."""

    messages: list[Said]
    response_format: Format | None = None
    stream: bool = False


class Answers:
    """Numbers its documents, so that judges agree and every run takes the same calls."""

    def __init__(self) -> None:
        self._bodies = [_body(random.Random(number)) for number in range(_BODIES)]
        self._number = 0

    def to(self, chat_request: ChatRequest) -> str:
        """The answer to one request."""
        self._number += 1
        body = self._bodies[self._number % _BODIES]
        if chat_request.response_format is None:
            document = f"Note {self._number:07}\n\n{body}"
            return f"<document>\n{document}\n</document>\n<notes>\nShorter.\n</notes>"
        shape = chat_request.response_format.json_schema
        if shape.name == "ballot":
            ranking = _rank(
                chat_request.messages[-1].content, shape.schema["properties"]["ranking"]
            )
            return msgspec.json.encode({"reasoning": body, "ranking": ranking}).decode()
        problem = {"severity": "major", "kind": "missing", "quote": "", "problem": body}
        return msgspec.json.encode({"problems": [problem]}).decode()


def _rank(prompt: str, ranking: dict[str, Any]) -> str:
    """The newest document first; the first ranking allowed where no documents are to be seen."""
    numbers = {label: int(number) for label, number in _CANDIDATE.findall(prompt)}
    newest_first = " > ".join(sorted(numbers, key=lambda label: -numbers[label]))
    allowed: list[str] = ranking["enum"]
    return newest_first if newest_first in allowed else allowed[0]


def _body(chance: random.Random) -> str:
    sentences = []
    for _ in range(_LENGTH // 12):
        words = chance.choices(_STORY.split(), k=12)
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)
