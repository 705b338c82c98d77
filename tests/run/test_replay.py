"""A recorded run replays offline, for nothing, to the same events."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.run.runs import TASK, go_on, scripted, start_run

from autoreason.contract import Contract
from autoreason.errors import CallFailed, Failure
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.run.recorded import replay
from autoreason.settings import Budget


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
        {"style": "anchored", "single_judge": True},
    ],
)
async def test_a_run_by_other_rules_is_recorded_and_replays(
    journal: Journal, changes: dict[str, Any]
) -> None:
    result = await start_run(journal, changes={"passes": 4, **changes})
    recorded = journal.story(result.run)
    ballots = [each for one in recorded.passes for each in one.ballots]
    if changes["style"] == "verified":
        assert any(each.check for each in ballots)
        assert {one.verdict.required_lead for one in recorded.passes if one.verdict} == {2}
    else:
        assert {len(one.ballots) for one in recorded.passes if one.verdict} == {1}
    replayed = await replay.aio(result.run, journal=journal)
    assert replayed.same, replayed.difference


async def test_a_paused_and_a_resumed_run_replay_too(journal: Journal) -> None:
    paused = await start_run(
        journal, scripted({"pass/1/judge/1/try/0": CallFailed(Failure.CONNECTION, "gone")})
    )
    assert (await replay.aio(paused.run, journal=journal)).same
    await go_on(journal, paused.run, scripted({"judge": "no comment"}))
    assert (await replay.aio(paused.run, journal=journal)).same
    finished = await go_on(journal, paused.run, scripted())
    assert finished.status == "converged"
    assert (await replay.aio(paused.run, journal=journal)).same


async def test_a_run_out_of_budget_replays_too(journal: Journal) -> None:
    paused = await start_run(journal, scripted(), changes={"budget": Budget(calls=5)})
    assert (await replay.aio(paused.run, journal=journal)).same


async def test_an_accepted_run_replays_to_its_acceptance(journal: Journal) -> None:
    name = ""

    def remember(run: str) -> None:
        nonlocal name
        name = run

    def accept(_: Request) -> str:
        journal.command(name, "accept")
        return '{"problems": [{"severity": "major", "kind": "missing", "quote": "", "problem": "thin"}]}'

    model = scripted({"pass/1/critic/0/try/0": accept}, latency=0.35)
    result = await start_run(journal, model, on_started=remember)
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

def rule(rankings, names):
    return {name: next(numbers) for name in names}

def style(seat):
    return f"what is number {next(numbers)} like"

def stop(story):
    return f"number {next(numbers)}" if story.passes else ""

def check(text):
    return [f"is number {next(numbers)}"]
"""


@pytest.mark.parametrize(
    ("changes", "checks", "cause"),
    [
        ({"voting": "rule"}, (), "the voting rule own.py:rule was changed"),
        ({"style": "style"}, (), "the judge style own.py:style was changed"),
        ({"stop_rules": ("stop",)}, (), "the stop rule own.py:stop was changed"),
        ({}, ("check",), "the check own.py:check was changed"),
    ],
)
async def test_code_of_a_user_that_is_not_the_same_again_is_the_likely_cause(
    journal: Journal, tmp_path: Path, changes: dict[str, Any], checks: tuple[str, ...], cause: str
) -> None:
    file = tmp_path / "own.py"
    file.write_text(RANDOM)

    def named(value: Any) -> Any:
        return f"{file}:{value}" if isinstance(value, str) else tuple(map(named, value))

    task = replace(TASK, contract=Contract(checks=named(checks)))
    chosen = {name: named(value) for name, value in changes.items()}
    result = await start_run(journal, task=task, changes={**chosen, "passes": 2})
    replayed = await replay.aio(result.run, journal=journal)
    assert not replayed.same
    assert f"{cause} since, or it draws at random" in (replayed.difference or "")
    assert "another version" not in (replayed.difference or "")


async def test_a_replay_is_a_report(journal: Journal) -> None:
    result = await start_run(journal, scripted())
    replayed = await replay.aio(result.run, journal=journal)
    assert str(replayed) == f"{result.run}: the same, {replayed.events} events."
    assert result.run in replayed._repr_html_()
    assert replayed.to_dict() == {
        "conclusion": replayed.conclusion,
        "run": result.run,
        "events": replayed.events,
        "difference": None,
        "same": True,
    }
