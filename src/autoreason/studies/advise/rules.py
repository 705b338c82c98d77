"""What can be said of a brief before any model is asked."""

from __future__ import annotations

import re

from autoreason.contract import count_words
from autoreason.task import Task

_MAX_WORDS, _MAX_SIGNS = 15, 100
_SENTENCE_SIGNS = re.compile(r"[.?!:;。！？：；؟।]")  # noqa: RUF001
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001
_ONE_ANSWER = re.compile(
    r"(?:who|when|where)\s+(?:is|was|are|were|did|does|do|has|had)\b"
    r"|(?:in|on|at|by|to|from)?\s*(?:which|what)\s+(?:year|date|day|month|century|country|city|town|state"
    r"|continent|planet|river|language|currency|number|version|port|unit)\b"
    r"|how\s+(?:many|old|far|tall|high|deep|heavy|fast)\b"
    r"|what\s+(?:is|was)\s+the\s+(?:name|capital|population|date|year|number|height|length|distance|speed"
    r"|age|area|currency|symbol|formula|(?:boiling|melting|freezing)\s+point)\s+of\b",
    re.IGNORECASE,
)


def asks_for_fact(task: Task) -> bool:
    """Whether a brief is a short question, in English, of a kind that has one right answer; False where in doubt."""
    return _is_short_question(task) and _ONE_ANSWER.match(" ".join(task.brief.split())) is not None


def _is_short_question(task: Task) -> bool:
    """By its form, in any language: one sentence, a question mark, few words, no limits and no draft."""
    brief = task.brief.strip()
    return (
        brief.endswith(_QUESTION_MARKS)
        and not _SENTENCE_SIGNS.search(brief[:-1])
        and count_words(brief) <= _MAX_WORDS
        and len(brief) <= _MAX_SIGNS
        and task.draft is None
        and task.contract.empty
    )


def describe_question(task: Task) -> str:
    """The note on a short question of which code cannot know whether it asks for a fact; else empty."""
    if not _is_short_question(task):
        return ""
    return (
        "the brief is one short question; if it has one right answer, `--strategy single` will do"
    )


def describe_drift(task: Task) -> str:
    """The warning for a brief without limits; empty where it has some."""
    if not task.contract.empty:
        return ""
    return (
        "the brief has no limits that code can check, so texts may drift, mostly longer; "
        "`max_words` or `sections` in its front matter prevents that"
    )
