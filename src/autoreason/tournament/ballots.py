"""Reading a ranking out of what a judge wrote. A wrong ranking is far worse than none.

The answer is cut into lines in the judge's own voice (`own_words`); those that declare a ranking
are parsed strictly (`ranking_forms`), on the line itself or as the list below it; and what they
declare is believed only where nothing else in the answer speaks against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from autoreason.tournament.own_words import Line, own_words
from autoreason.tournament.ranking_forms import NOUN, Forms, Ranking, Unreadable


def read_ranking(text: str, labels: Sequence[str]) -> tuple[str, ...] | None:
    """All labels, best first, as the judge ranked them; None where the answer leaves any doubt."""
    structured = _structured(text)
    if structured and sorted(structured) == sorted(labels):
        return structured
    forms = _forms(tuple(labels))
    lines = own_words(text)
    declared = list(_declarations(lines, forms)) or list(_bare_chains(lines, forms))
    ranking = _final(declared)
    if ranking is None or _found(_WORST_FIRST, lines):
        return None
    if _found(_RETRACTION, lines[declared[-1].line :]) or _contradicted(ranking, lines, forms):
        return None
    return ranking


def _structured(text: str) -> tuple[str, ...]:
    """The ranking of an answer that is one JSON object, as judges held to a schema give it."""
    if not text.lstrip().startswith("{"):
        return ()
    try:
        ranking = json.loads(text)["ranking"]
    except (ValueError, KeyError, RecursionError):
        return ()
    names = ranking.split(">") if isinstance(ranking, str) else ranking
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(name.strip() for name in names)


class Declaration(NamedTuple):
    """A place in the answer that sets out to give the ranking."""

    line: int
    ranking: Ranking | None
    """None where it is not a full one."""
    weight: tuple[bool, int] = (False, 0)
    """The judge's own text counts before a code block, "final" before any other wording."""


def _final(declared: Sequence[Declaration]) -> Ranking | None:
    """The last ranking, unless an earlier one that weighs as much says something else."""
    if not declared:
        return None
    last = declared[-1]
    others = [one for one in declared if one.ranking not in (None, last.ranking)]
    return None if any(other.weight >= last.weight for other in others) else last.ranking


def _declarations(lines: Sequence[Line], forms: Forms) -> Iterator[Declaration]:
    heads = [(at, head) for at, line in enumerate(lines) if (head := _head(line.text))]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    for (at, head), end in zip(heads, ends, strict=False):
        if at and _is_reported(lines[at - 1].text):
            continue
        try:
            ranking = _declared(head, lines[at + 1 : end], forms)
        except Unreadable:
            yield Declaration(at, None)
        else:
            if ranking:
                yield Declaration(at, ranking, (not lines[at].fenced, _finality(head)))


def _head(line: str) -> re.Match[str] | None:
    """How a line opens that speaks of the ranking, or leads up to it: "Overall, C > A > B"."""
    head = _HEAD.match(line)
    leads_up = head and head["lead"] and ">" in line[head.end() :]
    return head if head and (head["core"] or leads_up) else None


def _declared(head: re.Match[str], below: Sequence[Line], forms: Forms) -> Ranking | None:
    """What stands behind a head on its line or, where nothing does, below it."""
    rest = head.string[head.end() :]
    if rest and head["delimiter"]:
        found = forms.on_line(rest)
        return found.ranking if found else None
    if rest:
        # "Ranking A, B, C was hard" declares nothing; "I rank C > A > B" does.
        found = forms.try_line(rest)
        return found.ranking if found and found.is_chain else None
    if listed := forms.as_list(below):
        return listed
    found = forms.try_line(below[0].text) if below else None
    return found.ranking if found and found.is_alone else None


def _bare_chains(lines: Sequence[Line], forms: Forms) -> Iterator[Declaration]:
    """C > A > B, without another word, as the first or the last thing said."""
    for at in sorted({0, len(lines) - 1} if lines else ()):
        under_heading = at and lines[at - 1].text.endswith(":")
        found = forms.try_line(lines[at].text)
        if found and found.is_chain and found.is_alone and not under_heading:
            yield Declaration(at, found.ranking)


def _finality(head: re.Match[str]) -> int:
    """Called final; or shouted, as judges are asked to; or merely written."""
    return 2 if _FINAL.search(head[0]) else int((head["core"] or "").isupper())


