"""A long text is stored once, however often it is used."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.journal.samples import RUN, a_reply, a_request, change, committed, create_run

from autoreason.errors import JournalError
from autoreason.events import GuidanceGiven
from autoreason.exchange import Message, Query, Request, Schema
from autoreason.journal import Journal, sql
from autoreason.journal.file import open_for_writing
from autoreason.journal.shared_texts import JournalConnection, fill_rows, long_texts, pack

LINES = st.sampled_from(
    [
        "<<<TEXT SW f6af>>>",
        "<<<END TEXT SW f6af>>>",
        "a long line " * 12,
        '"\\n<<<x>>>"',
        "\x01",
        "ü",
    ]
)
TEXTS = st.lists(LINES | st.text(), max_size=8).map("\n".join)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS | st.sampled_from(["schema", "enum", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def a_shelf() -> JournalConnection:
    """Somewhere to store pieces."""
    connection = sqlite3.connect(":memory:", factory=JournalConnection)
    for statement in sql.SCHEMA:
        connection.execute(statement)
    return connection


@given(st.lists(VALUES, max_size=4))
def test_whatever_is_taken_apart_is_put_together_again(values: list[object]) -> None:
    written = [msgspec.json.encode(value).decode() for value in values]
    pairs = zip(values, written, strict=True)
    with closing(a_shelf()) as shelf:
        stored = [(shelf.put(pack(json, long_texts(value))),) for value, json in pairs]
        assert fill_rows(shelf, stored) == [(json,) for json in written]


def bytes_of(journal: Journal) -> int:
    """How much is stored of events, replies and pieces."""
    counted = "SELECT (SELECT sum(length(payload)) FROM events), "
    counted += "(SELECT sum(length(request) + length(reply)) FROM replies), "
    counted += "(SELECT sum(length(text)) FROM pieces)"
    (sizes,) = journal._read(counted)
    return sum(size or 0 for size in sizes)


def test_a_long_brief_is_stored_once(journal: Journal) -> None:
    brief = "Write about tides and boats. " * 40_000
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
    assert len(brief) < bytes_of(journal) < len(brief) + 7 * 1000
    assert [reply.request for reply in journal.replies(RUN).values()] == requests


def test_a_candidate_is_stored_once_in_whichever_role(journal: Journal) -> None:
    text = 'A text about tides, with\nlines and "quotes".\n\n' * 50
    for label in ("SW", "QM", "BL"):
        shown = f"Here is a text.\n\n<<<TEXT {label} f6af>>>\n{text}\n<<<END TEXT {label} f6af>>>\n\nRank."
        asyncio.run(journal.record_reply(RUN, a_request(label, text=shown), a_reply(text=text)))
    journal.append(RUN, GuidanceGiven(number=1, text=text))
    asyncio.run(journal.flush())
    assert bytes_of(journal) < 2 * len(text)
    assert {call.reply.text for call in journal.calls(RUN)} == {text}
    (event,) = [each.event for each in journal.events(RUN)]
    assert event == GuidanceGiven(number=1, text=text)


class Inputs(Query[list[str]], frozen=True, kw_only=True):
    """What a program does on some inputs."""

    kind = "inputs"
    program: str
    inputs: tuple[str, ...]


def test_a_list_of_short_texts_is_stored_once_however_many_queries_contain_it(
    journal: Journal,
) -> None:
    inputs = tuple(f"{number} {number + 1}\n" for number in range(500))
    queries = [Inputs(key=f"{n}/observed", program=f"print({n})", inputs=inputs) for n in range(9)]
    for query in queries:
        asyncio.run(journal.record_answer(RUN, query, ["the same"] * 50))
    assert bytes_of(journal) < 2 * len("".join(inputs)) + 9 * 500
    recorded = journal.answers(RUN)
    assert [msgspec.convert(each.question, Inputs) for each in recorded.values()] == queries
    assert recorded["0/observed"].answer == ["the same"] * 50


def test_the_schemas_of_ballots_differ_in_their_labels_alone(journal: Journal, url: str) -> None:
    def ballot(*labels: str) -> Request:
        ranking = {"type": "string", "enum": [" > ".join(labels)]}
        definition = {
            "type": "object",
            "properties": {"reasoning": "long " * 50, "ranking": ranking},
        }
        return msgspec.structs.replace(
            a_request("/".join(labels)),
            schema=Schema("ballot", definition, "End with one line in this form. " * 20),
        )

    requests = [ballot("A", "B"), ballot("C", "D"), ballot("E", "F")]
    for request in requests:
        asyncio.run(journal.record_reply(RUN, request, a_reply()))
    assert [reply.request for reply in journal.replies(RUN).values()] == requests
    assert committed(url, "pieces") == 2


def test_a_missing_piece_is_damage(journal: Journal, url: str) -> None:
    asyncio.run(journal.record_reply(RUN, a_request(text="Rank these. " * 20), a_reply()))
    change(url, "DELETE FROM pieces")
    with pytest.raises(JournalError, match=r"is damaged \(piece \w+ of a text is missing\)"):
        journal.replies(RUN)


def test_a_text_is_looked_up_once_though_another_process_writes_between(path: Path) -> None:
    with Journal.open(str(path), create=True) as journal:
        create_run(journal, RUN)
    packed = pack(f'"{"tides " * 40}"', ["tides " * 40])
    statements: list[str] = []
    with closing(open_for_writing(path)) as one, closing(open_for_writing(path)) as other:
        one.set_trace_callback(statements.append)
        for _ in range(3):
            with one.transaction():
                one.put(packed)
            with other.transaction():
                other.execute(sql.SET_STATUS, ("done", RUN))
    assert len([each for each in statements if "INSERT INTO pieces" in each]) == 1
    assert len([each for each in statements if each.startswith("SELECT id FROM pieces")]) == 2
