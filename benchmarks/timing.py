"""What a provider's log says about its client."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.server import Span


def idle(calls: Sequence[Span]) -> float:
    """Seconds between the first call and the last reply in which nothing was under way."""
    total, until = 0.0, calls[0].arrived
    for call in sorted(calls):
        total += max(0.0, call.arrived - until)
        until = max(until, call.done)
    return total


def longest_chain(calls: Sequence[Span]) -> int:
    """The most calls of which each began after the one before had ended."""
    length, free_from = 0, float("-inf")
    for call in sorted(calls, key=lambda call: call.done):
        if call.arrived >= free_from:
            length, free_from = length + 1, call.done
    return length
