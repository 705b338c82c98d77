"""A journal whose events are of version 1 opens, replays and goes on as if it were new."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.run.runs import go_on, open_journal, scripted, start_run

from autoreason.events import (
    FINISHED,
    AnyEvent,
    CritiqueWritten,
    GuidanceGiven,
    PanelDecided,
    PartEvent,
    PassDecided,
    RunStarted,
)
from autoreason.journal import Journal
from autoreason.journal.codec import read_event
from autoreason.run import replay
from autoreason.settings import Budget

FIXED = "two critics found nothing to fix"
RECORDED = Path(__file__).parent / "recorded" / "events-1.db.xz"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A finished run, one that was guided and reached its budget twice, a panel, a set of problems, a comparison."""
    path = tmp_path / "journal.db"
    path.write_bytes(lzma.decompress(RECORDED.read_bytes()))
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


async def test_all_of_it_replays_to_the_same_end(older: Path) -> None:
    with Journal.open(str(older), create=False) as journal:
        for run in journal.runs():
            if run.status in ("done", "capped"):
                assert (await replay(run.id, journal=journal)).same


async def test_a_paused_run_goes_on(older: Path) -> None:
    with Journal.open(str(older), create=False) as journal:
        (paused,) = [run for run in journal.runs() if run.status == "budget"]
        before = len(journal.replies(paused.id))
        result = await go_on(journal, paused.id, changes={"budget": Budget()})
        assert result.status in FINISHED
        assert len(journal.replies(paused.id)) > before


@pytest.mark.parametrize("version", [1, 2])
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
            "UPDATE events SET version = 2, payload = replace(payload, ?, ?)"
            " WHERE type = 'PassDecided'",
            (FIXED, FIXED.replace("fix", "mend")),
        )
        assert rewritten.rowcount == 2
    with open_journal(tmp_path) as journal:
        decided = [each for each in events(journal) if isinstance(each, PassDecided)]
        assert [each.reason for each in decided] == [FIXED, FIXED]
        assert (await replay(run, journal=journal)).same


def test_an_event_of_a_part_is_brought_up_to_date_with_it() -> None:
    inner = '{"type":"CritiqueMade","number":1,"critic":0}'
    event = read_event(f'{{"type":"PartTold","part":"repeat/1/x","event":{inner}}}', 1)
    assert event == PartEvent(part="repeat/1/x", event=CritiqueWritten(number=1, critic=0))
