"""A real browser for tests of pages; skipped, with a word on what to install, where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tools.machine import BROWSERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_QUIETLY = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window, from this machine; gone with its module, where no test may be a coroutine."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("needs a browser: install chromium or Google Chrome")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=list(_QUIETLY))
        yield started
        started.close()
