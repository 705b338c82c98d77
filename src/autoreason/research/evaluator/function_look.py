"""A look by a function in a file: it runs in one jail of the sandbox, the artifact's Python in another."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from autoreason.programs.sandbox.base import ProgramRun, RunLimits, Sandbox
from autoreason.programs.sandbox.joint_run import run_jointly
from autoreason.programs.sandbox.scoring import DISCONNECTED, RAISED, SCORED
from autoreason.programs.sandbox.warm import imported_modules
from autoreason.research.evaluation_source import EvaluationSource
from autoreason.research.evaluator.look_values import TAIL, measured, read_measurement
from autoreason.research.evaluator.saved_evaluation import function_of
from autoreason.research.measurement import Look, LookOutcome, Measurement

_MAX_OUTPUT = 16 << 20


async def take_function_look(
    sandbox: Sandbox, source: EvaluationSource, look: Look, items: Sequence[Any]
) -> Measurement:
    """Call the evaluator's function with the artifact, the seed and the items."""
    function = function_of(source.evaluate)
    assert function is not None
    sources = {
        path: body.decode("utf-8", "replace")
        for path, body in source.files.items()
        if path.endswith(".py")
    }
    request = {
        "evaluator": sources,
        "file": function[0],
        "function": function[1],
        "files": look.files,
        "seed": look.seed,
        "items": list(items),
    }
    limits = RunLimits(
        seconds=source.limits.seconds,
        memory=source.limits.memory_mb << 20,
        output=_MAX_OUTPUT,
    )
    started = time.monotonic()
    try:
        async with asyncio.timeout(source.limits.seconds):
            evaluator, artifact = await _run(sandbox, limits, request)
    except TimeoutError:
        result = Measurement(outcome=LookOutcome.TIMEOUT)
    else:
        result = _read(evaluator, artifact, source.metric)
    return measured(result, source.limits, seconds=time.monotonic() - started, level=sandbox.level)


async def _run(
    sandbox: Sandbox, limits: RunLimits, request: dict[str, Any]
) -> tuple[ProgramRun, ProgramRun | None]:
    files = request["files"]
    python = {path: text for path, text in files.items() if path.endswith(".py")}
    stdin = json.dumps(request).encode()
    evaluator_imports = _import_hints(request["evaluator"].values())
    async with sandbox.open(evaluator_imports, limits, role="evaluator") as evaluator:
        if not python:
            return await evaluator.run(stdin), None
        async with sandbox.open(
            _import_hints(python.values()), limits, role="artifact"
        ) as artifact:
            return await run_jointly(evaluator, stdin, artifact, json.dumps(python).encode())


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
        detail = f"more than {_MAX_OUTPUT >> 20} MB were printed"
        return Measurement(outcome=LookOutcome.FAILED, detail=detail, tail=tail)
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
