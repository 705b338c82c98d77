"""Fake models for tests and trials: one follows a script, one generates its answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import cycle, zip_longest
from typing import Any

from autoreason.characters import is_blank
from autoreason.errors import InvalidInput
from autoreason.exchange import OnSignal, Outcome, Reply, Request, TextArrived, Usage

Answer = str | Reply | Exception
"""A text, a whole reply, or what to raise instead."""
Answering = Callable[[Request], Answer]
Script = Iterable[Answer] | Answering | Mapping[str, Answer | Answering]

_PIECE = re.compile(r"\s*\S+\s*")
_BYTES_PER_TOKEN = 4


class ScriptedModel:
    """Answers from a script.

    A script is a list of answers in order, a function from request to answer, or a mapping. A
    mapping's names are keys (`pass/1/critic/0`), patterns of keys (`pass/*/judge/*`, the first
    that fits) or roles (`judge`), looked up in this order; its values are answers or functions.
    """

    def __init__(
        self,
        script: Script,
        *,
        address: str = "scripted/scripted",
        latency: float = 0.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.address = address
        self.requests: list[Request] = []
        """Every request seen, in order."""
        self._answer_to = _reader(script)
        self._latency = latency
        self._sleep = sleep

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer, or raise, as the script says."""
        self.requests.append(request)
        answer = self._answer_to(request)
        if self._latency:
            await self._sleep(self._latency)
        if isinstance(answer, Exception):
            raise answer
        reply = answer if isinstance(answer, Reply) else _reply(request, answer, self._latency)
        _stream(request, reply, on_signal)
        return reply

    async def close(self) -> None:
        """Nothing to close."""


