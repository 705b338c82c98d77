"""What a program does on inputs without known answers: run like a test, recorded instead of judged."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import CodeVerdict, Input, Observation
from autoreason.programs.examiner.prepared_program import PreparedProgram, limits_for
from autoreason.programs.examiner.verdicts import exception_of, output_text, verdict_of
from autoreason.programs.problems.answer_comparison import canonical
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import ProgramRun, Sandbox
from autoreason.programs.sandbox.canonical_values import shorten

MAX_SECONDS = 1.0
"""Processor time for one input of a program, or for all calls of a function."""
MAX_FATAL_FAILURES = 2
"""How many inputs may use that up or end the program before the rest is skipped."""
_FATAL = frozenset(CodeVerdict)
"""Failures that are not exceptions: they end a program, or use up its time."""

_RECORD = (
    "from autoreason.programs.sandbox.canonical_values import record as _record\n_record([{}])"
)


async def observe_program(
    sandbox: Sandbox, problem: Problem, program: str, inputs: Sequence[Input]
) -> tuple[Observation, ...]:
    """One observation for each input, in order."""
    if not program.strip():
        return tuple(_failure(CodeVerdict.NO_CODE) for _ in inputs)
    limits = limits_for(problem, problem.public_tests)
    limits = replace(limits, seconds=min(limits.seconds, MAX_SECONDS))
    observations: list[Observation] = []
    fatal_failures: list[str] = []
    async with PreparedProgram(sandbox, problem, program, limits) as bench:
        while len(observations) < len(inputs) and len(fatal_failures) < MAX_FATAL_FAILURES:
            if problem.kind == "function":
                observations += await _call(bench, inputs[len(observations) :])
            else:
                observations.append(await _run(bench, problem, inputs[len(observations)]))
            fatal_failures += [each for each in (observations[-1].failure,) if each in _FATAL]
    return (*observations, *(_failure(fatal_failures[-1]) for _ in inputs[len(observations) :]))


async def _run(bench: PreparedProgram, problem: Problem, stdin: Input) -> Observation:
    run = await bench.run(stdin)
    verdict = verdict_of(run)
    if verdict is None:
        return Observation(value=shorten(canonical(output_text(run), comparison(problem))))
    raised = verdict is CodeVerdict.RUNTIME_ERROR
    return _failure(exception_of(run) if raised else verdict)


async def _call(bench: PreparedProgram, inputs: Sequence[Input]) -> list[Observation]:
    """The results of calls until one ended the program; its failure is the last."""
    for each in inputs:
        _check_expression(each)
    tests_run, program_run = await bench.run_code(
        _RECORD.format(", ".join(f"lambda: ({each})" for each in inputs))
    )
    observations = _read_observations(tests_run)
    if len(observations) < len(inputs):
        failure = verdict_of(program_run) or verdict_of(tests_run) or CodeVerdict.RUNTIME_ERROR
        observations.append(_failure(failure))
    return observations


def _read_observations(tests_run: ProgramRun) -> list[Observation]:
    observations = []
    for line in tests_run.stdout.splitlines():
        try:
            field, text = msgspec.json.decode(line, type=tuple[str, str])
        except msgspec.DecodeError:
            # The report of the tests, or a line that was cut off.
            break
        observations.append(Observation(**{field: text}))
    return observations


def _check_expression(text: Input) -> None:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        raise InvalidInput(
            f"{text[:40]!r} is not an expression; give one that calls the function"
        ) from None


def _failure(reason: str) -> Observation:
    return Observation(failure=str(reason))
