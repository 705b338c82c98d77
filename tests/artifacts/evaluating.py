"""Evaluators for tests, in processes of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from textwrap import dedent
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autoreason.artifacts.artifact import Evaluation, Measurement
from autoreason.artifacts.command_jail import jail_problem
from autoreason.artifacts.evaluators import EvaluatorClient, OpenEvaluation, _SavedBench
from autoreason.artifacts.research_task import EvaluationLimits, EvaluationSource
from autoreason.artifacts.saved_evaluation import save_evaluation

needs_jail = pytest.mark.skipif(bool(jail_problem()), reason=f"needs bubblewrap: {jail_problem()}")

RESULT = "import json, os\ndef give(v): os.write(3, json.dumps(v).encode())\n"
"""Before a command's Python: how it returns its value."""


def function(code: str, **fields: Any) -> EvaluationSource:
    """An evaluator that is a function."""
    files = {"evaluate.py": dedent(code).encode()}
    return EvaluationSource(evaluate="evaluate.py:score", files=files, **fields)


def command(
    code: str, *, limits: EvaluationLimits | None = None, **fields: Any
) -> EvaluationSource:
    """An evaluator that is a command."""
    files = {"evaluate.py": (RESULT + dedent(code)).encode()}
    limits = limits or EvaluationLimits(seconds=60)
    return EvaluationSource(evaluate="python evaluate.py", files=files, limits=limits, **fields)


def evaluation(text: str = "", *, path: str = "pack.py", **fields: Any) -> Evaluation:
    """A evaluation of an artifact of one file."""
    return Evaluation(files={path: dedent(text)}, **({"seed": 0} | fields))


async def connect_here(opening: OpenEvaluation) -> EvaluatorClient:
    """An evaluator with the same jails in this process, where one of its own is not the matter."""
    bench = _SavedBench(opening)
    here = SimpleNamespace(reply=bench.opened, measure=bench._answer, close=bench.close)
    return cast(EvaluatorClient, here)


@asynccontextmanager
async def opened(
    source: EvaluationSource, *, apart: bool = False, **options: Any
) -> AsyncIterator[EvaluatorClient]:
    """A client that is closed in the end; of an evaluator in a process of its own if it is to be `apart`."""
    opening = OpenEvaluation(digest=save_evaluation(source), **options)
    client = await (EvaluatorClient.connect if apart else connect_here)(opening)
    try:
        yield client
    finally:
        await client.close()


async def measure(
    source: EvaluationSource, taken: Evaluation | None = None, **options: Any
) -> Measurement:
    """One evaluation."""
    async with opened(source, **options) as client:
        return await client.measure(taken or evaluation())
