"""Targets are ratios that one run measures, so that they hold on any machine; what is measured, in miniature."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.commands import bare_start, run_client
from benchmarks.server import Serving, Span, serving
from benchmarks.solving import SetCost, Writer, measures
from benchmarks.timing import idle, longest_chain
from benchmarks.worker import loop_bare, record_waves, run_all

from autoreason.exchange import Message, Reply, Request, Role, Schema, Signal, TextArrived
from autoreason.journal import Journal
from autoreason.models.pool import open_model
from autoreason.tournament.judges import ballot_schema

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
RATIO = re.compile(r"–|0|[≤≥] [\d.]+ (x|%|MB)|≤ 2 x the first")


def test_no_target_is_a_time_of_one_machine() -> None:
    rows = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if "|" in line]
    targets = {row[2].strip() for row in rows} - {"target", "---"}
    assert targets
    assert [each for each in targets if not RATIO.fullmatch(each)] == []


def test_a_bare_client_and_a_bare_interpreter_are_measured_in_the_same_way() -> None:
    with serving(5.0) as provider:
        client = run_client(3, provider)
    assert longest_chain(client.calls) == len(client.calls) == 3
    assert 0 < client.cpu_at_first <= client.cpu
    assert 0 < bare_start(1).cpu < client.cpu


_LATENCY = 30.0


@pytest.fixture(scope="module")
def provider() -> Iterator[Serving]:
    with serving(_LATENCY, chunks=40) as started:
        yield started


async def ask(
    provider: Serving, text: str, signals: list[Signal], schema: Schema | None = None
) -> Reply:
    """One call over a real socket."""
    model = open_model("openai/fake", base_url=provider.base)
    said = (Message("user", text),)
    role: Role = "judge" if schema else "author"
    request = Request(
        role=role, key="x", model="openai/fake", messages=said, max_tokens=1000, schema=schema
    )
    try:
        return await model.ask(request, signals.append)
    finally:
        await model.close()


async def test_a_stream_comes_in_pieces_and_reports_usage(provider: Serving) -> None:
    signals: list[Signal] = []
    reply = await ask(provider, "Write.", signals)
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
    reply = await ask(provider, prompt, [], ballot_schema(("QX", "ZB", "KV")))
    assert '"ZB > KV > QX"' in reply.text


def test_idle_is_what_no_call_covers() -> None:
    calls = [Span(0.0, 1.0), Span(0.5, 2.0), Span(2.5, 3.0), Span(2.6, 2.9)]
    assert idle(calls) == pytest.approx(0.5)
    assert longest_chain(calls) == 2


@pytest.mark.parametrize("width", [0, 10])
async def test_runs_and_the_bare_loop_make_the_same_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    with serving() as provider, Journal.open(str(tmp_path / "runs.db"), create=True) as journal:
        ours = await run_all(provider.base, 2, 1, journal, width)
        assert len(journal.runs()) == 2
        assert len(provider.log()) == ours
        waves = await record_waves(provider.base, 1, journal)
        assert [len(wave) for wave in waves] == [1, 1, 1, 1, 3, 5, 9]
        assert await loop_bare(provider.base, waves, 2) == ours


PROBLEM: dict[str, Any] = {
    "statement": "Write.",
    "solution": "print('right')",
    "wrong_solutions": [
        {"code": "while True: pass", "verdict": "TLE"},
        {"code": "print('wrong')", "verdict": "WA"},
    ],
}


def asked(key: str) -> Request:
    return Request(
        role="author", key=key, model="m", messages=(Message("user", "Write."),), max_tokens=100
    )


async def test_wrong_programs_come_first_and_no_text_comes_twice() -> None:
    writer = Writer([PROBLEM])
    keys = ["draft/try/0", "attempt/2/try/0", "attempt/3/try/0"]
    message = [(await writer.ask(asked(key))).text for key in keys]
    assert ["right" in text for text in message] == [False, True, True]
    assert len(set(message)) == 3
    assert "right" in (await writer.ask(asked("pass/1/reviser/try/0"))).text


@pytest.mark.parametrize(("in_tests", "kept"), [(17.0, True), (10.0, False)])
def test_cores_count_as_busy_in_tests_only(in_tests: float, kept: bool) -> None:
    counts = {"parts": 5, "solved": 5, "without_verdict": 0, "tests": 100, "calls": 5, "cores": 2}
    clocks = {"seconds": 15.0, "in_tests": in_tests, "in_loop": 1.0, "in_examiner": 1.0}
    memory = {"loop_memory": (50.0, 52.0), "examiner_memory": (30.0, 60.0)}
    given: dict[str, Any] = {**counts, **clocks, **memory}
    cost = SetCost(**given, other_load=10.0, level="landlock")
    busy, loop, examiner, *_ = measures(cost, 1)
    assert busy.kept is kept
    assert busy.measured == f"{in_tests * 5:.0f} %"
    assert (loop.kept, examiner.kept) == (True, False)
