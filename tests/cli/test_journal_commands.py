"""`runs`, `show`, `fork`, `export`, `replay`, `guide`: what can be done with a record."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import BRIEF, FAST, Shell


@pytest.fixture
def finished(shell: Shell) -> Shell:
    """A shell with one finished run."""
    assert shell("run", BRIEF, *FAST, "-q").returncode == 0
    return shell


@pytest.fixture
def paused(shell: Shell) -> Shell:
    """A shell with one run that reached its budget in its first pass."""
    assert shell("run", BRIEF, *FAST, "-q", "--max-calls", "3").returncode == 3
    return shell


def test_runs_are_listed(finished: Shell) -> None:
    (row,) = json.loads(finished("runs", "--json").stdout)
    listed = finished("runs").stdout
    assert row["run"] in listed
    assert BRIEF in listed
    assert row["status"] in ("converged", "capped")
    assert len(row["trajectory"]) == row["passes"]


def test_no_runs_yet_is_no_mistake(shell: Shell) -> None:
    done = shell("runs")
    assert done.returncode == 0
    assert "no runs yet" in done.stderr
    assert json.loads(shell("runs", "--json").stdout) == []


def test_show_tells_the_story(finished: Shell) -> None:
    told = finished("show").stdout
    for part in ("Pass 1", "critique", "judge 1", "verdict", "Survival", "Agreement", "Took"):
        assert part in told


def test_show_one_pass_in_full(finished: Shell) -> None:
    told = finished("show", "last", "--pass", "1").stdout
    assert "Pass 1" in told
    assert "── A " in told
    assert finished("show", "--pass", "99").returncode == 2


def test_show_as_json(finished: Shell) -> None:
    told = json.loads(finished("show", "--json").stdout)
    assert told["text"] == told["delivered"]["text"]
    assert told["passes"][0]["ballots"]


def test_show_the_difference(finished: Shell) -> None:
    assert finished("show", "--diff").returncode == 0
    assert finished("show", "--diff", "--text").returncode == 2


def test_fork_begins_from_an_old_text(finished: Shell) -> None:
    (origin,) = json.loads(finished("runs", "--json").stdout)
    forked = json.loads(
        finished("fork", origin["run"], "--pass", "0", "--passes", "1", "--json", "-q").stdout
    )
    story = json.loads(finished("show", forked["run"], "--json").stdout)
    before = json.loads(finished("show", origin["run"], "--json").stdout)
    assert story["forked_from"] == origin["run"]
    assert story["draft"]["given"]
    assert story["draft"]["text"] == before["draft"]["text"].strip()
    assert story["settings"]["passes"] == 1


def test_export_refuses_a_folder_in_use(finished: Shell) -> None:
    assert finished("export", "last", "out").returncode == 0
    assert (finished.home / "out" / "final.md").exists()
    assert finished("export", "last", "out").returncode == 2
    assert finished("export", "last", "out", "--force").returncode == 0


def test_replay_tells_the_same_story(finished: Shell) -> None:
    done = finished("replay", "last")
    assert done.returncode == 0
    assert "the same" in done.stdout
    assert json.loads(finished("replay", "last", "--json").stdout)["same"] is True


@pytest.mark.parametrize("command", [("guide", "last", "x"), ("accept", "last"), ("stop", "last")])
def test_a_finished_run_takes_no_commands(finished: Shell, command: tuple[str, ...]) -> None:
    done = finished(*command)
    assert done.returncode == 2
    assert "is finished" in done.stderr


def test_a_finished_run_cannot_be_resumed(finished: Shell) -> None:
    done = finished("resume", "last")
    assert done.returncode == 2
    assert "fork" in done.stderr


def test_guidance_for_a_paused_run_is_kept(paused: Shell) -> None:
    done = paused("guide", "last", "-", stdin="mind the second paragraph\n")
    assert done.returncode == 0
    assert "kept" in done.stderr
    assert paused("resume", "--max-calls", "500", "-q").returncode == 0
    assert "mind the second paragraph" in paused("show", "--json").stdout


def test_a_paused_run_can_be_accepted(paused: Shell) -> None:
    assert "will end it" in paused("accept", "last").stderr
    done = paused("resume", "--max-calls", "500", "--json", "-q")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "accepted")


def test_a_resumed_run_may_have_other_judges(shell: Shell) -> None:
    shell("run", BRIEF, *FAST, "-q", "--max-calls", "6")
    done = shell("resume", "--max-calls", "500", "--judge-model", "echo/other", "-q")
    assert done.returncode == 0
    passes = json.loads(shell("show", "--json").stdout)["passes"]
    judges = {ballot["model"] for each in passes for ballot in each["ballots"]}
    assert judges == {"echo/echo", "echo/other"}
    assert shell("replay", "last").returncode == 0


def test_a_paused_run_cannot_be_stopped(paused: Shell) -> None:
    done = paused("stop", "last")
    assert done.returncode == 2
    assert "autoreason resume" in done.stderr


def test_a_paused_run_shows_how_to_go_on(paused: Shell) -> None:
    told = paused("show").stdout
    assert "Paused at the budget" in told
    assert "autoreason resume" in told


def test_the_shell_completes_names_of_runs(paused: Shell) -> None:
    (row,) = json.loads(paused("runs", "--json").stdout)
    done = paused(
        _AUTOREASON_COMPLETE="bash_complete", COMP_WORDS="autoreason show 2", COMP_CWORD="2"
    )
    assert done.stdout == f"plain,{row['run']}\n"
