"""Runs as a folder of pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.journal.samples import create_run
from tests.run.runs import open_journal, start_run

from autoreason.errors import InvalidInput
from autoreason.events import PassStarted
from autoreason.run.site import write_site


def links(page: Path) -> list[str]:
    return re.findall(r'<a href="([^"#]+)"', page.read_text("utf-8"))


async def test_a_site_is_a_list_and_a_page_for_each_run_and_can_be_written_again(
    tmp_path: Path,
) -> None:
    site, done = tmp_path / "site", []
    with open_journal(tmp_path) as journal:
        first, second = [(await start_run(journal)).run for _ in range(2)]
        for _ in range(2):
            written = write_site(
                site, [journal.row(first)], journal, lambda at, of: done.append((at, of))
            )
        assert (written.pages, written.left_out, done) == (1, {}, [(1, 1)] * 2)
        assert links(written.listing) == [f"runs/{first}.html"]
        # A run that is added leaves the others where they are.
        write_site(site, [journal.row(second)], journal)
        assert links(written.listing) == [f"runs/{run}.html" for run in (second, first)]
        journal.delete_run(first)
        write_site(site, [journal.row(second)], journal)
    assert links(written.listing) == [f"runs/{second}.html"]
    page = (site / links(written.listing)[0]).read_text("utf-8")
    assert "src=" not in page
    assert "Content-Security-Policy" in page


async def test_a_list_of_the_latest_runs_does_not_say_that_they_are_all(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        rows = [journal.row((await start_run(journal)).run) for _ in range(2)]
        for shown, said in ((rows[1:], "<b>1</b> latest run<"), (rows, "<b>2</b> runs<")):
            written = write_site(tmp_path / "site", shown, journal, temporary=True)
            assert said in written.listing.read_text("utf-8")


async def test_a_run_that_cannot_be_read_takes_no_other_with_it(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        run = (await start_run(journal)).run
        create_run(journal, "29991231-bad-run", "Torn")
        journal.append("29991231-bad-run", PassStarted(number=1, words=3))
        await journal.flush()
        written = write_site(tmp_path / "site", journal.runs(None), journal)
    assert written.pages == 1
    assert "begins without a text" in written.left_out["29991231-bad-run"]
    assert links(written.listing) == [f"runs/{run}.html"]


def test_a_page_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<h1>My own site</h1>")
    with open_journal(tmp_path) as journal, pytest.raises(InvalidInput, match="not a list of runs"):
        write_site(tmp_path, [], journal)
    assert (tmp_path / "index.html").read_text() == "<h1>My own site</h1>"
    (tmp_path / "file").write_text("")
    with open_journal(tmp_path) as journal, pytest.raises(InvalidInput, match="cannot write"):
        write_site(tmp_path / "file" / "site", [], journal)
