"""A machine on which everybody else is busy too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10
"""Busy loops a core: a program beside them has an eleventh of it."""


@contextmanager
def busy_cores(loops: int = MANY) -> Iterator[None]:
    """That many loops on each core for as long as it takes."""
    command = ["/bin/sh", "-c", "while :; do :; done"]
    started = [subprocess.Popen(command) for _ in range(loops * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()
