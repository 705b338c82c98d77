"""The measurements of pages measure them."""

from __future__ import annotations

import shutil

import pytest
from benchmarks.site import measure_opening, measure_site
from tools.machine import BROWSERS


def test_a_page_is_written_for_every_run() -> None:
    limit, rate = measure_site(2)
    assert limit.what.startswith("a site of 2 runs of six rounds")
    assert limit.target == "≤ 50 ms"
    assert "/s; " in rate.measured


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="needs chromium")
def test_a_page_of_many_rounds_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.site._TRIES", 1)
    limit, times = measure_opening(3)
    assert (limit.target, limit.raw["value"] > 0) == ("≤ 1000 ms", True)
    assert times.measured.endswith(" MB")
