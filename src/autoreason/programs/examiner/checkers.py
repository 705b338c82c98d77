"""A problem's own checker, where several answers are right; it runs in a jail like any program."""

from __future__ import annotations

import json

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.excerpts import excerpt
from autoreason.programs.examiner.verdicts import (
    CHECKER_CRASHED,
    CHECKER_GAVE_NO_VERDICT,
    SANDBOX_FAILED,
    accepted_trial,
    output_text,
    rejected_trial,
)
from autoreason.programs.sandbox.base import EndReason, ProgramRun, RunLimits, Session

LIMITS = RunLimits(seconds=20, memory=1 << 30, output=1 << 20)
_REFUSED = "the checker refused this answer"
_UNREADABLE = "the checker cannot read this answer"
_MAX_TEXT = 400
_LIMIT_MESSAGES: dict[EndReason, str] = {
    "cpu": f"it took more than {LIMITS.seconds:g} s",
    "wall": f"it waited for more than {3 * LIMITS.seconds:g} s",
    "memory": f"it took more than {LIMITS.memory >> 20:,} MB",
    "output": "it printed far too much",
}

# The checker's own output goes to standard error, so that it is not taken for its verdict.
_CALL_CHECK = """

def _autoreason_check():
    import json, sys
    arguments = json.loads(sys.stdin.buffer.read())
    out, sys.stdout = sys.stdout, sys.stderr
    result = check(*arguments)
    verdict = result if type(result) in (bool, str) else [repr(result)[:200]]
    print("", json.dumps(verdict), sep="\\n", file=out, flush=True)

_autoreason_check()
"""


def checker_source(program: str) -> str:
    """A checker as a program that reads its three texts and prints its verdict."""
    return program + _CALL_CHECK


async def check_answer(session: Session, program_run: ProgramRun, test: Example) -> Trial:
    """The verdict of the checker; where it fails, there is no result, unless the answer made it fail."""
    checker_run = await _ask(session, test, output_text(program_run))
    verdict = _read_verdict(checker_run)
    if verdict is True:
        return accepted_trial(program_run)
    if _is_verdict(verdict):
        reason = excerpt(verdict, max_length=_MAX_TEXT) if isinstance(verdict, str) else _REFUSED
        return rejected_trial(
            program_run, test, verdict=CodeVerdict.WRONG_ANSWER, difference=reason
        )
    failure = _failure(checker_run, verdict)
    # Otherwise a program whose output the checker cannot read would never be wrong. The test's own output
    # may be a placeholder, so that any verdict on it shows that the checker works.
    if checker_run.end_reason != "broken" and _is_verdict(
        _read_verdict(await _ask(session, test, test.output))
    ):
        # The checker's traceback may show hidden data.
        return rejected_trial(
            program_run, test, verdict=CodeVerdict.WRONG_ANSWER, difference=_UNREADABLE
        )
    return rejected_trial(program_run, test, verdict=CodeVerdict.SANDBOX_ERROR, detail=failure)


async def _ask(session: Session, test: Example, answer: str) -> ProgramRun:
    return await session.run(json.dumps([test.input, answer, test.output]).encode())


def _read_verdict(checker_run: ProgramRun) -> object:
    """What the checker returned; None where it did not."""
    if checker_run.end_reason != "exit" or checker_run.status != 0:
        return None
    try:
        last = checker_run.stdout.rstrip().rpartition(b"\n")[2]
        verdict: object = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return verdict


def _is_verdict(verdict: object) -> bool:
    """Whether it is True, False or a sentence."""
    return isinstance(verdict, bool) or (isinstance(verdict, str) and bool(verdict.strip()))


def _failure(checker_run: ProgramRun, verdict: object) -> str:
    if checker_run.end_reason == "broken":
        return f"{SANDBOX_FAILED}: {checker_run.detail}" if checker_run.detail else SANDBOX_FAILED
    if checker_run.end_reason == "exit" and checker_run.status == 0:
        returned = verdict[0] if isinstance(verdict, list) and verdict else verdict
        return f"{CHECKER_GAVE_NO_VERDICT}: it returned {returned!s}"
    last = checker_run.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    reason = _LIMIT_MESSAGES.get(checker_run.end_reason) or last or "it printed nothing"
    return f"{CHECKER_CRASHED}: {excerpt(reason, max_length=_MAX_TEXT)}"
