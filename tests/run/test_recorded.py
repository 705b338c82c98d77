"""Recorded runs are resumed, forked, replayed and copied."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.journal.samples import a_request, change, quietly
from tests.run.runs import TASK, go_on, scripted, start_run
from tests.run.suites import SMALL, run_suite
from tests.tournament.stage import UNSEEN, critique, vote
from tests.tournament.test_criteria import READERS, SPLIT, split_judge

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure, InvalidInput, UnknownRun
from autoreason.events import AnyEvent, RunResumed
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.run.prepared import change_budget
from autoreason.run.recorded import copy_journal, fork, replay, resume
from autoreason.run.refine import refine
from autoreason.settings import Budget
from autoreason.testing import EchoModel

SHORT: dict[str, Any] = {"reviewers": 0, "confirmation": 0, "budget": Budget(calls=2), "seed": 1}


async def test_a_paused_run_goes_on_from_a_file_by_a_part_of_its_name(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    paused = await refine.aio("Write.", "echo/echo", journal=file, **SHORT)
    assert (paused.status, paused.calls) == ("budget", 2)
    events: list[AnyEvent] = []
    result = await resume.aio(
        paused.run[:-1],
        journal=file,
        budget=Budget(calls=90),
        passes=1,
        on_event=events.append,
    )
    assert (result.run, result.status) == (paused.run, "capped")
    assert result.calls > 2
    assert isinstance(events[1], RunResumed)
    assert (await replay.aio(paused.run, journal=file)).same


async def test_a_call_under_way_at_a_kill_counts_until_it_is_asked_again(tmp_path: Path) -> None:
    with Journal.open(str(tmp_path / "journal.db"), create=True) as journal:
        paused = await refine.aio("Write.", "echo/echo", journal=journal, **SHORT)
        for key in ("pass/9/critic/0/try/0", "pass/1/reviser/try/0"):
            journal.record_request(paused.run, a_request(key))
        await journal.flush()
        # The first is never asked again, the second as the next call.
        for limit, calls in ((3, 2), (4, 3), (5, 4)):
            budget = Budget(calls=limit)
            result = await resume.aio(paused.run, journal=journal, budget=budget)
            assert (result.status, result.calls) == ("budget", calls)


async def test_a_model_given_as_an_object_takes_over(tmp_path: Path) -> None:
    with Journal.open(str(tmp_path / "journal.db"), create=True) as journal:
        paused = await refine.aio("Write.", "echo/echo", journal=journal, **SHORT)
        model = scripted(address="scripted/other")
        result = await resume.aio(
            paused.run, journal=journal, model=model, budget=Budget(calls=90), passes=1
        )
        assert {request.model for request in model.requests} == {"scripted/other"}
        assert result.story.settings
        assert result.story.settings.models.judges == ("scripted/other",)


async def test_nothing_is_recorded_where_the_last_check_refuses(tmp_path: Path) -> None:
    def refuse() -> None:
        raise InvalidInput("not today; try tomorrow")

    with pytest.raises(InvalidInput, match="not today"):
        await refine.aio("Write.", EchoModel(), journal=tmp_path / "j.db", on_ready=refuse)
    assert not (tmp_path / "j.db").exists()


async def test_a_run_that_is_not_there_and_a_journal_in_no_folder_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(UnknownRun):
        await resume.aio("amber-fox", journal=tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(InvalidInput, match=r"no folder .* for the journal"):
        await refine.aio("Write.", EchoModel(), journal=tmp_path / "nowhere" / "j.db")


def test_limits_that_are_not_set_stay() -> None:
    before = Budget(calls=3, tokens=100)
    assert change_budget(before, Budget(calls=5)) == Budget(calls=5, tokens=100)
    assert change_budget(before, None) == before


async def test_a_fork_has_the_same_brief_and_the_text_of_its_pass_which_was_run(
    journal: Journal,
) -> None:
    result = await start_run(journal, scripted({"judge": vote("Second text, made in 2", "First")}))
    assert result.story.trajectory[:2] == ("A", "B")
    assert fork.prepare(result.run, 0, journal=journal).task.draft == "First text."
    assert fork.prepare(result.run, 1, journal=journal).task.draft == "First text."
    assert fork.prepare(result.run, 2, journal=journal).task.draft == "Second text, made in 2."
    latest = fork.prepare(result.run, journal=journal).task
    assert (latest.brief, latest.draft) == (TASK.brief, result.text)
    with pytest.raises(InvalidInput, match=r"after round 99; \d rounds are over"):
        fork.prepare(result.run, 99, journal=journal)


async def test_a_text_that_a_review_gave_up_can_be_forked(journal: Journal) -> None:
    model = scripted({"judge": vote("made in 1", "First")})
    options: dict[str, Any] = {"passes": 4, "review_every": 2, "min_reviews": 4, "k": 9}
    result = await start_run(journal, model, changes=UNSEEN | options)
    assert [each.name for each in result.story.incumbents] == ["draft", "pass 1"]
    drafts = [fork.prepare(result.run, at, journal=journal).task.draft for at in range(5)]
    assert drafts == ["First text.", *(f"Second text, made in {at}." for at in range(1, 5))]


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
    assert (chosen.voting, chosen.judges) == ("majority", 9)
    assert chosen.budget == Budget(calls=70, tokens=90_000)
    assert chosen.models.all() == ("echo/echo",)
    assert prepared.task.contract.max_words == 30
    assert prepared.forked_from == result.run
    forked = await prepared.run_async()
    assert journal.story(forked.run).forked_from == result.run


@pytest.mark.parametrize("seed", range(5))
async def test_a_whole_run_replays_to_the_same_events(journal: Journal, seed: int) -> None:
    result = await start_run(journal, changes={"seed": seed, "passes": 6})
    replayed = await replay.aio(result.run, journal=journal)
    assert replayed.same, replayed.difference
    assert replayed.events > 10


@pytest.mark.parametrize(
    "changes",
    [
        {"style": "verified", "required_lead": 2, "voting": "instant_runoff", "plateau": 4},
        {"style": "anchored", "judges": 1},
        {"ballot": "graded"},
    ],
)
async def test_a_run_by_other_rules_is_recorded_and_replays(
    journal: Journal, changes: dict[str, Any]
) -> None:
    result = await start_run(journal, changes={"passes": 4, **changes})
    recorded = journal.story(result.run)
    ballots = [each for one in recorded.passes for each in one.ballots]
    if "ballot" in changes:
        assert ballots
        assert all(each.grades.keys() == {*each.order} for each in ballots)
    elif changes["style"] == "verified":
        assert any(each.check for each in ballots)
        assert {one.verdict.required_lead for one in recorded.passes if one.verdict} == {2}
    else:
        assert {len(one.ballots) for one in recorded.passes if one.verdict} == {1}
    replayed = await replay.aio(result.run, journal=journal)
    assert replayed.same, replayed.difference


async def test_criteria_and_what_a_critic_reads_after_a_split_vote_survive_a_pause_and_a_fork(
    journal: Journal,
) -> None:
    task = replace(TASK, criteria=("accurate", "kind: warm words"))
    model = scripted({"judge": split_judge(*SPLIT)})
    limits = {"budget": Budget(calls=8), "reviewers": 0, "confirmation": 0, "passes": 3}
    paused = await start_run(journal, model, task=task, changes=limits)
    assert paused.status == "budget"
    result = await go_on(journal, paused.run, model, changes={"budget": Budget(calls=90)})
    assert result.finished
    asked = [each.messages[-1].text for each in model.requests if each.role == "critic"]
    assert [bool(READERS.search(each)) for each in asked] == [False, True, True]
    replayed = await replay.aio(result.run, journal=journal)
    assert replayed.same, replayed.difference
    assert fork.prepare(result.run, journal=journal).task.criteria == task.criteria


async def test_a_run_that_paused_or_was_resumed_or_spent_its_budget_replays_too(
    journal: Journal,
) -> None:
    paused = await start_run(
        journal, scripted({"pass/1/judge/1/try/0": CallFailed(Failure.CONNECTION, "gone")})
    )
    assert (await replay.aio(paused.run, journal=journal)).same
    await go_on(journal, paused.run, scripted({"judge": "no comment"}))
    assert (await replay.aio(paused.run, journal=journal)).same
    finished = await go_on(journal, paused.run, scripted())
    assert finished.status == "converged"
    assert (await replay.aio(paused.run, journal=journal)).same
    at_limit = await start_run(journal, scripted(), changes={"budget": Budget(calls=5)})
    assert (await replay.aio(at_limit.run, journal=journal)).same


async def test_an_accepted_run_replays_to_its_acceptance(journal: Journal) -> None:
    names: list[str] = []

    def accept(_: Request) -> str:
        journal.command(names[0], "accept")
        return critique("thin")

    model = scripted({"pass/1/critic/0/try/0": accept}, latency=0.35)
    result = await start_run(journal, model, on_started=names.append)
    assert result.status == "accepted"
    assert (await replay.aio(result.run, journal=journal)).same


async def test_a_record_that_was_changed_is_found_out(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    with sqlite3.connect(journal.path) as tampered:
        tampered.execute(
            "update replies set reply = replace(reply, 'Second text', 'Second word') where key = 'pass/1/reviser/try/0'"
        )
    tampered.close()
    replayed = await replay.aio(result.run, journal=journal)
    assert not replayed.same
    assert "differs from the record" in (replayed.difference or "")


RANDOM = """
from itertools import count

