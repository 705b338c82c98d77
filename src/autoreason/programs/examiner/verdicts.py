"""How a run of a program becomes a verdict, with long texts cut to what helps."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

from msgspec.structs import replace

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.problems.answer_comparison import Comparison, compare
from autoreason.programs.problems.problem import NO_CHECKER
from autoreason.programs.sandbox import test_driver
from autoreason.programs.sandbox.base import EndReason, ProgramRun, RunLimits

MAX_EXCERPT = 2000
"""Characters kept of an input or an output."""
MAX_TRACE = 4000
"""Characters kept of a traceback."""


def printable(text: str) -> str:
    """A text that can be encoded: a program may print characters that cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def excerpt(text: str, at: int = 0, max_length: int = MAX_EXCERPT) -> str:
    """The part of a text around a place, with marks that say how much was cut."""
    text = printable(text)
    if len(text) <= max_length:
        return text
    start = max(0, min(at - max_length // 2, len(text) - max_length))
    before, after = start, len(text) - start - max_length
    kept = text[start : start + max_length]
    head = f"{_cut_mark(before)}\n" if before else ""
    tail = f"\n{_cut_mark(after)}" if after else ""
    return f"{head}{kept}{tail}"


def _cut_mark(characters: int) -> str:
    return f"[… {characters:,} characters left out …]"


def end_of_text(text: str, max_length: int = MAX_TRACE) -> str:
    """The end of a text, from the beginning of a line on."""
    text = printable(text)
    if len(text) <= max_length:
        return text
    kept = text[-max_length:]
    _, newline, whole_lines = kept.partition("\n")
    kept = whole_lines if newline and whole_lines else kept
    return f"{_cut_mark(len(text) - len(kept))}\n{kept}"


SANDBOX_FAILED = "the sandbox failed"
CHECKER_CRASHED = "the checker crashed"
CHECKER_GAVE_NO_VERDICT = "the checker gave no verdict"
TESTS_UNUSABLE = "the test cannot be run"
REASONS = (SANDBOX_FAILED, NO_CHECKER, CHECKER_CRASHED, CHECKER_GAVE_NO_VERDICT, TESTS_UNUSABLE)
"""Why there is no result, in words that reveal nothing about a test."""

MIN_OUTPUT_BYTES = 64 << 10
MAX_OUTPUT_BYTES = 16 << 20

_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?")
"""The last line of a traceback."""
_MAX_INLINE = 100
"""Characters kept of a line of the tests, or of a value, in a longer sentence."""

_LIMIT_VERDICTS: dict[EndReason, CodeVerdict] = {
    "cpu": CodeVerdict.TIME_LIMIT,
    "wall": CodeVerdict.TIME_LIMIT,
    "memory": CodeVerdict.MEMORY_LIMIT,
    "output": CodeVerdict.OUTPUT_LIMIT,
    "broken": CodeVerdict.SANDBOX_ERROR,
}


def output_limit(expected: str) -> int:
    """Bytes that a program may print where this output is expected."""
    size = len(expected.encode("utf-8", "replace"))
    return min(max(MIN_OUTPUT_BYTES, 4 * size), MAX_OUTPUT_BYTES)


def output_text(run: ProgramRun) -> str:
    """What a program wrote to standard output."""
    return run.stdout.decode("utf-8", "replace")


def judge_run(run: ProgramRun, test: Example, limits: RunLimits) -> Trial | None:
    """The verdict of a run that failed; None where its answer is to be judged."""
    verdict = verdict_of(run)
    if verdict is None and len(run.stdout) > output_limit(test.output):
        verdict = CodeVerdict.OUTPUT_LIMIT
    if verdict is None:
        return None
    return rejected_trial(run, test, verdict=verdict, detail=_detail(run, verdict, limits))


def judge_answer(run: ProgramRun, test: Example, how: Comparison) -> Trial:
    """The verdict on a program's output, by comparison."""
    answer = output_text(run)
    difference = compare(test.output, answer, how)
    if difference is None:
        return accepted_trial(run)
    places = (difference.expected_at, difference.got_at)
    if how.checker == "special":
        # A difference from one right answer does not make it wrong.
        return rejected_trial(
            run, test, verdict=CodeVerdict.SANDBOX_ERROR, detail=NO_CHECKER, places=places
        )
    message = difference.message
    return rejected_trial(
        run, test, verdict=CodeVerdict.WRONG_ANSWER, difference=message, places=places
    )


def accepted_trial(run: ProgramRun) -> Trial:
    """The trial of a test that was passed."""
    return Trial(
        number=0,
        verdict=CodeVerdict.ACCEPTED,
        seconds=run.seconds,
        wall=run.wall,
        memory=run.memory or None,
    )


def rejected_trial(
    run: ProgramRun,
    test: Example,
    *,
    verdict: CodeVerdict,
    difference: str = "",
    detail: str = "",
    places: tuple[int, int] = (0, 0),
) -> Trial:
    """The trial of a test whose answer was not accepted, with what explains it."""
    return replace(
        accepted_trial(run),
        verdict=verdict,
        input=excerpt(test.input),
        expected=excerpt(test.output, places[0]),
        got=excerpt(output_text(run), places[1]),
        difference=difference,
        trace=_trace(run),
        detail=detail,
    )


def judge_calls(tests: ProgramRun, program: ProgramRun, test: Example, limits: RunLimits) -> Trial:
    """The verdict of a function's tests: how the tests ended and, if the program failed, how it ended."""
    report = _report(tests)
    verdict = _function_verdict(tests, program)
    if verdict is CodeVerdict.ACCEPTED:
        return accepted_trial(program)
    failed_run = program if verdict_of(program) else tests
    trace = end_of_text(str(report.get("trace", ""))) or _trace(failed_run)
    reason = str(report.get("reason", ""))
    if "broken" in (tests.end_reason, program.end_reason):
        reason = _detail(program if program.end_reason == "broken" else tests, verdict, limits)
    elif verdict is CodeVerdict.SANDBOX_ERROR:
        reason = f"{TESTS_UNUSABLE}: {reason or _trace(tests).strip().rpartition(chr(10))[2]}"
    elif failed_run is tests and tests.status in (test_driver.DISCONNECTED, test_driver.RAISED):
        reason = reason or _exception(trace)
    else:
        reason = _detail(failed_run, verdict, limits)
    line, returned = str(report.get("line", "")), _call_text(report)
    difference = f"does not hold: {_short(line)}" + (f" ({_short(returned)})" if returned else "")
    return replace(
        accepted_trial(program),
        verdict=verdict,
        input=excerpt(test.code),
        # The line that failed, unless the whole test is that line.
        expected="" if line.strip() == test.code.strip() else excerpt(line),
        got=excerpt(returned),
        difference=difference if verdict is CodeVerdict.WRONG_ANSWER else "",
        trace=trace,
        detail=reason,
    )


_STATUS_VERDICTS = {
    test_driver.FAILED: CodeVerdict.WRONG_ANSWER,
    test_driver.OUT_OF_MEMORY: CodeVerdict.MEMORY_LIMIT,
}


def _function_verdict(tests: ProgramRun, program: ProgramRun) -> CodeVerdict:
    if "broken" in (tests.end_reason, program.end_reason):
        return CodeVerdict.SANDBOX_ERROR
    if tests.end_reason != "exit":
        # Only the program can have kept the tests from ending: they wait for nothing else.
        return verdict_of(program) or verdict_of(tests) or CodeVerdict.RUNTIME_ERROR
    if tests.status == test_driver.PASSED:
        return verdict_of(program) or CodeVerdict.ACCEPTED
    if tests.status in (test_driver.DISCONNECTED, test_driver.RAISED):
        return verdict_of(program) or CodeVerdict.RUNTIME_ERROR
    return _STATUS_VERDICTS.get(tests.status, CodeVerdict.SANDBOX_ERROR)


def verdict_of(run: ProgramRun) -> CodeVerdict | None:
    """The verdict of how a run ended; None where it ended well."""
    if run.end_reason in _LIMIT_VERDICTS:
        return _LIMIT_VERDICTS[run.end_reason]
    return None if run.end_reason == "exit" and run.status == 0 else CodeVerdict.RUNTIME_ERROR


def _detail(run: ProgramRun, verdict: CodeVerdict, limits: RunLimits) -> str:
    match run.end_reason:
        case "cpu":
            return f"over {limits.seconds:g} s of processor time"
        case "wall":
            return f"still running after {run.wall:.3g} s by the clock"
        case "broken":
            return f"{SANDBOX_FAILED}: {run.detail}" if run.detail else SANDBOX_FAILED
        case "signal":
            known = {each.value: each.name for each in signal.Signals}
            return f"ended by {known.get(run.status, f'signal {run.status}')}"
    match verdict:
        case CodeVerdict.MEMORY_LIMIT:
            return f"over {limits.memory >> 20:,} MB of memory"
        case CodeVerdict.OUTPUT_LIMIT:
            return "printed far more than is expected"
        case CodeVerdict.RUNTIME_ERROR:
            return f"exit status {run.status}"
    return run.detail


def _trace(run: ProgramRun) -> str:
    return end_of_text(run.stderr.decode("utf-8", "replace"))


def _exception(trace: str) -> str:
    """The exception in one line; the program may have written the line, so only the usual form counts."""
    last = trace.strip().rpartition("\n")[2]
    return _short(last) if _EXCEPTION.fullmatch(last) else "it raised an exception"


def exception_of(run: ProgramRun) -> str:
    """The type of the exception that ended a program, as far as it is known."""
    return _exception(_trace(run)).partition(":")[0]


def _short(line: str) -> str:
    return line if len(line) <= _MAX_INLINE else f"{line[:_MAX_INLINE]}…"


def _report(tests: ProgramRun) -> dict[str, Any]:
    """The report that the tests wrote at their end; empty where they could not."""
    try:
        report = json.loads(tests.stdout)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _call_text(report: dict[str, Any]) -> str:
    called, got = report.get("called", ""), report.get("got", "")
    if not called:
        return ""
    return f"{called} returned {got}" if got else f"{called} did not return"
