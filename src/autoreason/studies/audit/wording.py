"""What texts show by their wording alone: a word limit, an empty critique, an exact ballot, a cut-off end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from autoreason.contract import Contract, count_words
from autoreason.parsing.rankings import read_json_ballot

# Only where a line begins with it: within a sentence it may be about a part, such as an abstract.
_LIMIT = re.compile(
    r"^[ \t]*(?:[-*•]|\d+[.)])?[ \t]*(?:length|word limit|limit)?[ :]*"
    r"(?:max(?:imum|\.)?(?: of)?|at most|no more than|not more than|up to|under)?[ :]*"
    r"(?P<limit>\d[\d,]*)[ -]words?(?P<end> max(?:imum)?| or (?:less|fewer)| limit)?\b",
    re.IGNORECASE | re.MULTILINE,
)
_BOUND = re.compile(r"max|most|more than|up to|under|limit|less|fewer", re.IGNORECASE)
_NOTHING = re.compile(
    r"\b(?:no|not any|without|find no|found no|zero) (?:\w+ ){0,3}?(?:problems?|issues?|flaws?|faults?)\b"
    r"|\bnothing (?:\w+ ){0,3}?(?:wrong|to (?:criticise|criticize|mend|fix|add))\b",
    re.IGNORECASE,
)
_MAX_NOTHING_WORDS = 40


def stated_contract(brief: str) -> Contract | None:
    """The word limit a brief states; None where it states none."""
    stated = [match for match in _LIMIT.finditer(brief) if _BOUND.search(match[0])]
    limits = {int(match["limit"].replace(",", "")) for match in stated}
    return Contract(max_words=limits.pop()) if len(limits) == 1 and min(limits) > 0 else None


def has_no_problem(critique: str) -> bool:
    """Whether a critique in prose says, in a few words, that there is nothing to fix."""
    return count_words(critique) <= _MAX_NOTHING_WORDS and (
        not critique.strip() or bool(_NOTHING.search(critique))
    )


def is_exact(text: str, labels: Sequence[str]) -> bool:
    """Whether an answer gives its ranking in exactly the form asked for: one plain line, or a structured ballot."""
    return bool(structured_ranking(text, labels)) or _has_line(text, sorted(labels))


def structured_ranking(text: str, labels: Sequence[str]) -> tuple[str, ...] | None:
    """The ranking of a structured ballot; None where it is none, or not over these labels."""
    ballot = read_json_ballot(text)
    return tuple(ballot.ranking) if ballot and sorted(ballot.ranking) == sorted(labels) else None


def _has_line(text: str, wanted: list[str]) -> bool:
    return any(
        sorted(re.split(r"(?:, | > )", line)) == wanted
        for line in re.findall(r"^RANKING: (\S.*?)[ \t]*$", text, re.MULTILINE)
    )


_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z][.)]|\[[ x]\]|>)[ \t]+")
_ENDED = re.compile(r"""[.!?:;…。\uff01\uff1f|)\]}>"'”’`*_=~-][\s"'”’)\]*_`]*\Z""")
_OPEN_ENDED = re.compile(
    r"(?:[,(\[{“/&+=$-]|\b(?:a|an|the|and|or|but|of|to|in|on|at|by|for|from|with|without|as|is|are|was|were|be"
    r"|that|which|who|this|these|their|its|our|your|will|would|should|can|may|must|not|into|than|if|when|while"
    r"|because|per|via|each|every|all))\Z",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://\S+\Z")
_HEADING = re.compile(r"[ \t]*#{1,6}(?:[ \t].*)?\Z")
_EMPTY_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])")
_MARKS = ".,;:!?()[]{}*_`\"'“”‘’"
_END = 40
_PROSE = 8
"""Words of a line that is a sentence rather than a label."""
_ENOUGH = 3
_NEARLY_ALL = 0.75


# The incumbent is on the ballot of every pass.
@lru_cache(maxsize=512)
def cut_off(text: str) -> str:
    """Why a text looks as if its end were missing; empty where it does not."""
    body = text.rstrip()
    if not body:
        return ""
    if len(_FENCE.findall(body)) % 2:
        return "a code block is never closed"
    *before, last = [line.rstrip() for line in body.splitlines() if line.strip()]
    if last.lstrip().startswith("|"):
        return "" if last.endswith("|") else "it ends within a row of a table"
    return _open_ending(last) or ("" if _complete(last) else _odd_ending(before, last))


def _open_ending(last: str) -> str:
    """What the last line begins and does not end."""
    if _HEADING.match(last):
        return "it ends with a heading"
    if _EMPTY_ITEM.fullmatch(last):
        return "it ends with an empty item of a list"
    if last.count("**") % 2:
        return "emphasis is never closed"
    if last.count("(") > last.count(")") or last.count("[") > last.count("]"):
        return "a bracket is never closed"
    # The end alone: from every place of a long line the pattern would be tried in vain.
    if _OPEN_ENDED.search(last[-_END:]) and not _is_rule(last):
        return f"it ends with “{last[-30:].lstrip()}”"
    return ""


def _is_rule(line: str) -> bool:
    return not line.strip(" -=*_")


def _complete(line: str) -> bool:
    return bool(_ENDED.search(line) or _LINK.search(line))


def _odd_ending(before: list[str], last: str) -> str:
    """Whether a last line without a full stop is odd: half a word, or unlike the others of its kind."""
    *_, word = last.split()
    words = {each.strip(_MARKS) for line in before for each in line.split()}
    if word.isalpha() and word.islower() and word not in words:
        longer = sorted(each for each in words if each.startswith(word))
        if longer:
            return f"it ends with “{word}”, perhaps the beginning of “{longer[0]}”"
    item = bool(_ITEM.match(last))
    if not item and count_words(last) < _PROSE:
        return ""
    kind = [
        line for line in before if bool(_ITEM.match(line)) == item and count_words(line) >= _PROSE
    ]
    ended = sum(map(_complete, kind))
    if len(kind) < _ENOUGH or ended < _NEARLY_ALL * len(kind):
        return ""
    what = "items of lists" if item else "paragraphs"
    return f"the last line has no full stop, and {ended} of {len(kind)} {what} have one"
