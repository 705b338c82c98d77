"""Strategies on equal terms: one draft, matched budgets, one blind panel, whatever comes in the way."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tuned
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.run.leaving import Breaking, left_after_every_call, told
from tests.run.runs import TASK, go_on, lend, open_journal, start_run
from tests.studies.compare.rivals import (
    A_CALL,
    SCRIPT,
    compared,
    comparing,
    plug_in,
    priced,
    spent_on,
)
from tests.tournament.stage import document, shown_texts

from autoreason.errors import InvalidInput, StrategyError
from autoreason.events import JobFinished, PartEvent, Recovery
from autoreason.exchange import Outcome, Reply, Request, Usage
from autoreason.journal import Journal
from autoreason.prompts import built_in
from autoreason.run import driver
from autoreason.run.estimate import check
from autoreason.run.recorded import replay
from autoreason.settings import Budget, Models
from autoreason.stats.resampling import permutation_test
from autoreason.stats.results import BEYOND_CHANCE
from autoreason.stats.shares import enough_repeats
from autoreason.studies.compare.comparison import panels_of
from autoreason.studies.compare.comparison_report import comparison_report
from autoreason.studies.compare.part_spending import spent_by_part
from autoreason.task import Task

GIVEN = Task(brief=TASK.brief, draft="The draft that was given.")


async def test_all_strategies_begin_from_the_same_draft(journal: Journal) -> None:
    result, model = await compared(journal, comparing("critique_revise", "single", "improve"))
    parts = result.story.parts
    for number in (1, 2):
        draft = parts[f"repeat/{number}/draft"].delivered
        assert draft is not None
        for name in ("critique_revise", "single", "improve"):
            part = parts[f"repeat/{number}/{name}"]
            assert part.draft is not None
            assert (part.draft.text, part.draft.given) == (draft.text, True)
    assert sum(key.endswith("/draft/draft/try/0") for key in model.asked) == 2


async def test_a_given_draft_is_where_all_begin(journal: Journal) -> None:
    result, model = await compared(journal, comparing("improve", "single"), task=GIVEN)
    assert not any("/draft/" in key for key in model.asked)
    single = result.story.parts["repeat/1/single"].delivered
    assert single is not None
    assert single.text == GIVEN.draft


@pytest.mark.parametrize("unit", ["calls", "tokens", "cost"])
@pytest.mark.parametrize("calls", [2, 5, 9, 14])
async def test_no_one_spends_more_than_the_allowance_and_another_pass_would_not_have_fitted(
    journal: Journal, unit: str, calls: int
) -> None:
    a_pass = {"critique_revise": 2, "improve": 1, "self_refine": 2}
    allowance = calls * A_CALL[unit]
    chosen = comparing(
        *a_pass, "best_of_n", "single", repeats=1, match=unit, allowance=str(allowance)
    )
    result, _ = await compared(journal, chosen)
    spent = spent_on(journal, result)
    for name, price in a_pass.items():
        took = Decimal(getattr(spent[f"repeat/1/{name}"], unit))
        assert took <= allowance
        assert took + price * A_CALL[unit] > allowance
    assert spent["repeat/1/single"].calls == 0
    assert unit != "calls" or spent["repeat/1/best_of_n"].calls <= calls


@pytest.mark.parametrize("calls", [1, 6, 7, 8, 20])
async def test_no_one_begins_a_first_pass_that_would_not_fit(journal: Journal, calls: int) -> None:
    rivals = ("improve", "critique_revise", "best_of_n", "autoreason")
    chosen = comparing(*rivals, repeats=1, allowance=str(calls), changes={"extra_judges": 0})
    result, _ = await compared(journal, chosen)
    spent = spent_on(journal, result)
    assert all(spent[f"repeat/1/{name}"].calls <= calls for name in rivals)
    assert spent["repeat/1/improve"].calls == calls
    # A critic, two authors, two judges, and the two judges of the playoff.
    assert (spent["repeat/1/autoreason"].calls > 0) == (calls >= 7)


async def test_the_first_sets_what_the_others_may_spend(journal: Journal) -> None:
    chosen = comparing("critique_revise", "improve", repeats=1)
    result, _ = await compared(journal, chosen)
    spent = spent_on(journal, result)
    assert spent["repeat/1/critique_revise"].calls == 4
    assert spent["repeat/1/improve"].calls == 4
    assert len(result.story.parts["repeat/1/improve"].passes) == 4


async def test_best_of_n_writes_its_usual_number_where_it_sets_the_budget(journal: Journal) -> None:
    result, _ = await compared(journal, comparing("best_of_n", "improve", repeats=1))
    assert len(result.story.parts["repeat/1/best_of_n"].incumbents) == 6


async def refused(chosen: Any, model: Breaking | None = None) -> str:
    """Why a comparison is not begun, in one sentence."""
    with pytest.raises(InvalidInput) as refusal:
        await check(TASK, chosen, lend(model or Breaking(SCRIPT)), built_in())
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


async def test_a_first_strategy_that_spends_nothing_sets_no_budget(journal: Journal) -> None:
    assert "single spends nothing" in await refused(comparing("single", "improve"))
    result, _ = await compared(journal, comparing("single", "improve", repeats=1, allowance="2"))
    assert spent_on(journal, result)["repeat/1/improve"].calls == 2


async def test_cost_is_matched_only_where_it_is_known() -> None:
    chosen = comparing("improve", "single", match="cost")
    unknown = replace(chosen, models=Models.everywhere("openai/no-such-model"))
    assert "the price of openai/no-such-model is not known" in await refused(unknown)
    free = replace(chosen, models=Models.everywhere("echo/echo"))
    assert "cost nothing" in await refused(free)


@pytest.mark.parametrize(
    ("own", "output"),
    [
        ({"strategies": ["improve"]}, "two different strategies"),
        ({"strategies": ["improve", "improve"]}, "two different strategies"),
        ({"strategies": ["improve", "nobody"]}, "no strategy 'nobody'"),
        ({"strategies": ["improve", "judge"]}, "no strategy 'judge'"),
        ({"repeats": 0}, "`repeats` is 0"),
        ({"repeats": 101}, "`repeats` is 101"),
        ({"judges": 1}, "judges, not 1"),
        ({"judges": 100}, "judges, not 100"),
        ({"allowance": "-1"}, "`allowance` is -1"),
        ({"match": "time"}, "match"),
        ({"pace": 1}, "no option `pace`"),
    ],
)
async def test_terms_that_cannot_be_kept_are_one_sentence(own: dict[str, Any], output: str) -> None:
    options = {"strategies": ["improve", "single"], **own}
    names = options.pop("strategies")
    assert output in await refused(comparing(*names, **options))


async def test_texts_that_are_the_same_are_judged_once(journal: Journal) -> None:
    same = {"reviser": priced(document("The same text in the end."))}
    chosen = comparing("critique_revise", "improve", "single", repeats=1)
    result, _ = await compared(journal, chosen, same)
    panel = panels_of(result.story)[1]
    assert {ballot.order for ballot in panel.ballots} == {
        ("critique_revise", "single"),
        ("single", "critique_revise"),
    }


async def test_a_panel_sees_texts_and_no_names(journal: Journal) -> None:
    seen: list[Request] = []

    def judge(request: Request) -> str:
        seen.append(request)
        labels = list(shown_texts(request))
        return f"RANKING: {' > '.join(labels)}"

    await compared(journal, comparing("conservative", "single"), {"judge": priced(judge)})
    assert seen
    for request in seen:
        output = " ".join(message.text for message in request.messages[2:])
        assert "conservative" not in output.replace(
            " ".join(shown_texts(request).values()), ""
        ).replace("conservative pass", "")


async def test_a_strategy_that_fails_is_left_out_and_the_others_go_on(journal: Journal) -> None:
    nothing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")
    script = {"repeat/*/harsh/*/reviser/*": nothing}
    chosen = comparing("improve", "harsh", "single", allowance="8")
    result, _ = await compared(journal, chosen, script)
    assert result.status == "done"
    harsh = result.story.parts["repeat/1/harsh"]
    assert (harsh.delivered, harsh.status) == (None, "panel_failed")
    panel = panels_of(result.story)[1]
    assert set(panel.ballots[0].order) == {"improve", "single"}


async def test_dead_judges_end_no_comparison_and_others_may_follow(journal: Journal) -> None:
    dead = {"repeat/*/panel/*": priced("I would rather not say.")}
    paused, first = await compared(journal, comparing("improve", "single"), dead)
    assert paused.status == "panel_failed"
    model = Breaking(SCRIPT)
    result = await go_on(journal, paused.run, model)
    assert result.status == "done"
    assert not set(first.answered) & set(model.asked)
    assert all("/panel/" in key for key in model.asked)
    panels = panels_of(result.story)
    assert all(panel.decided and panel.decided.verdict for panel in panels.values())
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.parametrize("rival", ["best_of_n", "single", "improve"])
async def test_strategies_whose_judges_were_dead_are_run_again_when_resumed(
    journal: Journal, rival: str
) -> None:
    dead = {"*judge/*": priced("I would rather not say.")}
    chosen = comparing("autoreason", rival, repeats=2, changes={"passes": 2, "k": 1})
    paused, first = await compared(journal, chosen, dead)
    assert paused.status == "panel_failed"
    second = Breaking(SCRIPT | dead)
    assert (await go_on(journal, paused.run, second)).status == "panel_failed"
    third = Breaking(SCRIPT)
    result = await go_on(journal, paused.run, third)
    assert result.status == "done"
    asked = [*first.answered, *second.answered, *third.answered]
    assert second.answered
    assert len(set(asked)) == len(asked), "nothing is asked twice"
    assert not any("/draft/draft/" in key for key in third.asked), "the draft is still there"
    assert all(panel.verdict for panel in panels_of(result.story).values())
    report = comparison_report(result.story, spent_by_part(journal, result.run))
    assert [each.delivered for each in report.strategies] == [2, 2]
    assert report.judged_repeats == 2
    assert (await replay.aio(result.run, journal=journal)).same


async def test_the_last_attempt_counts_where_an_earlier_version_ran_only_the_panels_again(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = {"*judge/*": priced("I would rather not say.")}
    chosen = comparing("autoreason", "improve", repeats=2, changes={"passes": 2, "k": 1})
    paused, _ = await compared(journal, chosen, dead)
    with monkeypatch.context() as earlier:
        earlier.setattr(driver, "_recover", lambda _: Recovery(failed_panels=1))
        await go_on(journal, paused.run, Breaking(SCRIPT | dead))
    result = await go_on(journal, paused.run, Breaking(SCRIPT))
    assert result.status == "done"
    assert "repeat/1/autoreason@2" in result.story.parts
    assert "repeat/1/autoreason@1" not in result.story.parts
    report = comparison_report(result.story, spent_by_part(journal, result.run))
    assert [each.delivered for each in report.strategies] == [2, 2]
    assert report.judged_repeats == 2
    assert isinstance(result.story.end, JobFinished)
    best = result.story.end.origin.partition(":")[0]
    delivered = result.story.parts[f"repeat/2/{best}@2"].delivered
    assert delivered is not None
    assert result.story.end.text == delivered.text


async def test_a_comparison_without_a_draft_asks_for_one_again_when_resumed(
    journal: Journal,
) -> None:
    refusing = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")
    script = {"repeat/2/draft/*": refusing}
    paused, _ = await compared(journal, comparing("improve", "single"), script)
    assert paused.status == "provider_failed"
    result = await go_on(journal, paused.run, Breaking(SCRIPT))
    assert result.status == "done"


async def test_left_after_any_call_a_comparison_ends_the_same(journal: Journal) -> None:
    chosen = comparing("critique_revise", "single", repeats=2, changes={"passes": 1})
    await left_after_every_call(journal, TASK, chosen, SCRIPT)


async def test_the_tournament_among_others_is_left_and_taken_up(journal: Journal) -> None:
    chosen = comparing(
        "autoreason", "best_of_n", repeats=1, judges=2, changes={"passes": 1, "k": 1}
    )
    await left_after_every_call(journal, TASK, chosen, SCRIPT)


@tuned(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(luck=st.integers(0, 2**16), share=st.floats(0.0, 1.0))
async def test_neither_the_order_of_replies_nor_a_stop_changes_the_story(
    tmp_path_factory: pytest.TempPathFactory, luck: int, share: float
) -> None:
    chosen = comparing("critique_revise", "improve", "single")
    with open_journal(tmp_path_factory.mktemp("journal")) as journal:
        whole = Breaking(SCRIPT)
        ended = await start_run(journal, whole, settings=chosen)
        calls = round(share * (len(whole.answered) - 1))
        broken = Breaking(SCRIPT, calls, luck=luck)
        paused = await start_run(journal, broken, settings=chosen)
        mended = Breaking(SCRIPT, luck=luck + 1)
        result = await go_on(journal, paused.run, mended)
        assert not set(broken.answered) & set(mended.asked)
        assert told(journal, result.run) == told(journal, ended.run)


async def test_a_budget_over_all_parts_pauses_and_goes_on(journal: Journal) -> None:
    chosen = comparing("critique_revise", "single")
    whole, _ = await compared(journal, chosen)
    limited = replace(chosen, budget=Budget(calls=7))
    paused, first = await compared(journal, limited)
    assert (paused.status, paused.calls) == ("budget", 7)
    second = Breaking(SCRIPT)
    result = await go_on(journal, paused.run, second, changes={"budget": Budget()})
    assert (result.status, result.calls) == ("done", whole.calls)
    assert not set(first.asked) & set(second.asked)
    assert told(journal, result.run) == told(journal, whole.run)


OWN = """
    prompts = ()

    async def run(self):
        await self.write_draft()
        from autoreason.tournament.challengers import write_draft
        number = 0
        while self.may_begin(number + 1):
            number += 1
            self.begin_pass(number)
            self.take(number, await write_draft(self.context, f"pass/{number}/reviser"))
        return self.deliver("capped", "mine is done")
