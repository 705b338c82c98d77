"""A weak author keeps contracts by luck: the tournament must not waste it where drafts alone would not."""

from __future__ import annotations

import re
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournament.stage import critique, vote

from autoreason.contract import Contract
from autoreason.events import Delivered
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import Allowance, JobContext
from autoreason.prompts import built_in
from autoreason.settings import Models, make_settings
from autoreason.strategies import find_strategy
from autoreason.task import Task

CONTRACT = Contract(must_not_include=("broken",))
_DRAFT = re.compile(r"(?:draft|drafts/(\d+)|pass/(\d+)/author)/(.*)")


def deed(request: Request) -> str:
    """What is asked for, whatever strategy asks: the same draft has the same luck everywhere."""
    found = _DRAFT.fullmatch(request.key)
    return f"draft {found[1] or found[2] or 1} {found[3]}" if found else request.key


async def held(
    strategy: str, luck: int, p: float, q: float, calls: int | None = None, **more: Any
) -> tuple[Delivered, int]:
    """What is delivered, and the calls it took, where a draft keeps the contract with p and a fix with q."""
    allowance = Allowance("calls", None if calls is None else Decimal(calls))

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Query):
            return ""
        message = ""
        if request.role in ("author", "reviser", "synthesizer"):
            draws = Random(f"{luck} {deed(request)}")
            fixes = request.role != "author" or request.key.endswith("repair")
            keeps = draws.random() < (q if fixes else p)
            message = f"Text {draws.getrandbits(30)} is {'kept' if keeps else 'broken'}."
        elif request.role == "judge":
            message = vote("0 is", "1 is", "2 is", "3 is", "4 is")(request)
        elif request.role == "critic":
            message = critique("It is dull.") if luck % 2 else critique()
        reply = Reply(outcome=Outcome.OK, text=message, model="scripted/x")
        allowance.charge(reply)
        return reply

    chosen = make_settings(
        Models.everywhere("scripted/x"), luck, strategy=strategy, confirmation=0, passes=4, **more
    )
    context = JobContext(
        Task(brief="Write.", contract=CONTRACT), chosen, built_in(), ask, lambda _: None, allowance
    )
    return await find_strategy(strategy)(context).run(), int(allowance.spent)


SHARES = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.0])


@settings(max_examples=8)
@given(luck=st.integers(0, 10**6), p=SHARES, q=SHARES)
async def test_contracts_are_kept_whenever_best_of_n_keeps_them_with_as_many_calls(
    luck: int, p: float, q: float
) -> None:
    ours, calls = await held("autoreason", luck, p, q)
    rival, _ = await held("best_of_n", luck, p, q, calls)
    assert not ours.violations or rival.violations


@settings(max_examples=6)
@given(luck=st.integers(0, 10**6), p=SHARES, q=SHARES, calls=st.integers(8, 40))
async def test_under_an_allowance_too(luck: int, p: float, q: float, calls: int) -> None:
    ours, _ = await held("autoreason", luck, p, q, calls)
    rival, _ = await held("best_of_n", luck, p, q, calls)
    assert not ours.violations or rival.violations


async def test_with_one_draft_it_would_keep_fewer() -> None:
    kept = {1: 0, 10: 0}
    for luck in range(25):
        for most in kept:
            delivered, _ = await held("autoreason", luck, 0.3, 0.02, max_drafts=most)
            kept[most] += not delivered.violations
    assert kept[10] > kept[1] + 6


async def test_while_a_violation_stands_no_pass_ends_with_nothing_to_criticise() -> None:
    for luck in (0, 2, 4):
        delivered, _ = await held("autoreason", luck, 0.0, 0.0)
        assert delivered.violations
        assert delivered.evidence.unopposed == 0
