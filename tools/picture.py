"""Makes docs/run-light.png and docs/run-dark.png: the page of the recorded run in examples/, in a real browser.

Usage: python tools/picture.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright
from tools.machine import BROWSERS

from autoreason.journal import Journal
from autoreason.run.record import recorded_result

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "examples" / "bicycle-shop.db"
WIDTH, HEIGHT = 1280, 900


def main() -> None:
    """Take both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        copy, page = Path(folder, "run.db"), Path(folder, "run.html")
        # Opening a journal writes beside it.
        shutil.copy(RECORD, copy)
        with Journal.open(copy, create=False) as journal:
            row = journal.find("last")
            page.write_text(recorded_result(row, journal.story(row.id), journal).to_html(), "utf-8")
        program = next(filter(None, map(shutil.which, BROWSERS)))
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
            for scheme in schemes:
                shown = browser.new_page(color_scheme=scheme)
                shown.set_viewport_size({"width": WIDTH, "height": HEIGHT})
                shown.goto(page.as_uri())
                shown.screenshot(path=ROOT / "docs" / f"run-{scheme}.png")
            browser.close()


if __name__ == "__main__":
    main()
