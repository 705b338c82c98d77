"""`run`: the text to standard output, the story to standard error, one exit status for each end."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import BRIEF, FAST, NO_END, VOTES, Shell
from tests.cli.inside import Inside
from tests.cli.server import Server
from tests.patience import PATIENCE, until

from autoreason.tournament.statements import ONE_VOTE


def test_the_text_alone_goes_to_standard_output(shell: Shell) -> None:
    done = shell("run", BRIEF, *FAST)
    assert done.returncode == 0
    assert done.stdout.startswith("# ")
    assert "round 1: critic: " in done.stderr
    assert " calls, $0.00, " in done.stderr
    assert shell("show", "--text").stdout == done.stdout


def test_a_brief_comes_from_a_file_or_a_pipe(quick_shell: Shell) -> None:
    (quick_shell.home / "brief.md").write_text(f"---\nmax_words: 400\n---\n{BRIEF}\n")
    from_file = quick_shell("run", "brief.md", *FAST, "-q")
    from_pipe = quick_shell("run", "-", *FAST, "-q", stdin=f"---\nmax_words: 400\n---\n{BRIEF}\n")
    assert from_file.returncode == 0
    assert from_file.stdout == from_pipe.stdout


def test_a_run_over_texts_loads_nothing_of_programs_research_or_studies(shell: Shell) -> None:
    loaded = shell("run", BRIEF, *FAST, "-q", PYTHONPROFILEIMPORTTIME="1").stderr
    assert "autoreason.tournament.writing" in loaded
    assert re.findall(r"autoreason\.(?:programs|artifacts|studies)\.\w+", loaded) == []


def test_nothing_is_streamed_where_nobody_looks(quick_shell: Shell, server: Server) -> None:
    server.gate.set()
    arguments = ("run", BRIEF, "-m", "test/slow", "--base-url", server.url, "--rounds", "1")
    assert quick_shell(*arguments, "-q").returncode == 0
    assert server.streamed == 0
    assert quick_shell(*arguments).returncode == 0
    assert server.streamed > 0


def test_a_quiet_run_stops_while_it_waits_to_ask_again(shell: Shell, server: Server) -> None:
    server.busy = True
    running = shell.start(
        *("run", BRIEF, "-m", "test/slow", "--base-url", server.url, "-q"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: server.asked)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "autoreason resume" in said


def test_output_is_written_to_a_file_instead_or_where_a_link_leads(quick_shell: Shell) -> None:
    done = quick_shell("run", BRIEF, *FAST, "-o", "text.md")
    assert done.stdout == ""
    assert (quick_shell.home / "text.md").read_text().startswith("# ")
    assert "written to text.md" in done.stderr
    assert [path.name for path in quick_shell.home.glob(".text*")] == []
    (quick_shell.home / "real").mkdir()
    (quick_shell.home / "link.md").symlink_to("real/text.md")
    assert quick_shell("run", BRIEF, *FAST, "-q", "-o", "link.md").returncode == 0
    assert (quick_shell.home / "link.md").is_symlink()
    assert (quick_shell.home / "real" / "text.md").read_text().startswith("# ")
    assert [path.name for path in (quick_shell.home / "real").iterdir()] == ["text.md"]


def test_a_spent_budget_delivers_the_best_so_far(quick_shell: Shell) -> None:
    done = quick_shell("run", BRIEF, *FAST, "--call-limit", "4", *NO_END)
    assert done.returncode == 3
    assert done.stdout.startswith("# ")
    assert "autoreason resume" in done.stderr
    again = quick_shell("resume", "-q")
    assert again.returncode == 3
    for sentence in (done.stderr, again.stderr):
        words = " ".join(sentence.split())
        assert " --call-limit 6" in words
        assert "--cost-limit" not in words
    more = quick_shell("resume", "--call-limit", "500", "-q")
    assert more.returncode == 0


def test_a_failing_provider_prints_no_text(quick_shell: Shell, server: Server) -> None:
    server.gate.set()
    server.broken_from = 4
    done = quick_shell("run", BRIEF, "-m", "test/slow", "--base-url", server.url, "--rounds", "2")
    assert done.returncode == 4
    assert done.stdout == ""
    assert " goes on" in done.stderr
    assert done.stderr.count("autoreason resume") == 1
    server.broken_from = None
    assert quick_shell("resume", "-q").stdout.startswith("# ")


def test_a_panel_that_cannot_vote_prints_no_text_and_can_go_on(
    quick_shell: Shell, server: Server
) -> None:
    server.gate.set()
    server.judges_vote = False
    model = ("-m", "test/slow", "--base-url", server.url)
    done = quick_shell("run", BRIEF, *model, "--rounds", "5", *VOTES)
    assert done.returncode == 5
    assert done.stdout == ""
    assert "2 passes in a row decided nothing" in " ".join(done.stderr.split())
    assert "autoreason resume" in done.stderr
    (row,) = json.loads(quick_shell("runs", "--json").stdout)
    assert (row["status"], row["trajectory"]) == ("panel_failed", ["?", "?"])
    server.judges_vote = True
    assert quick_shell("resume", "-q").stdout.startswith("# ")


def test_a_limit_that_no_first_pass_fits_into_is_refused_before_anything_is_asked(
    quick_shell: Shell,
) -> None:
    done = quick_shell("run", BRIEF, *FAST, "--call-limit", "18")
    assert (done.returncode, done.stdout) == (2, "")
    needed = (
        "--call-limit is 18, and this run needs at least 19; "
        "give so many, or lower `reviewers` or `confirmation`"
    )
    assert needed in done.stderr
    assert not quick_shell.journal.exists()
    dry = quick_shell("run", BRIEF, *FAST, "--call-limit", "18", "--dry-run")
    assert f"a real run would be refused: {needed}" in dry.stderr
    enough = quick_shell("run", BRIEF, *FAST, "--call-limit", "19", "-q")
    assert "this run needs" not in enough.stderr
    assert json.loads(quick_shell("show", "--json").stdout)["passes"]


def test_a_dry_run_calls_and_writes_nothing_and_says_what_a_real_one_lacks(
    quick_shell: Shell, server: Server
) -> None:
    address = ("-m", "test/slow", "--base-url", server.url)
    done = quick_shell("run", BRIEF, *address, "--dry-run")
    assert done.returncode == 0
    assert BRIEF in done.stdout
    assert "most likely about" in done.stdout
    assert "cost       unknown" in done.stdout
    assert server.asked == 0
    assert not quick_shell.journal.exists()
    done = quick_shell("run", BRIEF, "-m", "local/smollm2", "--dry-run")
    assert done.returncode == 0
    assert "autoreason: a real run would be refused: local/smollm2 " in done.stderr


def test_a_switch_that_does_nothing_or_leaves_texts_unranked_is_named(inside: Inside) -> None:
    said = inside("run", BRIEF, "-m", "echo/echo", "--strategy", "single", "--set", "candidates=B")
    assert said.status == 0
    assert "`candidates` does nothing in single; leave it out" in " ".join(said.err.split())
    dry = inside("run", BRIEF, "-m", "echo/echo", "--set", "plateau_change=0.2", "--dry-run")
    assert "`plateau_change` does nothing without `plateau`" in " ".join(dry.err.split())
    for change, room in (("review_every=7", 0), ("review_every=8", 9), ("ballot_texts=3", 5)):
        dry = inside("run", BRIEF, "-m", "echo/echo", "--set", change, "--dry-run")
        warning = f"a review has room for {room} texts, {room - 2} of them new" if room else ""
        assert warning in " ".join(dry.err.split())
        assert bool(dry.err) is bool(room)


def test_one_judge_is_announced_run_and_reported_as_no_panel(inside: Inside) -> None:
    rules = ("--judges", "1", "--set", "plateau=3")
    dry = " ".join(inside("run", BRIEF, *FAST, *rules, "--dry-run").out.split())
    assert f"judges {ONE_VOTE}; " in dry
    once = inside("run", BRIEF, "-m", "echo/echo", "--rounds", "1", "--dry-run").out
    assert "none in a round; 7 in a review at the end; 9 fresh" in " ".join(once.split())
    two = inside("run", BRIEF, "-m", "echo/echo", "--set", "ballot_texts=5", "--dry-run").out
    said = " ".join(two.split())
    stages = "7 in a review every 5 rounds, 8 in two stages where it has more than 5 texts; 9 fresh"
    assert stages in said
    assert "first again; where a round" in said
    assert "plateau 3" in dry
    done = inside("run", BRIEF, *FAST, "--judges", "1", "--progress", "lines")
    said = " ".join(done.err.split())
    assert "Judges one in each round; a single vote is not evidence" in said
    shown = " ".join(inside("show", "--evidence").out.split())
    assert f"Panel {ONE_VOTE}" in shown


def test_effort_is_set_for_all_roles_or_for_one(quick_shell: Shell) -> None:
    given = ("--effort", "high", "--set", "judge_effort=low", "--dry-run", "--json")
    settings = json.loads(quick_shell("run", BRIEF, *FAST, *given).stdout)["settings"]
    assert [settings[f"{role}_effort"] for role in ("author", "critic", "judge")] == [
        *("high", "high", "low")
    ]


def test_a_reader_that_leaves_early_is_no_accident(shell: Shell) -> None:
    running = shell.start("run", BRIEF, *FAST, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    said = running.stderr.read()
    running.stderr.close()
    running.wait(60)
    assert "Traceback" not in said
    assert "Exception ignored" not in said


def test_a_log_that_goes_away_does_not_end_the_run(shell: Shell) -> None:
    running = shell.start("run", BRIEF, *FAST, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stderr is not None
    running.stderr.close()
    assert running.stdout is not None
    text = running.stdout.read()
    running.stdout.close()
    assert running.wait(60) == 0
    assert text.startswith("# ")


def test_a_text_that_breaks_its_contract_is_reported_to_programs(quick_shell: Shell) -> None:
    (quick_shell.home / "draft.md").write_text("A draft.")
    broken = ("--draft", "draft.md", "--must-include", "unicorn", "--json", "-q")
    done = quick_shell("run", BRIEF, *FAST, *broken)
    assert done.returncode == 0
    assert json.loads(done.stdout)["violations"] == ["“unicorn” is missing"]
    assert done.stderr.startswith("autoreason: the text breaks a limit (“unicorn” is missing)")
    assert done.stderr.count("\n") == 1


def test_a_broken_contract_is_a_failure_where_that_is_asked_for(quick_shell: Shell) -> None:
    strict = ("-q", "--fail-on-contract")
    done = quick_shell("run", BRIEF, *FAST, *strict, "--must-include", "unicorn")
    assert done.returncode == 6
    assert done.stdout.startswith("# ")
    assert quick_shell("run", BRIEF, *FAST, *strict, "--max-words", "5000").returncode == 0
    forked = quick_shell("fork", "last", *strict, "--must-include", "unicorn", "--rounds", "1")
    assert forked.returncode == 6
    spent = ("--call-limit", "1", "--must-include", "unicorn", *NO_END)
    assert quick_shell("run", BRIEF, *FAST, *strict, *spent).returncode == 3
    assert quick_shell("resume", *strict, "--call-limit", "99").returncode == 6


RUN = ("run", BRIEF, *FAST, "-q")
FULL = "cannot write to standard output: No space left on device"


@pytest.mark.parametrize(
    ("command", "redirections", "status", "said"),
    [
        (RUN, ">/dev/full", 1, f"{FULL}; the result is"),
        (RUN, ">&-", 0, ""),
        (RUN, "<&-", 0, ""),
        (RUN, "<&- >&- 2>&-", 0, ""),
        (("runs", "--json"), ">/dev/full", 1, f"autoreason: {FULL}\n"),
    ],
)
def test_streams_that_cannot_be_used(
    shell: Shell, command: tuple[str, ...], redirections: str, status: int, said: str
) -> None:
    line = f"{shlex.join(shell.command(*command))} {redirections}"
    where: Any = {"env": shell.environment, "cwd": shell.home, "timeout": PATIENCE}
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, **where)
    assert done.returncode == status
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)


def test_no_control_characters_reach_a_line_or_a_terminal_in_name_only(quick_shell: Shell) -> None:
    dumb = quick_shell("run", BRIEF, *FAST, TERM="dumb", FORCE_COLOR="1")
    assert "\x1b[?25l" not in dumb.stderr
    done = quick_shell("run", "Write \x1b[31mred\x07 tides", *FAST)
    assert done.returncode == 0
    assert "Write [31mred tides" in done.stderr
    assert "\x1b" not in done.stderr
    assert "\x1b" not in quick_shell("runs").stdout + quick_shell("show").stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_has_a_status_of_its_own_and_the_run_goes_on(
    shell: Shell, small_disk: Path
) -> None:
    journal = ("--journal", str(small_disk / "journal.db"))
    brief = "Write about tides and boats, with every harbour in between. " * 400
    ended = shell("run", brief, *FAST, "-q", "--rounds", "30", "-k", "30", *journal)
    assert ended.returncode == 7
    assert ended.stdout == ""
    assert "no space is left for" in ended.stderr
    assert ended.stderr.count("\n") == 1
    subprocess.check_output(["mount", "-o", "remount,size=30m", str(small_disk)])
    gone_on = shell("resume", "-q", "--rounds", "2", *journal)
    assert gone_on.returncode == 0, gone_on.stderr
    assert shell("runs", "check", *journal).returncode == 0


def test_a_time_limit_pauses_a_run_and_counts_what_was_worked_before(quick_shell: Shell) -> None:
    done = quick_shell("run", BRIEF, *FAST, "--time-limit", "0.001s")
    assert done.returncode == 3
    # Reached before the first call, or too little of it left for a pass: as fast as the machine is.
    assert "--time-limit" in " ".join(done.stderr.split())
    again = quick_shell("resume", "-q")
    assert again.returncode == 3, "the limit is over the whole run"
    assert quick_shell("resume", "-q", "--time-limit", "1h").returncode == 0


def test_run_and_show_write_the_same_page(inside: Inside) -> None:
    ran = inside("run", BRIEF, *FAST, "--html", "run.html")
    shown = inside("show", "--html", "show.html")
    pages = [(inside.folder / name).read_text("utf-8") for name in ("run.html", "show.html")]
    assert pages[0] == pages[1]
    assert "How it got there" in pages[0]
    assert ran.out.strip().splitlines()[0].lstrip("# ") in pages[0]
    assert (shown.out, shown.err) == ("", "written to show.html\n")


def test_what_leaves_this_machine_is_said_however_quiet(inside: Inside) -> None:
    (inside.folder / "kb" / "facts").mkdir(parents=True)
    (inside.folder / "kb" / "facts" / "a.md").write_text("The tower has 112 steps.")
    inside.write("mine.py", _OWN_MODEL)
    known: tuple[str, ...] = ("--knowledge", "kb", "-q")
    assert inside("run", BRIEF, *FAST, *known).err == ""
    known = (*known, "-m", "mine.py:Mine/x")
    for done in (
        inside("run", BRIEF, *FAST, *known),
        inside("run", BRIEF, *FAST, *known, "--call-limit", "4", *NO_END),
        inside("resume", "-q", "--call-limit", "200"),
    ):
        assert re.match(r"1 record, 5 words of kb goes to \S*mine.py:Mine\n", done.err)


_OWN_MODEL = """
from autoreason.models.doubles import EchoModel


class Mine(EchoModel):
    def __init__(self, address):
        super().__init__()
        self.address = address
"""
