"""Intervals that must be there."""

from __future__ import annotations

from autoreason.stats import Estimate


def ends(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high
