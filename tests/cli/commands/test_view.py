"""`view` and `export --site`: runs as pages."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shell


def browser(shell: Shell) -> dict[str, str]:
    program = shell.home / "browser"
    program.write_text('#!/bin/sh\nprintf %s "$1" > opened\n')
    program.chmod(0o700)
    return {"BROWSER": f"{program} %s"}


def test_a_run_or_the_list_is_opened_and_where_it_is_is_printed(finished: Shell) -> None:
    for arguments, name in ((("view", "last"), "-"), (("view",), "index.html")):
        # Browsers are looked for once in a process.
        done = Shell(finished.home)(*arguments, **browser(finished))
        page = Path(done.stdout.strip())
        assert (done.returncode, done.stderr) == (0, "")
        assert name in page.name
        assert (finished.home / "opened").read_text() == page.as_uri()
        # What somebody wrote is for that person's eyes.
        assert page.stat().st_mode & 0o077 == 0
    assert len([*page.parent.glob("runs/*.html")]) == 1
    # What is deleted is in no page any more.
    assert finished("runs", "delete", "last", "--yes").returncode == 0
    assert [*page.parent.rglob("*.html")] == []
    assert "no runs yet" in finished("view").stderr


def test_without_a_browser_the_page_is_written_all_the_same(finished: Shell, shell: Shell) -> None:
    done = shell("view", "last")
    assert done.returncode == 0
    assert Path(done.stdout.strip()).is_file()
    assert "no browser could be opened" in done.stderr
    assert finished("view", "last", "--no-browser").stderr == ""


def test_a_site_of_all_runs_or_of_some_is_exported(finished: Shell) -> None:
    for named in (("--all",), ("last",)):
        done = finished("export", "--site", "public", *named)
        assert done.returncode == 0
        assert done.stderr.endswith(f"1 page and a list written to {Path('public/index.html')}\n")
    assert (finished.home / "public" / "index.html").is_file()
