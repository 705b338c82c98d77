"""Small things at the command line that would mislead or get in the way."""

from __future__ import annotations

from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.inside import Inside


def test_a_mistyped_command_is_answered_with_the_one_it_may_have_been(inside: Inside) -> None:
    assert "No such command 'rnu'. Did you mean run" in inside("rnu", "x").err
    assert "Did you mean" not in inside("zzzzzz").err


def test_a_difference_of_nothing_is_said_so(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q", "--strategy", "single")
    same = inside("show", "--diff")
    assert same.err == "nothing changed: the text is the first draft\n"


def test_utf_8_is_read_where_the_locale_knows_none(shell: Shell) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shell("run", "Über Gezeiten", *FAST, "-q", "--rounds", "1", **plain)
    assert done.returncode == 0, done.stderr
    assert "\n1 run: " in shell("runs", "--search", "Über Gezeiten").stdout


def test_a_file_on_a_full_disk_is_named(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q")
    full = inside("export", "--pairs", "/dev/full")
    assert full.sentence == "cannot use /dev/full: No space left on device; name another"


def test_a_page_and_a_text_are_not_written_to_one_file(inside: Inside) -> None:
    both = ("--html", str(inside.folder / "same"), "-o", str(inside.folder / "same"))
    refused = inside("run", BRIEF, *FAST, *both)
    assert (refused.status, inside.journal_exists) == (2, False)
    assert "give each a file of its own" in refused.sentence
