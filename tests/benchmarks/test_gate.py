"""The queue in front of the gate, and the gate that is measured."""

from __future__ import annotations

from math import inf

import msgspec
import pytest
from benchmarks.gate import MeasuredGate, waiting

from autoreason.run.cell_messages import Enter, Granted, Release


def test_a_call_waits_the_longer_the_busier_the_gate_is() -> None:
    assert list(waiting(0.003, 10_000)) == pytest.approx([0.5, 0.003])
    assert waiting(0.003, 19_000)[1] > 10 * waiting(0.003, 10_000)[1]
    assert waiting(0.003, 20_001)[1] == inf


async def test_every_call_of_a_message_is_granted_in_its_answer() -> None:
    gate = MeasuredGate()
    asked = [Enter(number=number, provider="acme") for number in range(5)]
    granted = msgspec.json.decode(
        await gate.exchange(msgspec.json.encode(asked)), type=list[Granted]
    )
    assert [each.number for each in granted] == list(range(5))
    ended = [Release(number=number) for number in range(5)]
    assert await gate.exchange(msgspec.json.encode(ended)) == b"[]"
