"""The benchmark over a set: what its model hands in, and what is made of the clocks."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.solving import SetCost, Writer, measures

from autoreason.exchange import Message, Request

PROBLEM: dict[str, Any] = {
    "statement": "Write.",
    "solution": "print('right')",
    "wrong_solutions": [
        {"code": "while True: pass", "verdict": "TLE"},
        {"code": "print('wrong')", "verdict": "WA"},
    ],
}


def asked(key: str) -> Request:
    """An author is asked."""
    return Request(
        role="author", key=key, model="m", messages=(Message("user", "Write."),), max_tokens=100
    )


async def test_wrong_programs_come_first_and_no_text_comes_twice() -> None:
    writer = Writer([PROBLEM])
    keys = ["draft/try/0", "attempt/2/try/0", "attempt/3/try/0"]
    message = [(await writer.ask(asked(key))).text for key in keys]
    assert ["right" in text for text in message] == [False, True, True]
    assert len(set(message)) == 3
    assert "right" in (await writer.ask(asked("pass/1/reviser/try/0"))).text


@pytest.mark.parametrize(("in_tests", "kept"), [(17.0, True), (10.0, False)])
def test_cores_count_as_busy_in_tests_only(in_tests: float, kept: bool) -> None:
    cost = SetCost(
        parts=5,
        solved=5,
        without_verdict=0,
        tests=100,
        calls=5,
        seconds=15.0,
        cores=2,
        in_tests=in_tests,
        in_loop=1.0,
        in_examiner=1.0,
        other_load=10.0,
        loop_memory=(50.0, 52.0),
        examiner_memory=(30.0, 60.0),
        level="landlock",
    )
    busy, loop, examiner, *_ = measures(cost, 1)
    assert busy.kept is kept
    assert busy.measured == f"{in_tests * 5:.0f} %"
    assert (loop.kept, examiner.kept) == (True, False)
