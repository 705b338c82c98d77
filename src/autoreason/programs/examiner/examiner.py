"""Runs programs on the tests of a problem, or on inputs without known answers, and gives verdicts."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import (
    CodeVerdict,
    Examined,
    Example,
    Input,
    Observation,
    Observed,
    Trial,
    Which,
)
from autoreason.programs.problems.problem import (
    NO_CHECKER,
    Comparison,
    Problem,
    canonical,
    compare,
    comparison,
)
from autoreason.programs.sandbox import test_driver
from autoreason.programs.sandbox.base import (
    SOURCE_LIMIT,
    EndReason,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    Session,
    printable,
    run_jointly,
)
from autoreason.programs.sandbox.levels import open_sandbox
from autoreason.programs.sandbox.test_driver import shorten

MAX_EXCERPT = 2000
MAX_TRACE = 4000


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
    size = len(expected.encode("utf-8", "replace"))
    return min(max(MIN_OUTPUT_BYTES, 4 * size), MAX_OUTPUT_BYTES)


def output_text(run: ProgramRun) -> str:
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
    answer = output_text(run)
    difference = compare(test.output, answer, how)
    if difference is None:
        return accepted_trial(run)
    # A difference from one right answer of several does not make it wrong.
    wrong = how.checker != "special"
    return rejected_trial(
        run,
        test,
        verdict=CodeVerdict.WRONG_ANSWER if wrong else CodeVerdict.SANDBOX_ERROR,
        difference=difference.message if wrong else "",
        detail="" if wrong else NO_CHECKER,
        places=(difference.expected_at, difference.got_at),
    )


def accepted_trial(run: ProgramRun) -> Trial:
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
    line, returned, got = (str(report.get(name, "")) for name in ("line", "called", "got"))
    if returned:
        returned += f" returned {got}" if got else " did not return"
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


def _short(line: str) -> str:
    return line if len(line) <= _MAX_INLINE else f"{line[:_MAX_INLINE]}…"


def _report(tests: ProgramRun) -> dict[str, Any]:
    """The report that the tests wrote at their end; empty where they could not."""
    try:
        report = json.loads(tests.stdout)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


CHECKER_LIMITS = RunLimits(seconds=20, memory=1 << 30, output=1 << 20)
_REFUSED = "the checker refused this answer"
_UNREADABLE = "the checker cannot read this answer"
_MAX_TEXT = 400

# The checker's own output goes to standard error, so that it is not taken for its verdict.
_CALL_CHECK = """

def _autoreason_check():
    import json, sys
    arguments = json.loads(sys.stdin.buffer.read())
    out, sys.stdout = sys.stdout, sys.stderr
    result = check(*arguments)
    is_verdict = type(result) is bool or type(result) is str and result.strip()
    verdict = result if is_verdict else [repr(result)[:200]]
    print("", json.dumps(verdict), sep="\\n", file=out, flush=True)

