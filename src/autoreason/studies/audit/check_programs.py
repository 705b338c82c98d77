"""Looks at what programs were written: replies cut off, answers without one, programs that repeat an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.stats.shares import share
from autoreason.studies.audit.findings import (
    Finding,
    Topic,
    graded,
    part,
)
from autoreason.studies.audit.record import AuditedRun, Programs

Runs = Sequence[AuditedRun]

_CUT = Topic(
    "cut-off replies",
    "programs",
    "hardly a reply is cut off at the output limit",
    "raise the output limit: half a program is none, and it is asked for again",
)
_NO_PROGRAM = Topic(
    "no program",
    "programs",
    "hardly an answer is without a program",
    "look at such an answer, and say in the prompts that the program comes first, in one block",
)
_REPEATED = Topic(
    "repeated programs",
    "programs",
    "a repair or a merge is another program than those before",
    "try another model, or attempts of their own: a repair that repeats what failed is a call lost",
)
_FEW, _MANY = 0.05, 0.2


def cut_replies(runs: Runs) -> Finding:
    """Replies that the output limit cut off."""
    calls = [run.calls for run in runs if run.calls and run.programs]
    return _counted(
        _CUT,
        sum(call.truncated for call in calls),
        sum(call.replies for call in calls),
        ("reply", "replies", "cut off; every reply counts, second tries too"),
    )


def no_program(runs: Runs) -> Finding:
    """Answers that came whole and hold no program."""
    kept = _programs(runs)
    without, answers = sum(each.without for each in kept), sum(each.answers for each in kept)
    how = "without a program; a second try counts with the first"
    return _counted(_NO_PROGRAM, without, answers, ("answer", "answers", how))


def repeated(runs: Runs) -> Finding:
    """Programs made from earlier ones that are one of them."""
    kept = _programs(runs)
    same, made = sum(each.repeated for each in kept), sum(each.made for each in kept)
    return _counted(_REPEATED, same, made, ("repair or merge", "repairs and merges", "repeated"))


def _programs(runs: Runs) -> list[Programs]:
    return [run.programs for run in runs if run.programs]


def _counted(topic: Topic, number: int, total: int, what: tuple[str, str, str]) -> Finding:
    one, several, how = what
    if not total:
        return topic.unknown(f"there was no {one}")
    found = share(number, total)
    sentence = f"{part(number, total, one, several)} {how}"
    return topic.found(graded(found, _FEW, _MANY), sentence, found)
