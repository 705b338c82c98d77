"""How a run of a program becomes a verdict."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

from msgspec.structs import replace

from autoreason.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.excerpts import ending, excerpt
from autoreason.programs.problems.comparison import Comparison, compare
from autoreason.programs.problems.problem import NO_CHECKER
from autoreason.programs.sandbox import test_driver
from autoreason.programs.sandbox.base import EndReason, ProgramRun, RunLimits

BROKEN = "the sandbox failed"
CHECKER_CRASHED = "the checker crashed"
CHECKER_NONSENSE = "the checker gave no verdict"
UNFIT = "the test cannot be held"
REASONS = (BROKEN, NO_CHECKER, CHECKER_CRASHED, CHECKER_NONSENSE, UNFIT)
"""Why there is no result, in words that tell nothing of a test."""

SMALLEST_OUTPUT = 64 << 10
LARGEST_OUTPUT = 16 << 20

_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
"""The last line of a traceback."""
_BESIDE = 100
"""Characters kept of a line of the tests, or of a value, that is told beside others."""

_LIMITED: dict[EndReason, CodeVerdict] = {
    "cpu": CodeVerdict.TIME_LIMIT,
    "wall": CodeVerdict.TIME_LIMIT,
    "memory": CodeVerdict.MEMORY_LIMIT,
    "output": CodeVerdict.OUTPUT_LIMIT,
    "broken": CodeVerdict.SANDBOX_ERROR,
}


def room_for(expected: str) -> int:
    """Bytes that a program may print where this is expected."""
    size = len(expected.encode("utf-8", "replace"))
    return min(max(SMALLEST_OUTPUT, 4 * size), LARGEST_OUTPUT)


def printed(ran: ProgramRun) -> str:
    """What a program wrote to standard output."""
    return ran.stdout.decode("utf-8", "replace")


def judge_run(ran: ProgramRun, test: Example, limits: RunLimits) -> Trial | None:
    """The verdict of a run that did not come to a regular end; None where its answer is to be judged."""
    verdict = verdict_of(ran)
    if verdict is None and len(ran.stdout) > room_for(test.output):
        verdict = CodeVerdict.OUTPUT_LIMIT
    if verdict is None:
        return None
    return refused(ran, test, verdict=verdict, detail=_detail(ran, verdict, limits))


def judge_answer(ran: ProgramRun, test: Example, how: Comparison) -> Trial:
    """The verdict on what a program printed, by comparing."""
    answer = printed(ran)
    difference = compare(test.output, answer, how)
    if difference is None:
        return accepted(ran)
    places = (difference.expected_at, difference.got_at)
    if how.checker == "special":
        # Where it differs from one right answer is no reason.
        return refused(
            ran, test, verdict=CodeVerdict.SANDBOX_ERROR, detail=NO_CHECKER, places=places
        )
    said = difference.said
    return refused(ran, test, verdict=CodeVerdict.WRONG_ANSWER, difference=said, places=places)


def accepted(ran: ProgramRun) -> Trial:
    """A test that was passed."""
    return Trial(
        number=0,
        verdict=CodeVerdict.ACCEPTED,
        seconds=ran.seconds,
        wall=ran.wall,
        memory=ran.memory or None,
    )


def refused(
    ran: ProgramRun,
    test: Example,
    *,
    verdict: CodeVerdict,
    difference: str = "",
    detail: str = "",
    places: tuple[int, int] = (0, 0),
) -> Trial:
    """A test whose answer was not accepted, with what helps to see why."""
    return replace(
        accepted(ran),
        verdict=verdict,
        input=excerpt(test.input),
        expected=excerpt(test.output, places[0]),
        got=excerpt(printed(ran), places[1]),
        difference=difference,
        trace=_trace(ran),
        detail=detail,
    )


def judge_calls(tests: ProgramRun, program: ProgramRun, test: Example, limits: RunLimits) -> Trial:
    """The verdict of a function's tests: the tests' own end, and where the program fell, how it did."""
    report = _report(tests)
    verdict = _called(tests, program)
    if verdict is CodeVerdict.ACCEPTED:
        return accepted(program)
    fallen = program if verdict_of(program) else tests
    trace = ending(str(report.get("trace", ""))) or _trace(fallen)
    why = str(report.get("reason", ""))
    if "broken" in (tests.end_reason, program.end_reason):
        why = _detail(program if program.end_reason == "broken" else tests, verdict, limits)
    elif verdict is CodeVerdict.SANDBOX_ERROR:
        why = f"{UNFIT}: {why or _last_line(tests)}"
    elif fallen is tests and tests.status in (test_driver.DISCONNECTED, test_driver.RAISED):
        why = why or _exception(trace)
    else:
        why = _detail(fallen, verdict, limits)
    return replace(
        accepted(program),
        verdict=verdict,
        input=excerpt(test.code),
        expected=excerpt(_expected(report, test)),
        got=excerpt(_returned(report)),
        difference=_difference(report) if verdict is CodeVerdict.WRONG_ANSWER else "",
        trace=trace,
        detail=why,
    )


_ENDS = {
    test_driver.FAILED: CodeVerdict.WRONG_ANSWER,
    test_driver.OUT_OF_MEMORY: CodeVerdict.MEMORY_LIMIT,
}


def _called(tests: ProgramRun, program: ProgramRun) -> CodeVerdict:
    if "broken" in (tests.end_reason, program.end_reason):
        return CodeVerdict.SANDBOX_ERROR
    if tests.end_reason != "exit":
        # Whatever kept the tests from ending came from the program: they have nothing else to wait for.
        return verdict_of(program) or verdict_of(tests) or CodeVerdict.RUNTIME_ERROR
    if tests.status == test_driver.PASSED:
        return verdict_of(program) or CodeVerdict.ACCEPTED
    if tests.status in (test_driver.DISCONNECTED, test_driver.RAISED):
        return verdict_of(program) or CodeVerdict.RUNTIME_ERROR
    return _ENDS.get(tests.status, CodeVerdict.SANDBOX_ERROR)


def verdict_of(ran: ProgramRun) -> CodeVerdict | None:
    """What a run's end alone says; nothing where it ended well."""
    if ran.end_reason in _LIMITED:
        return _LIMITED[ran.end_reason]
    return None if ran.end_reason == "exit" and ran.status == 0 else CodeVerdict.RUNTIME_ERROR


