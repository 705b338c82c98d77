"""`host`: tokens out, prompts and answers by token, and a run that waits for neither."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import host_agent
from examples.host_agent import reply_to
from msgspec.structs import replace
from tests.cli.conftest import Shell
from tests.cli.inside import Inside, Said
from tests.cli.test_startup import imported
from tests.patience import processes_with, until

from autoreason.agents import canary
from autoreason.journal import Journal
from autoreason.run.host import LEASE

SHORT = ("--rounds", "1", "--set", "reviewers=3", "--set", "confirmation=3", "--seed", "7")
LIMIT = ("--call-limit", "40")
START = ("host", "start", "Explain tides.", *LIMIT, *SHORT)


class Desk:
    """What an agent does with the commands."""

    def __init__(self, inside: Inside, patch: pytest.MonkeyPatch) -> None:
        self.inside, self._patch = inside, patch

    def answer(self, token: str, text: str) -> Said:
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return self.inside("host", "answer", token)

    def play(self, run: str, *options: str) -> Said:
        """Answer whatever is open until the run is done."""
        while not (said := self.inside("host", "next", run, "--json", *options)).json["done"]:
            for token in said.json["open"]:
                prompt = self.inside("host", "take", token).out
                assert self.answer(token, reply_to(prompt)).out == "recorded\n"
        return said


@pytest.fixture
def desk(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(inside, monkeypatch)


def test_a_whole_run_is_answered_by_token(desk: Desk, inside: Inside) -> None:
    began = inside(*START, "--json").json
    assert began.keys() == {"run", "status", "open", "done", "says"}
    assert (began["status"], began["done"]) == ("waiting", False)
    assert began["says"] == "1 question to be answered"
    (token,) = began["open"]
    assert re.fullmatch(r"[a-z2-9]{12,}", token)
    assert inside("host", "take", token, "--json").json.keys() == {"text", "page", "pages"}
    assert inside("host", "take", token).sentence.startswith("this question is taken; ")
    open_now = inside("host", "next", began["run"])
    assert (open_now.status, open_now.out) == (0, "")
    assert "1 taken but not answered yet" in open_now.err
    assert desk.answer(token, "").sentence.startswith("the answer is empty")
    assert desk.answer(token, "The moon pulls the sea up and lets it go.").out == "recorded\n"
    (again,) = inside("host", "next", began["run"]).out.split()
    assert again != token
    done = desk.play(began["run"], "-o", "tides.md").json
    assert (done["status"], done["open"], done["path"]) == ("capped", [], "tides.md")
    assert (inside.folder / "tides.md").read_text() == done["text"] + "\n"
    # Once more, it is still the result.
    plain = inside("host", "next", began["run"])
    assert plain.out.strip() == done["text"]
    assert "cost unknown" in plain.err
    shown = inside("show", "--json").json
    assert (shown["cost"], shown["spent"]["unmetered"]) == (None, shown["spent"]["calls"])
    assert shown["settings"]["passes"] == 1
    assert not shown["settings"]["early_stop"]


def test_what_is_checked_is_said_before_the_first_question_is_answered(
    desk: Desk, inside: Inside
) -> None:
    brief = "Explain tides to visitors, at most 80 words. 3 titles, max. 9 words each."
    start = ("host", "start", brief, *LIMIT, *SHORT)
    began = inside(*start, "--json").json
    assert began["limits"] == ["At most 80 words."]
    (unread,) = began["not_understood"]
    assert "9 words" in unread
    said = inside(*start).err
    assert "limits: At most 80 words." in said
    assert f"not understood as limits: {unread}" in said
    assert re.search("; then autoreason host next [0-9]+-[a-z]+-[a-z]+", said)
    (token,) = began["open"]
    inside("host", "take", token)
    desk.answer(token, "The moon pulls the sea up and lets it go.")
    assert "limits" not in inside("host", "next", began["run"], "--json").json


def test_what_a_host_says_of_itself_is_marked_as_that(desk: Desk, inside: Inside) -> None:
    run = inside(*START, "--name", "opus-4.5", "--json").json["run"]
    desk.play(run)
    inside("show", "--html", "page.html")
    said = "host/opus-4.5, as its host states it; temperature not controlled"
    assert said in (inside.folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Explain tides.", "--call-limit", "3"), "this run needs at least"),
        (("Explain tides.", *LIMIT, "--name", "a b"), "write host/NAME"),
        (("Explain tides.", *LIMIT, "--cost-limit", "1"), "the price of host/agent is not known"),
        (("absent.md", *LIMIT), "absent.md"),
    ],
)
def test_what_could_only_fail_is_refused(
    inside: Inside, arguments: tuple[str, ...], said: str
) -> None:
    assert "Missing option '--call-limit'" in inside("host", "start", "Explain tides.").err
    refused = inside("host", "start", *arguments)
    assert refused.status == 2
    assert said in refused.sentence
    assert not inside.journal_exists


def test_a_dry_run_asks_nothing(inside: Inside) -> None:
    said = inside(*START, "--dry-run", "--json").json
    assert said["settings"]["models"]["author"] == "host/agent"
    assert not inside.journal_exists


def test_other_commands_end_as_waiting_and_resume_goes_on(desk: Desk, inside: Inside) -> None:
    for name, text in {"one.md": "The sea rises.", "two.md": "Tides are slow."}.items():
        inside.write(name, text)
    waits = inside("judge", "Explain tides.", "one.md", "two.md", "-m", "host/agent", "-q")
    assert (waits.status, waits.out) == (0, "")
    assert re.search(r"waiting: 7 questions were asked; `autoreason host next", waits.err)
    (row,) = inside("runs", "--status", "waiting", "--json").json
    assert (row["status"], row["outcome"]) == ("waiting", "waiting")
    tokens = inside("host", "next", row["run"]).out.split()
    for token in tokens:
        assert desk.answer(token, reply_to(inside("host", "take", token).out)).status == 0
    assert inside("resume", "--json").json["report"]["ballots"] == 7
    again = inside("host", "next", row["run"], "--json").json
    assert again["done"]
    assert "All judges are host/agent, asked 7 times" in again["text"]


def test_run_prints_no_text_while_it_waits(inside: Inside) -> None:
    said = inside(
        "run", "Explain tides.", "-m", "host/agent", "--draft", inside.write("a.md", "A.")
    )
    assert (said.status, said.out) == (0, "")
    assert "1 question was asked; `autoreason host next" in said.err
    assert inside("show").status == 0


@pytest.mark.parametrize(
    "command",
    [
        ("certify", "host/agent"),
        ("advise", "Explain tides.", "-m", "host/agent"),
        ("solve", str(Path(host_agent.__file__).with_name("problem.json")), "-m", "host/agent"),
    ],
)
def test_every_job_can_wait(inside: Inside, command: tuple[str, ...]) -> None:
    said = inside(*command, "-q")
    assert (said.status, said.out) == (0, ""), said.err
    assert " asked; `autoreason host next" in said.err


def test_what_an_answer_costs_is_unknown_from_the_first_question_on(inside: Inside) -> None:
    run = inside(*START, "--json").json["run"]
    listed = inside("runs")
    assert "$0.00" not in listed.out + listed.err
    assert [row["cost"] for row in inside("runs", "--json").json] == [None]
    assert "0 calls, cost unknown" in inside("show", run).out
    inside("export", "--site", "site", "--all")
    assert "$0.00" not in (inside.folder / f"site/runs/{run}.html").read_text()
    (sums,) = re.findall("[^>]*</b> spent[^<]*", (inside.folder / "site/index.html").read_text())
    assert sums == "$0.00</b> spent, and 1 run of unknown cost"


def test_a_person_who_accepts_ends_a_run_that_waits(desk: Desk, inside: Inside) -> None:
    began = inside(*START, "--json").json
    (token,) = began["open"]
    inside("host", "take", token)
    desk.answer(token, "The moon pulls the sea.")
    inside("host", "next", began["run"])
    inside("tell", began["run"], "accept")
    assert inside("host", "next", began["run"]).out == "The moon pulls the sea.\n"


def test_a_run_under_way_is_left_to_its_process(inside: Inside) -> None:
    run = inside(*START, "--json").json["run"]
    with (
        Journal.open(str(inside.folder / "journal.db"), create=False) as journal,
        journal.lock(run),
    ):
        found = inside("host", "next", run, "--json").json
    assert found["status"] == "live"
    assert found["says"].startswith("a process works on this run")
    assert len(found["open"]) == 1


def test_reading_and_answering_load_little_more_than_listing_does(shell: Shell) -> None:
    began = shell(*START, "--json")
    token = re.findall(r'"([a-z2-9]{12,})"', began.stdout)[0]
    journal = ("--journal", str(shell.journal))
    loaded: dict[str, Any] = {"take": imported("host", "take", token, *journal)}
    assert shell("host", "take", token).returncode == 2
    loaded["runs"] = imported("runs", *journal)
    assert loaded["take"].isdisjoint({"aiohttp", "jinja2", "rich", "yaml"})
    assert len(loaded["take"]) < len(loaded["runs"])
    assert LEASE == 900


@pytest.mark.slow
def test_the_scripted_agent_plays_a_run_through_the_real_commands(shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, host_agent.__file__, "Explain tides.", *LIMIT, *SHORT],
        env=shell.environment,
        cwd=shell.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("the most allowed")


# ---- is a judge blind here? --------------------------------------------------------------------


def put_word(desk: Desk, *options: str) -> str:
    """The test word that a session which begins now is shown."""
    inside = desk.inside
    if not (inside.folder / "CLAUDE.md").exists():
        inside.write("CLAUDE.md", "Short texts.")
    said = inside("host", "check", "CLAUDE.md", "--yes", *options)
    (word,) = re.findall(r"canary-[0-9a-f]{8}", (inside.folder / "CLAUDE.md").read_text())
    # Else the one who begins the check would know it without being shown it.
    assert word not in said.out + said.err
    return str(word)


def ask(desk: Desk, word: str) -> tuple[str, str]:
    """The run of a check, and its token."""
    begun = desk.inside("host", "check", "--word", word, "--json").json
    (token,) = begun["open"]
    assert word not in desk.inside("host", "take", token).out
    return begun["run"], token


def restored(desk: Desk) -> bool:
    return (desk.inside.folder / "CLAUDE.md").read_text() == "Short texts."


@pytest.mark.parametrize(
    ("answer", "found"),
    [("{}", "seen"), ("NONE", "not seen")],
)
def test_a_check_says_whether_a_fresh_context_sees_the_instructions(
    desk: Desk, inside: Inside, answer: str, found: str
) -> None:
    word = put_word(desk)
    run, token = ask(desk, word)
    assert "cannot be read" in desk.answer(token, "I cannot say.").sentence
    desk.answer(token, answer.format(word))
    until(lambda: restored(desk))
    assert inside("host", "next", run, "--json").json["done"]
    assert f"Found {found}, as one context says" in " ".join(
        inside("show", run, "--evidence").out.split()
    )
    # Every run that begins here from now on has it; of another host nothing is known.
    for name, says in (("agent", found), ("other", "not tested")):
        begun = inside(*START, "--name", name, "--json").json["run"]
        model = f"host/{name}, as its host states it; temperature not controlled"
        said = inside("show", begun, "--evidence").out
        assert f"{model}; project instructions {says}" in " ".join(said.split())


@pytest.mark.parametrize("found", ["not seen", "not tested"])
def test_every_report_of_a_suite_has_what_a_check_found(
    desk: Desk, inside: Inside, found: str
) -> None:
    if found == "not seen":
        checked, token = ask(desk, put_word(desk))
        desk.answer(token, "NONE")
        inside("host", "next", checked)
    ways = ("--strategies", "critique_revise,single", "--rounds", "1", "--repeats", "1")
    waits = inside("compare", "Explain tides.", "-m", "host/agent", *ways, "-q").err
    (run,) = re.findall(r"host next ([\w-]+)", waits)
    desk.play(run)
    says = f"host/agent, as its host states it; temperature not controlled; project instructions {found}"
    for command in (("show", run), ("show", f"{run}.0002"), ("lab", "report", run)):
        evidence = ("--evidence",) if command[0] == "show" else ()
        shown = " ".join(inside(*command, *evidence).out.split())
        assert shown.count(says) == 1, command
        inside(*command, "--html", "page.html")
        assert (inside.folder / "page.html").read_text().count(says) == 1, command
        assert says in inside(*command, "--json").out, command
    assert inside("show", run, "--report", "found").status == 0
    for name in ("report.html", "report.json", "report.md"):
        assert (inside.folder / "found" / name).read_text().count(says) == 1, name


def end_its_time(desk: Desk, _: str) -> None:
    (begun,) = canary._pending()
    canary._keep(replace(begun, until=time.time() + 0.1))
    until(lambda: restored(desk))


def take_the_word_out(desk: Desk, _: str) -> None:
    desk.inside.write("CLAUDE.md", "Short texts.")


def answer_in_another_session(desk: Desk, word: str) -> None:
    _, other = ask(desk, word)
    desk.answer(other, word)


@pytest.mark.parametrize("end", [end_its_time, take_the_word_out, answer_in_another_session])
def test_an_answer_after_the_check_is_over_tests_nothing(
    desk: Desk, inside: Inside, end: Callable[[Desk, str], None]
) -> None:
    word = put_word(desk)
    run, token = ask(desk, word)
    end(desk, word)
    until(lambda: not canary._pending())
    assert "answered already" in desk.answer(token, "NONE").sentence
    inside("host", "next", run)
    assert "is not known" in inside("show", run).out


def test_nothing_is_written_without_a_yes_and_nothing_asked_without_the_word(
    inside: Inside,
) -> None:
    inside.write("CLAUDE.md", "Short texts.")
    assert "ask the user, then add --yes" in inside("host", "check", "CLAUDE.md").sentence
    assert "no check waits" in inside("host", "check", "--word", "canary-01234567").sentence
    assert "give either" in inside("host", "check").sentence
    assert (inside.folder / "CLAUDE.md").read_text() == "Short texts."
    assert not inside.journal_exists


def test_the_next_command_takes_out_what_a_killed_process_left(desk: Desk, inside: Inside) -> None:
    word = put_word(desk)
    (watcher,) = processes_with(word)
    os.kill(watcher, signal.SIGKILL)
    until(lambda: inside("host", "next", "none").status == 2 and restored(desk))
    assert "no check waits" in inside("host", "check", "--word", word).sentence


def test_one_context_is_said_first_everywhere(desk: Desk, inside: Inside) -> None:
    first = "not blind: one context wrote and judged"
    begun = inside(*START, "--one-context", "--json").json
    done = desk.play(begun["run"]).json
    assert done["says"].startswith(first)
    shown = inside("show", begun["run"], "--json").json
    assert shown["summary"][0] == "Not blind: one context wrote and judged."
    assert inside("show", begun["run"]).out.count("ot blind: one context") == 1
    evidence = " ".join(inside("show", begun["run"], "--evidence").out.split())
    assert evidence.count("ot blind: one context") == 2
    inside("show", begun["run"], "--html", "page.html")
    assert first in (inside.folder / "page.html").read_text().replace("Not", "not")
    blind = inside(*START, "--one-context", "--judge-model", "echo/echo", "--json").json
    assert "blind" not in blind["says"]
    both = inside(*START, "--one-context", "--judge-model", "host/other", "--json").json
    assert desk.play(both["run"]).json["says"].startswith(first)
