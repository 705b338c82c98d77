"""A long text of a run is stored once, however often it is used, and compressed in a file."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.journal.samples import RUN, a_reply, a_request, change, committed, create_run

from autoreason.errors import JournalError
from autoreason.events import GuidanceGiven, RunStarted
from autoreason.exchange import Message, Request
from autoreason.journal import Journal, sql, sqlite
from autoreason.journal.texts import cut
from autoreason.settings import Models, Settings
from autoreason.task import Task

LINES = st.sampled_from(
    [
        "<<<TEXT SW f6af>>>",
        "<<<END TEXT SW f6af>>>",
        "a long line " * 20,
        '"\\n<<<x>>>"',
        "\\",
        "\x01",
        "ü",
    ]
)
TEXTS = st.lists(LINES | st.text(), max_size=8).map("\n".join)


def a_shelf() -> sqlite.SqliteConnection:
    """Somewhere to store texts."""
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
    """How much is stored of events, replies and texts."""
    counted = "SELECT (SELECT sum(length(payload)) FROM events), "
    counted += "(SELECT sum(length(request) + length(reply)) FROM replies), "
    counted += "(SELECT sum(length(text)) FROM texts)"
    (sizes,) = journal._read(counted)
    return sum(size or 0 for size in sizes)


def test_a_long_brief_is_stored_once_and_compressed_in_a_file(journal: Journal, url: str) -> None:
    brief = "".join(f"Write about tide {number} and its boats. " for number in range(4000))
    requests = [
        Request(
            role="author",
            key=f"draft/{number}",
            model="fake/model",
            messages=(Message("system", brief, stable=True), Message("user", f"Part {number}")),
            max_tokens=100,
        )
        for number in range(7)
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
    assert {call.reply.text for call in journal.calls(RUN)} == {text}
    (event,) = [each.event for each in journal.events(RUN)]
    assert event == GuidanceGiven(number=1, text=text)


def test_a_missing_text_is_damage(journal: Journal, url: str) -> None:
    asyncio.run(journal.record_reply(RUN, a_request(text="Rank these. " * 50), a_reply()))
    change(url, "DELETE FROM texts")
    with pytest.raises(JournalError, match=r"is damaged \(a text is missing\)"):
        journal.replies(RUN)


async def test_a_deleted_run_takes_its_texts_along_and_another_has_its_own(
    journal: Journal, url: str
) -> None:
    settings = Settings(models=Models.judging("echo/echo"), seed=1)
    started = RunStarted(
        task=Task(brief="Tides. " * 100), settings=settings, prompts={}, version="0"
    )
    for _ in range(2):
        await journal.begin_run("A letter", "0", started, name="again")
        create_run(journal, "other")
        for run in ("again", "other"):
            await journal.record_reply(run, a_request(text="Rank these. " * 50), a_reply())
            assert journal.calls(run)[0].request == a_request(text="Rank these. " * 50)
        assert committed(url, "texts") == 2
        for run in ("again", "other"):
            await asyncio.to_thread(journal.delete_run, run)
        assert committed(url, "texts") == 0
