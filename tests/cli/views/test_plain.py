"""Without a terminal, every step is one line."""

from __future__ import annotations

from io import StringIO

import pytest
from tests.cli import made_up
from tests.cli.views.test_live import Clock

from autoreason.cli.views.live import Live
from autoreason.cli.views.plain import Plain
from autoreason.exchange import CallRetried, CallStarted, TextArrived


def test_a_whole_run_is_a_line_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live("amber-fox", clock=Clock()), out)
    events = made_up.whole_run()
    for event in events:
        view.on_event(event)
    lines = out.getvalue().splitlines()
    assert len(lines) == len(events)
    assert lines[0].endswith(
        "A one-page proposal for the town's new library · anthropic/claude-sonnet-4 · robust · seed 4711"
    )
    assert lines[1].endswith("draft: written, 11 words")
    assert any("pass 1: critique: 2 problems" in line for line in lines)
    assert any("pass 1: revision B: 9 words; repaired" in line for line in lines)
    assert any("pass 1: judge 2: A > AB > B" in line for line in lines)
    assert any("playoff: pass 1 AB wins" in line for line in lines)
    assert lines[-1].endswith("converged: A survived 2 passes in a row; delivered is pass 1 AB")


def test_what_was_told_before_a_resume_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = StringIO()
    view = Plain(Live(clock=Clock()), out, skip=2)
    view.on_event(made_up.STARTED)
    view.on_event(made_up.DRAFTED)
    for event in made_up.a_pass(1, "AB", 0, made_up.verdict(6, 8, 4)):
        view.on_event(event)
    lines = out.getvalue().splitlines()
    assert "seed 4711" in lines[0]
    assert "critique" in lines[1]


def test_long_silence_is_broken() -> None:
    clock, out = Clock(), StringIO()
    view = Plain(Live(clock=clock), out)
    view.on_signal(CallStarted("pass/1/judge/1/try/0", "judge", "m"))
    view.on_signal(TextArrived("pass/1/judge/1/try/0", "x" * 400))
    clock.now += 10
    view.refresh()
    assert out.getvalue() == ""
    clock.now += 6
    view.refresh()
    assert "still at work: pass 1, judge for 16 s, about 100 tokens so far" in out.getvalue()
    view.refresh()
    assert len(out.getvalue().splitlines()) == 1


class Tty(StringIO):
    """A terminal on paper."""

    def isatty(self) -> bool:
        """It says so."""
        return True


def test_on_a_terminal_a_long_line_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Tty()
    Plain(Live(clock=Clock()), out).print_note(
        "left out, line 13: it says nothing of what is to be done"
    )
    assert out.getvalue().splitlines() == [
        "  0:00  left out, line 13: it says",
        "        nothing of what is to be done",
    ]


def test_in_a_file_no_line_is_longer_than_is_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = StringIO()
    Plain(Live(clock=Clock()), out).print_note(f"trial 1 kept: +0.5, 1 look; {'a word ' * 20}")
    assert len(lines := out.getvalue().splitlines()) == 3
    assert all(len(line) <= 80 for line in lines)


def test_on_a_terminal_no_word_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out, path = Tty(), "/home/a-user/some/folder/that-is-deep/set.jsonl"
    Plain(Live(clock=Clock()), out).print_note(f"read {path} now")
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["0:00", "read"],
        [path],
        ["now"],
    ]


def test_trouble_is_worth_a_line() -> None:
    out = StringIO()
    view = Plain(Live(clock=Clock()), out)
    view.on_signal(CallStarted("pass/1/critic/0/try/0", "critic", "m"))
    view.on_signal(CallRetried("pass/1/critic/0/try/0", "overloaded", 2.5))
    assert "pass 1 critic 1 try 1: overloaded; asking again in 2.5 s" in out.getvalue()


def test_of_much_that_is_under_way_only_some_is_named() -> None:
    clock, out = Clock(), StringIO()
    view = Plain(Live(clock=clock), out)
    for number in range(48):
        view.on_signal(CallStarted(f"trial/{number}/proposer/try/0", "author", "m"))
    clock.now += 16
    view.refresh()
    assert "trial 8, author for 16 s; and 39 more" in " ".join(out.getvalue().split())
