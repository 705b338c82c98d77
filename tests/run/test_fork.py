"""A fork starts from a text another run had reached."""

from __future__ import annotations

import pytest
from tests.run.runs import TASK, scripted, start_run
from tests.tournament.stage import vote

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.run.recorded import fork
from autoreason.settings import Budget


async def test_a_fork_has_the_same_brief_and_the_text_of_its_pass(journal: Journal) -> None:
    result = await start_run(journal, scripted({"judge": vote("Second text, made in 2", "First")}))
    assert result.story.trajectory[:2] == ("A", "B")
    assert fork.prepare(result.run, 0, journal=journal).task.draft == "First text."
    assert fork.prepare(result.run, 1, journal=journal).task.draft == "First text."
    assert fork.prepare(result.run, 2, journal=journal).task.draft == "Second text, made in 2."
    latest = fork.prepare(result.run, journal=journal).task
    assert (latest.brief, latest.draft) == (TASK.brief, result.text)


async def test_a_pass_that_was_not_run_cannot_be_forked(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    with pytest.raises(InvalidInput, match="has no text after pass 9; it has 2 decided passes"):
        fork.prepare(result.run, 9, journal=journal)


async def test_a_fork_has_the_settings_of_its_run_but_for_what_is_given(journal: Journal) -> None:
    changes = {"budget": Budget(calls=50, tokens=90_000), "voting": "majority"}
    result = await start_run(journal, scripted(), changes=changes)
    prepared = fork.prepare(
        result.run[:-1],
        journal=journal,
        model="echo/echo",
        judges=9,
        budget=Budget(calls=70),
        contract={"max_words": 30},
    )
    chosen = prepared.settings
    assert (chosen.voting, chosen.judges, chosen.max_judges) == ("majority", 9, 9)
    assert chosen.budget == Budget(calls=70, tokens=90_000)
    assert chosen.models.all() == ("echo/echo",)
    assert prepared.task.contract.max_words == 30
    assert prepared.forked_from == result.run
    forked = await prepared.run_async()
    assert journal.story(forked.run).forked_from == result.run


async def test_a_fork_can_have_a_single_judge_or_a_panel_again(journal: Journal) -> None:
    panel = await start_run(journal, scripted())
    single = fork.prepare(panel.run, journal=journal, single_judge=True)
    assert (single.settings.judges, single.settings.extra_judges) == (1, 0)
    run = (await start_run(journal, scripted(), changes={"single_judge": True})).run
    assert fork.prepare(run, journal=journal).settings.judges == 1
    assert fork.prepare(run, journal=journal, judges=3).settings.judges == 3
    with pytest.raises(InvalidInput, match="`single_judge` and `judges` 5 contradict each other"):
        fork.prepare(panel.run, journal=journal, single_judge=True, judges=5)


async def test_a_contract_with_an_unknown_key_cannot_be_forked_to(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    with pytest.raises(InvalidInput, match="unknown key `max_word`"):
        fork.prepare(result.run, journal=journal, contract={"max_word": 3})
