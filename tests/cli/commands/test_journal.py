"""`runs`, `show`, `fork`, `export`, `replay`, `guide`: what can be done with a record."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

from tests.cli.conftest import BRIEF, FAST, VOTES, Shell
from tests.journal.samples import create_run

from autoreason.events import PassStarted
from autoreason.journal import Journal


def test_runs_are_listed(finished: Shell) -> None:
    (row,) = json.loads(finished("runs", "--json").stdout)
    listed = finished("runs").stdout
    assert row["run"] in listed
    assert row["title"].split()[0] in listed
    heading, line, *_, total = listed.splitlines()
    assert "outcome" in heading
    marks = {"A": "■", "B": "▲", "AB": "◆"}
    assert f"  {''.join(marks[won] for won in row['trajectory'])}  " in line
    assert row["status"] in ("converged", "capped")
    assert len(row["trajectory"]) == row["passes"]
    assert total.startswith(f"1 run: {row['calls']} calls, ")


def test_no_runs_yet_is_no_mistake(quick_shell: Shell) -> None:
    done = quick_shell("runs")
    assert done.returncode == 0
    assert "no runs yet" in done.stderr
    assert json.loads(quick_shell("runs", "--json").stdout) == []


def test_show_is_a_line_for_each_round_and_evidence_in_the_letters_of_the_paper(
    finished: Shell,
) -> None:
    title, first, why, blank, *rounds, end, more = finished("show").stdout.splitlines()
    assert re.search(r" · [a-z]+-[a-z]+ · ", title)
    assert first.endswith(".")
    assert (why, blank, end) == ("Stopped after 2 rounds, the most allowed.", "", "")
    assert rounds[0].startswith("○ first draft  ")
    assert [line[2:9].strip() for line in rounds[1:]] == ["round 1", "round 2", "review"]
    assert more.endswith(" · --evidence · --html run.html")
    shown = finished("show", "--evidence").stdout
    for part in ("Pass 1", "critique", "judge 1", "verdict", "Review after pass 2", "Took"):
        assert part in shown


def test_show_one_round_in_full(finished: Shell) -> None:
    reviewed = finished("show", "last", "--round", "2").stdout
    assert "Review after it: " in reviewed
    assert finished("run", BRIEF, *FAST, *VOTES, "-q").returncode == 0
    shown = finished("show", "last", "--round", "1").stdout
    for part in ("Round 1: ", "The rewrite, ", "what it changes", "Judges, best first", "judge 1"):
        assert part in shown
    assert not re.search(r"\b(A|B|AB|[Pp]ass|ballots?)\b", shown + reviewed)
    assert finished("show", "--round", "99").returncode == 2


def test_export_refuses_a_folder_in_use_and_replay_gives_the_same_events(finished: Shell) -> None:
    assert finished("export", "last", "out").returncode == 0
    assert (finished.home / "out" / "final.md").exists()
    assert finished("export", "last", "out").returncode == 2
    assert finished("export", "last", "out", "--force").returncode == 0
    done = finished("runs", "check", "last")
    assert done.returncode == 0
    assert "the same" in done.stdout
    assert finished("runs", "check", "last").stdout == done.stdout
    assert json.loads(finished("runs", "check", "last", "--json").stdout)["same"] is True


def test_a_finished_run_takes_no_commands(finished: Shell) -> None:
    for said in ("x", "accept", "stop"):
        done = finished("tell", "last", said)
        assert done.returncode == 2
        assert "is finished" in done.stderr


def test_guidance_for_a_paused_run_is_kept(paused: Shell) -> None:
    assert "there is no live run" in paused("tell", "mind the end").stderr
    assert "put quotes around it" in paused("tell", "last", "mind", "it").stderr
    done = paused("tell", "last", "-", stdin="mind the second paragraph\n")
    assert done.returncode == 0
    assert "will read it, with the text so far; it is not under way: " in done.stderr
    assert paused("resume", "--call-limit", "500", "-q").returncode == 0
    assert "mind the second paragraph" in paused("show", "--json").stdout


def test_a_run_that_was_accepted_is_not_said_to_be_stopped(paused: Shell) -> None:
    paused("tell", "last", "accept")
    with Journal.open(str(paused.journal), create=False) as journal:
        run = journal.find("last").id
        with journal.lock(run):
            done = paused("tell", "last", "stop")
            assert done.returncode == 0
            assert "was accepted already, and ends with what it has" in done.stderr
            assert [each.kind for each in journal.pending_commands(run)] == ["accept"]
    assert f"kept for `autoreason resume {run}`" in paused("tell", "last", "stop").stderr


def test_an_accept_that_came_before_any_text_does_not_keep_a_run_from_being_stopped(
    paused: Shell,
) -> None:
    paused("tell", "last", "accept")
    with Journal.open(str(paused.journal), create=False) as journal:
        run = journal.find("last").id
        journal.take_command(run)
        with journal.lock(run):
            assert "it stops once" in paused("tell", "last", "stop").stderr


def test_a_paused_run_cannot_be_stopped_but_accepted(paused: Shell) -> None:
    done = paused("tell", "last", "stop")
    assert done.returncode == 2
    assert "autoreason resume" in done.stderr
    assert "kept for `autoreason resume" in paused("tell", "last", "accept").stderr
    done = paused("resume", "--call-limit", "500", "--json", "-q")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "accepted")


def test_the_shell_completes_names_of_runs(paused: Shell) -> None:
    (row,) = json.loads(paused("runs", "--json").stdout)
    done = Shell(paused.home)(
        _AUTOREASON_COMPLETE="bash_complete", COMP_WORDS="autoreason show 2", COMP_CWORD="2"
    )
    assert done.stdout == f"plain,{row['run']}\n"


def test_resume_without_a_name_skips_a_run_of_which_nothing_is_recorded(paused: Shell) -> None:
    with Journal.open(str(paused.journal), create=False) as journal:
        create_run(journal, "29991231-empty-run", "Nothing")
    assert paused("resume", "--call-limit", "500", "-q").returncode == 0


def test_a_damaged_run_does_not_hide_the_others(finished: Shell) -> None:
    with Journal.open(str(finished.journal), create=False) as journal:
        create_run(journal, "29991231-bad-run", "Torn")
        journal.append("29991231-bad-run", PassStarted(number=1, words=3))
    done = finished("runs")
    assert done.returncode == 0
    assert "Damaged" in done.stdout
    torn, whole = json.loads(finished("runs", "--json").stdout)
    assert whole["title"].split()[0] in done.stdout
    assert (torn["status"], torn["trajectory"]) == ("damaged", None)
    assert whole["trajectory"]
    shown = finished("show", "bad-run")
    assert shown.returncode == 2
    assert "pass 1 begins without a text" in shown.stderr


def hours_later(shell: Shell) -> None:
    """Make all that is recorded three hours older, and its beginning ten minutes more."""
    with closing(sqlite3.connect(shell.journal)) as book, book:
        for table in ("events", "replies"):
            then = "strftime('%Y-%m-%dT%H:%M:%S+00:00', at, '-3 hours')"
            book.execute(f"UPDATE {table} SET at = {then}")
        first = "strftime('%Y-%m-%dT%H:%M:%S+00:00', at, '-10 minutes')"
        book.execute(f"UPDATE events SET at = {first} WHERE seq = 1")


def test_times_count_every_process_and_no_pause(paused: Shell) -> None:
    hours_later(paused)
    resumed = paused("resume", "--call-limit", "500")
    assert re.match(r"Expect +about \d+ more calls.*; never more than 500 ", resumed.stderr)
    assert re.search(r"^10:\d\d goes on$", resumed.stderr, re.MULTILINE)
    assert re.search(r", 10 min · ", resumed.stderr)
    shown = paused("show", "--evidence").stdout
    assert re.search(r"Took +.*, 10 min \d\d s$", shown, re.MULTILINE)


def test_a_watcher_sees_when_things_happened(paused: Shell) -> None:
    hours_later(paused)
    assert paused("resume", "--call-limit", "500", "-q").returncode == 0
    hours_later(paused)
    shown = paused("show", "--follow", "last", "--progress", "lines").stderr
    assert re.search(r"^0:00 Write about tides", shown, re.MULTILINE)
    assert re.search(r"^20:\d\d goes on$", shown, re.MULTILINE)
    assert ", 20 min · " in shown
