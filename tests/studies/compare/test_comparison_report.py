"""What a comparison shows: what each took, who shares a place, and what was left out and why."""

from __future__ import annotations

from pathlib import Path

from tests.run.leaving import Breaking
from tests.run.runs import go_on
from tests.studies.compare.rivals import SCRIPT, compared, comparing, plug_in, priced, reported
from tests.studies.compare.test_comparison import OWN
from tests.tournament.stage import document

from autoreason.contract import Contract
from autoreason.exchange import Outcome, Reply
from autoreason.journal import Journal
from autoreason.studies.compare.comparison_report import comparison_report
from autoreason.studies.compare.part_spending import spent_by_part
from autoreason.task import Task

NOTHING = Reply(outcome=Outcome.REFUSED, text="", model="scripted/scripted")


async def test_the_table_says_what_each_strategy_took_and_delivered(journal: Journal) -> None:
    result, _ = await compared(journal, comparing("critique_revise", "improve", "single"))
    report = reported(journal, result)
    assert [each.strategy for each in report.strategies] == ["critique_revise", "improve", "single"]
    assert [each.spent.calls for each in report.strategies] == [8, 8, 0]
    assert [each.delivered for each in report.strategies] == [2, 2, 2]
    assert [each.same_as_draft for each in report.strategies] == [0, 0, 2]
    assert (report.repeats, report.judged_repeats, report.match, report.left_out) == (
        2,
        2,
        "calls",
        (),
    )
    assert report.panel is not None
    assert report.panel.repeats == 2
    assert report.panel.ballots == 6
    assert dict(report.sections()[-1].sentences)["Matched"] == (
        "by calls, the most that each may take; single needed far fewer; "
        "what each strategy spent is in the table above"
    )


async def test_the_table_counts_the_texts_that_keep_the_contract(journal: Journal) -> None:
    chosen = comparing("improve", "single")
    result, _ = await compared(journal, chosen)
    assert [each.keeps_contract for each in reported(journal, result).strategies] == [None, None]
    task = Task(brief="Write.", contract=Contract(must_include=("improved",)))
    written = {"reviser": priced(document("An improved text."))}
    result, _ = await compared(journal, chosen, written, task=task)
    assert [each.keeps_contract for each in reported(journal, result).strategies] == [2, 0]


async def test_those_who_delivered_the_same_text_share_its_place(journal: Journal) -> None:
    same = {"reviser": priced(document("The same reviser text in the end."))}
    chosen = comparing("critique_revise", "improve", "single")
    result, _ = await compared(journal, chosen, same)
    panel = reported(journal, result).panel
    assert panel is not None
    standings = {each.name: each for each in panel.standings}
    assert standings["critique_revise"].points == standings["improve"].points == 6 * 2.5
    assert standings["single"].points == 6
    assert panel.wins["critique_revise"]["improve"] == 0


async def test_nothing_is_judged_where_all_texts_are_the_same(journal: Journal) -> None:
    draft = {"author": priced(document("One.")), "reviser": priced(document("One."))}
    result, model = await compared(journal, comparing("improve", "single"), draft)
    report = reported(journal, result)
    assert (result.status, report.panel, report.judged_repeats) == ("done", None, 0)
    assert not any("/panel/" in key for key in model.asked)
    assert report.left_out == ("2 of 2 repeats had nothing to judge: all texts were the same",)


async def test_a_strategy_that_fails_is_reported_and_has_no_place(journal: Journal) -> None:
    chosen = comparing("improve", "harsh", "single", allowance="8")
    result, _ = await compared(journal, chosen, {"repeat/*/harsh/*/reviser/*": NOTHING})
    report = reported(journal, result)
    assert report.panel is not None
    assert {each.name for each in report.panel.standings} == {"improve", "single"}
    harsh = report.strategies[1]
    assert (harsh.delivered, harsh.words) == (0, None)
    assert len(report.left_out) == 1
    assert report.left_out[0].startswith("harsh delivered no text in 2 of 2: 2 passes in a row")


async def test_a_repeat_with_one_text_left_is_not_called_a_tie(journal: Journal) -> None:
    chosen = comparing("improve", "harsh", repeats=1, allowance="8")
    result, _ = await compared(journal, chosen, {"repeat/*/harsh/*/reviser/*": NOTHING})
    message = reported(journal, result).left_out
    assert (
        "1 of 1 repeats had nothing to judge: fewer than two strategies delivered a text" in message
    )


async def test_a_panel_below_its_quorum_is_left_out(journal: Journal) -> None:
    script = {"repeat/1/panel/panel/judge/[12]/*": priced("I would rather not say.")}
    result, _ = await compared(journal, comparing("improve", "single"), script)
    report = reported(journal, result)
    assert (result.status, report.judged_repeats) == ("done", 1)
    assert report.panel is not None
    assert report.panel.ballots == 3, "the one vote of a failed panel decides nothing"
    assert report.left_out == ("1 of 2 repeats got too few valid ballots to decide anything",)


async def test_what_failed_attempts_took_is_left_out_of_the_table_and_said(
    journal: Journal,
) -> None:
    dead = {"*judge/*": priced("I would rather not say.")}
    chosen = comparing("autoreason", "improve", repeats=1, changes={"k": 1})
    paused, _ = await compared(journal, chosen, dead)
    result = await go_on(journal, paused.run, Breaking(SCRIPT))
    report = comparison_report(result.story, spent_by_part(journal, result.run))
    (said,) = [each for each in report.left_out if "attempts" in each]
    spent = spent_by_part(journal, result.run)
    last = ("repeat/1/autoreason@1", "repeat/1/improve@1", "repeat/1/panel/attempt/1")
    counted = [each for name, each in spent.items() if name in (*last, "repeat/1/draft")]
    failed = result.calls - sum(each.calls for each in counted)
    assert failed > 0
    assert said.startswith(f"attempts that failed and were run again took {failed} calls, ")
    assert "unknown" not in said


async def test_what_a_strategy_of_ones_own_took_is_counted(
    journal: Journal, tmp_path: Path
) -> None:
    name = plug_in(tmp_path, "mine", OWN)
    result, _ = await compared(journal, comparing("critique_revise", name))
    spent = spent_by_part(journal, result.run)
    assert spent["repeat/1/mine.py:Mine"].calls == 4
    entrant = reported(journal, result).strategies[1]
    assert (entrant.strategy, entrant.spent.calls) == ("mine.py:Mine", 8)


async def test_a_pair_that_met_in_one_repeat_has_no_interval_and_says_why(
    journal: Journal,
) -> None:
    result, _ = await compared(journal, comparing("improve", "single", repeats=1))
    sentences = dict(reported(journal, result).sections()[-1].sentences)
    assert sentences["Interval"] == (
        "none against single: an interval needs two repeats or more, there is one repeat"
    )
