"""The leak check: a text that reveals how it was written would not be judged blind."""

from __future__ import annotations

import re
from typing import NamedTuple

from autoreason.jobs.randomness import BOUNDARY
from autoreason.parsing.patterns import Pattern

_ANNOUNCED = r"""
      (?:sure|certainly|of\ course|absolutely|okay|ok)\b[^\n]{0,60}?\b(?:here|below)\b[^\n]*
    | (?:here(?:\ is|['’]s|\ are)|below\ is|the\ following\ is|this\ is)\s+(?:the|my|an?|your)\b[^\n]{0,60}?
      \b(?:revis|rewrit|improv|updat|refin|synthesi[sz]|merged|combin|final|edited|polished|draft|version|document|text)[^\n]*
"""
_ANNOUNCEMENT = Pattern(
    rf"\A[\s*#_>-]*+(?:{_ANNOUNCED})(?<=[:*_])[ \t]*\n++(?:-{{3,}}[ \t]*\n++)?(?=\s*\S)",
    re.IGNORECASE | re.VERBOSE,
)
"""A line that does nothing but announce what comes after its colon."""
# A text that opens like this announces itself instead of being the document.
_OPENERS = Pattern(
    rf"""\A[\s*#_>-]*+(?:{_ANNOUNCED}
    | here(?:\ is|['’]s|\ are)\s[^\n]{{0,70}}:[ \t*]*$
    | i\ understand\ that\ the\ (?:text|document|draft)\b[^\n]*
    | i(?:['’]ve|\ have)\s+(?:revised|rewritten|improved|updated|refined|combined|merged|synthesi[sz]ed|edited)\b[^\n]*
    | (?:(?:the|my)\s+)?(?:revised|rewritten|improved|updated|refined|synthesi[sz]ed|merged|combined)\s+
      (?:version|draft|text|document|proposal|synthesis)\b[^\n]{{0,40}}
    | (?:final\s+)?synthesis\b\s*(?::|\*\*|$)[^\n]*
    )""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


class _Sign(NamedTuple):
    """Matches passages in which a text mentions how it was written."""

    needles: tuple[str, ...]
    """Every match contains one of these; searching for them first is far quicker."""
    pattern: Pattern


def _sign(needles: str, pattern: str) -> _Sign:
    flags = re.IGNORECASE | re.VERBOSE | re.MULTILINE
    return _Sign(tuple(needles.split(", ")), Pattern(pattern, flags))


_SIGNS = (
    _sign(
        "change, revision, edits, improvements, synthesis",
        r"""^[ \t*#_>-]*+(?:change[\s-]?log|changes\ (?:made|from|in\ this|since)
        |summary\ of\ (?:the\ )?(?:changes|revisions|edits)
        |(?:key|main|major)\ (?:changes|revisions|edits)|revision\ (?:notes|summary|history)
        |what\ (?:has\ )?changed|(?:key\ )?improvements\ (?:made|over|from)
        |synthesis\ (?:notes|rationale|approach))\b[^\n]{0,80}""",
    ),
    _sign(
        "criti, reviewer",
        r"""\b(?:addresses|fixes|resolves|in\ response\ to|raised\ (?:in|by)|noted\ (?:in|by)
        |identified\ (?:in|by))\s+(?:the\ )?(?:critiques?|critics?|reviewers?['’]?)\b[^\n.]{0,60}""",
    ),
    _sign(
        "has been, was ",
        r"""\b(?:this|the)\s+(?:text|sentence|paragraph|document|draft|note)\s+(?:has\ been|was)\s+
        (?:edited|revised|rewritten|reworded|shortened|corrected|improved)\s+(?:for|to)\b[^\n.]{0,60}""",
    ),
    # Lines of our own prompts, repeated by a model that took them for part of the text.
    _sign("", rf"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f]){BOUNDARY}"),
    _sign("<<<", r"<<<(?:END\ )?(?:TEXT|FACTS|PROBLEMS|GUIDANCE)\b[^\n]{0,60}"),
    # An answer about the request, in place of the text.
    _sign(
        "please provide, please share, please send",
        r"""\bplease\s+(?:provide|share|send)\s+(?:me\s+)?(?:with\s+)?the\s+(?:original\ |full\ |actual\ )?
        (?:text|document|draft)\b[^\n]{0,60}""",
    ),
    _sign("the critique", r"\b(?:per|following|as)\ the\ critique\b[^\n.]{0,60}"),
    _sign(
        "this revis, this synthesis, this rewrite, this merged",
        r"\bthis\s+(?:revision|revised\ version|synthesis|rewrite|merged\ version)\b[^\n.]{0,60}",
    ),
    _sign(
        "version , draft , text , proposal ",
        # Only capitals name a version: "draft a plan" does not.
        r"\b(?:version|draft|text|proposal)\ (?-i:AB|A|B|X|Y)\b[^\n.]{0,40}",
    ),
    _sign(
        "original, previous, earlier, first, second, prior",
        r"""\b(?:from|in|than|unlike|both)\s+(?:the\ )?
        (?:original|previous|earlier|first|second|prior)\s+
        (?:version|draft|text|document|proposal)s?\b[^\n.]{0,60}""",
    ),
    _sign(
        "*, _, (, [",
        # Only where a row of signs begins: from every one of them, the row would be walked again.
        r"""(?<![*_(\[])[*_(\[]++[ \t]*+(?:fix(?:es|ed)?|address(?:es|ed)?|change[ds]?|was|revised|added|removed)
        \s*:[^\n)\]]{0,60}""",
    ),
)
_MAX_LENGTH = 100
_MARKS = " \t*#_>-.:0123456789)"


def without_opener(text: str, *allowed: str) -> str:
    """The text without a line that announces it (“Sure, here is the text:”), unless the task words it so."""
    opener = _ANNOUNCEMENT.match(text)
    if not opener or _is_allowed(opener.group().strip(" *#_>-"), _plain(allowed)):
        return text
    return text[opener.end() :].strip()


def find_leaks(text: str, *allowed: str, rules: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Passages that give the text away; wording that the task itself uses is no leak.

    `rules` are lines of our own that the author was shown and that no text should repeat.
    """
    opener = _OPENERS.match(text)
    passages = [opener.group()] if opener else []
    lowered = text.casefold()
    for needles, pattern in _SIGNS:
        if any(needle in lowered for needle in needles):
            passages += [match.group() for match in pattern.finditer(text)]
    passages += _repeated_rules(text, rules)
    if not passages:
        return ()
    allowed_text = _plain(allowed)
    leaks = (" ".join(passage.split()).strip(" *#_>-")[:_MAX_LENGTH] for passage in passages)
    return tuple(
        dict.fromkeys(leak for leak in leaks if leak and not _is_allowed(leak, allowed_text))
    )


def _repeated_rules(text: str, rules: tuple[str, ...]) -> list[str]:
    """Lines of a text that are rules word for word, or comment on one, whatever marks are around them."""
    rules_plain = {rule.strip(_MARKS).casefold() for rule in rules}
    lines = (line.strip(_MARKS) for line in text.splitlines()) if rules_plain else ()
    heads = ((line, line.partition(":")[0].strip(_MARKS)) for line in lines)
    return [head for line, head in heads if {line.casefold(), head.casefold()} & rules_plain]


def _plain(allowed: tuple[str, ...]) -> str:
    return " ".join("\n".join(allowed).casefold().split())


def _is_allowed(leak: str, allowed_text: str) -> bool:
    return " ".join(leak.casefold().split()[:3]) in allowed_text
