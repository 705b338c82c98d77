"""Sentences on standard error: whole words on a terminal, one line in a file."""

from __future__ import annotations

import sys

import pytest
from tests.cli.views.test_plain import Tty

from autoreason.cli.views.outcome import print_message

SENTENCE = "autoreason: cannot write /a/path-wider-than/the-terminal: it is full; name another"


def test_on_a_terminal_words_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stderr", out := Tty())
    print_message(SENTENCE)
    assert out.getvalue().split() == SENTENCE.split()
    assert all(len(line) <= 30 or " " not in line for line in out.getvalue().splitlines())


def test_in_a_file_it_is_one_line_without_controls(capsys: pytest.CaptureFixture[str]) -> None:
    print_message(f"{SENTENCE}\x1b")
    assert capsys.readouterr().err == f"{SENTENCE}\n"
