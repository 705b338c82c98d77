"""Recorded passes before another panel: the same texts, only judges are asked."""

from __future__ import annotations

from typing import Any

import pytest
from tests.run.leaving import Breaking, left_after_every_call
from tests.run.runs import scripted, settings, start_run
from tests.studies.panels.test_panel_jobs import DEAD, hold_on
from tests.tournament.stage import shown_texts, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.exchange import Request
from autoreason.job_types import Rejudge
from autoreason.journal import Journal
from autoreason.run.result import Result
from autoreason.settings import Settings
from autoreason.story import Story
from autoreason.studies.panel_jobs import decisions, recorded_panels
from autoreason.task import Task

RECORDED: dict[str, Any] = {
    "judge": vote("made in 1", "made in 2", "First"),
    "pass/2/judge/*": vote("Third text, made in 1", "Second"),
    "pass/3/judge/*": vote("Third text, made in 1", "Second"),
}


async def recorded(journal: Journal, **changes: Any) -> Result:
    return await start_run(
        journal, scripted(RECORDED), changes={"judges": 2, "reviewers": 3, **changes}
    )


def again(of: str, **changes: Any) -> Settings:
    return settings(job=Rejudge(of=of), **{"judges": 2, **changes})


async def held_again(
    journal: Journal, run: Result, script: dict[str, Any]
) -> tuple[Result, Breaking]:
    model = Breaking(script)
    task = recorded_panels(run.story, run.run)
    return await start_run(journal, model, task=task, settings=again(run.run)), model


async def test_the_texts_of_every_recorded_panel_are_judged_again_wherever_it_is_left(
    journal: Journal,
) -> None:
    run = await recorded(journal)
    task = recorded_panels(run.story, run.run)
    stages = list(dict.fromkeys(entry.stage for entry in task.entries))
    held = [p.number for p in run.story.passes if p.decided and p.decided.verdict]
    assert len(held) > 1
    assert run.story.closing_review is not None
    assert stages == [*(f"again/pass/{number}" for number in held), "again/review"]
    for number in held:
        texts = {e.name: e.text for e in task.entries if e.stage == f"again/pass/{number}"}
        recorded_pass = run.story.passes[number - 1]
        assert texts == {slot: recorded_pass.text(slot) for slot in ("A", "AB", "B")}
    finalists = {e.text for e in task.entries if e.stage == "again/review"}
    assert finalists == {text.text for text in run.story.closing_review.texts}
    assert (task.brief, task.draft) == (
        "Write a note about the new coffee machine.\n\nKeep it short and kind.",
        None,
    )
    await left_after_every_call(journal, task, again(run.run), {"judge": vote("First")})


async def test_it_is_reported_which_decisions_come_out_otherwise_and_ties_go_as_recorded(
    journal: Journal,
) -> None:
    run = await recorded(journal)
    alike, model = await held_again(
        journal, run, {"judge": vote("Third text, made in 1", "made in 1")}
    )
    assert all(key.startswith("again/") and "/judge/" in key for key in model.asked)
    other, _ = await held_again(
        journal, run, {"judge": vote("First text"), "again/pass/2/*": "No."}
    )
    for result in (alike, other):
        found = decisions(run.story, result.story.panels)
        assert [each.stage for each in found][-1] == "review"
        for each in found:
            assert each.recorded_verdict is not None
            if result is other and each.stage == "pass 2":
                assert (each.new_winner, each.changed) == (None, False)
                continue
            assert each.new_verdict is not None
            assert each.recorded_winner == each.recorded_verdict.winner
            assert each.changed == (each.new_winner != each.recorded_winner)
    changed = [each.changed for each in decisions(run.story, other.story.panels)]
    assert changed[0], "the first pass was won by a challenger"
    assert decisions(run.story, other.story.panels)[-1].new_winner == "draft"

    def torn(request: Request) -> str:
        labels = list(shown_texts(request))
        seat = int(request.key.split("/judge/")[1].split("/")[0])
        texts = shown_texts(request)
        labels.sort(key=lambda label: texts[label], reverse=bool(seat % 2))
        return f"RANKING: {' > '.join(labels)}"

    result, _ = await held_again(journal, run, {"judge": torn})
    found = decisions(run.story, result.story.panels)
    assert all(each.new_verdict is not None and each.new_verdict.tied for each in found)
    assert [each.new_winner for each in found[:-1]] == ["A"] * (len(found) - 1)
    assert run.story.closing_review is not None
    assert found[-1].new_winner == run.story.closing_review.texts[-1].name, (
        "the last incumbent wins ties"
    )


def test_a_run_without_a_panel_is_one_sentence() -> None:
    story = Story(task=Task(brief="x"), settings=settings())
    with pytest.raises(
        InvalidInput, match="has no round and no review of texts that a panel decided"
    ):
        recorded_panels(story, "some-run")
    with pytest.raises(InvalidInput, match="before anything was recorded"):
        recorded_panels(Story(), "some-run")


async def test_dead_judges_are_no_decisions_and_others_may_follow(journal: Journal) -> None:
    run = await recorded(journal)
    paused, _ = await held_again(journal, run, DEAD)
    assert paused.status == "panel_failed"
    assert all(
        each.new_winner is None and not each.changed
        for each in decisions(run.story, paused.story.panels)
    )
    result = await hold_on(journal, paused.run, {"judge": vote("First")})
    assert result.status == "done"
    assert all(each.new_winner is not None for each in decisions(run.story, result.story.panels))


async def test_a_text_that_stood_in_breach_is_not_judged_again_either(journal: Journal) -> None:
    long = " ".join(["First"] * 30)
    task = Task(brief="Write one sentence.", draft=long, contract=Contract(max_words=20))
    run = await start_run(
        journal, scripted(RECORDED), task=task, changes={"judges": 2, "reviewers": 3}
    )
    again_task = recorded_panels(run.story, run.run)
    first = {e.name for e in again_task.entries if e.stage == "again/pass/1"}
    assert first == {"AB", "B"}
    assert not any(entry.text == long for entry in again_task.entries)
    assert again_task.contract == task.contract
