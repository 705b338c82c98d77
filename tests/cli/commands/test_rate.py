"""`rate new`, `rate serve` and `rate report`, as they are typed."""

from __future__ import annotations

import json
import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.conftest import BRIEF, FAST, VOTES, Shell
from tests.cli.conftest import quick_shell as shell
from tests.cli.test_terminal import Terminal

from autoreason.studies.rating_packet import (
    LINES,
    RankingClick,
    ScoreClick,
    open_sheet,
    opening,
    read_packet,
    unseal,
)

__all__ = ["shell"]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXTS = {"a.md": "The first text.", "b.md": "A second text.", "c.md": "And a third."}


@pytest.fixture
def files(shell: Shell) -> Shell:
    (shell.home / "brief.md").write_text("---\nmax_words: 9\n---\nWrite a line.\n")
    for name, text in TEXTS.items():
        (shell.home / name).write_text(text)
    return shell


@pytest.fixture
def packet(files: Shell) -> Shell:
    done = files("rate", "new", "study", "--brief", "brief.md", *TEXTS, "--seed", "7")
    assert done.returncode == 0, done.stderr
    return files


def rate(folder: Path, person: str, *ranking: str) -> None:
    key = unseal((folder / "key.sealed").read_bytes())
    codes = {name: code for code, name in key.tasks[0].names.items()}
    page = open_sheet(folder, read_packet(folder), person, NOW)
    page.add(RankingClick(0, tuple(codes[name] for name in ranking)), NOW)
    for place, name in enumerate(ranking):
        for line in LINES:
            page.add(ScoreClick(codes[name], line, 5 - place), NOW)


class Keyboard(Terminal):
    """A terminal at which somebody types."""

    def type(self, keys: str) -> None:
        os.write(self._file, keys.encode())


def refused(shell: Shell, *arguments: str) -> str:
    done = shell("rate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_packet_is_made_the_next_step_named_and_a_text_that_gives_itself_away_pointed_out(
    files: Shell,
) -> None:
    done = files("rate", "new", "study", "--brief", "brief.md", *TEXTS)
    assert done.returncode == 0
    assert "3 texts for 1 task in study, under codes" in done.stderr
    assert "next: autoreason rate serve study" in done.stderr
    assert not any(name in done.stderr for name in TEXTS)
    (files.home / "d.md").write_text("Here is the revised version:\n\nA line.")
    done = files("rate", "new", "other", "--brief", "brief.md", "a.md", "d.md")
    assert done.returncode == 0
    assert "note: d.md may tell raters how it was written" in done.stderr


def test_a_run_gives_its_first_draft_and_what_it_delivered(shell: Shell) -> None:
    assert shell("run", BRIEF, *FAST, "-q", "--seed", "5").returncode == 0
    story = json.loads(shell("show", "--json").stdout)
    assert story["draft"]["text"].split() != story["text"].split()
    assert shell("rate", "new", "study", "--run", "last").returncode == 0
    folder = shell.home / "study"
    (names,) = (task.names for task in unseal((folder / "key.sealed").read_bytes()).tasks)
    texts = {name: (folder / "task-1" / f"{code}.md").read_text() for code, name in names.items()}
    assert texts["draft"].strip() == story["draft"]["text"].strip()
    assert texts["delivered"].strip() == story["text"].strip()
    assert BRIEF in (folder / "task-1" / "brief.md").read_text()


def test_a_key_is_not_opened_without_being_asked_to_or_for_a_panel_that_cannot_be_read(
    packet: Shell,
) -> None:
    rate(packet.home / "study", "Anna", "c.md", "a.md", "b.md")
    assert "give --yes" in refused(packet, "report", "study")
    assert opening(packet.home / "study") is None
    (packet.home / "panel.json").write_text("{")
    said = refused(packet, "report", "study", "--yes", "--panel", "panel.json")
    assert "panel panel.json needs " in said
    assert opening(packet.home / "study") is None


def test_a_terminal_asks_and_no_is_no(packet: Shell) -> None:
    rate(packet.home / "study", "Anna", "c.md", "a.md", "b.md")
    for answer, status in (("n", 130), ("y", 0)):
        with closing(Keyboard(packet, ("rate", "report", "study"), 80, NO_PAGER="1")) as asked:
            asked.wait_for("Open the key of study?")
            assert opening(packet.home / "study") is None
            asked.type(f"{answer}\n")
            assert asked.end() == status
            assert ("Krippendorff" in asked.text) == (answer == "y")
    assert opening(packet.home / "study") is not None


def test_a_report_names_the_texts_and_later_ones_do_not_ask(packet: Shell) -> None:
    folder = packet.home / "study"
    rate(folder, "Anna", "c.md", "a.md", "b.md")
    rate(folder, "Ben", "c.md", "b.md", "a.md")
    first = packet("rate", "report", "study", "--yes")
    assert first.returncode == 0, first.stderr
    lines = first.stdout.splitlines()
    named = [line.split()[0] for line in lines if line.startswith(tuple(TEXTS))]
    assert named[:3] == ["c.md", "a.md", "b.md"]
    assert "Anna rated everything; Ben rated everything" in first.stdout
    assert "two people agree on 67 % of pairs of texts" in " ".join(first.stdout.split())
    opened = opening(folder)
    again = packet("rate", "report", "study", "--html", "page.html")
    assert again.stdout == first.stdout
    assert "No text wins beyond chance: c.md is " in first.stdout
    assert "no text wins beyond chance" in (packet.home / "page.html").read_text("utf-8").lower()
    assert opening(folder) == opened


def test_votes_saved_on_the_page_of_a_run_are_compared_with_its_judges(shell: Shell) -> None:
    assert shell("run", BRIEF, *FAST, *VOTES, "-q").returncode == 0
    story = json.loads(shell("show", "--json").stdout)
    ranking = sorted(story["passes"][0]["decided"]["verdict"]["scores"])
    votes = {"run": story["run"], "rater": "Ada", "saved": "2026-11-17T12:00:00Z"}
    votes["rounds"] = [{"round": 1, "ranking": ranking}]
    (shell.home / "votes.json").write_text(json.dumps(votes))
    done = shell("rate", "report", "votes.json")
    assert done.returncode == 0, done.stderr
    assert "Ada" in done.stdout
    assert "Round 1" in done.stdout
