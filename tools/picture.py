"""Pictures of pages in a real browser.

Usage: python -m tools.picture                      docs/run-light.png and -dark.png, of the run in examples/
       python -m tools.picture FOLDER PAGE.html…    each page whole, at two widths, light and dark
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright
from tools.machine import BROWSERS

from autoreason.journal import Journal
from autoreason.run.record import recorded_result

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "examples" / "lost-card.db"
WIDTHS = (400, 1280)
HEIGHT = 900
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def capture(
    pictures: dict[Path, tuple[Path, int, Literal["light", "dark"]]], *, whole: bool
) -> None:
    """A picture of a page at a width in a colour scheme, for each path."""
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path, (page, width, scheme) in pictures.items():
            shown = browser.new_page(color_scheme=scheme)
            shown.set_viewport_size({"width": width, "height": HEIGHT})
            # A page is whole once its script has unpacked it.
            shown.goto(page.resolve().as_uri(), wait_until="networkidle")
            shown.screenshot(path=path, full_page=whole)
            shown.close()
            print(path)
        browser.close()


def write_record(folder: Path) -> Path:
    """The page of the recorded run."""
    copy, page = folder / "run.db", folder / "run.html"
    # Opening a journal writes beside it.
    shutil.copy(RECORD, copy)
    with Journal.open(copy, create=False) as journal:
        row = journal.find("last")
        page.write_text(recorded_result(row, journal.story(row.id), journal).to_html(), "utf-8")
    return page


def main() -> None:
    """The recorded run, or the pages that are named."""
    if sys.argv[1:]:
        folder, *pages = map(Path, sys.argv[1:])
        folder.mkdir(parents=True, exist_ok=True)
        each = product(pages, WIDTHS, SCHEMES)
        capture({folder / f"{one[0].stem}-{one[1]}-{one[2]}.png": one for one in each}, whole=True)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            page = write_record(Path(temporary))
            docs = ROOT / "docs"
            capture(
                {docs / f"run-{each}.png": (page, WIDTHS[-1], each) for each in SCHEMES},
                whole=False,
            )


if __name__ == "__main__":
    main()