class EchoModel:
    """Generates an answer from the request alone: the same request always gets the same answer."""

    address = "echo/echo"

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer with an instance of the schema asked for, with a tiny program, or with a short document."""
        if request.schema:
            instance = _instance(request.schema.definition, _Echo(request), request.schema.name)
            text = json.dumps(instance, ensure_ascii=False)
        elif _FENCE in request.messages[-1].text:
            text = _program(_Echo(request))
        else:
            text = _document(_Echo(request))
        reply = _reply(request, text, seconds=0.0)
        _stream(request, reply, on_signal)
        return reply

    async def close(self) -> None:
        """Nothing to close."""


def _reader(script: Script) -> Answering:
    if isinstance(script, Mapping):
        return lambda request: _look_up(script, request)
    if callable(script):
        return script
    answers = iter(script)

    def in_order(request: Request) -> Answer:
        answer = next(answers, None)
        if answer is None:
            raise InvalidInput(f"no answer is left in the script for {request.role} {request.key}")
        return answer

    return in_order


def _look_up(script: Mapping[str, Answer | Answering], request: Request) -> Answer:
    fitting = (name for name in script if fnmatchcase(request.key, name))
    for name in (request.key, next(fitting, ""), request.role):
        if name in script:
            answer = script[name]
            return answer(request) if callable(answer) else answer
    raise InvalidInput(
        f"the script has no answer to {request.role} {request.key}; it answers {', '.join(script)}"
    )


def _reply(request: Request, text: str, seconds: float) -> Reply:
    texts = sum(len(message.text.encode()) for message in request.messages)
    return Reply(
        outcome=Outcome.EMPTY if is_blank(text) else Outcome.OK,
        text=text,
        model=request.model,
        finish="stop",
        usage=Usage(input=texts // _BYTES_PER_TOKEN, output=len(text.encode()) // _BYTES_PER_TOKEN),
        cost=Decimal(0),
        seconds=seconds,
    )


def _stream(request: Request, reply: Reply, on_signal: OnSignal | None) -> None:
    if on_signal:
        for piece in _PIECE.findall(reply.text):
            on_signal(TextArrived(request.key, piece))


# The answers of the echo model.

_MATERIAL = re.compile(r"^<<<(?!END)([A-Z]+)[^\n]*>>>\n(.*?)\n<<<END \1", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[^\W\d_][\w'-]{3,}")
_OPENINGS = ("In short,", "First,", "In practice,", "For example,", "Most of all,", "In the end,")
_FENCE = "```python"
_DEFINES = re.compile(r"^Python 3 code that defines `(?:(\w+)\.)?(\w+)`", re.MULTILINE)
_GUESSES = (
    "given[0] if given else None",
    "given[-1] if given else None",
    "len(given)",
    "max(map(str, given), default=None)",
    "min(map(str, given), default=None)",
    "sorted(map(str, given))",
)
_SECTIONS = re.compile(r"^- Has a section headed “(.+)”\.$", re.MULTILINE)
_VERBS = ("rests on", "needs", "leads to", "depends on", "comes before", "makes room for")


class _Echo:
    """A request as the echo model uses it: its texts, and a source of randomness derived from them."""

    def __init__(self, request: Request) -> None:
        texts = [message.text for message in request.messages if message.speaker == "user"]
        self.user_texts = [text for text in texts if text.strip()] or [request.role]
        # Not Python's own `hash`: that one differs from process to process.
        self._hash = blake2b("\0".join((request.key, *texts)).encode())

    def draw(self, *about: object) -> bytes:
        """Always the same for the same request and the same thing to be decided."""
        luck = self._hash.copy()
        luck.update(repr(about).encode())
        return luck.digest()

    def pick(self, options: Sequence[Any], *about: object) -> Any:
        return options[int.from_bytes(self.draw(*about)) % len(options)]

    def shuffled(self, options: Iterable[Any], *about: object) -> list[Any]:
        return sorted(options, key=lambda option: self.draw(*about, option))

    @property
    def material(self) -> str:
        """The material in the last message; the whole message where it marks none."""
        material = [found.group(2) for found in _MATERIAL.finditer(self.user_texts[-1])]
        return next((text for text in material if text.strip()), self.user_texts[-1])

    @property
    def brief(self) -> str:
        """The first material; the last paragraph of the prompt where there is none."""
        material = _MATERIAL.search("\n".join(self.user_texts))
        return material.group(2) if material else self.user_texts[-1].strip().rpartition("\n\n")[2]


def _instance(schema: Mapping[str, Any], echo: _Echo, path: str) -> Any:
    """A valid instance of a JSON Schema of objects, arrays, enums and plain values."""
    if "enum" in schema:
        return echo.pick(schema["enum"], path)
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "string")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            parts = schema.get("properties", {})
            return {name: _instance(part, echo, f"{path}/{name}") for name, part in parts.items()}
        case "array":
            items = schema.get("items", {})
            if "enum" in items:
                # A list of choices is a ranking: all of them, in some order.
                return echo.shuffled(items["enum"], path)[: schema.get("maxItems")]
            if items.get("type") == "string":
                # Texts to choose from, in the words of the task, which comes first.
                words = dict.fromkeys(_WORD.findall(echo.user_texts[0].partition("\n\n")[0]))
                two = cycle(echo.shuffled(words or ["nothing"]))
                verbs = echo.shuffled(_VERBS)
                return [f"{next(two).capitalize()} {verb} {next(two).lower()}" for verb in verbs]
            length = max(1, schema.get("minItems", 1))
            return [_instance(items, echo, f"{path}/{number}") for number in range(length)]
        case "integer" | "number":
            return schema.get("minimum", schema.get("maximum", 1))
        case "boolean":
            return echo.pick((True, False), path)
        case "null":
            return None
    # A few words of the material, so that a quote can be found there.
    line = echo.pick([line for line in echo.material.splitlines() if line.strip()], path)
    return " ".join(line.lstrip("#-*> ").split()[:8]) or "nothing"


def _program(echo: _Echo) -> str:
    """A program that runs and is hardly ever right: a guess from its input."""
    guess = echo.pick(_GUESSES, "guess")
    definition = _DEFINES.search("\n".join(echo.user_texts))
    if definition is None:
        lines = ["import sys", "", "given = sys.stdin.read().split()", f"print({guess})"]
    elif definition[1]:
        lines = [
            f"class {definition[1]}:",
            f"    def {definition[2]}(self, *given):",
            f"        return {guess}",
        ]
    else:
        lines = [f"def {definition[2]}(*given):", f"    return {guess}"]
    return "\n".join(("A guess.", "", _FENCE, *lines, "```"))


def _document(echo: _Echo) -> str:
    """A title and three short paragraphs in the words of the brief, under the headings it must have."""
    words = list(dict.fromkeys(_WORD.findall(echo.brief))) or ["nothing"]
    paragraphs = (
        " ".join(_sentence(words, echo, paragraph, line) for line in range(4))
        for paragraph in range(3)
    )
    headings = [f"## {name}" for name in _SECTIONS.findall("\n".join(echo.user_texts))]
    parts = (part for pair in zip_longest(headings, paragraphs) for part in pair if part)
    text = "\n\n".join((f"# {' '.join(words[:6])}", *parts))
    marked = "<document>" in echo.user_texts[-1]
    return f"<document>\n{text}\n</document>" if marked else text


def _sentence(words: list[str], echo: _Echo, *place: int) -> str:
    opening = echo.pick(_OPENINGS, *place, "opening")
    verb = echo.pick(_VERBS, *place, "verb")
    subject, other = (echo.pick(words, *place, part).lower() for part in ("subject", "object"))
    return f"{opening} {subject} {verb} {other}."
