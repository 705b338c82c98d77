"""Events and texts are read as they were written; a long text of a run is stored once, compressed in a file."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace
from tests.journal.samples import RUN, a_reply, a_request, change, committed, create_run

from autoreason.contract import Contract
from autoreason.errors import JournalError
from autoreason.events import (
    CORE_EVENTS,
    AnyEvent,
    GuidanceGiven,
    PassStarted,
    RunPaused,
    RunStarted,
)
from autoreason.exchange import Message
from autoreason.journal import Journal, sql, sqlite
from autoreason.journal.codec import cut, event_row, read_event
from autoreason.programs.assignment import Assignments
from autoreason.programs.events import ProgramExamined, Solved
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Task, Work

KINDS = [*CORE_EVENTS.values(), ProgramExamined, Solved]

contracts = st.builds(
    Contract,
    min_words=st.none() | st.integers(1, 10),
    max_words=st.none() | st.integers(10, 20),
    sections=st.just(()) | st.just(("Risks",)),
)
settings = st.builds(
    make_settings,
    st.just(Models.everywhere("fake/model")),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(["robust", "paper"]),
    budget=st.builds(Budget, cost=st.none() | st.decimals(1, 100, places=6)),
)
SCALARS: dict[type, st.SearchStrategy[Any]] = {
    inspect.StrType: st.text(),
    inspect.IntType: st.integers(-(2**63), 2**63 - 1),
    inspect.FloatType: st.floats(allow_nan=False, allow_infinity=False),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.DecimalType: st.decimals(-1000, 1000, places=6),
}


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.StructType(cls=cls) | inspect.CustomType(cls=cls) if cls in GIVEN:
            return GIVEN[cls]()
        case inspect.StructType():
            fields = {field.name: values(field.type) for field in kind.fields}
            return st.builds(kind.cls, **fields)
        case inspect.VarTupleType():
            return st.lists(values(kind.item_type), max_size=3).map(tuple)
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=3)
        case inspect.UnionType():
            return st.one_of([values(one) for one in kind.types])
        case inspect.EnumType():
            return st.sampled_from(kind.cls)
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case _:
            return SCALARS[type(kind)]


GIVEN: dict[type, Callable[[], st.SearchStrategy[Any]]] = {
    Settings: lambda: settings,
    Contract: lambda: contracts,
    Work: lambda: values(inspect.type_info(Assignments)),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
@examples(max_examples=8)
@given(data=st.data())
def test_every_event_comes_back_as_it_was(kind: type[AnyEvent], data: st.DataObject) -> None:
    event = data.draw(values(inspect.type_info(kind)))
    _, _, name, _, payload = event_row(RUN, 1, event)
    assert name == kind.__name__
    assert read_event("".join(getattr(payload, "parts", payload))) == event


def test_events_come_back_in_order_and_go_on_after_a_pause(url: str) -> None:
    with Journal.open(url, create=True) as journal:
        create_run(journal, RUN)
        create_run(journal, "other", "Another")
        assert journal.append(RUN, PassStarted(number=1, words=5)) == 1
        assert journal.append("other", PassStarted(number=1, words=5)) == 1
        assert journal.append(RUN, RunPaused(status="stopped", reason="asked to")) == 2
    with Journal.open(url, create=False) as journal:
        assert journal.append(RUN, PassStarted(number=2, words=6)) == 3
    with Journal.open(url, create=False) as journal:
        recorded = journal.events(RUN)
        assert [(one.seq, one.event) for one in recorded] == [
            (1, PassStarted(number=1, words=5)),
            (2, RunPaused(status="stopped", reason="asked to")),
            (3, PassStarted(number=2, words=6)),
        ]
        assert journal.events(RUN, after=2) == recorded[2:]
        assert recorded[0].at <= recorded[2].at


async def test_two_who_write_to_one_run_are_found_out(url: str) -> None:
    journal, other = (Journal.open(url, create=True) for _ in range(2))
    create_run(journal, RUN)
    journal.append(RUN, PassStarted(number=1, words=5))
    await journal.flush()
    other.append(RUN, PassStarted(number=2, words=5))
    await other.flush()
    journal.append(RUN, PassStarted(number=3, words=5))
    with pytest.raises(JournalError, match=f"event 2 of {RUN} was written by another process"):
        await journal.flush()
    other.close()
    with pytest.raises(JournalError, match="event 2"):
        journal.close()


@pytest.mark.parametrize("payload", ["{", '{"type": "NeverHeardOf"}', '{"type": "PassStarted"}'])
def test_an_event_that_cannot_be_read_is_damage(journal: Journal, url: str, payload: str) -> None:
    row = (RUN, 1, "PassStarted", "2026-11-15T00:00:00+00:00", payload)
    change(url, f"INSERT INTO events VALUES {row}")
    with pytest.raises(JournalError, match=re.escape(f"in {journal.place} is damaged (")):
        journal.events(RUN)


MARKS = ["<<<TEXT SW f6af>>>", "<<<END TEXT SW f6af>>>", '"\\n<<<x>>>"']
LINES = st.sampled_from([*MARKS, "a long line " * 20, "\\", "\x01", "ü"])
TEXTS = st.lists(LINES | st.text(), max_size=8).map("\n".join)


def a_shelf() -> sqlite.SqliteConnection:
    connection = sqlite3.connect(":memory:", factory=sqlite.SqliteConnection)
    for statement in sql.schema():
        connection.execute(statement)
    return connection


@given(st.lists(TEXTS, max_size=4))
def test_whatever_is_taken_apart_is_put_together_again(texts: list[str]) -> None:
    json = msgspec.json.encode([{"text": text, "role": "user"} for text in texts]).decode()
    with closing(a_shelf()) as shelf:
        parts = cut(json, texts)
        stored = parts if isinstance(parts, str) else shelf.share(RUN, parts)
        assert shelf.fill(RUN, [(stored, 1)]) == [(json, 1)]


@given(st.text() | st.integers(1, 300).map(lambda times: "tides and boats, ü\x00\x01 " * times))
def test_whatever_is_packed_is_unpacked_as_it_was(text: str) -> None:
    packed = sqlite.pack(text)
    assert sqlite.unpack(packed) == text
    assert isinstance(packed, str) == (len(text) < 400)


def bytes_of(journal: Journal) -> int:
    counted = "SELECT (SELECT sum(length(payload)) FROM events), "
    counted += "(SELECT sum(length(request) + length(reply)) FROM replies), "
    counted += "(SELECT sum(length(text)) FROM texts)"
    (sizes,) = journal._read(counted)
    return sum(size or 0 for size in sizes)


def test_a_long_brief_is_stored_once_and_compressed_in_a_file(journal: Journal, url: str) -> None:
    brief = "".join(f"Write about tide {number} and its boats. " for number in range(4000))
    system = Message("system", brief, stable=True)
    requests = [
        replace(a_request(f"draft/{n}"), messages=(system, Message("user", f"Part {n}")))
        for n in range(7)
    ]
    for request in requests:
        asyncio.run(journal.record_reply(RUN, request, a_reply()))
    size = len(brief) if url.startswith("postgres") else len(brief) / 3
    assert bytes_of(journal) < size + 7 * 1000
    assert [reply.request for reply in journal.replies(RUN).values()] == requests


def test_a_candidate_is_stored_once_in_whichever_role(journal: Journal, url: str) -> None:
    text = 'A text about tides, with\nlines and "quotes".\n\n' * 50
    for label in ("SW", "QM", "BL"):
        shown = f"Here is a text.\n\n<<<TEXT {label} f6af>>>\n{text}\n<<<END TEXT {label} f6af>>>\n\nRank."
        asyncio.run(journal.record_reply(RUN, a_request(label, text=shown), a_reply(text=text)))
    journal.append(RUN, GuidanceGiven(number=1, text=text))
    asyncio.run(journal.flush())
    assert committed(url, "texts") == 1
    assert journal._read("SELECT max(length(payload)) < 200 FROM events")[0][0]
    assert {call.reply.text for call in journal.calls(RUN)} == {text}
    (event,) = [each.event for each in journal.events(RUN)]
    assert event == GuidanceGiven(number=1, text=text)


async def test_a_deleted_run_takes_its_texts_along_and_another_has_its_own(
    journal: Journal, url: str
) -> None:
    settings = Settings(models=Models.judging("echo/echo"), seed=1)
    task = Task(brief="Tides. " * 100)
    started = RunStarted(task=task, settings=settings, prompts={}, version="0")
    for _ in range(2):
        await journal.begin_run("A letter", "0", started, name="again")
        create_run(journal, "other")
        for run in ("again", "other"):
            await journal.record_reply(run, a_request(text="Rank these. " * 50), a_reply())
            assert journal.calls(run)[0].request == a_request(text="Rank these. " * 50)
        assert committed(url, "texts") == 3
        for run in ("again", "other"):
            await asyncio.to_thread(journal.delete_run, run)
        assert committed(url, "texts") == 0
