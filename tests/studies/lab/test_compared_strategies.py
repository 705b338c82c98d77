"""Strategies on equal terms: one draft, matched budgets, one blind panel, whatever comes in the way."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.run.leaving import Breaking
from tests.run.runs import TASK
from tests.studies.lab.rivals import (
    A_CALL,
    OWN,
    SCRIPT,
    compared,
    comparing,
    go_on_comparing,
    plug_in,
    priced,
    spent_on,
    story_of,
)
from tests.tournament.stage import document, shown_texts

from autoreason.errors import InvalidInput, StrategyError
from autoreason.exchange import Outcome, Reply, Request, Usage
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.stats import BEYOND_CHANCE
from autoreason.stats.resampling import permutation_test
from autoreason.stats.shares import enough_repeats
from autoreason.studies.lab_suite import CellFinished
from autoreason.task import Task

NO_BALLOT = priced("I would rather not say.")


async def test_all_strategies_begin_from_the_same_draft_or_from_the_one_given(
    journal: Journal,
) -> None:
    result, model = await compared(journal, comparing("critique_revise", "single", "improve"))
    for number in (1, 2):
        draft = story_of(journal, result, f"draft {number}").text
        for name in ("critique_revise", "single", "improve"):
            begun = story_of(journal, result, f"{name} {number}").draft
            assert begun is not None
            assert begun.text == draft
    assert model.asked.count("draft/try/0") == 2
    given = Task(brief=TASK.brief, draft="The draft that was given.")
    result, model = await compared(journal, comparing("improve", "single", task=given))
    assert "draft/try/0" not in model.asked
    assert story_of(journal, result, "single 1").text == given.draft


@pytest.mark.parametrize(("unit", "calls"), [("calls", 5), ("tokens", 9)])
async def test_no_one_spends_more_than_the_allowance_and_another_pass_would_not_have_fitted(
    journal: Journal, unit: str, calls: int
) -> None:
    a_pass = {"critique_revise": 2, "improve": 1, "self_refine": 2}
    allowance = calls * A_CALL[unit]
    chosen = comparing(*a_pass, "best_of_n", "single", repeats=1, match=unit, allowance=allowance)
    result, _ = await compared(journal, chosen)
    spent = spent_on(result)
    for name, price in a_pass.items():
        took = Decimal(getattr(spent[f"{name} 1"], unit))
        assert took <= allowance
        assert took + price * A_CALL[unit] > allowance
    assert spent["single 1"].calls == 0
    assert unit != "calls" or spent["best_of_n 1"].calls <= calls


@pytest.mark.parametrize("calls", [5, 6])
async def test_no_one_begins_a_first_pass_that_would_not_fit(journal: Journal, calls: int) -> None:
    rivals = ("improve", "critique_revise", "best_of_n", "autoreason")
    result, _ = await compared(journal, comparing(*rivals, repeats=1, allowance=calls))
    spent = spent_on(result)
    assert all(spent[f"{name} 1"].calls <= calls for name in rivals)
    assert spent["improve 1"].calls == calls
    # A critic, an author, two judges, and the two judges of the review.
    assert (spent["autoreason 1"].calls > 0) == (calls >= 6)


async def test_the_first_sets_what_the_others_may_spend(journal: Journal) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "improve", repeats=1))
    spent = spent_on(result)
    assert (spent["critique_revise 1"].calls, spent["improve 1"].calls) == (4, 4)
    assert len(story_of(journal, result, "improve 1").passes) == 4
    assert "by calls, the most that each may take" in str(result.report)


@pytest.mark.parametrize(
    ("names", "own", "said"),
    [
        (["improve"], {}, "two or more strategies"),
        (["improve", "improve"], {}, "two or more strategies"),
        (["improve", "nobody"], {}, "no strategy 'nobody'"),
        (["improve", "single"], {"repeats": 0}, "`repeats` is 0"),
        (["improve", "single"], {"panel_judges": 1}, "judges, not 1"),
        (["improve", "single"], {"allowance": -1}, "the amount to match is -1"),
        (["improve", "single"], {"match": "time"}, "match"),
        (["single", "improve"], {}, "single spends nothing"),
        (["improve", "single"], {"match": "cost"}, "cost nothing"),
        (
            ["improve", "single"],
            {"match": "cost", "author_model": "openai/no-such-model"},
            "a price is not known",
        ),
    ],
)
def test_terms_that_cannot_be_kept_are_one_sentence(
    names: list[str], own: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        comparing(*names, **own)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


async def test_texts_that_are_the_same_are_judged_once(journal: Journal) -> None:
    same = {"reviser": priced(document("The same text in the end."))}
    chosen = comparing("critique_revise", "improve", "single", repeats=1)
    result, _ = await compared(journal, chosen, same)
    (panel,) = (each for each in result.story.of(CellFinished) if each.cell.kind == "panel")
    assert {frozenset(ballot.order) for ballot in panel.result.ballots} == {
        frozenset({"critique_revise", "single"})
    }
    assert panel.judged_as["improve"] == panel.judged_as["critique_revise"]
    result, _ = await compared(
        journal, comparing("improve", "single"), same | {"author": same["reviser"]}
    )
    assert result.report.conclusion == "no winner: there was nothing to judge"
    drafts = iter([priced(document("Another text.")), same["reviser"]])
    chosen = comparing("improve", "single", repeats=2)
    result, _ = await compared(
        journal, chosen, same | {"author": lambda asked: next(drafts)(asked)}
    )
    *_, why, basis = result.report.summary()
    assert why == "In 1 repeat all texts were the same, so that there was nothing to judge."
    assert basis.startswith("1 of 2 repeats, ")


async def test_a_panel_sees_texts_and_no_names(journal: Journal) -> None:
    seen: list[Request] = []

    def judge(request: Request) -> str:
        seen.append(request)
        return f"RANKING: {' > '.join(shown_texts(request))}"

    await compared(journal, comparing("conservative", "single"), {"judge": priced(judge)})
    assert seen
    for request in seen:
        shown = " ".join(message.text for message in request.messages[2:])
        assert "conservative" not in shown.replace("conservative pass", "")


async def test_a_strategy_that_fails_is_left_out_and_the_others_go_on(journal: Journal) -> None:
    nothing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")

    def critic(request: Request) -> Reply:
        # Of these only self_refine asks a critic.
        return nothing if request.key.startswith("pass/") else priced("x")(request)

    chosen = comparing("improve", "self_refine", "single", allowance=8)
    result, _ = await compared(journal, chosen, {"critic": critic})
    assert result.status == "done"
    assert [each.finished for each in result.report.arms] == [2, 0, 2]
    assert [len(each.items) for each in result.report.left_out] == [2]
    assert {each.name for panel in result.report.panels.values() for each in panel.standings} == {
        "improve",
        "single",
    }


@pytest.mark.parametrize(("first", "failures"), [("improve", 2), ("autoreason", 1)])
async def test_dead_judges_end_no_comparison_and_others_may_follow(
    journal: Journal, first: str, failures: int
) -> None:
    chosen = comparing(first, "single", k=1, passes=5)
    paused, dead = await compared(journal, chosen, {"judge": NO_BALLOT})
    assert paused.status == "panel_failed"
    still = Breaking({**SCRIPT, "judge": NO_BALLOT})
    for _ in range(failures - 1):
        assert (await go_on_comparing(journal, paused.run, still)).status == "panel_failed"
    model = Breaking(SCRIPT)
    result = await go_on_comparing(journal, paused.run, model)
    assert result.status == "done"
    assert "draft/try/0" not in (*still.asked, *model.asked), "the draft is still there"
    assert [each.finished for each in result.report.arms] == [2, 2]
    assert result.report.judged == 2
    assert dead.asked
    for run in (result.run, *(row.id for row in journal.cells(result.run))):
        assert (await replay.aio(run, journal=journal)).same


async def test_a_comparison_without_a_draft_asks_for_one_again_when_resumed(
    journal: Journal,
) -> None:
    refusing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")
    chosen = comparing("improve", "single")
    paused, _ = await compared(journal, chosen, {"author": refusing})
    assert paused.status == "provider_failed"
    assert (await go_on_comparing(journal, paused.run, Breaking(SCRIPT))).status == "done"


async def test_left_after_any_call_a_comparison_ends_the_same(journal: Journal) -> None:
    chosen = comparing("critique_revise", "single", passes=1)
    whole, model = await compared(journal, chosen)
    for calls in range(len(model.answered)):
        paused, broken = await compared(journal, chosen, model=Breaking(SCRIPT, calls, luck=calls))
        assert paused.status == "provider_failed"
        repaired = Breaking(SCRIPT)
        result = await go_on_comparing(journal, paused.run, repaired)
        assert len(broken.answered) + len(repaired.answered) == len(model.answered)
        assert result.report.panels == whole.report.panels
        assert result.calls == whole.calls


async def test_strategies_of_ones_own_are_compared_like_ours(
    journal: Journal, tmp_path: Path
) -> None:
    name = plug_in(tmp_path, "mine", OWN)
    result, _ = await compared(journal, comparing("critique_revise", name, repeats=1))
    assert spent_on(result)["mine.py:Mine 1"].calls == 4
    (panel,) = result.report.panels.values()
    assert {each.name for each in panel.standings} == {"critique_revise", "mine.py:Mine"}


async def test_a_strategy_that_raises_loses_nothing_that_the_others_paid_for(
    journal: Journal, tmp_path: Path
) -> None:
    begins = "            self.begin_pass(number)\n"
    broken = OWN.replace(begins, f"{begins}            raise LookupError('no shelf')\n")
    name = plug_in(tmp_path, "mine", broken)
    first = Breaking(SCRIPT, luck=3)
    with pytest.raises(StrategyError, match="no shelf"):
        await compared(journal, comparing("critique_revise", name, "improve"), model=first)
    run = journal.runs()[0]
    assert run.status == "stopped"
    plug_in(tmp_path, "mine", OWN)
    whole, model = await compared(journal, comparing("critique_revise", name, "improve"))
    second = Breaking(SCRIPT)
    result = await go_on_comparing(journal, run.id, second)
    assert result.status == "done"
    assert len(first.answered) + len(second.answered) == len(model.answered)
    assert result.report.panels == whole.report.panels


async def test_tokens_that_no_one_counts_are_not_matched(journal: Journal) -> None:
    uncounted = Reply(
        outcome=Outcome.OK, text=document("A text."), model="m", cost=A_CALL["cost"], usage=Usage()
    )
    with pytest.raises(InvalidInput, match="does not report tokens; match budgets"):
        await compared(
            journal, comparing("improve", "harsh", match="tokens"), {"reviser": uncounted}
        )
    run = journal.runs()[0]
    assert (run.status, run.live) == ("stopped", False)


def test_enough_repeats_are_the_fewest_in_which_winning_all_of_them_shows() -> None:
    for strategies in range(2, 9):
        enough, pairs = enough_repeats(strategies), strategies * (strategies - 1) // 2
        fewer, ahead = (permutation_test([1.0] * n).p_value or 0 for n in (enough - 1, enough))
        assert ahead * pairs <= BEYOND_CHANCE < fewer * pairs
