"""How long tests wait for what must happen."""

import time
from collections.abc import Callable

PATIENCE = 100.0
"""Seconds. Only ever reached where something is wrong, however busy the machine; less than a test may take in all."""


def until(true: Callable[[], object]) -> None:
    """Wait for what must happen."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
