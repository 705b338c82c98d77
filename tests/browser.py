"""A real browser for tests of pages; skipped, with a word on what to install, where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.machine import BROWSERS, NODE_MODULES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

_QUIETLY = (
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


HOSTILE = (
    "# <script>alert(1)</script>\n\n<svg onload=alert(1)>\u202etxet\u2066 \u200b\u200bz\n\n"
    "### deep\n\n![x](javascript:alert(1)) [y](http://a.example) </div></main>\n\n"
    "```\n</pre><script>alert(1)</script>\n```\n"
)
"""A text that tries to act: scripts, pictures, signs that turn the order of others round, and ends of elements."""


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
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(content=axe)
    found = page.evaluate(
        "axe.run({resultTypes: ['violations'], preload: false}).then(result => result.violations)"
    )
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


def appear(page: Page, width: int, *, dark: bool = False) -> None:
    """Show an open page in other colours and another window."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.set_viewport_size({"width": width, "height": 800})


def opened(browser: Browser, tmp_path: Path, html: str, **options: Any) -> tuple[Page, list[str]]:
    """A page of a file, and a list of what it asks for, says and does that it should not."""
    path = tmp_path / "report.html"
    path.write_text(html, "utf-8")
    page = browser.new_page(bypass_csp=True, **options)
    noticed: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        noticed.append(dialog.message)
        dialog.dismiss()

    page.on("request", lambda request: noticed.append(request.url))
    page.on("console", lambda message: noticed.append(message.text))
    page.on("pageerror", lambda error: noticed.append(str(error)))
    page.on("dialog", dismiss)
    page.goto(path.as_uri())
    assert noticed.pop(0) == path.as_uri()
    return page, noticed
