"""`show`: a run in one line for each round, and what changed in its text."""

from __future__ import annotations

import pytest
from tests.cli import made_up
from tests.cli.conftest import VOTES
from tests.cli.inside import Inside
from tests.cli.test_endings import MODEL, RUN

from autoreason.cli.outcome import wrap_text
from autoreason.cli.transcript import print_changes, print_round
from autoreason.story import build_story

REASONS = """
import json

def judge(request):
    answer = json.loads(vote("made in a.", "First", "Second", "Third")(request))
    best, *_, worst = answer["ranking"].split(" > ")
    answer["reasoning"] = f"{best} says in its first sentence what is asked. {worst} is politer and slower."
    return json.dumps(answer)

SCRIPT["judge"] = judge
"""


@pytest.fixture
def finished(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """A run whose first round changed the text."""
    monkeypatch.setenv("COLUMNS", "80")
    inside.write("model.py", MODEL + REASONS)
    assert inside(*RUN, *VOTES, "-q").status == 0
    return inside


def test_each_round_is_a_line_with_one_judges_words_without_the_names_it_knew(
    finished: Inside,
) -> None:
    shown = finished("show").out.splitlines()
    title, first, stopped, _, draft, one, *others, review, _, more = shown
    assert title.startswith("Write of tides · ")
    assert first == "9 of 9 fresh judges prefer it to the first draft."
    assert stopped == "Stopped after 4 rounds: 3 times in a row no rewrite and no merge beat it."
    assert draft == "○ first draft  5 words"
    assert one == "▲ round 1      the rewrite won, 2 of 3 judges  “says in its first sentence …”"
    for number, line in enumerate(others, 2):
        assert line.startswith(f"■ round {number}      kept, 3 of 3 ")
        assert line.endswith("“[The merge] is politer and …”")
    assert review == "✓ review       the text of round 1 is put first by 7 of 7 judges"
    assert all(len(line) <= 80 for line in (one, *others))
    assert more == "--text · --diff · --round 4 · --evidence · --html run.html"


def test_views_are_given_one_at_a_time(finished: Inside) -> None:
    for two in (("--text", "--evidence"), ("--round", "1", "--diff"), ("--evidence", "--json")):
        assert "show different things: give one" in finished("show", *two).sentence


def test_a_round_has_what_a_person_asked_for_and_the_limit_a_text_broke(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = build_story(made_up.whole_run())
    story.passes[0].guidance = "Name the price."
    story.passes[0].dropped = [made_up.LOST]
    print_round(None, None, story, 1)  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    assert "guidance     Name the price." in shown
    assert "the merge    left out: it breaks a limit (612 words, at most 500 allowed)" in shown


def test_what_changed_is_marked_where_there_is_no_colour(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_changes(
        "# Tides\n\nThe \x1bsea is very large and it rises.\n\n- one\n- two\n",
        "# Tides\n\nThe \x1bsea is very large and it falls.\n\n- one\n- two\n- three\n",
        {"the sea is very large and it rises": "It falls."},
    )
    assert capsys.readouterr().out == (
        "# Tides\n\nThe sea is very large and it [-rises.-] {+falls.+} {>>It falls.<<}\n\n"
        "- one\n- two\n- {+three+}\n"
    )


ADDRESS = "Kim Lee\nMain Street {}\n12345 Berlin{}"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (ADDRESS.format(5, ""), ADDRESS.format(7, ""), ADDRESS.format("[-5-] {+7+}", "")),
        (ADDRESS.format(5, ""), ADDRESS.format(5, "\nUK"), ADDRESS.format(5, "\n{+UK+}")),
        (ADDRESS.format(5, "\nUK"), ADDRESS.format(5, ""), ADDRESS.format(5, "\n[-UK-]")),
        ("Tea at 4.\nCake at 5.", "Tea at 4.\nCake at 6.", "Tea at 4.\nCake at [-5.-] {+6.+}"),
        ("One\nor two.", "One or two.", "One or two."),
        (f"{'long ' * 13}\nline", f"{'long ' * 13}line", f"{'long ' * 13}line"),
        (
            "```\nif a:\n    b = 1\n\n    c = 2\n```",
            "```\nif a:\n    b = 1\n\n    c = 3\n```",
            "if a:\n    b = 1\n\n    c = [-2-] {+3+}",
        ),
    ],
)
def test_lines_of_a_block_are_shown_as_lines(
    before: str, after: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_changes(before, after, {})
    assert capsys.readouterr().out == f"{shown}\n"


def test_a_text_is_wrapped_at_words_and_code_and_tables_are_left_alone() -> None:
    code = f"```\n{'x = 1; ' * 10}\n```\n| {'cell ' * 12}|\n"
    wrapped = wrap_text(f"# A title\n\n- {'word ' * 12}\n\n{code}", 30)
    words = "  word word word word word"
    assert wrapped.startswith(f"# A title\n\n- word word word word word\n{words}\n")
    assert wrapped.endswith(code)
