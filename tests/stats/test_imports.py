"""A run never loads NumPy, which is slow to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "numpy", "scipy"
STANDARD = "results", "shares", "sums", "ranks"


@pytest.mark.parametrize(
    "module",
    [
        *("autoreason.run.refine", "autoreason.tournament.loop", "autoreason.stats"),
        *(f"autoreason.stats.{name}" for name in STANDARD),
    ],
)
def test_what_a_run_needs_loads_neither(module: str) -> None:
    ask = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
