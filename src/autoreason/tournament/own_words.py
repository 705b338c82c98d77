"""A judge's answer as plain lines in the judge's own voice: no typography, no quotations."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple


class Line(NamedTuple):
    """A line that says something."""

    text: str
    indent: int
    fenced: bool
    """It stands in a code block."""


def own_words(answer: str) -> list[Line]:
    """The lines of an answer that are neither empty nor quoted from elsewhere."""
    # What a model thinks aloud first is not yet its answer.
    text = "\n".join(answer.rpartition("</think>")[2].splitlines())
    text = unicodedata.normalize("NFKC", text)
    text = _BLOCK_QUOTE.sub("", text)
    text = _spell_out_json(text)
    text = text.replace('\\"', "'").replace("__", "").translate(_PLAIN)
    text = _RANKING_TAG.sub(lambda tag: "\n" if tag[1] else "\nranking: ", text)
    text = _QUOTATION.sub(lambda quote: " " if "rank" in quote[0].lower() else quote[0], text)
    return list(_lines(text.replace("“", '"').replace("”", '"')))


def _lines(text: str) -> Iterator[Line]:
    fenced = False
    for raw in text.splitlines():
        bare = raw.lstrip()
        if bare.startswith("```"):
            fenced = not fenced
        elif words := " ".join(bare.replace("`", "").strip("#| ").split()):
            yield Line(words, len(raw) - len(bare), fenced)


def _spell_out_json(text: str) -> str:
    """Every JSON object that starts a line becomes the ranking it holds, written as a line."""
    # The real ballot comes last, and nobody writes more objects than this; it bounds the work.
    starts = [match.end() - 1 for match in _OBJECT.finditer(text)][-_MOST_OBJECTS:]
    parts, done = [], 0
    for start in starts:
        if start < done:
            continue
        try:
            value, end = _JSON.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        parts += [text[done:start], f"\n{_ranking_line(value)}\n"]
        done = end
    return "".join(parts) + text[done:]


def _ranking_line(value: dict[str, object]) -> str:
    ranking = value.get("ranking", value.get("final_ranking"))
    if isinstance(ranking, list):
        ranking = ", ".join(map(str, ranking))
    return f"RANKING: {ranking}" if isinstance(ranking, str) else ""


_MOST_OBJECTS = 50
_JSON = json.JSONDecoder(strict=False)
_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_RANKING_TAG = re.compile(r"<(/?)(?:final[_-])?ranking>", re.IGNORECASE)
# A quotation may run over lines but, as a stray mark must not swallow an answer, not over a gap.
_QUOTATION = re.compile(r'“[^“”]*”|"(?:[^"\n]|\n(?![ \t]*\n))*"|~~[^~]*~~')
_PLAIN = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")  # noqa: RUF001
    | dict.fromkeys("→⇒➔➜➡⟶≻≫", ">")
    | dict.fromkeys("«„「『", "“")
    | dict.fromkeys("»」』", "”")
    | dict.fromkeys("‘’‚´", "'")  # noqa: RUF001
    | {"、": ",", "🥇": "1. ", "🥈": "2. ", "🥉": "3. "}
    | dict.fromkeys("*\\\u200b\u200d\ufeff\ufe0f", "")
)
