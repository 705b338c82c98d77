"""Functions are called across a process boundary, and nothing but plain values comes back."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, NamedTuple

import pytest

from autoreason.sandbox import driving
from autoreason.sandbox.base import Limits, Ran
from autoreason.sandbox.unsafe import UnsafeSandbox

LIMITS = Limits(seconds=5, memory=256 << 20, output=1 << 16)


class Held(NamedTuple):
    """How both sides ended."""

    tests: Ran
    candidate: Ran

    @property
    def report(self) -> dict[str, Any]:
        """What the tests told."""
        told: dict[str, Any] = json.loads(self.tests.stdout)
        return told


async def hold(program: str, tests: str, always: list[str] | None = None) -> Held:
    """Tests against a program, each in a process of its own."""
    sandbox = UnsafeSandbox(1)
    ours, theirs = socket.socketpair()
    async with (
        sandbox.open(program, LIMITS, part="candidate") as candidate,
        sandbox.open(tests, LIMITS, part="tests") as caller,
    ):
        with ours, theirs:
            running = asyncio.create_task(candidate.run(b"", channel=theirs.fileno()))
            calling = asyncio.create_task(
                caller.run(json.dumps(always or []).encode(), channel=ours.fileno())
            )
            await asyncio.sleep(0.05)
        tested = await calling
        return Held(tested, await running)


@pytest.mark.parametrize(
    "returned",
    [
        *("None", "True", "10**5000", "-0.0", "float('inf')", "1e-320", "3 + 2j"),
        *("'a\\ud800'", "b'\\x00\\xff'", "[]", "(1, [2, (3,)])", "{1: {2}, (3,): None}"),
        *("{1, 2}", "frozenset({(1, 2)})", "range(3, 9, 2)", "bytearray(b'x')"),
    ],
)
async def test_plain_values_come_back_equal_and_of_the_same_type(returned: str) -> None:
    tests = (
        f"assert f() == {returned}\nassert type(f()) is type({returned})\nassert same({returned})"
    )
    program = f"def f(): return {returned}\ndef same(x): return x == {returned}"
    held = await hold(program, tests)
    assert held.tests.status == driving.PASSED, held
    assert held.candidate.ended == "exit"
    assert held.candidate.status == 0
