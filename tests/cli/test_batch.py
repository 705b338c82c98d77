"""`--batch`: half the price where nobody waits, from start to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import Inside
from tests.models.batch_provider import BatchServer, batch_server
from tests.models.test_batch import ADDRESSES, QUICK
from tests.run.suites import SMALL

from autoreason.exchange import BatchWaiting, Signal
from autoreason.models import batch
from autoreason.run.recorded import resume
from autoreason.run.result import StopSwitch
from autoreason.run.studies import judge

MODEL = ADDRESSES[0]
BRIEF = "Write about tides and boats"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A provider of batches, looked at without delay."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setattr(batch, "PACE", QUICK)
    with batch_server() as server:
        yield server


def at(server: BatchServer) -> tuple[str, ...]:
    return ("-m", MODEL, "--base-url", server.openai, "--batch", "--seed", "1")


def test_a_judge_is_certified_in_two_batches(inside: Inside, provider: BatchServer) -> None:
    said = inside("certify", MODEL, *at(provider)[2:], "--json", "--progress", "lines")
    assert said.status == 0
    assert [len(each.requests) for each in provider.batches.values()] == [48, 132]
    assert "batch of 132: 0 done, waiting since " in said.err
    # 100 tokens read and 50 written at 2 and 8 dollars a million, halved.
    assert Decimal(str(said.json["cost"])) == 180 * Decimal("0.0003")
    assert inside("runs", "check", "last").status == 0
    assert inside("runs", "check").status == 0
    assert inside("runs", "copy", "journal.db", "copy.db").status == 0


def test_cells_of_a_suite_share_batches(inside: Inside, provider: BatchServer) -> None:
    inside.write("suite.yaml", SMALL.replace("repeats: 1", "repeats: 6"))
    said = inside("lab", "run", "suite.yaml", *at(provider), "--anyway", "--json", "-q")
    assert said.status == 0
    assert len(provider.paid) > 2 * len(provider.batches)
    assert set(provider.paid.values()) == {1}
    both = inside("lab", "run", "suite.yaml", *at(provider), "--workers", "2")
    live = ("-m", "echo/echo", "--call-limit", "5", "--anyway", "-q")
    assert inside("lab", "run", "suite.yaml", *live).status == 3
    assert inside("resume", "--batch").sentence.startswith("of a suite only the budget can change")
    assert both.sentence == "one process collects a batch; leave --batch or --workers out"


async def test_a_run_that_is_stopped_leaves_its_batch_running_and_resume_takes_its_results(
    tmp_path: Path, provider: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch, signals = StopSwitch(), list[Signal]()
    monkeypatch.setattr(batch, "PACE", batch.BatchPace(quiet=0.02, first_check=60.0))

    def stop(signal: Signal) -> None:
        signals.append(signal)
        if isinstance(signal, BatchWaiting):
            switch.stop()

    texts = {"a": "The moon pulls at the sea.", "b": "The wind blows."}
    options: Any = {"base_url": provider.openai, "journal": tmp_path / "journal.db", "batch": True}
    judging = judge.aio(BRIEF, texts, MODEL, stop_switch=switch, on_signal=stop, **options)
    result = await asyncio.wait_for(judging, 20)
    assert result.status == "stopped"
    monkeypatch.setattr(batch, "PACE", QUICK)
    resumed = await resume.aio(result)
    assert resumed.finished
    assert resumed.calls == 7
    assert list(provider.paid.values()) == [1] * 7
    assert len(provider.batches) == 1
