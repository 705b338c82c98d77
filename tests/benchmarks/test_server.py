"""The benchmarks' provider speaks as a provider does, and its log tells the truth."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.server import Serving, Span, serving
from benchmarks.timing import idle, longest_chain

from autoreason.exchange import Message, Reply, Request, Role, Schema, Signal, TextArrived
from autoreason.models.pool import open_model
from autoreason.tournament.judges import ballot_schema

_LATENCY = 30.0


@pytest.fixture(scope="module")
def provider() -> Iterator[Serving]:
    """One provider for all of them."""
    with serving(_LATENCY, chunks=40) as started:
        yield started


async def ask(
    provider: Serving,
    text: str = "Write.",
    schema: Schema | None = None,
    signals: list[Signal] | None = None,
    role: Role = "author",
) -> Reply:
    """One call over a real socket."""
    model = open_model("openai/fake", base_url=provider.base)
    request = Request(
        role=role,
        key="x",
        model="openai/fake",
        messages=(Message("user", text),),
        max_tokens=1000,
        schema=schema,
    )
    try:
        return await model.ask(request, signals.append if signals is not None else None)
    finally:
        await model.close()


async def test_a_stream_comes_in_pieces_and_reports_usage(provider: Serving) -> None:
    signals: list[Signal] = []
    reply = await ask(provider, signals=signals)
    pieces = [signal.text for signal in signals if isinstance(signal, TextArrived)]
    assert len(pieces) >= 32
    assert "".join(pieces) == reply.text
    assert reply.usage.input
    assert reply.usage.output


async def test_a_judge_prefers_the_newest(provider: Serving) -> None:
    prompt = "\n".join(
        f"## {label}\n\n<<<TEXT 0f>>>\nNote {number:07}\n\nOnce.\n<<<END TEXT 0f>>>"
        for label, number in (("QX", 3), ("ZB", 12), ("KV", 7))
    )
    reply = await ask(provider, prompt, ballot_schema(("QX", "ZB", "KV")), role="judge")
    assert '"ZB > KV > QX"' in reply.text


def test_idle_is_what_no_call_covers() -> None:
    calls = [Span(0.0, 1.0), Span(0.5, 2.0), Span(2.5, 3.0), Span(2.6, 2.9)]
    assert idle(calls) == pytest.approx(0.5)
    assert longest_chain(calls) == 2
