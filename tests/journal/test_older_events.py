"""A journal whose events are of an earlier version opens, replays and goes on as if it were new."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import convert
from tests.run.runs import go_on, open_journal, scripted, start_run

from autoreason.errors import InvalidInput
from autoreason.events import (
    AnyEvent,
    CritiqueWritten,
    Delivered,
    Evidence,
    GuidanceGiven,
    PanelDecided,
    PartEvent,
    PassDecided,
    Recovery,
    RunResumed,
    RunStarted,
    Survival,
)
from autoreason.exchange import BudgetQuery, GuidanceQuery, Query, Role
from autoreason.journal import Journal, maintenance
from autoreason.journal.codec import read_event
from autoreason.programs.examination import ExaminationQuery, ProbeQuery
from autoreason.programs.policy import PolicyQuery
from autoreason.programs.task import assignments_of
from autoreason.run.recorded import replay
from autoreason.settings import Budget

FIXED = "two critics found nothing to fix"
RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A finished run, one that was guided and reached its budget twice, a panel, a set of problems, a comparison."""
    return unpack("events-1.db.xz", tmp_path)


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A panel, a tournament and a first draft that failed, were resumed and failed again; a set of problems."""
    return unpack("events-2.db.xz", tmp_path)


def unpack(name: str, folder: Path) -> Path:
    """A recorded journal, to be read and written."""
    path = folder / "journal.db"
    path.write_bytes(lzma.decompress((RECORDED / name).read_bytes()))
    return path


def events(journal: Journal) -> list[AnyEvent]:
    """All events of all runs, those of parts by themselves."""
    found = [each.event for run in journal.runs() for each in journal.events(run.id)]
    return [each.event if isinstance(each, PartEvent) else each for each in found]


def test_every_event_is_read_under_its_new_name(older: Path) -> None:
    before = older.read_bytes()
    with Journal.open(str(older), create=False) as journal:
        found = events(journal)
        statuses = [run.status for run in journal.runs()]
    assert {CritiqueWritten, GuidanceGiven, PanelDecided} <= {type(each) for each in found}
    outcomes = {each.outcome for each in found if isinstance(each, PassDecided)}
    assert outcomes == {"decided", "unjudged", "unopposed"}
    assert statuses == ["done", "done", "done", "budget", "capped"]
    assert older.read_bytes() == before


def test_settings_and_prompts_keep_their_values(older: Path) -> None:
    with Journal.open(str(older), create=False) as journal:
        started = [each for each in events(journal) if isinstance(each, RunStarted)]
    first = started[-1]
    chosen = first.settings
    assert (chosen.extra_judges, chosen.max_judges, chosen.close_margin) == (2, 5, 1)
    assert chosen.early_stop
    assert {"fix_leak", "fix_contract", "small/fix_leak"} <= set(first.prompts)


async def test_a_run_recorded_under_other_rules_does_not_go_on_and_can_be_forked(
    older: Path,
) -> None:
    with Journal.open(str(older), create=False) as journal:
        (paused,) = [run for run in journal.runs() if run.status == "budget"]
        with pytest.raises(InvalidInput, match="fork the run"):
            await go_on(journal, paused.id, changes={"budget": Budget()})


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("part", ["{}", '{{"type":"PartEvent","part":"p","event":{}}}'])
def test_the_reason_of_an_unopposed_pass_is_read_in_plain_words(version: int, part: str) -> None:
    decided = PassDecided(
        number=1, outcome="unopposed", winner="A", streak=1, words=9, reason=FIXED
    )
    older = msgspec.json.encode(decided).decode().replace("to fix", "to mend")
    assert older.count("mend") == 1
    event = read_event(part.format(older), version)
    assert (event.event if isinstance(event, PartEvent) else event) == decided


async def test_a_run_whose_passes_were_unopposed_replays_to_the_same_end(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        run = (await start_run(journal, scripted({"critic": '{"problems": []}'}))).run
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection, connection:
        rewritten = connection.execute(
            "UPDATE events SET version = 3, payload = replace(payload, ?, ?)"
            " WHERE type = 'PassDecided'",
            (FIXED, FIXED.replace("fix", "mend")),
        )
        assert rewritten.rowcount == 2
    with open_journal(tmp_path) as journal:
        decided = [each for each in events(journal) if isinstance(each, PassDecided)]
        assert [each.reason for each in decided] == [FIXED, FIXED]
        assert (await replay.aio(run, journal=journal)).same


@pytest.mark.parametrize("part", ["{}", '{{"type":"PartEvent","part":"p","event":{}}}'])
@pytest.mark.parametrize(
    ("version", "now", "then"),
    [
        (4, "survived a pass", "survived 1 passes in a row"),
        (5, "survived a pass, on a tie", "survived a pass, 1 of them on a tie"),
    ],
)
def test_a_run_that_ended_after_one_survival_is_read_in_todays_words(
    part: str, version: int, now: str, then: str
) -> None:
    survival = Survival(panels=3, survived=2, expected=1.0, chance=0.2, required_streak=2)
    evidence = Evidence(
        survival=survival,
        agreement=None,
        preference=None,
        ballots=9,
        invalid=0,
        first_places=(3, 3, 3),
        ties=0,
        inconclusive=0,
        unopposed=0,
        dropped_quotes=0,
        leaks=0,
    )
    delivered = Delivered(
        status="converged",
        reason=f"A {now}",
        text="x",
        origin="draft",
        words=1,
        violations=(),
        evidence=evidence,
    )
    older = msgspec.json.encode(delivered).decode().replace(now, then)
    if version == 4:
        older = older.replace("required_streak", "streak")
    event = read_event(part.format(older), version)
    assert (event.event if isinstance(event, PartEvent) else event) == delivered


QUERIES: tuple[type[Query[Any]], ...] = (
    *(GuidanceQuery, BudgetQuery, PolicyQuery, ExaminationQuery, ProbeQuery),
)


def test_what_was_asked_of_no_model_is_read_as_a_query_with_its_answer(older: Path) -> None:
    with Journal.open(str(older), create=False) as journal:
        runs = [row.id for row in journal.runs()]
        answers = {key: each for run in runs for key, each in journal.answers(run).items()}
        calls = [call for run in runs for call in journal.calls(run)]
    by_kind = {query.kind: query for query in QUERIES}
    assert {each.kind for each in answers.values()} == set(by_kind)
    for key, recorded in answers.items():
        query = convert(recorded.question, by_kind[recorded.kind])
        assert query.key == key
        answer = query.read_answer(recorded.answer)
        match query:
            case ExaminationQuery():
                assert answer.which == query.examination.which
            case ProbeQuery():
                assert len(answer.observations) == len(query.probe.inputs) > 0
            case PolicyQuery():
                assert answer in {each.action for each in query.turn.options} | {""}
    assert {call.request.role for call in calls} <= set(get_args(Role))
    assert len(calls) == sum(row.spent.calls for row in Journal(older).runs())


def test_a_query_that_was_recorded_as_a_request_and_is_damaged_is_named(older: Path) -> None:
    with closing(sqlite3.connect(older)) as connection, connection:
        connection.execute("UPDATE replies SET request = '{}' WHERE role = 'budget'")
    with Journal.open(str(older), create=False) as journal:
        damages = maintenance.check(journal, lambda *_: None)
    assert damages
    assert all("is damaged" in damage.what for damage in damages)


def test_an_event_of_a_part_is_brought_up_to_date_with_it() -> None:
    inner = '{"type":"CritiqueMade","number":1,"critic":0}'
    event = read_event(f'{{"type":"PartTold","part":"repeat/1/x","event":{inner}}}', 1)
    assert event == PartEvent(part="repeat/1/x", event=CritiqueWritten(number=1, critic=0))


def test_what_a_run_recovered_from_is_no_longer_a_setting(failed: Path) -> None:
    with Journal.open(str(failed), create=False) as journal:
        resumed = [each.recovery for each in events(journal) if isinstance(each, RunResumed)]
    assert resumed == [Recovery(redrafts=1), Recovery(forgiven=2), Recovery(failed_panels=1)]


def test_problems_of_an_older_record_are_read_as_work(failed: Path) -> None:
    with Journal.open(str(failed), create=False) as journal:
        (started, *_) = events(journal)
    assert isinstance(started, RunStarted)
    assert [each.id for each in assignments_of(started.task)] == ["sum-1", "sum-2"]