def _is_reported(line_before: str) -> bool:
    """Whether a line announces somebody else's words: the format asked for, a candidate's text."""
    return (
        line_before.endswith(":")
        and bool(_REPORTING.search(line_before))
        and not _OWN_ANSWER.search(line_before)
    )


def _contradicted(ranking: Ranking, lines: Sequence[Line], forms: Forms) -> bool:
    """Whether the judge gave every text its place in words, and not the place it has here."""
    said = {(entry.place, entry.label) for line in lines if (entry := forms.verdict(line.text))}
    # Anything but one place per label is about single criteria, or about some of the texts.
    if [place for place, _ in sorted(said)] != list(range(1, len(ranking) + 1)):
        return False
    in_words = tuple(label for _, label in sorted(said))
    return sorted(in_words) == sorted(ranking) and in_words != ranking


def _found(pattern: re.Pattern[str], lines: Sequence[Line]) -> bool:
    return bool(pattern.search("\n".join(line.text for line in lines)))


@lru_cache(maxsize=256)
def _forms(labels: tuple[str, ...]) -> Forms:
    return Forms(labels)


# A head may consist of these words and no others: "Clarity ranking" is not the ranking.
_LEAD = (
    r"(?:(?:a|i)(?= \w)|the|my|our|this|these|here(?:'s)?|is|are|so|thus|therefore|hence|overall|in"
    r"|final(?:ly)?|conclusion|summary|sum|based|on|above|below|evaluations?|analysis|review|of|all"
    r"|assessments?|comparisons?|comparative|criteria|considerations|reasoning|given|after|careful"
    r"|considering|evaluating|reviewing|comparing|each|every|i'd|i'll|would|will|now|answer|verdict"
    r"|decision|judge?ment|following|complete|full|correct|corrected|revised|updated|result)(?![\w'])"
)
_BEST_FIRST = (
    r"(?:(?:from )?(?:best to worst|highest to lowest|strongest to weakest|top to bottom"
    r"|first to last)|order of (?:preference|quality|merit)|preference order)"
)
_TRAIL = (
    rf"(?:(?:in )?(?:{_BEST_FIRST}|descending order)|in order|best first|(?:is |are )?as follows"
    rf"|below|summary|decision|verdict|result|them|(?:of )?(?:the |all |these )*"
    rf"(?:(?:two|three|four|five|six|seven|\d) )?{NOUN}s"
    rf"|(?:with|and) (?:brief )?(?:justifications?|explanations?|reasoning|reasons|rationale))"
)
_HEAD = re.compile(
    rf"""[^\w"'<]*+(?:\d{{1,2}}[.)]\s+)?(?P<lead>(?:{_LEAD}[\s,:;.!-]*)*+)"""
    rf"(?:(?P<core>rank(?:ings?|ed)?(?! #?\d+ ?[:.)-])|{_BEST_FIRST})\b"
    rf"(?:[\s(,:-]*+{_TRAIL}\b\)?)*+(?P<delimiter>\s*[:=-]+|\s+(?:is|are)\b:?)?\s*)?",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\b(?:final|overall|correct|corrected|revised|updated)\b", re.IGNORECASE)
_REPORTING = re.compile(
    r"\b(?:format|template|example|e\.g\.|instruct\w*|ask(?:s|ed)?|prompt|says?|said|contains?"
    r"|claims?|writes?|wrote|reads?|states?|includes?|ends?|embed\w*|inject\w*|tells?"
    r"|quot\w+)\b",
    re.IGNORECASE,
)
_OWN_ANSWER = re.compile(
    r"\b(?:my|final|here(?: is|'s) the) (?:final )?"
    r"(?:ranking|answer|verdict|ballot|json|response)\b",
    re.IGNORECASE,
)
_WORST_FIRST = re.compile(
    r"\b(?:worst|weakest|lowest|last|bottom|least)(?: to | ?- ?to ?- ?| ?> ?)(?:the )?"
    r"(?:best|strongest|highest|first|top|most)\b|\b(?:worst|weakest|lowest)[ -]first\b"
    r"|\bstarting (?:with|from) the (?:worst|weakest)\b|\b(?:reverse|ascending) order\b",
    re.IGNORECASE,
)
_RETRACTION = re.compile(
    r"\b(?:scratch that|on (?:second thought|reflection)|i (?:made an? (?:mistake|error)"
    r"|mis(?:read|spoke|stated|ranked|labell?ed))"
    r"|(?:wait|correction|sorry|oops)\s?[,:!.-]|ranking should (?:be|have been))",
    re.IGNORECASE,
)
