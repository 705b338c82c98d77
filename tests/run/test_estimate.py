"""A dry run says what a run may take and what it would say first, and calls nothing."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.run.runs import TASK, scripted, settings, start_run
from tests.studies.lab.rivals import OWN, plug_in

from autoreason import (
    PreparedRun,
    Report,
    compare,
    judge,
    refine,
    rejudge,
)
from autoreason.errors import StrategyError
from autoreason.exchange import Model
from autoreason.job_types import Refine
from autoreason.journal import Journal
from autoreason.report.numbers import money
from autoreason.run.estimate import Span, estimate_run
from autoreason.run.lab import PreparedLab
from autoreason.run.verbs import JudgeOptions
from autoreason.settings import Budget, Settings
from autoreason.testing import EchoModel, ScriptedModel

DEAF = ScriptedModel({"judge": "no comment"}, address="scripted/deaf")


def found(span: Span[Any] | None) -> Span[Any]:
    """What an estimate has."""
    assert span is not None
    return span


async def calls_of(chosen: Settings) -> Span[int]:
    return found((await estimate_run(TASK, chosen)).calls)


async def test_the_range_is_ordered_and_priced_where_prices_are_known() -> None:
    known = await estimate_run(TASK, settings("openai/gpt-4.1"))
    for span in map(found, (known.calls, known.tokens, known.cost)):
        assert 0 < span.low < span.likely < span.high
    assert (await estimate_run(TASK, settings("acme/unheard-of"))).cost is None


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Budget(calls=50), "calls, .* up to its limit, which pays for .* %"),
        (Budget(tokens=900), "budget .* less than the least, so that it"),
        (Budget(cost=Decimal("0.1")), "cost .* to [$]0.10, most likely"),
        (Budget(cost=Decimal("9")), "cost .* most likely about [$]0.[0-9]+\n\n"),
    ],
)
async def test_an_estimate_ends_at_the_limits(limits: Budget, said: str) -> None:
    chosen = replace(settings("openai/gpt-4.1"), budget=limits)
    estimate = await estimate_run(TASK, chosen)
    for name in ("calls", "tokens", "cost"):
        low, likely, high = getattr(estimate, name)
        limit = getattr(limits, name)
        assert low <= likely <= high
        assert limit is None or high <= limit
    assert re.search(said, estimate.to_text(width=200))


async def test_reasoning_takes_no_more_than_the_limit_leaves() -> None:
    chosen = replace(settings("anthropic/claude-sonnet-5-5"), budget=Budget(cost=Decimal(1)))
    known = await estimate_run(TASK, chosen)
    assert found(known.cost).likely + found(known.reasoning_cost).likely == 1


async def test_judges_who_see_the_first_draft_too_cost_more() -> None:
    usual = await estimate_run(TASK, settings("openai/gpt-4.1"))
    more = await estimate_run(TASK, replace(settings("openai/gpt-4.1"), style="anchored"))
    assert found(more.cost).likely > found(usual.cost).likely


async def test_small_changes_may_end_a_run_before_survivals_do() -> None:
    chosen = replace(settings(), k=15, passes=15, reviewers=0, confirmation=0)
    assert (await calls_of(replace(chosen, plateau=1))).low < (await calls_of(chosen)).low
    never = await calls_of(replace(settings(), plateau=9, k=1))
    assert never == await calls_of(replace(settings(), k=1))


async def test_the_first_request_is_the_real_one() -> None:
    drafting = await estimate_run(TASK, settings())
    assert drafting.request is not None
    assert (drafting.request.key, drafting.request.role) == ("draft/try/0", "author")
    improving = await estimate_run(replace(TASK, draft="A draft."), settings())
    assert improving.request is not None
    assert (improving.request.key, improving.request.role) == ("pass/1/critic/0/try/0", "critic")
    assert found(improving.calls).low == found(drafting.calls).low - 1


async def test_no_run_takes_more_calls_than_the_most_or_fewer_than_the_fewest(
    journal: Journal,
) -> None:
    span = await calls_of(settings())
    worst = await start_run(journal, scripted({"judge": "no comment"}))
    assert worst.calls < span.high
    best = await start_run(journal, scripted({"critic": '{"problems": []}'}))
    assert best.calls == span.low
    chosen = replace(settings(), job=Refine(strategy="best_of_n"))
    span = await calls_of(chosen)
    same = await start_run(journal, scripted({"author": "The moon pulls."}), settings=chosen)
    assert (same.calls, span.low) == (6, 6)


async def test_one_judge_without_a_price_leaves_the_cost_of_a_mixed_panel_unknown() -> None:
    judges = ("openai/gpt-4.1", "acme/unheard-of")
    texts = {"a": "The moon.", "b": "The wind."}
    mixed = judge.prepare("Tides.", texts, judge_models=judges).estimate()
    assert mixed.cost is None
    assert "the price of acme/unheard-of is not known" in str(mixed)


@given(texts=st.integers(2, 5), judges=st.integers(2, 6), pairwise=st.booleans())
@examples(max_examples=10, deadline=None)
def test_a_panel_takes_the_calls_that_its_estimate_names(
    texts: int, judges: int, pairwise: bool
) -> None:
    named = {str(number): f"Text number {number}." for number in range(texts)}
    options: JudgeOptions = {"pairwise": pairwise, "judges": judges, "seed": 1}
    span = found(judge.prepare("Tides.", named, "echo/echo", **options).estimate().calls)
    with TemporaryDirectory() as folder:
        calls = [
            judge.prepare("Tides.", named, model, **options).run(journal=f"{folder}/j.db").calls
            for model in (EchoModel(), DEAF)
        ]
    assert calls == [span.low, span.high]


async def test_judging_a_run_again_takes_a_panel_for_each_recorded_one(journal: Journal) -> None:
    recorded = await start_run(journal, scripted())

    def prepare(model: Model) -> PreparedRun[Any]:
        return rejudge.prepare(recorded.run, model, journal=journal, judges=3, seed=1)

    span = found(prepare(EchoModel()).estimate().calls)
    calls = [(await prepare(model).run_async()).calls for model in (EchoModel(), DEAF)]
    assert calls == [span.low, span.high]
    assert span.low == 3 * recorded.passes


STRATEGIES = ("autoreason", "improve", "critique_revise", "best_of_n", "self_refine", "single")


@pytest.mark.parametrize(
    ("first", "allowance"), [("autoreason", 12), ("improve", 3), ("best_of_n", 60)]
)
async def test_a_comparison_takes_what_its_allowance_permits(
    journal: Journal, first: str, allowance: int
) -> None:
    strategies = (first, *(name for name in STRATEGIES if name != first))
    options: Any = {"passes": 2, "judges": 2, "reviewers": 2, "seed": 1}
    options |= {"repeats": 2, "allowance": Decimal(allowance)}
    prepared = compare.prepare("Tides.", "echo/echo", strategies=strategies, **options)
    span = found(prepared.plan().calls)
    assert span.low <= (await prepared.run_async(journal=journal)).calls <= span.high


@pytest.mark.parametrize("repeats", [1, 3])
async def test_a_given_draft_saves_one_in_every_repeat(journal: Journal, repeats: int) -> None:
    def prepare(draft: str | None) -> PreparedLab:
        options: Any = {"draft": draft, "repeats": repeats, "passes": 1, "seed": 1}
        return compare.prepare("Tides.", "echo/echo", strategies=("improve", "single"), **options)

    drafting, given_one = [found(prepare(draft).plan().calls) for draft in (None, "A draft.")]
    assert drafting.likely - given_one.likely == repeats
    result = await prepare("A draft.").run_async(journal=journal)
    assert given_one.low <= result.calls == given_one.likely


PLANS = (
    "5",
    "[{}, {}]",
    "({'author': 1}, {'author': 2}, {'writer': 3})",
    "({'author': None}, {}, {})",
    "({'author': 3}, {'author': 2}, {'author': 1})",
    "({'author': -1}, {}, {})",
)


@pytest.mark.parametrize("plans", PLANS)
def test_plans_of_a_strategy_that_cannot_be_used_are_one_sentence(
    tmp_path: Path, plans: str
) -> None:
    body = f"    @classmethod\n    def plans(cls, settings):\n        return {plans}\n"
    mine = plug_in(tmp_path, "mine", body + OWN)
    for plan in (
        refine.prepare("Tides.", "echo/echo", strategy=mine).estimate,
        compare.prepare("Tides.", "echo/echo", strategies=(mine, "improve")).plan,
    ):
        with pytest.raises(StrategyError) as refused:
            plan()
        message = str(refused.value)
        assert message.startswith(f"{mine} has no valid plans; give three,")
        assert "\n" not in message


def test_an_estimate_is_a_report() -> None:
    known = refine.prepare("Tides.", "openai/gpt-4.1", passes=2).estimate()
    assert isinstance(known, Report)
    assert str(known).startswith("A run takes about 21 calls")
    assert "calls      5 to 120, most likely about 21" in str(known)
    assert "A run takes about 21 calls" in known._repr_html_()
    fields = known.to_dict()
    assert fields["calls"] == {"low": 5, "likely": 21, "high": 120}
    assert list(fields["cost"]) == ["low", "likely", "high"]
    assert fields["request"]["role"] == "author"


def test_what_costs_nothing_is_free_and_no_sum_of_zeros() -> None:
    free = refine.prepare("Tides.", "echo/echo").estimate()
    assert free.conclusion.endswith(" tokens, free of charge")
    assert "cost       free\n" in str(free)
    assert "$" not in str(free)
    assert "free" not in str(refine.prepare("Tides.", "openai/gpt-4.1").estimate())


def test_reasoning_is_in_the_headline_as_it_is_in_the_table() -> None:
    known = refine.prepare("Tides.", "openai/gpt-5", judge_effort="none", passes=2).estimate()
    tokens, cost = found(known.reasoning_tokens).likely, found(known.reasoning_cost).likely
    judged = refine.prepare("Tides.", "openai/gpt-5", passes=2).estimate().reasoning_tokens
    assert 0 < tokens < found(judged).likely
    extra = f"{tokens:,} tokens and {money(cost)} more"
    assert f"and up to {extra} for reasoning" in known.conclusion
    assert f"reasoning  up to {extra}, which is charged as output" in str(known)
    assert known.spans()["reasoning_tokens"]["likely"] == tokens
    unasked = refine.prepare("Tides.", "openai/gpt-4.1", passes=2).estimate()
    assert unasked.spans()["reasoning_tokens"] is None
    assert "reasoning" not in str(unasked)
