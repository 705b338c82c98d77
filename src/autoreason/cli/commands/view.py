"""`view`: a run, or the list of the newest, in a browser."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from autoreason.cli.command import Command, print_message
from autoreason.cli.lookup import run_argument
from autoreason.cli.options import group, option

if TYPE_CHECKING:
    from pathlib import Path

    from autoreason.journal import Journal


@click.command(cls=Command, shares="book")
@run_argument(required=False)
@group(
    "How",
    option(
        "-n", "Without RUN: how many runs.", name="limit", type=click.IntRange(1, 1000), default=20
    ),
    option("--no-browser", "Only write the page and print where it is."),
)
def view(run: str | None, limit: int, no_browser: bool, book: Journal) -> None:
    """Open the page of a run, or a list of runs, in a browser.

    RUN is a run's name or a part of it, last, or @2 for the one before; without one, the newest runs
    are listed. Pages are files in your cache folder; where they are is printed. `autoreason export
    --site DIR` writes pages to keep or to publish.

    \b
      autoreason view last
      autoreason view
    """
    from autoreason.run.site import write_page, write_site

    folder = _folder()
    if run is not None:
        page = write_page(folder, book.find(run), book, private=True)
    else:
        from autoreason.cli.console import ProgressLine

        rows = list(islice(book.iter_runs(page=limit), limit))
        if not rows:
            print_message("no runs yet; start with `autoreason run`")
            return
        with ProgressLine("pages") as progress:
            site = write_site(folder, rows, book, progress, temporary=True)
        page = site.listing
    click.echo(page)
    if not (no_browser or _open(page)):
        print_message("no browser could be opened; open that file in one")


def forget_page(run: str) -> None:
    """Remove what was made to view a run that is deleted, the list that names it too."""
    from autoreason.run.site import page_address

    for page in (page_address(run), "index.html"):
        (_folder() / page).unlink(missing_ok=True)


def _folder() -> Path:
    from autoreason.files import cache_folder

    return cache_folder() / "pages"


def _open(page: Path) -> bool:
    import os
    import sys
    import webbrowser

    # Without a screen, a browser for terminals would be started and take this one over.
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(map(os.environ.get, screens)):
        return False
    return webbrowser.open(page.as_uri())
