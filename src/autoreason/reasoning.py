"""Models that reason before they answer: which do so by default, and how many tokens that takes."""

from __future__ import annotations

import re

from autoreason.exchange import Effort

_ROOM: dict[Effort, int] = {
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 49_152,
}
"""Tokens; twice these plus a text still fit into the smallest output limit of models with such effort."""
_UNASKED: Effort = "medium"
_IN_PROCESS = frozenset({"local", "echo", "scripted"})
_SELF_HOSTED = frozenset({"ollama", "vllm", "lmstudio", "llamacpp"})
"""Servers whose window the user chooses, where extra room may not fit."""
_REASONS = re.compile(
    r"""(?<![a-z0-9])(
        o[1-9](?![a-z0-9])
      | gpt-([5-9]|[1-9]\d)(?![\d])(?!.*-chat)
      | gpt-oss
      | claude-[a-z]+-([5-9]|[1-9]\d)(?!\d)
      | gemini-(2\.5|[3-9]|[a-z-]*latest)
      | deepseek-(reasoner|r\d|v[4-9])
      | grok-(3-mini|[4-9])(?!.*non-reasoning)
      | (qwq|magistral|minimax-m\d)
    )|-thinking(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
_NEVER = re.compile(r"gpt-[34]|gpt-5.*-chat|claude-3(?![.-]7)|gemini-(1|2\.0)", re.IGNORECASE)
"""Older models, some of which may not write more than a text."""


def reasons_by_default(address: str) -> bool:
    """Whether a hosted model, by its name, reasons unless it is asked not to."""
    provider, _, model = address.partition("/")
    return provider not in _IN_PROCESS | _SELF_HOSTED and _REASONS.search(model) is not None


def reasoning_tokens_for(address: str, effort: Effort | None) -> int:
    """Tokens to allow beyond the text itself, because providers count reasoning as output."""
    if address.partition("/")[0] in _IN_PROCESS or _NEVER.search(address):
        return 0
    if effort is None:
        effort = _UNASKED if reasons_by_default(address) else "none"
    return _ROOM[effort]
