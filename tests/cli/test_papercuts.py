"""Small things at the command line that would mislead or get in the way."""

from __future__ import annotations

import resource

import pytest
from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.inside import Inside

MINE = """
from autoreason.extend import Strategy

class Mine(Strategy):
    prompts = ()

    async def run(self):
        await self.write_draft()
        return self.deliver("done", "mine is done")
"""


def test_a_mistyped_command_is_answered_with_the_one_it_may_have_been(inside: Inside) -> None:
    assert "No such command 'rnu'. Did you mean run" in inside("rnu", "x").err
    assert "Did you mean" not in inside("zzzzzz").err


def test_an_unknown_cost_says_what_is_not_known(inside: Inside) -> None:
    inside.write("mine.py", MINE)
    dry = ("run", BRIEF, "--dry-run", "--strategy")
    unpriced = inside(*dry, "single", "-m", "ollama/nosuch", "--base-url", "http://127.0.0.1:9/v1")
    assert (
        "the price of ollama/nosuch is not known" in unpriced.out
        or "cost       free" in unpriced.out
    )
    uncounted = inside(*dry, "mine.py:Mine", "-m", "echo/echo").out
    assert "cost" in uncounted
    assert "the strategy does not say how many calls it makes" in uncounted


def test_a_difference_of_nothing_is_said_so(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q", "--strategy", "single")
    same = inside("show", "--diff")
    assert same.err == "nothing changed: the text is the first draft\n"


def test_utf_8_is_read_where_the_locale_knows_none(shell: Shell) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shell("run", "Über Gezeiten", *FAST, "-q", "--passes", "1", **plain)
    assert done.returncode == 0, done.stderr
    assert "Über Gezeiten" in shell("runs").stdout


def test_a_file_on_a_full_disk_is_named(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q")
    full = inside("export", "--pairs", "/dev/full")
    assert full.sentence == "cannot use /dev/full: No space left on device; name another"


@pytest.mark.parametrize("end", [[], ["--json"]])
def test_a_page_on_a_full_disk_takes_no_report_with_it(inside: Inside, end: list[str]) -> None:
    texts = [inside.write("a.md", "The moon."), inside.write("b.md", "The wind.")]
    error = "cannot use /dev/full: No space left on device; name another"
    judge = (
        "judge",
        "Write about tides",
        *texts,
        "-m",
        "echo/echo",
        "--judges",
        "3",
        "--seed",
        "1",
    )
    for command in (judge, ("show",), ("show", "--short")):
        done = inside(*command, *end, "--html", "/dev/full")
        assert (done.status, done.err.splitlines()[-1]) == (2, f"autoreason: {error}")
        assert "a.md" in done.out
    run = inside("run", BRIEF, *FAST, *end, "--html", "/dev/full")
    assert run.status == 1
    assert run.out
    assert "cannot write /dev/full: No space left on device" in run.err.splitlines()[-1]


def test_an_export_that_cannot_be_finished_leaves_nothing(shell: Shell) -> None:
    shell("run", "tides and boats " * 4000, *FAST, "-q", "--strategy", "single")
    # Enough for what SQLite keeps beside the journal, and too little for that brief.
    small = (50_000, 50_000)
    # Python would cut its own files short, too.
    shell.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    with shell.start(
        *("export", "last", "out/folder"),
        stderr=-1,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, small),
    ) as command:
        _, told = command.communicate(timeout=60)
    assert command.returncode == 2, told
    assert "name another folder" in told
    assert not (shell.home / "out").exists()
    assert shell("export", "last", "out/folder").returncode == 0


def test_a_journal_in_a_folder_that_is_not_there_is_a_slip_of_the_pen(inside: Inside) -> None:
    for command in (
        ("run", BRIEF, *FAST, "-q"),
        ("judge", BRIEF, "a.md", "b.md", "-m", "echo/echo"),
    ):
        inside.write("a.md", "A text.")
        inside.write("b.md", "Another text.")
        refused = inside(*command, "--journal", "nosuch/x.db")
        assert refused.status == 2
        assert "nosuch for the journal; make it first" in refused.err
    assert not (inside.folder / "nosuch").exists()
