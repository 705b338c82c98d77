"""Work that grows with the length of a text, and no faster."""

from __future__ import annotations

import time
from collections.abc import Callable


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Compare the work on a text with that on four times as much; what is in doubt is tried again, at its best.

    It would be sixteen times the work where every sign is held against every other.
    """

    def seconds(times: int) -> float:
        started = time.process_time()
        work(times)
        return time.process_time() - started

    few, many = seconds(size), seconds(4 * size)
    for _ in range(2):
        if many < 9 * few + 0.05:
            break
        few, many = min(few, seconds(size)), min(many, seconds(4 * size))
    assert many < 9 * few + 0.05
