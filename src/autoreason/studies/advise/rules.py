"""What can be said of a brief before any model is asked."""

from __future__ import annotations

import re

from autoreason.contract import count_words
from autoreason.task import Task

_MAX_WORDS = 15
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
    """Whether a brief is one short question of a kind that has one right answer; False wherever in doubt."""
    brief = " ".join(task.brief.split())
    is_question = brief.endswith("?") and not re.search(r"[.?!:;]", brief[:-1])
    return (
        is_question
        and count_words(brief) <= _MAX_WORDS
        and task.draft is None
        and task.contract.empty
        and _ONE_ANSWER.match(brief) is not None
    )


def describe_drift(task: Task) -> str:
    """The warning for a brief without limits; empty where it has some."""
    if not task.contract.empty:
        return ""
    return (
        "the brief has no limits that code can check, so texts may drift, mostly longer; "
        "`max_words` or `sections` in its front matter prevents that"
    )
