"""Asking in batches: sent together, half the price, and whatever has no reply is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models import asking
from tests.models.batch_provider import Batch, BatchServer, batch_server
from tests.models.fake_provider import Answer, FakeProvider, provider

from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.exchange import BatchWaiting, Message, Outcome, Reply, Request, Signal
from autoreason.models import batch, layers, providers
from autoreason.models.batch import BatchLog, BatchPace
from autoreason.models.batch_interface import BatchNote, OpenAIBatches
from autoreason.models.doubles import EchoModel
from autoreason.models.layers import RetryPolicy
from autoreason.models.pool import ModelPool

__all__ = ["provider"]

QUICK = BatchPace(quiet=0.02, first_check=0.005, max_wait=0.02, late=0.01, outage=5.0)
ADDRESSES = ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"]
both = pytest.mark.parametrize("address", ADDRESSES)


class Notes:
    def __init__(self) -> None:
        self.notes: list[BatchNote] = []

    async def record(self, note: BatchNote) -> None:
        self.notes.append(note)

    def log(self, run: str = "amber-fox") -> BatchLog:
        return BatchLog(run, self.notes, self.record)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_server() as listening:
        yield listening


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-2")
    monkeypatch.setattr(batch, "PACE", QUICK)
    policy = RetryPolicy(tries=2, busy_tries=2, first_wait=0.001)
    monkeypatch.setattr(layers, "RetryPolicy", lambda: policy)


@pytest.fixture
async def pool(server: BatchServer) -> AsyncIterator[ModelPool]:
    opened = open_pool(server)
    yield opened
    await opened.close()


def open_pool(server: BatchServer) -> ModelPool:
    return ModelPool({"openai": server.openai, "anthropic": server.anthropic}, batch=True)


def request(address: str, key: str = "draft/try/0", **changes: Any) -> Request:
    messages = (Message("system", "Be brief."), Message("user", f"Write of {key}."))
    return asking.request(address, key=key, messages=messages, **changes)


async def ask(
    pool: ModelPool, address: str, log: BatchLog, number: int, signals: list[Signal] | None = None
) -> list[Reply]:
    model = pool.model(address, log)
    asked = (request(address, f"pass/{n}/critic/0") for n in range(number))
    on_signal = None if signals is None else signals.append
    return await asyncio.gather(*(model.ask(each, on_signal) for each in asked))


async def ask_later(server: BatchServer, address: str, log: BatchLog, number: int) -> list[Reply]:
    """What another process is answered."""
    later = open_pool(server)
    replies = await ask(later, address, log, number)
    await later.close()
    return replies


@both
async def test_requests_asked_together_are_one_batch_at_half_the_price(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    notes, signals = Notes(), list[Signal]()
    replies = await ask(pool, address, notes.log(), 5, signals)
    (sent,) = server.batches.values()
    assert len(sent.requests) == 5
    for number, reply in enumerate(replies):
        assert reply.outcome is Outcome.OK
        assert f"pass/{number}" in reply.text.lower() or "write" in reply.text.lower()
        full = providers.price(address, reply.usage)
        assert full
        assert reply.cost == full / 2
    assert len({reply.text for reply in replies}) == 5
    waits = [each for each in signals if isinstance(each, BatchWaiting)]
    assert {each.size for each in waits} == {5}
    assert (waits[0].done, waits[-1].done) == (0, 5)
    assert [note.key.split("/")[-1] for note in notes.notes] == (
        ["planned", "uploaded", "sent"] if "openai" in address else ["planned", "sent"]
    )
    assert (notes.notes[0].remote, notes.notes[-1].remote) == ("", sent.id)


@both
async def test_another_process_waits_for_the_batch_that_was_sent(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    notes = Notes()
    first = await ask(pool, address, notes.log(), 3)
    again = await ask_later(server, address, notes.log(), 4)
    assert [each.text for each in again[:3]] == [each.text for each in first]
    assert set(server.paid.values()) == {1}
    assert [len(each.requests) for each in server.batches.values()] == [3, 1]


@both
async def test_the_same_request_of_another_run_is_another_request(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    logs = [Notes().log(run) for run in ("amber-fox", "blue-owl")]
    await asyncio.gather(*(ask(pool, address, log, 1) for log in logs))
    (sent,) = server.batches.values()
    assert len({item for item, _ in sent.requests}) == 2


@both
@pytest.mark.parametrize("fate", ["errored", "expired", "canceled", "missing", "unfinished"])
async def test_what_a_batch_leaves_without_a_reply_is_asked_again_in_the_next(
    server: BatchServer, pool: ModelPool, address: str, fate: Any
) -> None:
    server.fates.extend(["answered", fate, "answered"])
    replies = await ask(pool, address, Notes().log(), 3)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert [len(each.requests) for each in server.batches.values()] == [3, 1]
    assert list(server.paid.values()) == [1, 1, 1]


@both
@pytest.mark.parametrize("fate", ["blank", "null"])
async def test_a_reply_that_cannot_be_read_is_asked_again_and_after_a_resume_too(
    server: BatchServer, pool: ModelPool, address: str, fate: Any
) -> None:
    server.fates.extend(["answered", fate, fate])
    notes = Notes()
    with pytest.raises(ProviderFailed, match=r"failed 2 times, last: .* that cannot be read"):
        await ask(pool, address, notes.log(), 2)
    assert [len(each.requests) for each in server.batches.values()] == [2, 1]
    replies = await ask_later(server, address, notes.log(), 2)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert [len(each.requests) for each in server.batches.values()] == [2, 1, 1]
    assert list(server.paid.values()) == [1, 1]


@both
async def test_a_result_that_cannot_be_read_costs_only_its_own_request_another_try(
    server: BatchServer, pool: ModelPool, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "autoreason")
    server.fates.extend(["answered", "nameless", "answered", "garbled", "answered"])
    async with asyncio.timeout(QUICK.outage):
        replies = await ask(pool, address, Notes().log(), 5)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert [len(each.requests) for each in server.batches.values()] == [5, 2]
    assert list(server.paid.values()) == [1] * 5
    assert "2 lines of the results cannot be read" in caplog.text


@both
async def test_a_parameter_that_a_model_refuses_is_left_out_in_the_next_batch(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    server.fates.append("too hot")
    reply = await pool.model(address, Notes().log()).ask(request(address, temperature=0.5))
    assert reply.outcome is Outcome.OK
    bodies = [body for each in server.batches.values() for _, body in each.requests]
    assert ["temperature" in body for body in bodies] == [True, False]


@both
async def test_what_failed_for_lack_of_credit_is_asked_again_after_a_resume(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    server.fates.extend(["answered", "unpaid", "answered"])
    notes = Notes()
    with pytest.raises(ProviderFailed, match="gives no more credit"):
        await ask(pool, address, notes.log(), 3)
    replies = await ask_later(server, address, notes.log(), 3)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert [len(each.requests) for each in server.batches.values()] == [3, 1]
    assert list(server.paid.values()) == [1, 1, 1]


async def test_a_batch_that_is_not_taken_is_one_clear_error(
    server: BatchServer, pool: ModelPool
) -> None:
    fault = {"code": "invalid_json_line", "message": "This line is not JSON.", "line": 2}
    server.faults.append([fault | {"param": None}])
    notes = Notes()
    with pytest.raises(ProviderFailed, match=r"did not take the batch: line 2: This line is not J"):
        await ask(pool, ADDRESSES[0], notes.log(), 2)
    later = open_pool(server)
    assert len(await ask(later, ADDRESSES[0], notes.log(), 2)) == 2, "what was wrong may be right"
    await later.close()
    assert list(server.paid.values()) == [1, 1]


async def test_a_full_queue_is_filled_with_smaller_batches_one_after_another(
    server: BatchServer, pool: ModelPool
) -> None:
    fault = {
        "code": "token_limit_exceeded",
        "message": "Enqueued token limit reached",
        "line": None,
    }
    server.faults.append([fault])
    replies = await ask(pool, ADDRESSES[0], Notes().log(), 5)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert [len(each.requests) for each in server.batches.values()] == [5, 2, 2, 1]


@both
async def test_a_batch_whose_creation_was_not_answered_is_found_and_not_sent_again(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    server.lost_answers = 1
    replies = await ask(pool, address, Notes().log(), 3)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert len(server.batches) == 1


@both
@pytest.mark.parametrize("late", [2, 3])
async def test_a_batch_that_arrives_after_it_was_given_up_is_found_before_it_is_sent_again(
    server: BatchServer, pool: ModelPool, address: str, late: int
) -> None:
    server.lost_answers, server.late_listings = 1, late
    replies = await ask(pool, address, Notes().log(), 3)
    assert {each.outcome for each in replies} == {Outcome.OK}
    assert set(server.paid.values()) == {1}
    assert len(server.batches) == 1


async def test_a_batch_of_somebody_else_of_the_same_size_is_not_taken_for_ours(
    server: BatchServer, pool: ModelPool
) -> None:
    address = ADDRESSES[1]
    await ask(pool, address, Notes().log("blue-owl"), 2)
    second = open_pool(server)
    notes = Notes()
    log = notes.log()
    items = tuple(log.item(request(address, f"pass/{n}/critic/0")) for n in range(2))
    await notes.record(BatchNote(key="", batch="lost", size=2, at=0.0, items=items))
    replies = await ask(second, address, notes.log(), 2)
    await second.close()
    assert len(replies) == 2
    assert set(server.paid.values()) == {1}
    assert len(server.batches) == 2


@pytest.mark.parametrize("looks", [0, 2], ids=["in progress", "ended"])
async def test_a_batch_of_somebody_else_that_does_not_end_does_not_hide_ours(
    server: BatchServer, pool: ModelPool, looks: int
) -> None:
    address, notes = ADDRESSES[1], Notes()
    first = await ask(pool, address, notes.log(), 2)
    server.batches["msgbatch_1"].looks = looks
    newer = Batch("msgbatch_2", [("x", {}), ("y", {})], endless=True)
    server.batches[newer.id] = newer
    later = open_pool(server)
    async with asyncio.timeout(QUICK.outage):
        # The answer to the creation was lost.
        again = await ask(later, address, BatchLog("amber-fox", notes.notes[:1], notes.record), 2)
    await later.close()
    assert [each.text for each in again] == [each.text for each in first]
    assert len(server.batches) == 2
    assert (newer.looks > 0) is (looks == 0), "what has ended is looked at first"


@both
async def test_a_provider_that_is_away_is_waited_for_as_long_as_it_asks(
    server: BatchServer, pool: ModelPool, address: str
) -> None:
    server.refusals.extend([(429, {"retry-after": "0.3"}), (503, {})])
    assert len(await ask(pool, address, Notes().log(), 2)) == 2
    first, second, third, *_ = server.looked_at
    assert second - first >= 0.3 > third - second


async def test_a_batch_that_the_key_does_not_know_is_not_paid_for_again(
    server: BatchServer, pool: ModelPool
) -> None:
    notes = Notes()
    await ask(pool, ADDRESSES[0], notes.log(), 1)
    server.batches.clear()
    later = open_pool(server)
    with pytest.raises(ProviderFailed, match=r"batch_1, which this run waits for, is not known u"):
        await ask(later, ADDRESSES[0], notes.log(), 1)
    old = Notes()
    old.notes = [replace(note, at=0.0) for note in notes.notes]
    assert await ask(later, ADDRESSES[0], old.log(), 1), "its results are deleted by now"
    await later.close()


async def test_more_than_a_batch_may_have_is_split(
    server: BatchServer, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatches, "max_requests", 3)
    await ask(pool, ADDRESSES[0], Notes().log(), 5)
    assert sorted(len(each.requests) for each in server.batches.values()) == [2, 3]
    server.batches.clear()
    monkeypatch.setattr(OpenAIBatches, "max_bytes", 700)
    await ask(pool, ADDRESSES[0], Notes().log("blue-owl"), 3)
    assert sorted(len(each.requests) for each in server.batches.values()) == [1, 2]


async def test_a_batch_is_refused_where_there_are_none(provider: FakeProvider) -> None:
    provider.will(Answer(body={"data": [{"id": "gpt-4.1"}]}), Answer(status=404))
    pool = ModelPool({"openai": provider.openai}, batch=True)
    found = await pool.check(ADDRESSES[0])
    await pool.close()
    assert found.reachable is False
    assert found.problem.startswith("openai/gpt-4.1 has no batch interface; ")
    assert [each.path for each in provider.requests] == ["/v1/models", "/v1/batches?limit=1"]
    pool = ModelPool(batch=True)
    pool.add({"mine/own": EchoModel()})
    for address in ("echo/echo", "local/smollm2", "gemini/gemini-2.5-flash", "mine/own"):
        with pytest.raises(
            InvalidInput, match=rf"^{address} has no batch interface; leave `batch`"
        ):
            pool.check_here(address)
    await pool.close()
