"""A run never loads NumPy: it is an extra, and slow to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "numpy", "scipy"
STANDARD = "results", "shares", "sums", "ranks", "elections", "length", "reliability"


@pytest.mark.parametrize(
    "module",
    [
        *("autoreason.run.refine", "autoreason.tournament.loop", "autoreason.stats"),
        *(f"autoreason.stats.{name}" for name in STANDARD),
    ],
)
def test_what_a_run_needs_loads_nothing_of_the_extra(module: str) -> None:
    ask = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
