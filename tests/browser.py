"""A real browser for tests of pages; skipped, with a word on what to install, where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tools.machine import BROWSERS, NODE_MODULES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that finds what keeps people from using a page: axe-core."""
    script = NODE_MODULES / "axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip("needs axe-core: install npm, then `make machine`")
    return script.read_text("utf-8")


def faults(page: Page, axe: str) -> list[str]:
    """What axe finds on a page, which was opened with `bypass_csp`."""
    page.add_script_tag(content=axe)
    found = page.evaluate("axe.run().then(result => result.violations)")
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]
