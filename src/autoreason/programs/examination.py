"""Programs run on tests or inputs as a query, recorded and free of charge, and the results as a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from autoreason.errors import Interruption, InvalidInput
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.programs.assignment import (
    Assignment,
    CodeVerdict,
    Examination,
    Examined,
    Example,
    Input,
    Observed,
    Probe,
    Trial,
    Which,
    assignments_of,
)


class ExaminationQuery(Query[Examined], frozen=True, kw_only=True):
    """The result of a program on tests."""

    kind = "examination"
    examination: Examination


class ProbeQuery(Query[Observed], frozen=True, kw_only=True):
    """What a program does on inputs without known answers."""

    kind = "observation"
    probe: Probe


class Examiner(Protocol):
    """Runs programs and knows the tests."""

    async def examine(self, examination: Examination) -> Examined:
        """Run one program on the public or the private tests of a problem."""
        ...

    async def observe(self, probe: Probe) -> Observed:
        """Run one program on inputs without known answers."""
        ...


class NotExamined(Interruption):
    """The tests could not be run, which says nothing about the program."""

    status = "provider_failed"


async def examine(
    context: JobContext, key: str, program: str, which: Which, *, every: bool = False
) -> Examined:
    """The result of a program on the tests; raises `NotExamined` where there is none."""
    examination = Examination(
        problem=assignments_of(context.task)[0].id, program=program, which=which, every=every
    )
    examined = await context.ask(ExaminationQuery(key=key, examination=examination))
    if examined.verdict is CodeVerdict.SANDBOX_ERROR:
        trial = examined.failed
        reason = trial.detail if trial and trial.detail else "the reason is not known"
        raise NotExamined(f"the {which} tests could not be run: {reason}")
    return examined


async def observe(context: JobContext, key: str, program: str, inputs: Sequence[Input]) -> Observed:
    problem = assignments_of(context.task)[0].id
    probe = Probe(problem=problem, program=program, inputs=tuple(inputs))
    observed = await context.ask(ProbeQuery(key=key, probe=probe))
    if any(each.failure == CodeVerdict.SANDBOX_ERROR for each in observed.observations):
        raise NotExamined("the program could not be run on further inputs: the sandbox failed")
    return observed


class ExaminerService:
    """An examiner that answers the queries of a run."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def answer(self, query: Query[Any]) -> Any:
        match query:
            case ExaminationQuery():
                return await self._examiner.examine(query.examination)
            case ProbeQuery():
                return await self._examiner.observe(query.probe)
        raise InvalidInput(f"an examiner has no answer to a {type(query).__name__}; ask a model")


_MAX_SHOWN = 3
"""Failing tests that are shown in full."""
_MAX_DATA = 1500
_MAX_TRACE = 3000
_HEAD_SHARE = 0.6
_NONDETERMINISTIC = (CodeVerdict.TIME_LIMIT, CodeVerdict.MEMORY_LIMIT)
"""How far a program gets before these limits varies, and the same seed must give the same request."""


def feedback(examined: Examined, assignment: Assignment) -> str:
    """The results of a program on the public tests, for a model that repairs it."""
    if examined.verdict is CodeVerdict.NO_CODE:
        return "There was no program in the answer."
    failing = [each for each in examined.trials if each.verdict is not CodeVerdict.ACCEPTED]
    parts = [f"{examined.passed} of {examined.total} tests passed."]
    if examined.run < examined.total:
        parts[0] += " The first failure ended it; the other tests were not run."
    parts += [_describe_trial(trial, assignment) for trial in failing[:_MAX_SHOWN]]
    if len(failing) > _MAX_SHOWN:
        rest = ", ".join(f"{each.number} ({_name(each)})" for each in failing[_MAX_SHOWN:])
        parts.append(f"Failing as well: test {rest}.")
    return "\n\n".join(parts)


def shorten(text: str, max_length: int = _MAX_DATA) -> str:
    text = text.rstrip("\n")
    if len(text) <= max_length:
        return text
    head = int(max_length * _HEAD_SHARE)
    tail = max_length - head
    return (
        f"{text[:head]}\n[... {len(text) - max_length:,} characters left out ...]\n{text[-tail:]}"
    )


def unstated_tests(assignment: Assignment) -> tuple[Example, ...]:
    """Public tests that the statement does not show, with long data shortened."""
    statement = _normalize(assignment.statement)
    return tuple(
        Example(input=shorten(test.input), output=shorten(test.output), code=shorten(test.code))
        for test in assignment.public
        if not _is_in_statement(test, statement)
    )


def _is_in_statement(test: Example, statement: str) -> bool:
    if test.code:
        return _normalize(test.code) in statement
    return _normalize(test.input) in statement and _normalize(test.output) in statement


def _normalize(text: str) -> str:
    return " ".join(text.split())


def _describe_trial(trial: Trial, assignment: Assignment) -> str:
    lines = [f"Test {trial.number}: {_describe_verdict(trial, assignment)}."]
    if assignment.kind == "function":
        lines += _data("Test", trial.input)
    else:
        lines += _data("Input", trial.input)
        lines += _data("Expected", trial.expected)
    if trial.verdict not in _NONDETERMINISTIC:
        lines += _data("Got", trial.got)
    if trial.verdict is CodeVerdict.WRONG_ANSWER and not trial.got.strip():
        lines += ["Nothing was printed."] if assignment.kind == "stdio" else []
    if trial.difference:
        lines.append(f"First difference: {trial.difference}")
    if trial.trace.strip() and trial.verdict is not CodeVerdict.TIME_LIMIT:
        lines += ["Traceback:", _useful_end(trial.trace)]
    return "\n".join(lines)


def _data(what: str, text: str) -> Sequence[str]:
    return (f"{what}:", shorten(text)) if text.strip() else ()


def _useful_end(trace: str) -> str:
    """The end of a traceback, which says what went wrong."""
    trace = trace.strip()
    if len(trace) <= _MAX_TRACE:
        return trace
    return "[...]\n" + trace[-_MAX_TRACE:].partition("\n")[2]


def _name(trial: Trial) -> str:
    return trial.verdict.value.replace("_", " ")


def _describe_verdict(trial: Trial, assignment: Assignment) -> str:
    """A verdict with its limit, and nothing that was measured."""
    match trial.verdict:
        case CodeVerdict.TIME_LIMIT:
            return (
                f"time limit: {assignment.seconds:g} s of processor time are allowed, and by the clock "
                "little more than three times that"
            )
        case CodeVerdict.MEMORY_LIMIT:
            return f"memory limit: more than {assignment.memory_mb} MB were asked for"
        case CodeVerdict.OUTPUT_LIMIT:
            return "output limit: far more was printed than the answer can have"
        case CodeVerdict.RUNTIME_ERROR:
            return "runtime error" + (f": {trial.detail}" if trial.detail else "")
    return _name(trial)
