"""A look by a function in a file: it runs in one jail of the sandbox, the artifact's Python in another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from autoreason.artifacts.evaluator.evaluator_client import Reach
from autoreason.artifacts.evaluator.languages import PYTHON
from autoreason.artifacts.evaluator.look_values import (
    MAX_OUTPUT,
    TAIL,
    read_measurement,
    too_much_printed,
)
from autoreason.artifacts.evaluator.saved_evaluation import function_of
from autoreason.artifacts.measurement import Files, Look, LookOutcome, Measurement
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.programs.sandbox.base import (
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    Session,
    run_jointly,
)
from autoreason.programs.sandbox.execution import imported_modules
from autoreason.programs.sandbox.scoring import DISCONNECTED, RAISED, SCORED


class FunctionEvaluator:
    """An evaluator's function, and for each slot two processes that are forked for every look."""

    def __init__(self, sandbox: Sandbox, source: EvaluationSource) -> None:
        self._sandbox, self._source = sandbox, source
        self.level: str = sandbox.level
        self._limits = RunLimits(
            seconds=source.limits.seconds, memory=source.limits.memory_mb << 20, output=MAX_OUTPUT
        )
        self._evaluator = _python_texts(
            {path: body.decode("utf-8", "replace") for path, body in source.files.items()}
        )
        self._sessions: dict[tuple[int, ProgramRole], _OpenSession] = {}

    async def take(self, look: Look, items: Sequence[Any], slot: int) -> Measurement:
        """Call the function with the artifact, the seed and the items."""
        function = function_of(self._source.evaluate)
        assert function is not None
        request = {
            "evaluator": self._evaluator,
            "file": function[0],
            "function": function[1],
            "files": look.files,
            "seed": look.seed,
            "items": list(items),
        }
        python = _python_texts(look.files)
        evaluator = await self._session(slot, "evaluator", self._evaluator)
        artifact = await self._session(slot, "artifact", python) if python else None
        stdin = json.dumps(request).encode()
        async with asyncio.timeout(self._source.limits.seconds):
            if artifact is None:
                return _read(await evaluator.run(stdin), None, self._source.metric)
            runs = await run_jointly(evaluator, stdin, artifact, json.dumps(python).encode())
            return _read(*runs, self._source.metric)

    def reach_of(self, _: Files) -> Reach:
        """The sandbox starts no program and shows no file: only Python could be run beside the function."""
        return Reach(languages=[PYTHON.name])

    async def close(self) -> None:
        """End every process it started."""
        for opened in self._sessions.values():
            await opened.stack.aclose()
        await self._sandbox.close()

    async def _session(self, slot: int, role: ProgramRole, files: Files) -> Session:
        """A process that has imported what these files import; most artifacts of a run import the same."""
        hints = _import_hints(files.values())
        opened = self._sessions.get((slot, role))
        if opened is not None and opened.hints == hints:
            return opened.session
        if opened is not None:
            await opened.stack.aclose()
        stack = AsyncExitStack()
        session = await stack.enter_async_context(
            self._sandbox.open(hints, self._limits, role=role)
        )
        self._sessions[slot, role] = _OpenSession(hints, session, stack)
        return session


class _OpenSession(NamedTuple):
    hints: str
    session: Session
    stack: AsyncExitStack


def _python_texts(files: Files) -> Files:
    return {path: text for path, text in files.items() if path.endswith(".py")}


def _import_hints(sources: Iterable[str]) -> str:
    """A program of comments: the modules to load before the jail closes, for sources that come on standard input."""
    names = sorted({name for source in sources for name in imported_modules(source)})
    return "".join(f"# import {name}\n" for name in names[:1000])


def _read(evaluator: ProgramRun, artifact: ProgramRun | None, metric: str) -> Measurement:
    ends = {run.end_reason for run in (evaluator, artifact) if run is not None}
    tail = _tail(evaluator, artifact)
    if "broken" in ends:
        detail = evaluator.detail or (artifact.detail if artifact else "")
        return Measurement(outcome=LookOutcome.EVALUATOR_ERROR, detail=detail, tail=tail)
    if ends & {"cpu", "wall"}:
        return Measurement(outcome=LookOutcome.TIMEOUT, tail=tail)
    if "memory" in ends:
        return Measurement(outcome=LookOutcome.MEMORY, tail=tail)
    report = _report(evaluator)
    error = report.get("error", "")
    if evaluator.end_reason == "exit" and evaluator.status == SCORED and report:
        return read_measurement(report["value"], metric, tail)
    if error.startswith("MemoryError"):
        return Measurement(outcome=LookOutcome.MEMORY, tail=tail)
    if "output" in ends:
        return too_much_printed(tail)
    if evaluator.end_reason == "exit" and evaluator.status in (RAISED, DISCONNECTED):
        return Measurement(outcome=LookOutcome.FAILED, detail=error, tail=tail)
    if evaluator.end_reason == "exit" and report:
        return Measurement(outcome=LookOutcome.EVALUATOR_ERROR, detail=error, tail=tail)
    detail = f"the evaluator ended by {evaluator.end_reason} {evaluator.status}"
    return Measurement(outcome=LookOutcome.FAILED, detail=detail, tail=tail)


def _report(evaluator: ProgramRun) -> dict[str, str]:
    try:
        report: dict[str, str] = json.loads(evaluator.stdout)
    except ValueError:
        return {}
    return report


def _tail(evaluator: ProgramRun, artifact: ProgramRun | None) -> str:
    """The end of what both printed, the artifact first, and of the traceback."""
    printed = [artifact.stdout[-TAIL:], artifact.stderr] if artifact else []
    texts = [each.decode(errors="replace") for each in (*printed, evaluator.stderr)]
    return "\n".join(filter(None, (*texts, _report(evaluator).get("trace", ""))))[-TAIL:]