"""


async def test_strategies_of_ones_own_are_compared_like_ours(
    journal: Journal, tmp_path: Path
) -> None:
    name = plug_in(tmp_path, "mine", OWN)
    result, _ = await compared(journal, comparing("critique_revise", name, repeats=1))
    part = "repeat/1/mine.py:Mine"
    assert result.story.parts[part].delivered is not None
    assert spent_on(journal, result)[part].calls == 4
    assert set(panels_of(result.story)[1].ballots[0].order) == {"critique_revise", name}


async def test_strategies_that_would_share_a_name_are_refused(tmp_path: Path) -> None:
    names = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        names.append(plug_in(tmp_path / folder, "mine", OWN))
    assert "mine.py:Mine" in await refused(comparing(*names))


async def test_a_strategy_that_raises_loses_nothing_that_the_others_paid_for(
    journal: Journal, tmp_path: Path
) -> None:
    body = "    prompts = ()\n\n    async def run(self):\n"
    name = plug_in(tmp_path, "mine", f"{body}        raise LookupError('no shelf')\n")
    chosen = comparing("critique_revise", name, "improve", repeats=2)
    model = Breaking(SCRIPT, luck=3)
    with pytest.raises(StrategyError, match="no shelf"):
        await start_run(journal, model, settings=chosen)
    run = journal.runs()[0]
    assert run.status == "stopped"
    assert sorted(journal.replies(run.id)) == sorted(model.asked)

    plug_in(tmp_path, "mine", OWN)
    second = Breaking(SCRIPT)
    result = await go_on(journal, run.id, second)
    assert result.status == "done"
    assert not set(model.asked) & set(second.asked)


async def test_tokens_that_no_one_counts_are_not_matched(journal: Journal) -> None:
    uncounted = Reply(
        outcome=Outcome.OK, text=document("A text."), model="m", cost=A_CALL["cost"], usage=Usage()
    )
    chosen = comparing("improve", "harsh", match="tokens")
    with pytest.raises(InvalidInput, match="does not count them; match calls"):
        await compared(journal, chosen, {"reviser": uncounted})
    run = journal.runs()[0]
    assert (run.status, run.live) == ("stopped", False)


async def test_every_event_of_a_part_says_whose_it_is(journal: Journal) -> None:
    result, _ = await compared(journal, comparing("improve", "single"))
    *parts, last = told(journal, result.run)
    assert all(isinstance(event, PartEvent) for event in parts)
    assert not isinstance(last, PartEvent)
    names = [event.part for event in parts if isinstance(event, PartEvent)]
    for number in (1, 2):
        own = [name for name in names if name.startswith(f"repeat/{number}/")]
        first = names.index(own[0])
        assert names[first : first + len(own)] == own, "repeat after repeat"


@pytest.mark.parametrize("strategies", range(2, 9))
def test_enough_repeats_are_the_fewest_in_which_winning_all_of_them_shows(strategies: int) -> None:
    pairs = strategies * (strategies - 1) // 2
    enough = enough_repeats(strategies)
    ahead = permutation_test([1.0] * enough).p_value
    fewer = permutation_test([1.0] * (enough - 1)).p_value
    assert ahead is not None
    assert fewer is not None
    assert ahead * pairs <= BEYOND_CHANCE < fewer * pairs