_autoreason_check()
"""


async def check_answer(session: Session, program_run: ProgramRun, test: Example) -> Trial:
    """The verdict of the checker; where it fails, there is no result, unless the answer made it fail."""
    checker_run = await _ask(session, test, output_text(program_run))
    verdict = _read_verdict(checker_run)
    if verdict is True:
        return accepted_trial(program_run)
    if isinstance(verdict, bool | str):
        reason = excerpt(verdict, max_length=_MAX_TEXT) if isinstance(verdict, str) else _REFUSED
    # Otherwise a program whose output the checker cannot read would never be wrong. The test's own output
    # may be a placeholder, so that any verdict on it shows that the checker works.
    elif checker_run.end_reason != "broken" and isinstance(
        _read_verdict(await _ask(session, test, test.output)), bool | str
    ):
        # The checker's traceback may show hidden data.
        reason = _UNREADABLE
    else:
        detail = _failure(checker_run, verdict)
        return rejected_trial(program_run, test, verdict=CodeVerdict.SANDBOX_ERROR, detail=detail)
    return rejected_trial(program_run, test, verdict=CodeVerdict.WRONG_ANSWER, difference=reason)


async def _ask(session: Session, test: Example, answer: str) -> ProgramRun:
    return await session.run(json.dumps([test.input, answer, test.output]).encode())


def _read_verdict(checker_run: ProgramRun) -> object:
    if checker_run.end_reason != "exit" or checker_run.status != 0:
        return None
    try:
        last = checker_run.stdout.rstrip().rpartition(b"\n")[2]
        verdict: object = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return verdict


def _failure(checker_run: ProgramRun, verdict: object) -> str:
    ended = verdict_of(checker_run)
    if ended is None:
        returned = verdict[0] if isinstance(verdict, list) and verdict else verdict
        return f"{CHECKER_GAVE_NO_VERDICT}: it returned {returned!s}"
    reason = _detail(checker_run, ended, CHECKER_LIMITS)
    if ended is CodeVerdict.SANDBOX_ERROR:
        return reason
    if ended is CodeVerdict.RUNTIME_ERROR:
        reason = _trace(checker_run).strip().rpartition("\n")[2] or reason
    return f"{CHECKER_CRASHED}: {excerpt(reason, max_length=_MAX_TEXT)}"


_LONG_ANSWER = 1 << 20


def limits_for(problem: Problem, tests: Sequence[Example]) -> RunLimits:
    limit = max((output_limit(test.output) for test in tests), default=output_limit(""))
    return RunLimits(
        seconds=problem.time_limit_s,
        memory=problem.memory_limit_mb << 20,
        # The output of a function is not compared.
        output=MAX_OUTPUT_BYTES if problem.kind == "function" else limit,
    )


class PreparedProgram:
    """A program and the problem's checker, if any, ready to run."""

    def __init__(self, sandbox: Sandbox, problem: Problem, program: str, limits: RunLimits) -> None:
        self._sandbox, self._problem, self._program = sandbox, problem, program
        self._limits = limits
        self._tests_limits = replace(limits, output=MAX_OUTPUT_BYTES)
        self._comparison = comparison(problem)
        self._stack = AsyncExitStack()
        self._sessions: dict[ProgramRole, Session] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run_test(self, test: Example) -> Trial:
        if self._problem.kind == "function":
            # It calls a program in another jail.
            return judge_calls(*await self.run_code(test.code), test, self._limits)
        run = await self.run(test.input)
        if (trial := judge_run(run, test, self._limits)) is not None:
            return trial
        if not self._problem.checker_program:
            if len(run.stdout) < _LONG_ANSWER:
                return judge_answer(run, test, self._comparison)
            # Comparing millions of numbers takes seconds, and must not block other requests.
            return await asyncio.to_thread(judge_answer, run, test, self._comparison)
        source = self._problem.checker_program + _CALL_CHECK
        checker = await self._session("checker", source, CHECKER_LIMITS)
        return await check_answer(checker, run, test)

    async def _session(self, role: ProgramRole, source: str, limits: RunLimits) -> Session:
        if role not in self._sessions:
            opening = self._sandbox.open(source, limits, role=role)
            self._sessions[role] = await self._stack.enter_async_context(opening)
        return self._sessions[role]

    async def run(self, stdin: str) -> ProgramRun:
        session = await self._session("program", self._program, self._limits)
        return await session.run(stdin.encode())

    async def run_code(self, code: str) -> tuple[ProgramRun, ProgramRun]:
        """Run code that calls the program from another jail; the runs of both."""
        candidate = await self._session("candidate", self._program, self._limits)
        source, extra = f"{self._problem.setup}\n{code}\n".removeprefix("\n"), ""
        if len(source.encode()) > SOURCE_LIMIT:
            source, extra = self._problem.setup, code
        wanted = json.dumps([[self._problem.entry_point.partition(".")[0]], extra]).encode()
        async with self._sandbox.open(source, self._tests_limits, role="tests") as tests:
            return await run_jointly(tests, wanted, candidate)


MAX_SECONDS = 1.0
"""Processor time for one input of a program, or for all calls of a function."""
MAX_FATAL_FAILURES = 2
"""How many inputs may use that up or end the program before the rest is skipped."""
_FATAL = frozenset(CodeVerdict)
"""Failures that are not exceptions: they end a program, or use up its time."""

_RECORD = "from autoreason.programs.sandbox.test_driver import record as _record\n_record([{}])"


async def observe_program(
    sandbox: Sandbox, problem: Problem, program: str, inputs: Sequence[Input]
) -> tuple[Observation, ...]:
    if not program.strip():
        return tuple(Observation(failure=CodeVerdict.NO_CODE) for _ in inputs)
    limits = limits_for(problem, problem.public_tests)
    limits = replace(limits, seconds=min(limits.seconds, MAX_SECONDS))
    observations: list[Observation] = []
    fatal_failures: list[str] = []
    async with PreparedProgram(sandbox, problem, program, limits) as prepared:
        while len(observations) < len(inputs) and len(fatal_failures) < MAX_FATAL_FAILURES:
            if problem.kind == "function":
                observations += await _call(prepared, inputs[len(observations) :])
            else:
                observations.append(await _run(prepared, problem, inputs[len(observations)]))
            fatal_failures += [each for each in (observations[-1].failure,) if each in _FATAL]
    rest = (Observation(failure=fatal_failures[-1]) for _ in inputs[len(observations) :])
    return (*observations, *rest)


async def _run(prepared: PreparedProgram, problem: Problem, stdin: Input) -> Observation:
    run = await prepared.run(stdin)
    verdict = verdict_of(run)
    if verdict is None:
        return Observation(value=shorten(canonical(output_text(run), comparison(problem))))
    raised = verdict is CodeVerdict.RUNTIME_ERROR
    return Observation(failure=_exception(_trace(run)).partition(":")[0] if raised else verdict)


async def _call(prepared: PreparedProgram, inputs: Sequence[Input]) -> list[Observation]:
    """The results of calls until one ended the program; its failure is the last."""
    calls = ", ".join(f"lambda: ({each})" for each in inputs)
    tests_run, program_run = await prepared.run_code(_RECORD.format(calls))
    observations = []
    # Until the report of the tests, or a line that was cut off.
    with suppress(msgspec.DecodeError):
        for line in tests_run.stdout.splitlines():
            field, text = msgspec.json.decode(line, type=tuple[str, str])
            observations.append(Observation(**{field: text}))
    if len(observations) < len(inputs):
        failure = verdict_of(program_run) or verdict_of(tests_run) or CodeVerdict.RUNTIME_ERROR
        observations.append(Observation(failure=failure))
    return observations


