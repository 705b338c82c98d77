"""Targets are ratios that one run measures, so that they hold on any machine."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.commands import bare_start, run_client
from benchmarks.server import serving
from benchmarks.timing import longest_chain

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
RATIO = re.compile(r"–|0|[≤≥] [\d.]+ (x|%|MB)|≤ 2 x the first")


def test_no_target_is_a_time_of_one_machine() -> None:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if "|" in line]
    targets = {row[2].strip() for row in rows} - {"target", "---"}
    assert targets
    assert [each for each in targets if not RATIO.fullmatch(each)] == []


def test_a_bare_client_and_a_bare_interpreter_are_measured_in_the_same_way() -> None:
    with serving(5.0) as provider:
        client = run_client(3, provider)
    assert longest_chain(client.calls) == len(client.calls) == 3
    assert 0 < client.cpu_at_first <= client.cpu
    assert 0 < bare_start(1).cpu < client.cpu
