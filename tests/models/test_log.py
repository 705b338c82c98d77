"""The log shows every request and why it went again, and neither a key nor a word of a text."""

from __future__ import annotations

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.cli.server import answer
from tests.models.fake_provider import Answer, FakeProvider, provider

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import Message, Reply, Request
from autoreason.models.doubles import ScriptedModel
from autoreason.models.layers import CircuitBreaker, ConcurrencyLimiter, RetryingModel, RetryPolicy
from autoreason.models.pool import ModelPool
from autoreason.models.transport import redact_url
from autoreason.run.refine import refine

__all__ = ["provider"]

KEY = "sk-quux-7731"
BRIEF = "Describe gulls over Zanzibar harbour."
QUOTED = f"cannot serve {BRIEF!r} with the key {KEY}"
REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="acme/large",
    messages=(Message("user", BRIEF),),
    max_tokens=100,
)
KEYS = r"[a-z]+(/(\d+|[a-z]+))*"
URL = r"http://127\.0\.0\.1:\d+/v1/(chat/completions|models)"
LINES = re.compile(
    rf"{KEYS} \(attempt \d+\): POST {URL}"
    rf"|GET {URL}"
    rf"|({KEYS} \(attempt \d+\): )?(status \d+|no answer) in \d+\.\d\d s"
    rf"|{KEYS} again in \d+\.\d s: (rate limit|overloaded|connection)(, status \d+)?"
    r"|acme/fake-large: at most \d+ at once now: (rate limit|overloaded), status \d+"
)


def mind(body: Any) -> Answer:
    """What the echo model would say; it has an event loop of its own for that, and so a thread."""
    with ThreadPoolExecutor() as thread:
        return Answer(text=thread.submit(answer, body).result() if body else "")


async def test_a_run_shows_each_request_and_none_of_its_texts(
    provider: FakeProvider,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.01)
    provider.minded = mind
    refused = {"error": {"message": QUOTED}}
    provider.will(
        Answer(),  # which models there are
        Answer(status=503, body=refused),
        Answer(status=429, body=refused),
        Answer(drop=True),
    )
    caplog.set_level(logging.DEBUG, "autoreason")
    result = await refine.aio(
        BRIEF,
        "acme/fake-large",
        base_url=provider.openai,
        passes=1,
        journal=tmp_path / "journal.db",
    )
    assert (result.status, result.passes) == ("capped", 1)
    lines = [each.getMessage() for each in caplog.records if each.name == "autoreason"]
    assert [line for line in lines if not LINES.fullmatch(line)] == []
    sent = [line for line in lines if "POST" in line or "GET" in line]
    answered = [line for line in lines if re.search(r"(status \d+|no answer) in ", line)]
    assert len(sent) == len(answered) == len(provider.requests)
    assert sum("draft/try/0 (attempt" in line for line in sent) == 4
    assert [each.split(": ")[-1] for each in lines if " again in " in each] == [
        "overloaded, status 503",
        "rate limit, status 429",
        "connection",
    ]
    assert any(KEY in str(each.headers) for each in provider.requests)


async def test_what_is_given_up_and_why_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "autoreason")
    down = CallFailed(Failure.OVERLOADED, QUOTED, status=503)
    model = ScriptedModel([down] * 3 + ["at last"], address="acme/large")
    times = iter(range(0, 1000, 30))
    breaker = CircuitBreaker("acme", max_failures=2, span=1, clock=lambda: float(next(times)))

    async def ask() -> Reply:
        layered = RetryingModel(
            model,
            limiter=ConcurrencyLimiter(2),
            breaker=breaker,
            policy=RetryPolicy(tries=1, busy_tries=1),
        )
        return await layered.ask(REQUEST)

    for _ in range(2):
        with pytest.raises(ProviderFailed):
            await ask()
    lines = [each.getMessage() for each in caplog.records]
    assert "pass/1/judge/0/try/0 given up, attempt 1: overloaded, status 503" in lines
    assert "acme is down; nothing is sent for 60 s" in lines
    assert KEY not in caplog.text
    assert "gulls" not in caplog.text
    times = iter(range(5000, 6000, 30))
    with pytest.raises(ProviderFailed):
        await ask()
    times = iter(range(9000, 10000, 30))
    assert (await ask()).text == "at last"
    assert caplog.records[-1].getMessage() == "acme is back"


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    shown = redact_url("https://me:sk-1@example.org:8443/v1/models?key=sk-2#sk-3")
    assert shown == "https://example.org:8443/v1/models"


async def test_a_program_that_wants_no_log_sees_none(capfd: pytest.CaptureFixture[str]) -> None:
    await ModelPool().lend("echo/echo").ask(REQUEST)
    assert capfd.readouterr() == ("", "")
    handlers = logging.getLogger("autoreason").handlers
    assert any(isinstance(each, logging.NullHandler) for each in handlers)
