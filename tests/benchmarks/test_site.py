"""The measurement of a site measures one."""

from __future__ import annotations

from benchmarks.site import measure_site


def test_a_page_is_written_for_every_run() -> None:
    limit, rate = measure_site(20)
    assert limit.what.startswith("a site of 20 runs of six rounds")
    assert limit.target == "≤ 50 ms"
    assert "/s; " in rate.measured
