"""Models that users bring."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.asking import request

from autoreason import BudgetReached, InvalidInput, ProviderFailed, refine, resume
from autoreason.errors import Accepted, CallFailed, Failure
from autoreason.exchange import OnSignal, Outcome, Reply, Request, Usage
from autoreason.models.layers import UserModel
from autoreason.models.pool import ModelPool
from autoreason.testing import EchoModel

REQUEST = request("mine/one")
GOOD = Reply(outcome=Outcome.OK, text="A text.", model="mine/one")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


class Mine(EchoModel):
    """A model that gives or raises what a test says."""

    address = "mine/one"

    def __init__(self, reply: Any) -> None:
        super().__init__()
        self.reply = reply

    async def ask(self, _request: Request, _on_signal: OnSignal | None = None) -> Reply:
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply  # type: ignore[no-any-return]

    async def close(self) -> None:
        raise self.reply


async def _ask(reply: Any) -> Reply:
    pool = ModelPool()
    pool.add({"mine/one": Mine(reply)})
    return await pool.model("mine/one").ask(REQUEST)


async def test_a_text_is_enough_of_a_reply() -> None:
    reply = await _ask(Reply(text="A text."))
    assert (reply.text, reply.outcome, reply.model) == ("A text.", Outcome.OK, "mine/one")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (None, "NoneType in place of a Reply"),
        ("A text.", "str in place of a Reply"),
        (replace(GOOD, text=None), r"Expected `str`, got `null` - at `\$.text`"),
        (replace(GOOD, text="\ud800"), "surrogates not allowed"),
        (replace(GOOD, outcome="good"), r"at `\$.outcome`"),
        (replace(GOOD, seconds=float("nan")), r"at `\$.seconds`"),
        *(
            (replace(GOOD, **numbers), "a number that is not between 0 and 1,000,000,000,000")
            for numbers in (
                {"seconds": -1.0},
                {"cost": Decimal(-1)},
                {"usage": Usage(input=-5)},
                {"usage": Usage(output=2**63)},
                {"cost": Decimal("1E+999999")},
                {"cost": Decimal("1E+200")},
            )
        ),
        (replace(GOOD, cost=Decimal("sNaN")), "gave no valid reply"),
        (ValueError("a \ud800"), r"raised ValueError \(a \\ud800\)"),
        (ProviderFailed("the model mine/one a \ud800; resume the run"), r"a \\ud800"),
        (Unspeakable(), r"raised Unspeakable \(its message cannot be shown\)"),
        (asyncio.CancelledError(), r"raised CancelledError \(no message\)"),
        (SystemExit(3), r"raised SystemExit \(3\)"),
        (Accepted("done"), r"raised Accepted \(done\)"),
        (BudgetReached("no more"), r"raised BudgetReached \(no more\)"),
        (InvalidInput("no"), r"raised InvalidInput \(no\)"),
        (ValueError("boom"), r"raised ValueError \(boom\) at test_user_model.py:\d+; correct it"),
    ],
)
async def test_nonsense_is_a_failure_that_names_the_model_and_the_remedy(
    reply: Any, message: str
) -> None:
    with pytest.raises(ProviderFailed, match=rf"^the model mine/one .*{message}.*resume the run$"):
        await _ask(reply)


async def test_a_good_reply_and_our_own_errors_pass_and_lost_connections_do_in_passing() -> None:
    assert await _ask(GOOD) == GOOD
    loose = replace(GOOD, outcome="ok", cost=0.5, usage={"input": 5})
    assert await _ask(loose) == replace(GOOD, cost=Decimal("0.5"), usage=Usage(input=5))
    with pytest.raises(CallFailed) as raised:
        await _ask(CallFailed(Failure.RATE_LIMIT, "later"))
    assert raised.value.failure is Failure.RATE_LIMIT
    with pytest.raises(CallFailed, match="ConnectionResetError") as raised:
        await _ask(ConnectionResetError("gone"))
    assert raised.value.failure.passing


async def test_a_call_that_is_cancelled_is_no_failure_of_its_model() -> None:
    class Waiting(Mine):
        async def ask(self, _request: Request, _on_signal: OnSignal | None = None) -> Reply:
            await asyncio.sleep(60)
            return GOOD

    asking = asyncio.create_task(UserModel(Waiting(GOOD)).ask(REQUEST))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(1), Accepted("no")])
async def test_whatever_closing_raises_the_run_is_over(error: BaseException) -> None:
    await UserModel(Mine(error)).close()


async def test_a_run_pauses_and_goes_on_with_the_model_corrected(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    paused = await refine.aio("Write.", Mine(replace(GOOD, seconds=float("nan"))), journal=file)
    assert paused.status == "provider_failed"
    assert "mine/one" in paused.reason
    result = await resume.aio(paused, model="echo/echo", passes=1)
    assert result.finished
