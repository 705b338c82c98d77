"""Whole runs on the embedded model: a real language model, inside the process or behind llama.cpp's server, offline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, CritiqueWritten
from autoreason.journal import Journal
from autoreason.models import local
from autoreason.models.weights import pull, weights_path
from autoreason.run.knowledge import measure_knowledge
from autoreason.run.recorded import replay
from autoreason.run.refine import refine
from autoreason.run.studies import advise
from autoreason.studies.advise import judge_check

BRIEF = "Write one sentence about rain."
DRAFT = "Rain falls on the roof and sings."
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], 0
params.n_ctx, params.n_parallel, params.verbosity, params.warmup = 4096, 1, -1, False
params.api_keys = [sys.argv[2]]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the embedded model, where it is here or can be fetched; it answers in few words."""
    monkeypatch.setattr(local, "_MAX_SMALL_STRING", 24)
    monkeypatch.setattr(local, "_MAX_SMALL_LIST", 1)
    try:
        pull()
    except InvalidInput as error:
        pytest.skip(f"the embedded model cannot be fetched here: {error}")
    return "local/smollm2"


@pytest.fixture
def llama_server(embedded: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:  # noqa: ARG001
    """The address of llama.cpp's own server, in a process of its own, with the embedded model's weights and a key."""
    monkeypatch.setenv("LLAMACPP_API_KEY", "sk-of-this-server")
    command = [sys.executable, "-c", SERVER, str(weights_path()), "sk-of-this-server"]
    # Threads that wait would spin, which makes it many times slower beside other work.
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server did not start"
        yield f"{address}/v1"
        process.kill()


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A folder with the outcomes of two groups, and a fact."""
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "mails.csv").write_text(
        "subject,opens,sent,list,date\n"
        "Rain again,400,1000,spring,2024-03-01\n"
        "The weather report of this week,100,1000,spring,2024-03-01\n"
        "Umbrellas are here,390,1000,spring,2024-03-01\n"
        "Dear customer,110,1000,spring,2024-03-01\n"
        "Rain or shine,450,1000,autumn,2024-09-01\n"
        "News about the sky,50,1000,autumn,2024-09-01\n"
    )
    (folder / "facts").mkdir()
    (folder / "facts" / "one.md").write_text("It rains on 170 days of the year here.")
    return folder


def _skip_unless_all(config: pytest.Config) -> None:
    if not config.getoption("--all"):
        pytest.skip("this takes the embedded model half a minute or more; --all runs it")


async def test_a_whole_run_with_records_on_the_embedded_model(
    journal: Journal, embedded: str, records: Path
) -> None:
    result = await refine.aio(
        BRIEF,
        embedded,
        draft=DRAFT,
        knowledge=records,
        judge_outcomes="yes",
        predictor_seat="no",
        seed=1,
        prompts="small",
        max_tokens=32,
        journal=journal,
        passes=1,
        judges=2,
        extra_judges=0,
        playoff=0,
        confirmation=0,
    )
    assert result.status in ("converged", "capped")
    assert result.text
    assert result.tokens
    assert result.cost == 0
    events = [item.event for item in journal.events(result.run)]
    assert any(isinstance(event, CritiqueWritten) for event in events)
    assert all(event.ranking for event in events if isinstance(event, BallotCast))
    shown = journal.story(result.run).task
    assert shown is not None
    assert shown.knowledge is not None
    assert shown.knowledge.leaks == 0
    calls = list(journal.calls(result.run))
    for role, outcomes in (("critic", shown.knowledge.critic), ("judge", shown.knowledge.judges)):
        sent = [
            "".join(message.text for message in call.request.messages)
            for call in calls
            if call.request.role == role
        ]
        # Where a very small model writes nothing new, there is nothing to judge.
        assert sent or role == "judge"
        assert outcomes.all
        assert all(record.id in text for text in sent for record in outcomes.all)
        assert all("170 days" in text for text in sent)
    assert (await replay.aio(result.run, journal=journal)).same


@pytest.mark.slow
async def test_a_whole_run_on_the_server_of_llama_cpp(journal: Journal, llama_server: str) -> None:
    result = await refine.aio(
        BRIEF,
        "llamacpp/smollm2",
        base_url=llama_server,
        draft=DRAFT,
        seed=1,
        prompts="small",
        max_tokens=48,
        journal=journal,
        passes=1,
        judges=2,
        extra_judges=0,
        playoff=0,
        confirmation=0,
    )
    assert result.status in ("converged", "capped")
    assert result.text
    assert result.tokens
    assert result.cost == 0
    assert {call.request.role for call in journal.calls(result.run)} >= {
        "critic",
        "reviser",
        "judge",
    }
    assert (await replay.aio(result.run, journal=journal)).same


async def test_a_whole_test_of_records_on_the_embedded_model(
    journal: Journal, embedded: str, records: Path, pytestconfig: pytest.Config
) -> None:
    _skip_unless_all(pytestconfig)
    result = await measure_knowledge.aio(
        records, embedded, pairs=1, seed=1, max_tokens=64, journal=journal
    )
    assert result.status == "done"
    (judge,) = result.report.judges
    assert judge.verdict == "too few"
    assert len(list(journal.calls(result.run))) >= 6
    assert (records / ".tests.jsonl").exists()
    assert (await replay.aio(result.run, journal=journal)).same


async def test_advice_on_the_embedded_model(
    journal: Journal, embedded: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    _skip_unless_all(pytestconfig)
    monkeypatch.setattr(judge_check, "PAIRS", 1)
    result = await advise.aio(BRIEF, embedded, seed=1, max_tokens=64, journal=journal)
    assert result.status == "done"
    assert result.report.judge is not None
    # Two ballots, however good, are no certificate.
    assert result.report.advice == "another judge"
    assert (await replay.aio(result.run, journal=journal)).same
