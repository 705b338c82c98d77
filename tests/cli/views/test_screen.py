"""The live view fits its terminal and shows what matters."""

from __future__ import annotations

from io import StringIO

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.cli import made_up
from tests.cli.views.test_live import Clock, ended, in_pass_three

from autoreason.cli.views.live import Live
from autoreason.cli.views.screen import Screen, draw
from autoreason.contract import Violation
from autoreason.events import CodeBallot, PassDecided, PassStarted
from autoreason.exchange import CallRetried, CallStarted, TextArrived
from autoreason.tournament.statements import ONE_VOTE


def terminal(width: int = 80, height: int = 24) -> Console:
    """A terminal on paper."""
    return Console(
        width=width, height=height, force_terminal=True, file=StringIO(), color_system=None
    )


def seen(live: Live, console: Console) -> list[str]:
    """What a person would see."""
    with console.capture() as captured:
        console.print(draw(live, console))
    return captured.get().splitlines()


def busy() -> Live:
    """A run with everything going on at once."""
    live = in_pass_three()
    live.on_signal(ended("x"))
    live.on_signal(CallStarted("pass/3/synthesizer/try/0", "synthesizer", "m"))
    live.on_signal(TextArrived("pass/3/synthesizer/try/0", "and so the river\nis where it belongs"))
    for seat in range(6):
        live.on_signal(CallStarted(f"pass/3/judge/{seat}/try/0", "judge", "m"))
    live.on_signal(CallRetried("pass/3/judge/2/try/0", "overloaded", 4))
    live.stopping = True
    return live


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(len(line) <= width for line in seen(busy(), terminal(width)))


def test_the_view_shows_trajectory_steps_and_limits() -> None:
    text = "\n".join(seen(busy(), terminal(100)))
    assert "amber-fox  A one-page proposal for the town's new library" in text
    assert "pass 1: AB wins, A 6 · AB 8 · B 4" in text
    assert "pass 3: critique: 2 problems: 1 critical, 1 minor" in text
    assert "and so the river is where it belongs" in text
    assert "A needs 1 more survival, pass 3 of 15" in text
    assert "1 of 120 calls · 150 tokens · $0.01 of $1.50" in text
    assert "Ctrl-C again ends at once" in text


def test_the_ballot_of_a_metric_that_judges_is_shown_with_its_pass() -> None:
    live = Live("amber-fox", clock=Clock())
    ballot = CodeBallot(ranking=("AB", "B", "A"), values={})
    verdict = replace(made_up.verdict(6, 8, 4), metric=ballot)
    for event in (made_up.STARTED, made_up.DRAFTED, *made_up.a_pass(1, "AB", 0, verdict)):
        live.on_event(event)
    assert any("metric: AB > B > A" in line for line in seen(live, terminal(100)))


def test_drafts_and_passes_that_break_the_contract_say_so_as_they_happen() -> None:
    live = Live("amber-fox", clock=Clock())
    broken = (Violation("sections", "no heading “Risks”"),)
    drafted = replace(made_up.DRAFTED, violations=broken, number=3, of=10)
    *before, decided = made_up.a_pass(1, "A", 0, made_up.verdict(8, 6, 4))
    assert isinstance(decided, PassDecided)
    for event in (made_up.STARTED, drafted, *before, replace(decided, violations=broken)):
        live.on_event(event)
    text = " ".join(" ".join(seen(live, terminal(200))).split())
    assert "10 tries, none keeps the contract: no heading “Risks”" in text
    assert "does not count: breaks the contract (no heading “Risks”)" in text
    assert "A breaks the contract, pass 1 of 15" in text


def test_a_long_run_stays_within_the_height() -> None:
    live = Live("amber-fox", clock=Clock())
    live.on_event(made_up.STARTED)
    live.on_event(made_up.DRAFTED)
    for number in range(1, 41):
        for event in made_up.a_pass(number, "AB", 0, made_up.verdict(6, 8, 4)):
            live.on_event(event)
    live.on_event(PassStarted(number=41, words=9))
    lines = seen(live, terminal(80, 24))
    assert len(lines) < 24
    assert any("earlier" in line for line in lines)
    assert any(line.startswith("pass 40: ") for line in lines)


def test_before_the_first_event_there_is_something_to_see() -> None:
    assert seen(Live(clock=Clock()), terminal())[0].startswith("autoreason")


def test_titles_are_text_and_not_markup() -> None:
    live = Live("[bold]", clock=Clock())
    live.on_event(made_up.STARTED)
    assert "[bold]" in seen(live, terminal())[0]


def test_the_screen_is_given_back_clean() -> None:
    console = terminal()
    screen = Screen(busy(), console)
    screen.open()
    screen.on_stop()
    screen.close()
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().count("\x1b[?25l") == console.file.getvalue().count("\x1b[?25h")


def test_a_single_judge_is_said_to_be_no_panel() -> None:
    live = busy()
    assert live.story.settings is not None
    assert ONE_VOTE not in "\n".join(seen(live, terminal(100)))
    single = {"judges": 1, "single_judge": True, "extra_judges": 0}
    live.story.settings = replace(live.story.settings, **single)
    assert ONE_VOTE in "\n".join(seen(live, terminal(100)))
