"""What a program does on inputs whose answers nobody knows: run like any test, and written down instead of judged."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from autoreason.assignment import CodeVerdict, Input, Observation
from autoreason.errors import InvalidInput
from autoreason.programs.examiner.bench import Bench, limits_for
from autoreason.programs.examiner.verdicts import exception_of, printed, verdict_of
from autoreason.programs.problems.comparison import canonical
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import ProgramRun, Sandbox
from autoreason.programs.sandbox.observation import shorten

SECONDS = 1.0
"""Processor time for one input of a program, or for all calls of a function."""
PATIENCE = 2
"""How often that may be used up, or calls end the program; then the rest of the inputs would only end it too."""
_ENDS = frozenset(CodeVerdict)
"""Failures that are no exceptions: they end a program, or take all its time."""

_RECORD = "from autoreason.programs.sandbox.observation import record as _record\n_record([{}])"


async def observe_program(
    sandbox: Sandbox, problem: Problem, program: str, inputs: Sequence[Input]
) -> tuple[Observation, ...]:
    """One observation for each input, in order."""
    if not program.strip():
        return tuple(_failed(CodeVerdict.NO_CODE) for _ in inputs)
    limits = limits_for(problem, problem.public_tests)
    limits = replace(limits, seconds=min(limits.seconds, SECONDS))
    seen: list[Observation] = []
    fatal_failures: list[str] = []
    async with Bench(sandbox, problem, program, limits) as bench:
        while len(seen) < len(inputs) and len(fatal_failures) < PATIENCE:
            if problem.kind == "function":
                seen += await _call(bench, inputs[len(seen) :])
            else:
                seen.append(await _run(bench, problem, inputs[len(seen)]))
            fatal_failures += [each for each in (seen[-1].failure,) if each in _ENDS]
    return (*seen, *(_failed(fatal_failures[-1]) for _ in inputs[len(seen) :]))


async def _run(bench: Bench, problem: Problem, stdin: Input) -> Observation:
    ran = await bench.run(stdin)
    verdict = verdict_of(ran)
    if verdict is None:
        return Observation(value=shorten(canonical(printed(ran), comparison(problem))))
    raised = verdict is CodeVerdict.RUNTIME_ERROR
    return _failed(exception_of(ran) if raised else verdict)


async def _call(bench: Bench, inputs: Sequence[Input]) -> list[Observation]:
    """What calls brought, until one of them ended the program; that one's failure is the last."""
    for each in inputs:
        _check_expression(each)
    calling, called = await bench.converse(
        _RECORD.format(", ".join(f"lambda: ({each})" for each in inputs))
    )
    seen = _recorded(calling)
    if len(seen) < len(inputs):
        fallen = verdict_of(called) or verdict_of(calling) or CodeVerdict.RUNTIME_ERROR
        seen.append(_failed(fallen))
    return seen


def _recorded(calling: ProgramRun) -> list[Observation]:
    seen = []
    for line in calling.stdout.splitlines():
        try:
            field, text = msgspec.json.decode(line, type=tuple[str, str])
        except msgspec.DecodeError:
            # The report of the tests, or a line that was cut off.
            break
        seen.append(Observation(**{field: text}))
    return seen


def _check_expression(text: Input) -> None:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        raise InvalidInput(
            f"{text[:40]!r} is no expression; give one that calls the function"
        ) from None


def _failed(how: str) -> Observation:
    return Observation(failure=str(how))
