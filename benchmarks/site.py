"""How quickly a site of many runs is written, every page and the list, and a long page opens."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace
from tools.machine import BROWSERS

from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.run.record import recorded_result
from autoreason.run.refine import refine
from autoreason.run.site import write_site
from autoreason.story import build_story
from benchmarks.growth import multiply
from benchmarks.measure import Measure, at_most, for_information

_RECORDED, _RUNS = 20, 1_000
_MOST_SECONDS = 1 / 20
"""Processor time for a page."""
_ROUNDS, _TIMES = 100, 10
"""Of the long page: its rounds, and how often each short text is repeated to make some 400 words."""
_TRIES = 5


def measure_site(runs: int = _RUNS) -> list[Measure]:
    """A site of so many runs of six rounds, whose texts are short."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        url = str(Path(folder, "journal.db"))
        with Journal.open(url, create=True) as journal:
            asyncio.run(_record(journal, *range(_RECORDED)))
        # Every second copy is a cell of a suite, which a site does not list.
        multiply(url, 1, 2 * runs // _RECORDED)
        with Journal.open(url, create=False) as journal:
            rows = journal.runs(runs)
            began, cpu = time.perf_counter(), time.process_time()
            site = write_site(Path(folder, "site"), rows, journal)
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        size = sum(page.stat().st_size for page in Path(folder, "site").rglob("*.html"))
    what = f"a site of {site.pages:,} runs of six rounds: processor time a page"
    return [
        at_most("site", what, 1000 * cpu / site.pages, 1000 * _MOST_SECONDS, "ms"),
        for_information(
            "site",
            "pages a second; size of a page",
            f"{site.pages / wall:.0f}/s; {size / site.pages / 1000:.0f} kB",
        ),
    ]


def measure_opening(rounds: int = _ROUNDS) -> list[Measure]:
    """A page of so many rounds, with texts of some 400 words, in Chromium."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        with Journal.open(str(Path(folder, "journal.db")), create=True) as journal:
            asyncio.run(_record(journal, 1, rounds=rounds))
            row = journal.find("last")
            recorded = [each.event for each in journal.events(row.id)]
            long = [
                replace(each, text="\n\n".join([each.text] * _TIMES))  # type: ignore[attr-defined]
                if getattr(each, "text", "")
                else each
                for each in recorded
            ]
            html = recorded_result(row, build_story(long), journal).to_html()
        page = Path(folder, "page.html")
        page.write_text(html, "utf-8")
        cpu, painted, loaded = _open(page)
    what = f"a page of {rounds} rounds opens in Chromium: processor time of its thread"
    return [
        at_most("opening", what, 1000 * cpu, 1000, "ms"),
        for_information(
            "opening",
            "first seen, wholly there; size",
            f"{painted:.0f} ms, {loaded:.0f} ms; {len(html) / 1e6:.1f} MB",
        ),
    ]


def _open(page: Path) -> tuple[float, ...]:
    """The least of a few tries: seconds of processor time, milliseconds until something is painted and all is there."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)))
    tries = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for _ in range(_TRIES):
            shown = browser.new_page()
            session = shown.context.new_cdp_session(shown)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            shown.goto(page.as_uri())
            shown.wait_for_selector(":root.ready")
            times = shown.evaluate(
                "[performance.getEntriesByType('paint')[0]?.startTime ?? 0, performance.now()]"
            )
            found = {
                each["name"]: each["value"]
                for each in session.send("Performance.getMetrics")["metrics"]
            }
            tries.append((found["TaskDuration"], *times))
            shown.close()
        browser.close()
    return tuple(map(min, zip(*tries, strict=True)))


async def _record(journal: Journal, *seeds: int, rounds: int = 6) -> None:
    for seed in seeds:
        await refine.aio(
            "Explain tides.", EchoModel(), passes=rounds, k=199, journal=journal, seed=seed
        )