numbers = count()

def check(text):
    return [f"is number {next(numbers)}"]
"""


async def test_code_of_a_user_that_is_not_the_same_again_is_the_likely_cause(
    journal: Journal, tmp_path: Path
) -> None:
    file = tmp_path / "own.py"
    file.write_text(RANDOM)
    task = replace(TASK, contract=Contract(checks=(f"{file}:check",)))
    result = await start_run(journal, task=task, changes={"passes": 2})
    replayed = await replay.aio(result.run, journal=journal)
    assert not replayed.same
    assert "the check own.py:check was changed since, or it draws at random" in (
        replayed.difference or ""
    )
    assert "another version" not in (replayed.difference or "")


async def test_a_replay_is_a_report(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    replayed = await replay.aio(result.run, journal=journal)
    assert str(replayed) == f"{result.run}: the same, {replayed.events} events."
    assert result.run in replayed._repr_html_()
    assert replayed.to_dict() == {
        "conclusion": replayed.conclusion,
        "summary": replayed.summary(),
        "run": result.run,
        "events": replayed.events,
        "difference": None,
        "same": True,
    }


async def test_a_suite_is_replayed_on_a_server_and_back_in_a_file(
    tmp_path: Path, journal: Journal, postgres_url: str
) -> None:
    whole = await run_suite(tmp_path, journal, SMALL)
    paused = await run_suite(tmp_path, journal, SMALL, budget=Budget(calls=1))
    finished = {row.id for row in journal.runs(None, cells=True) if row.finished}
    assert paused.run not in finished
    back = str(tmp_path / "back.db")
    with (
        Journal.open(postgres_url, create=True) as server,
        Journal.open(back, create=True) as file,
    ):
        for source, target in ((journal, server), (server, file)):
            result = await asyncio.to_thread(copy_journal, source, target, quietly)
            assert set(result.replayed) == finished
            assert result.differences == {}
        assert file.row(whole.run) == journal.row(whole.run)
        shown = [each.cells_done(whole.run) for each in (journal, server, file)]
        assert shown == [(4, 0, 0)] * 3


async def test_a_replay_that_differs_is_a_sentence_and_others_are_copied(
    tmp_path: Path, journal: Journal
) -> None:
    result = await run_suite(tmp_path, journal, SMALL)
    wrong = f"{result.run}.0001"
    change(str(journal.path), f"DELETE FROM replies WHERE run = '{wrong}'")
    with Journal.open(str(tmp_path / "copy.db"), create=True) as target:
        copied = await asyncio.to_thread(copy_journal, journal, target, quietly)
        assert list(copied.differences) == [wrong]
        assert copied.differences[wrong].startswith(f"{wrong}: differs after")
        assert len(target.cells(result.run)) == len(journal.cells(result.run))
        again = await asyncio.to_thread(copy_journal, journal, target, quietly)
        assert (again.copied, again.replayed) == ([], [])


async def test_a_suite_that_went_on_in_its_copy_is_one_sentence_that_names_the_way_back(
    tmp_path: Path, journal: Journal
) -> None:
    limits = Budget(calls=1)
    paused = await run_suite(tmp_path, journal, SMALL, model="echo/echo", budget=limits)
    with Journal.open(str(tmp_path / "copy.db"), create=True) as copy:
        await asyncio.to_thread(copy_journal, journal, copy, quietly)
        await resume.aio(paused.run, journal=copy, budget=Budget(calls=999))
        back = await asyncio.to_thread(copy_journal, copy, journal, quietly)
        (sentence,) = back.conflicts.values()
        assert sentence == (
            f"{journal.place} has another {paused.run}, which is left as it is; to replace it, also"
            f" where it is the later one: `autoreason runs delete {paused.run} --journal "
            f"{journal.place}`, then copy again"
        )
        assert {*back.there, *back.differing} == set(copy.stamps())
        assert not set(back.differing) <= set(journal.stamps())
        journal.delete_run(paused.run)
        again = await asyncio.to_thread(copy_journal, copy, journal, quietly)
        assert (again.conflicts, set(again.copied)) == ({}, set(copy.stamps()))