def _detail(ran: ProgramRun, verdict: CodeVerdict, limits: RunLimits) -> str:
    match ran.end_reason:
        case "cpu":
            return f"over {limits.seconds:g} s of processor time"
        case "wall":
            return f"still running after {ran.wall:.3g} s by the clock"
        case "broken":
            return f"{BROKEN}: {ran.detail}" if ran.detail else BROKEN
        case "signal":
            return f"ended by {_signal(ran.status)}"
    match verdict:
        case CodeVerdict.MEMORY_LIMIT:
            return f"over {limits.memory >> 20:,} MB of memory"
        case CodeVerdict.OUTPUT_LIMIT:
            return "printed far more than is expected"
        case CodeVerdict.RUNTIME_ERROR:
            return f"exit status {ran.status}"
    return ran.detail


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _trace(ran: ProgramRun) -> str:
    return ending(ran.stderr.decode("utf-8", "replace"))


def _last_line(ran: ProgramRun) -> str:
    return ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]


def _exception(trace: str) -> str:
    """What was raised, in one line; the program may have written that, so it counts only in the usual form."""
    last = trace.strip().rpartition("\n")[2]
    return _short(last) if _EXCEPTION.fullmatch(last) else "it raised an exception"


def exception_of(ran: ProgramRun) -> str:
    """The type of the exception that ended a program, as far as can be told."""
    return _exception(_trace(ran)).partition(":")[0]


def _short(line: str) -> str:
    return line if len(line) <= _BESIDE else f"{line[:_BESIDE]}…"


def _report(tests: ProgramRun) -> dict[str, Any]:
    """What the tests told at their end; nothing where they could not."""
    try:
        report = json.loads(tests.stdout)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _returned(report: dict[str, Any]) -> str:
    called, got = report.get("called", ""), report.get("got", "")
    if not called:
        return ""
    return f"{called} returned {got}" if got else f"{called} did not return"


def _expected(report: dict[str, Any], test: Example) -> str:
    """The line that failed; nothing where the test is that line."""
    line = str(report.get("line", ""))
    return "" if line.strip() == test.code.strip() else line


def _difference(report: dict[str, Any]) -> str:
    line, returned = _short(str(report.get("line", ""))), _short(_returned(report))
    return f"does not hold: {line}" + (f" ({returned})" if returned else "")
