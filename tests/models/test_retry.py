"""A call that fails in passing is tried again; one that cannot succeed names the fix."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import CallRetried, Message, Reply, Request, Signal
from autoreason.models.circuit_breaker import CircuitBreaker
from autoreason.models.doubles import Answer, ScriptedModel
from autoreason.models.retry import RetryingModel, RetryPolicy

REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="acme/large",
    messages=(Message("user", "Which is best?"),),
    max_tokens=100,
)
PASSING = sorted(failure for failure in Failure if failure.passing)
PERMANENT = sorted(failure for failure in Failure if not failure.passing)


class Trial:
    """A retried model with a script; waits are noted and take no time."""

    def __init__(self, *answers: Answer, policy: RetryPolicy | None = None) -> None:
        self.model = ScriptedModel(answers, address="acme/large")
        self.waits: list[float] = []
        self.signals: list[Signal] = []
        self.retrying = RetryingModel(
            self.model, policy=policy, rng=Random(7), sleep=self._note_the_wait
        )

    async def ask(self) -> Reply:
        return await self.retrying.ask(REQUEST, self.signals.append)

    @property
    def retries(self) -> list[CallRetried]:
        return [signal for signal in self.signals if isinstance(signal, CallRetried)]

    async def _note_the_wait(self, seconds: float) -> None:
        self.waits.append(seconds)


def failed(
    failure: Failure, retry_after: float | None = None, retry: bool | None = None
) -> CallFailed:
    return CallFailed(failure, "the server said so.", retry_after=retry_after, retry=retry)


async def test_an_answer_is_handed_on_as_it_is() -> None:
    trial = Trial("B > A")
    assert (await trial.ask()).text == "B > A"
    assert trial.waits == []


@pytest.mark.parametrize("failure", PASSING)
async def test_a_passing_failure_is_tried_again(failure: Failure) -> None:
    trial = Trial(failed(failure), failed(failure), "at last")
    assert (await trial.ask()).text == "at last"
    assert len(trial.model.requests) == 3


@pytest.mark.parametrize("failure", PERMANENT)
async def test_a_permanent_failure_is_never_tried_again(failure: Failure) -> None:
    trial = Trial(failed(failure), "too late")
    with pytest.raises(
        ProviderFailed, match=r"acme.*the server said so.*`autoreason resume`"
    ) as why:
        await trial.ask()
    assert len(trial.model.requests) == 1
    assert trial.waits == []
    assert isinstance(why.value.__cause__, CallFailed)


async def test_each_permanent_failure_names_its_fix() -> None:
    mends = {}
    for failure in PERMANENT:
        with pytest.raises(ProviderFailed) as why:
            await Trial(failed(failure)).ask()
        mends[failure] = str(why.value)
    assert "check the key for acme" in mends[Failure.BAD_KEY]
    assert "top up" in mends[Failure.NO_CREDIT]
    assert "check that the model exists" in mends[Failure.BAD_REQUEST]


async def test_patience_ends_after_its_tries() -> None:
    trial = Trial(*[failed(Failure.TIMEOUT)] * 3, policy=RetryPolicy(tries=3))
    with pytest.raises(ProviderFailed, match=r"acme/large failed 3 times, last: the server"):
        await trial.ask()
    assert len(trial.waits) == 2


async def test_a_busy_provider_is_given_more_time_than_a_broken_one() -> None:
    trial = Trial(*[failed(Failure.RATE_LIMIT)] * 9, "at last")
    assert (await trial.ask()).text == "at last"


async def test_a_wait_asked_for_is_kept() -> None:
    trial = Trial(failed(Failure.RATE_LIMIT, retry_after=20), "thanks")
    await trial.ask()
    assert 20 <= trial.waits[0] <= 21


async def test_a_wait_beyond_patience_is_not_started() -> None:
    trial = Trial(failed(Failure.RATE_LIMIT, retry_after=3600), "too late")
    with pytest.raises(ProviderFailed, match="acme asks us to wait 3600 seconds"):
        await trial.ask()
    assert trial.waits == []


@pytest.mark.parametrize("failure", PASSING)
async def test_a_call_that_cannot_succeed_soon_is_not_tried_again(failure: Failure) -> None:
    trial = Trial(failed(failure, retry_after=20, retry=False), "too late")
    with pytest.raises(
        ProviderFailed, match=r"trying again soon will not help \(the server said so\); `autoreason"
    ):
        await trial.ask()
    assert trial.waits == []


@pytest.mark.parametrize("failure", PERMANENT)
async def test_a_provider_that_asks_to_be_tried_again_is(failure: Failure) -> None:
    trial = Trial(failed(failure, retry=True), "at last")
    assert (await trial.ask()).text == "at last"


async def test_every_retry_is_signalled_with_its_reason_and_wait() -> None:
    trial = Trial(failed(Failure.OVERLOADED), failed(Failure.CONNECTION), "fine")
    await trial.ask()
    assert [(sign.key, sign.reason, sign.wait) for sign in trial.retries] == [
        (REQUEST.key, "the server said so", trial.waits[0]),
        (REQUEST.key, "the server said so", trial.waits[1]),
    ]


@given(st.integers(1, 5000), st.integers())
def test_waits_grow_and_are_capped(failures: int, seed: int) -> None:
    wait = RetryPolicy(first_wait=1, max_wait=30).wait(failures, None, Random(seed))
    longest = min(30, 2 ** (failures - 1))
    assert longest / 2 <= wait <= longest


def test_calls_that_failed_together_do_not_come_back_together() -> None:
    rng = Random(1)
    assert len({RetryPolicy().wait(1, 20.0, rng) for _ in range(100)}) == 100


async def test_a_failure_without_words_is_named_by_its_kind() -> None:
    trial = Trial(CallFailed(Failure.BROKEN_REPLY, ""), "fine")
    await trial.ask()
    assert trial.retries[0].reason == "broken reply"


async def test_what_is_not_a_failed_call_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        await Trial(ZeroDivisionError()).ask()


async def test_a_call_cancelled_in_back_off_ends_and_leaves_nothing_running() -> None:
    sleeping = asyncio.Event()

    async def for_ever(_seconds: float) -> None:
        sleeping.set()
        await asyncio.Event().wait()

    model = ScriptedModel([failed(Failure.TIMEOUT)], address="acme/large")
    call = asyncio.ensure_future(
        RetryingModel(model, breaker=CircuitBreaker("acme"), sleep=for_ever).ask(REQUEST)
    )
    await sleeping.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
