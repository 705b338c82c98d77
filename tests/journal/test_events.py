"""Events are read as they were emitted, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec import inspect
from tests.journal.samples import change, create_run

from autoreason.contract import Contract
from autoreason.errors import JournalError
from autoreason.events import (
    AnyEvent,
    CoreEvent,
    PassStarted,
    RunPaused,
)
from autoreason.journal import Journal
from autoreason.journal.codec import event_row, read_event
from autoreason.programs.assignment import Assignments
from autoreason.programs.events import ProgramExamined, Solved
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Work

RUN = "20261115-amber-fox"
KINDS = [*get_args(CoreEvent), ProgramExamined, Solved]

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
    """Any value of a type."""
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
@examples(max_examples=40)
@given(data=st.data())
def test_every_event_comes_back_as_it_was(kind: type[AnyEvent], data: st.DataObject) -> None:
    event = data.draw(values(inspect.type_info(kind)))
    _, _, name, _, payload = event_row(RUN, 1, event)
    assert name == kind.__name__
    assert read_event("".join(getattr(payload, "parts", payload))) == event


def test_events_come_back_in_order_and_go_on_after_a_pause(url: str) -> None:
    with Journal.open(url, create=True) as journal:
        create_run(journal, RUN)
        create_run(journal, "other", "Another", "0.1.0")
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


def test_money_in_settings_keeps_its_digits() -> None:
    budget = Budget(cost=Decimal("0.10"))
    chosen = make_settings(Models.everywhere("fake/model"), 1, budget=budget)
    assert msgspec.json.decode(msgspec.json.encode(chosen), type=type(chosen)) == chosen


def test_work_and_events_of_no_known_room_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Sung is not known"):
        read_event('{"type":"Sung"}')
