"""A panel over finished texts: blind, balanced, and resumable when its judges fail."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.run.leaving import Breaking, left_after_every_call, told
from tests.run.runs import go_on, lend, settings, start_run
from tests.tournament.stage import play, shown_texts, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import BallotCast, PanelDecided
from autoreason.exchange import Request
from autoreason.job_types import AnyJob, Judge, JudgePairs, Rejudge
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.prompts import built_in
from autoreason.run.estimate import check
from autoreason.run.recorded import replay
from autoreason.settings import Models
from autoreason.studies.panels.entries import make_entries
from autoreason.studies.panels.panel_results import panel_report
from autoreason.task import Entry, Task

TEXTS = {
    "incumbent-final.md": "Alpha is the first of them.",
    "rival.md": "Beta is another one.",
    "draft-v1.md": "Gamma is the last.",
}
ENTRIES = make_entries(TEXTS)
TASK = Task(brief="Write one sentence.", entries=ENTRIES)
JUDGING: dict[str, Any] = {"judge": vote("Beta", "Alpha", "Gamma")}
DEAD: dict[str, Any] = {"judge": "I would rather not say."}


def judging(**changes: Any) -> Any:
    """Settings of a panel."""
    return settings(job=Judge(), **{"judges": 3, **changes})


async def test_every_judge_sees_every_text_under_labels_of_its_own() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=6)
    judges = played.asked("judge")
    assert len(judges) == len(played.requests) == 6
    for judge in judges:
        assert sorted(shown_texts(judge).values()) == sorted(TEXTS.values())
        output = " ".join(message.text for message in judge.messages)
        assert "Write one sentence." in judge.messages[1].text
        assert not any(name in output or name.removesuffix(".md") in output for name in TEXTS)
    assert len({tuple(shown_texts(judge)) for judge in judges}) > 1


@pytest.mark.parametrize("count", [2, 3, 4])
async def test_every_text_stands_in_every_place_equally_often(count: int) -> None:
    entries = make_entries({f"{n}": f"Text number {n} here." for n in range(count)})
    played = await play(JUDGING, entries=entries, job=Judge(), judges=2 * count)
    orders = [ballot.order for ballot in played.of(BallotCast)]
    for place in range(count):
        assert set(Counter(order[place] for order in orders).values()) == {2}


async def test_the_panel_delivers_the_text_it_prefers() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=3)
    assert played.end is not None
    assert (played.end.status, played.end.origin) == ("done", "rival.md")
    assert played.end.text == TEXTS["rival.md"]
    held = played.of(PanelDecided)[0].verdict
    assert held is not None
    assert held.scores == {"rival.md": 9, "incumbent-final.md": 6, "draft-v1.md": 3}


async def test_a_mixed_panel_takes_its_models_in_turn() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/a", "m/b", "m/c"))
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=5, models=models)
    assert [judge.model for judge in played.asked("judge")] == ["m/a", "m/b", "m/c", "m/a", "m/b"]


async def test_left_after_any_call_a_panel_ends_the_same(journal: Journal) -> None:
    ended = await left_after_every_call(journal, TASK, judging(), JUDGING)
    assert ended.origin == "rival.md"


async def test_dead_judges_pause_the_panel_and_others_may_take_their_place(
    journal: Journal,
) -> None:
    paused = await start_run(journal, Breaking(DEAD), task=TASK, settings=judging())
    assert paused.status == "panel_failed"
    assert "0 of 3 ballots were valid" in paused.reason

    again = await hold_on(journal, paused.run, DEAD)
    assert again.status == "panel_failed"
    assert again.calls == 2 * paused.calls

    result = await hold_on(journal, paused.run, JUDGING)
    assert (result.status, result.origin) == ("done", "rival.md")
    assert result.calls == 2 * paused.calls + 3
    report = panel_report(result.story)
    assert (report.ballots, report.standings[0].name) == (3, "rival.md")
    assert (await replay.aio(result.run, journal=journal)).same


async def hold_on(journal: Journal, run: str, script: dict[str, Any]) -> Any:
    """Go on, and see that nothing is asked twice."""
    before = set(journal.replies(run))
    model = Breaking(script)
    result = await go_on(journal, run, model)
    assert not before & set(model.asked)
    return result


@pytest.mark.parametrize("job", [Judge(), JudgePairs()])
async def test_judges_of_finished_texts_read_limits_and_not_that_breaches_are_thrown_out(
    job: AnyJob,
) -> None:
    limits = Contract(max_words=2)
    played = await play(JUDGING, entries=ENTRIES, contract=limits, job=job, judges=3)
    for request in played.asked("judge"):
        text = "\n".join(message.text for message in request.messages)
        assert "Limits that the text must keep:\n\n- At most 2 words." in text
        assert "throws out" not in text


async def test_a_panel_below_its_quorum_decides_nothing() -> None:
    def seldom(request: Request) -> str:
        return vote("Beta")(request) if "/judge/0/" in request.key else "No."

    played = await play({"judge": seldom}, entries=ENTRIES, job=Judge(), judges=3)
    assert isinstance(played.interruption, PanelFailed)
    assert played.of(PanelDecided) == [PanelDecided(stage="panel", verdict=None)]


async def test_judges_who_cannot_rank_many_texts_are_said_to_manage_pairs() -> None:
    many = {f"{name}.md": f"Text {name}." for name in "abcdefg"}
    for texts, output in ((many, True), (dict(list(many.items())[:3]), False)):
        played = await play({"judge": "No."}, entries=make_entries(texts), job=Judge(), judges=3)
        assert ("may compare two at a time" in str(played.interruption)) == output


async def test_a_panel_without_texts_is_refused() -> None:
    for job in (Judge(), JudgePairs(), Rejudge(of="x")):
        chosen = settings("echo/echo", job=job)
        with pytest.raises(InvalidInput, match="no texts to judge"):
            await check(Task(brief="x"), chosen, ModelPool(), built_in())


class Narrow(ModelPool):
    """Models with little room."""

    def window(self, address: str) -> int | None:
        """A page or so."""
        return 2000 if address == "scripted/scripted" else None


@pytest.mark.parametrize("job", [Judge(), JudgePairs(), Rejudge(of="x")])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_text_over_the_window_is_refused_wherever_it_stands(job: AnyJob, at: int) -> None:
    long = "word " * 3000
    stages = ("again/pass/1", "again/pass/2") if isinstance(job, Rejudge) else ("",)
    entries = [
        Entry(name=f"{n}", text=f"Text number {n}.", stage=stage)
        for stage in stages
        for n in range(3)
    ]
    entries[-1 - at] = Entry(name=f"{2 - at}", text=long, stage=stages[-1])
    task = Task(brief="x", entries=tuple(entries))
    model = Breaking(JUDGING)
    pool = Narrow()
    pool.add({model.address: model})
    with pytest.raises(InvalidInput, match="the text to be judged needs about"):
        await check(task, settings(job=job), pool, built_in())
    assert not model.asked
    await check(TASK, settings(job=Judge()), lend(model), built_in())


async def test_what_is_checked_before_leaves_no_loose_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import asyncio
    import gc

    await check(TASK, judging(judges=5), lend(Breaking(JUDGING)), built_in())
    gc.collect()
    await asyncio.sleep(0)
    assert not caplog.records


async def test_the_story_does_not_depend_on_which_judge_is_quicker(journal: Journal) -> None:
    stories = []
    for luck in range(3):
        result = await start_run(
            journal, Breaking(JUDGING, luck=luck), task=TASK, settings=judging()
        )
        stories.append(told(journal, result.run))
    assert stories[0] == stories[1] == stories[2]
