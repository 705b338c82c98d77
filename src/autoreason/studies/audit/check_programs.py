"""Checks the programs: replies cut off, answers without one, programs that repeat an earlier one."""

from __future__ import annotations

from functools import partial

from autoreason.stats.shares import share
from autoreason.studies.audit.audited_record import AuditedPrograms, Runs
from autoreason.studies.audit.findings import (
    AuditFinding,
    Topic,
    part,
    share_level,
)

_topic = partial(Topic, "programs")
_CUT = _topic(
    "cut-off replies",
    "hardly a reply is cut off at the output limit",
    "raise the output limit: half a program is none, and it is asked for again",
)
_NO_PROGRAM = _topic(
    "no program",
    "hardly an answer is without a program",
    "look at such an answer, and say in the prompts that the program comes first, in one block",
)
_REPEATED = _topic(
    "repeated programs",
    "a repair or a merge is another program than those before",
    "try another model, or attempts of their own: a repair that repeats what failed is a wasted call",
)
_FEW, _MANY = 0.05, 0.2


def cut_replies(runs: Runs) -> AuditFinding:
    """Replies that the output limit cut off."""
    calls = [run.calls for run in runs if run.calls and run.programs]
    return _finding(
        _CUT,
        sum(call.truncated for call in calls),
        sum(call.replies for call in calls),
        ("reply", "replies", "cut off; every reply counts, second tries too"),
    )


def no_program(runs: Runs) -> AuditFinding:
    """Complete answers without a program."""
    programs = _programs(runs)
    without, answers = (
        sum(each.without for each in programs),
        sum(each.answers for each in programs),
    )
    how = "without a program; a second try counts with the first"
    return _finding(_NO_PROGRAM, without, answers, ("answer", "answers", how))


def repeated(runs: Runs) -> AuditFinding:
    """Programs derived from earlier ones that repeat one of them."""
    programs = _programs(runs)
    same, derived = sum(each.repeated for each in programs), sum(each.derived for each in programs)
    return _finding(_REPEATED, same, derived, ("repair or merge", "repairs and merges", "repeated"))


def _programs(runs: Runs) -> list[AuditedPrograms]:
    return [run.programs for run in runs if run.programs]


def _finding(topic: Topic, number: int, total: int, what: tuple[str, str, str]) -> AuditFinding:
    one, several, how = what
    if not total:
        return topic.unknown(f"there was no {one}")
    value = share(number, total)
    sentence = f"{part(number, total, one, several)} {how}"
    return topic.finding(share_level(value, _FEW, _MANY), sentence, value)