class ProgramExaminer:
    """Gives verdicts on programs, with one sandbox for all of them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self.level = sandbox, sandbox.level

    async def examine(
        self, problem: Problem, program: str, which: Which, every: bool = False
    ) -> Examined:
        """The verdict on a program, without what its author may not know."""
        tests = problem.public_tests if which == "public" else problem.private_tests
        trials = [trial async for trial in self.run_tests(problem, program, tests, every=every)]
        return redact(summarize(trials, which, len(tests), self.level))

    async def observe(self, problem: Problem, program: str, inputs: Sequence[Input]) -> Observed:
        observations = await observe_program(self._sandbox, problem, program, inputs)
        return Observed(observations=observations, level=self.level)

    async def run_tests(
        self, problem: Problem, program: str, tests: Sequence[Example], *, every: bool = False
    ) -> AsyncGenerator[Trial, None]:
        """Run test after test with every detail; only for the owner of the problem."""
        program = program.encode("utf-8", "replace").decode()
        if not program.strip():
            yield Trial(number=1, verdict=CodeVerdict.NO_CODE, detail="there is no program")
            return
        limits = limits_for(problem, tests)
        async with PreparedProgram(self._sandbox, problem, program, limits) as prepared:
            for number, test in enumerate(tests, 1):
                trial = await prepared.run_test(test)
                if trial.detail.startswith(SANDBOX_FAILED):
                    trial = await prepared.run_test(test)
                yield replace(trial, number=number)
                if trial.verdict is not CodeVerdict.ACCEPTED and not every:
                    return


def summarize(trials: Sequence[Trial], which: Which, total: int, level: str) -> Examined:
    verdicts = [trial.verdict for trial in trials]
    failed = [verdict for verdict in verdicts if verdict is not CodeVerdict.ACCEPTED]
    return Examined(
        which=which,
        verdict=failed[0] if failed else CodeVerdict.ACCEPTED,
        passed=len(verdicts) - len(failed),
        run=0 if CodeVerdict.NO_CODE in verdicts else len(verdicts),
        total=total,
        trials=tuple(trials),
        level=level,
    )


def redact(examined: Examined) -> Examined:
    """What may leave the examiner: of private tests only verdicts, times and memory."""
    trials = []
    for trial in examined.trials:
        reason = next((each for each in REASONS if trial.detail.startswith(each)), "")
        if examined.which == "private":
            kept = ("number", "verdict", "seconds", "wall", "memory")
            trials.append(Trial(**{name: getattr(trial, name) for name in kept}, detail=reason))
        else:
            # A checker's traceback may show hidden data.
            crashed = reason == CHECKER_CRASHED
            trials.append(replace(trial, detail=reason) if crashed else trial)
    return replace(examined, trials=tuple(trials))


MAX_CONCURRENT_SOLUTIONS = 8
"""Known solutions tried at a time; the sandbox runs one per core."""


def select_tests(problem: Problem, *, public_only: bool) -> tuple[Example, ...]:
    tests = problem.public_tests if public_only else problem.tests
    if not tests:
        raise InvalidInput(f"problem {problem.id!r} has no public tests; leave out `public_only`")
    return tests


def locate_test(problem: Problem, number: int) -> tuple[Which, int]:
    """The place of a test among the public or the private ones, from its place among all."""
    public = len(problem.public_tests)
    return ("public", number) if number <= public else ("private", number - public)


async def try_program(
    problem: Problem,
    program: str,
    tests: Sequence[Example],
    *,
    every: bool = False,
    unsafe: bool = False,
    emit: Callable[[Trial], None],
) -> Examined:
    async with _examiner(unsafe) as examiner:
        trials = []
        async with aclosing(examiner.run_tests(problem, program, tests, every=every)) as results:
            async for trial in results:
                trials.append(trial)
                emit(trial)
        return summarize(trials, "public", len(tests), examiner.level)


async def try_solutions(
    problems: Sequence[Problem], *, unsafe: bool = False, emit: Callable[[str, Examined], None]
) -> None:
    """Run every test of every known solution and emit each problem as it is done."""
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_SOLUTIONS)
    async with _examiner(unsafe) as examiner:

        async def try_one(problem: Problem) -> None:
            async with semaphore:
                results = examiner.run_tests(problem, problem.solution, problem.tests)
                trials = [trial async for trial in results]
            emit(problem.id, summarize(trials, "public", len(problem.tests), examiner.level))

        async with asyncio.TaskGroup() as group:
            for problem in problems:
                group.create_task(try_one(problem))


@asynccontextmanager
async def _examiner(unsafe: bool) -> AsyncIterator[ProgramExaminer]:
    sandbox = open_sandbox(unsafe=unsafe)
    try:
        yield ProgramExaminer(sandbox)
    finally:
        await sandbox.close()
