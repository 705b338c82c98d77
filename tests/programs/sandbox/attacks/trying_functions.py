"""Runs attacks on the tests of a function, and looks at the verdict."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

from tests.programs.sandbox.attacks.plain import PlainSandbox
from tests.programs.sandbox.attacks.programs.functions import FUNCTIONS
from tests.programs.sandbox.attacks.trying import AT_ONCE, AttackResult

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.base import Sandbox

_TESTS = """\
ANSWER = {answer!r}
first = secret(1)
second = secret([first])
assert first == ANSWER
assert second == ANSWER
"""


async def try_functions(sandbox: Sandbox, names: Sequence[str] = ()) -> list[AttackResult]:
    """Each in turn, several at a time."""
    gate = asyncio.Semaphore(AT_ONCE)
    examiner = Examiner(sandbox)

    async def one(name: str) -> AttackResult:
        async with gate:
            if isinstance(sandbox, PlainSandbox):
                return await asyncio.to_thread(_try_plainly, name, sandbox.python)
            return await _try(examiner, name)

    return list(
        await asyncio.gather(*(one(name) for name in FUNCTIONS if not names or name in names))
    )


async def _try(examiner: Examiner, name: str) -> AttackResult:
    tests = _TESTS.format(answer=secrets.token_hex(12))
    problem = Problem(
        id="secret",
        statement="Say what nobody told you.",
        kind="function",
        entry_point="secret",
        time_limit_s=0.4,
        memory_limit_mb=128,
        public_tests=(Example(code=tests),),
    )
    examined = await examiner.examine(problem, dedent(FUNCTIONS[name]), "public")
    unearned = (CodeVerdict.ACCEPTED, CodeVerdict.SANDBOX_ERROR)
    broken = f"the verdict was {examined.verdict}" if examined.verdict in unearned else ""
    trial = examined.trials[0]
    return AttackResult(name, broken, f"{trial.verdict}: {trial.detail} {trial.trace}"[-600:])


def _try_plainly(name: str, python: str) -> AttackResult:
    """Program and tests in one file, as a first script would have it."""
    tests = _TESTS.format(answer=secrets.token_hex(12))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tested.py"
        file.write_text(dedent(FUNCTIONS[name]) + "\n" + tests, encoding="utf-8")
        try:
            done = subprocess.run(
                [python, file], stdin=subprocess.DEVNULL, capture_output=True, timeout=2
            )
        except subprocess.TimeoutExpired:
            return AttackResult(name)
    output = done.stderr.decode(errors="replace")
    return AttackResult(name, "" if done.returncode else "it passed the tests", output[-600:])
