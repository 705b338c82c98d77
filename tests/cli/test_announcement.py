"""What is said before the first call: the model, the limits as understood, and what to expect."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from tests.cli.conftest import BRIEF
from tests.cli.inside import Inside

from autoreason.cli import announcement
from autoreason.cli.announcement import Expected, announce, describe_expected, describe_limits
from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.job_types import Research
from autoreason.limits import add_limits
from autoreason.models import examples
from autoreason.run.estimate import Span
from autoreason.run.refine import refine
from autoreason.run.studies import compare, judge
from autoreason.settings import Budget, Models, make_settings
from autoreason.task import Task

CALLS = Span(20, 60, 430)
COST = Span(Decimal("0.1"), Decimal("0.304"), Decimal("2.2"))
USUAL = Expected(CALLS, COST)
MODELS = Models.everywhere("a/b")


def expect(expected: Expected = USUAL, pace: float | None = None, **limits: Any) -> str:
    settings = make_settings(MODELS, 1, budget=Budget(**limits))
    return describe_expected(expected, settings, pace)


def test_one_figure_is_likely_and_one_is_never_passed() -> None:
    assert expect(pace=4.0, cost=3) == "about 60 calls, $0.30, 4 min; never more than $3.00"
    assert expect(pace=0.01) == "about 60 calls, $0.30; never more than 430 calls"
    assert expect(calls=100, tokens=9000).endswith("never more than 9,000 tokens or 100 calls")


def test_what_is_not_known_is_left_out_but_a_time_said_to_be_unknown() -> None:
    assert expect(Expected(CALLS, None)).startswith("about 60 calls, time not known yet; never")
    assert expect(Expected(None, None)) == ""
    assert expect(Expected(None, None), cost=3) == "never more than $3.00"


def test_a_limit_of_time_is_not_called_one_that_is_never_passed_but_evaluations_are() -> None:
    assert expect(seconds=0.5).endswith("; nothing new is begun after 0.5 s")
    timed = expect(pace=0.01, seconds=1800)
    assert timed.endswith("; never more than 430 calls; nothing new is begun after 30 min")
    settings = make_settings(MODELS, 1, job=Research(evaluations=50))
    said = describe_expected(Expected(CALLS, None), settings, 0.01)
    assert said == "about 60 calls; never more than 430 calls or 50 evaluations"


def test_a_limit_that_is_too_small_and_reasoning_are_named() -> None:
    few = Expected(CALLS, COST, paid=0.4)
    whole = "your limit pays for 40 % of the whole run (about 150 calls)"
    assert f"; {whole}; never more than $0.10" in expect(few, cost=0.1)
    reasoning = Expected(CALLS, COST, reasoning=Decimal("1.5"))
    assert expect(reasoning, pace=0.01).startswith(
        "about 60 calls, $0.30, and up to $1.50 more for reasoning"
    )


def test_of_a_run_that_goes_on_the_rest_is_expected_and_limits_are_of_the_whole() -> None:
    whole, never = "your limit pays for 40 % of the whole run", "never more than $3.00 in all"
    said = expect(Expected(CALLS, COST, paid=0.4).less(45), pace=4.0, cost=3)
    assert said == f"about 15 more calls, $0.08, 1 min; {whole}; {never}"
    assert expect(USUAL.less(61), pace=4.0, cost=3) == never


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (Contract(max_words=230), "at most 230 words"),
        (
            Contract(min_words=9, sections=("Cost",), must_not_include=("innovative",)),
            "at least 9 words · has a section headed “Cost” · does not contain “innovative”",
        ),
        (
            Contract(must_include=("Lisbon, Porto",)),
            "contains “Lisbon, Porto” · “Lisbon, Porto” is one text: for several write "
            "[Lisbon, Porto], or the option again",
        ),
    ],
)
def test_limits_are_repeated_as_understood(contract: Contract, said: str) -> None:
    assert describe_limits(Task(brief="b", contract=contract)) == said
    assert describe_limits(Task(brief="b")).startswith("none; ")


def test_limits_of_the_brief_are_shown_with_their_words_and_so_is_what_was_not_understood() -> None:
    brief = "Write 50 to 80 words, no emojis. Each item under 9 words."
    contract = Contract(min_words=50, max_words=80, sections=("Cost",), emojis="none")
    assert describe_limits(Task(brief=brief, contract=contract)) == (
        "has a section headed “Cost” · understood as limits: at least 50 words and at most 80 words "
        "(“50 to 80 words”), has no emojis (“no emojis”) · not understood: “Each item under 9 words”; "
        "--max-words, --section, --limit and others are checked by a program"
    )
    declined = describe_limits(Task(brief=brief))
    assert declined.startswith("not understood: “Each item under 9 words”")


@pytest.mark.parametrize(
    ("brief", "several"),
    [
        ("No emojis. 3 subject lines, max. 9 words each", "3 subject lines"),
        ("Schreibe drei Schlagzeilen, je höchstens 60 Zeichen.", "drei Schlagzeilen"),
        ("Each paragraph at most 9 words", ""),
    ],
)
def test_who_asks_for_several_short_texts_is_told_what_to_type(brief: str, several: str) -> None:
    said = describe_limits(Task(brief=brief))
    assert "not understood" in said
    assert re.findall(r"for ([\w ]+) to choose from type --alt", said) == [several] * bool(several)


def test_a_limit_of_the_brief_that_another_comes_before_is_named() -> None:
    brief = "At most 80 words. No emojis. At least 70 words."
    contract = add_limits(Contract(max_words=60), brief)
    said = describe_limits(Task(brief=brief, contract=contract))
    assert said == (
        "at most 60 words · understood as limits: has no emojis (“No emojis”) · "
        "set otherwise: “At most 80 words” · set otherwise: “At least 70 words”"
    )
    alone = describe_limits(Task(brief=brief, contract=Contract(min_items=2)))
    assert alone == "at least 2 items", "all of it was declined"


def test_of_a_brief_that_sets_no_limits_nothing_is_said(inside: Inside) -> None:
    brief = ("Three short lines, each item under 9 words.", "-m", "echo/echo", "--rounds", "1")
    assert "not understood: “" in inside("run", *brief).err
    said = inside("run", *brief, "--no-limits-from-brief").err
    assert said.splitlines()[0].split(maxsplit=2)[:2] == ["Limits", "none;"]
    assert "not understood" not in said


@pytest.mark.parametrize("verb", ["judge", "compare"])
def test_judges_and_comparisons_show_the_limits_of_a_brief_too(verb: str) -> None:
    brief, texts = "Explain tides in two sentences.", {"a": "One.", "b": "Two. Three."}
    prepared: Any = (
        judge.prepare(brief, texts, model="echo/echo", seed=1)
        if verb == "judge"
        else compare.prepare(brief, model="echo/echo", strategies=["improve", "single"], seed=1)
    )
    said = "understood as limits: exactly 2 sentences (“in two sentences”)"
    assert dict(announce(prepared, named=True, declined=False))["Limits"] == said.replace(
        "in two", "two"
    )


def test_a_key_without_a_model_is_answered_with_what_a_good_text_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    prepared = refine.prepare(BRIEF, model="local/smollm2", seed=1)
    said = dict(announce(prepared, named=False, declined=False))["Model"]
    assert said.startswith("small offline model: results are poor, nothing is sent or paid. ")
    advice = f"ANTHROPIC_API_KEY is set; for a good text add -m {examples.MODEL} (about $"
    assert advice in said
    assert "made-up" not in said
    monkeypatch.setattr("autoreason.models.local.is_pulled", lambda *_: False)
    with pytest.raises(InvalidInput, match=re.escape(advice)):
        announcement.require_weights(prepared)
    assert dict(announce(prepared, named=True, declined=False))["Model"].endswith(
        "nothing is sent or paid."
    )
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", "made-up")
    assert dict(announce(prepared, named=False, declined=False))["Model"].endswith(
        " text add -m gemini/MODEL"
    )
    monkeypatch.delenv("GEMINI_API_KEY")
    assert examples.LOCAL in dict(announce(prepared, named=False, declined=False))["Model"]


def test_a_run_says_its_limits_and_what_to_expect_first_and_an_earlier_one_how_long_it_takes(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", BRIEF, "-m", "echo/echo", "--rounds", "1", "--max-words", "200")
    first, second, third = inside(*run).err.splitlines()[:3]
    assert first.split(maxsplit=1) == ["Limits", "at most 200 words"]
    assert second.startswith("Expect ")
    assert "never more than" in second
    assert third.startswith("0:00 ")
    assert "Expect" not in inside(*run, "-q").err
    assert " min;" not in inside(*run).err
    monkeypatch.setattr("autoreason.run.record.WorkingTime.seconds", 600.0)
    assert " min;" in inside(*run).err
