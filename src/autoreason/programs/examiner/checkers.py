"""A problem's own checker, for answers of which many are right; it runs in a jail like any program."""

from __future__ import annotations

import json

from autoreason.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.excerpts import excerpt
from autoreason.programs.examiner.verdicts import (
    BROKEN,
    CHECKER_CRASHED,
    CHECKER_NONSENSE,
    accepted,
    printed,
    refused,
)
from autoreason.programs.sandbox.base import EndReason, ProgramRun, RunLimits, Session

LIMITS = RunLimits(seconds=20, memory=1 << 30, output=1 << 20)
_REFUSED = "the checker refused this answer"
_UNREADABLE = "the checker cannot read this answer"
_LONGEST = 400
_STOPPED: dict[EndReason, str] = {
    "cpu": f"it took more than {LIMITS.seconds:g} s",
    "wall": f"it waited for more than {3 * LIMITS.seconds:g} s",
    "memory": f"it took more than {LIMITS.memory >> 20:,} MB",
    "output": "it printed far too much",
}

# What the checker itself prints goes to standard error, so that nothing in it is taken for its verdict.
_ASKING = """

def _autoreason_asks():
    import json, sys
    given = json.loads(sys.stdin.buffer.read())
    out, sys.stdout = sys.stdout, sys.stderr
    said = check(*given)
    verdict = said if type(said) in (bool, str) else [repr(said)[:200]]
    print("", json.dumps(verdict), sep="\\n", file=out, flush=True)

_autoreason_asks()
"""


def checker_source(program: str) -> str:
    """A checker as a program that reads its three texts and prints what it says."""
    return program + _ASKING


async def check_answer(session: Session, ran: ProgramRun, test: Example) -> Trial:
    """The verdict of the checker; where it fails, that is no result, unless it is the answer that made it fail."""
    checked = await _ask(session, test, printed(ran))
    said = _said(checked)
    if said is True:
        return accepted(ran)
    if _is_verdict(said):
        why = excerpt(said, most=_LONGEST) if isinstance(said, str) else _REFUSED
        return refused(ran, test, verdict=CodeVerdict.WRONG_ANSWER, difference=why)
    failure = _failure(checked, said)
    # Otherwise whoever prints what the checker cannot read would never be counted as wrong. The test's own output
    # may be a placeholder, so that any verdict on it shows that the checker works.
    if checked.end_reason != "broken" and _is_verdict(
        _said(await _ask(session, test, test.output))
    ):
        # What the checker says as it falls may tell of things that nobody is to see.
        return refused(ran, test, verdict=CodeVerdict.WRONG_ANSWER, difference=_UNREADABLE)
    return refused(ran, test, verdict=CodeVerdict.SANDBOX_ERROR, detail=failure)


async def _ask(session: Session, test: Example, answer: str) -> ProgramRun:
    return await session.run(json.dumps([test.input, answer, test.output]).encode())


def _said(checked: ProgramRun) -> object:
    """What the checker returned, as far as it can be told."""
    if checked.end_reason != "exit" or checked.status != 0:
        return None
    try:
        last = checked.stdout.rstrip().rpartition(b"\n")[2]
        verdict: object = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return verdict


def _is_verdict(said: object) -> bool:
    """True, False or a sentence; anything else is none."""
    return isinstance(said, bool) or (isinstance(said, str) and bool(said.strip()))


def _failure(checked: ProgramRun, said: object) -> str:
    if checked.end_reason == "broken":
        return f"{BROKEN}: {checked.detail}" if checked.detail else BROKEN
    if checked.end_reason == "exit" and checked.status == 0:
        returned = said[0] if isinstance(said, list) and said else said
        return f"{CHECKER_NONSENSE}: it returned {returned!s}"
    last = checked.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    why = _STOPPED.get(checked.end_reason) or last or "it said nothing"
    return f"{CHECKER_CRASHED}: {excerpt(why, most=_LONGEST)}"
