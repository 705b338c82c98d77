"""Before anything is spent: what a run may take, and its first request."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.errors import AutoreasonError
from autoreason.exchange import BudgetQuery, GuidanceQuery, Query, Request
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Plan
from autoreason.jobs.runner import build_job, run_job, user_code_errors
from autoreason.models.budget import Rates
from autoreason.models.prices import rates
from autoreason.programs.task import assignments_of
from autoreason.prompts import PromptSet, built_in
from autoreason.run.kinds import job_class
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.plan import MAX_CALLS_PER_TEXT

_TOKENS_PER_WORD = 1.4
_BYTES_PER_TOKEN = 4
_USUAL_DOCUMENT = 900
_CRITIQUE = 400
_BALLOT = 450
_MILLION = 1_000_000


class Span(NamedTuple):
    """From, most likely, up to."""

    low: int
    likely: int
    high: int


@dataclass(frozen=True)
class RunEstimate:
    """What a run may take. Rough by nature: the number of passes is not known."""

    request: Request | None
    """The first one; None where the run would ask nothing."""
    calls: Span | None = None
    """None where the strategy cannot estimate it."""
    tokens: Span | None = None
    cost: tuple[Decimal, Decimal, Decimal] | None = None
    """US dollars; None where a price is not known."""


class _NoReply(AutoreasonError):
    """Raised in place of the first reply."""


async def estimate_run(
    task: Task, settings: Settings, prompts: PromptSet | None = None
) -> RunEstimate:
    """Calls, tokens and cost of a run, from the least to the most, without calling anything."""
    kind = job_class(settings)
    prompts = prompts or built_in(writes=kind.writes)
    requests = await first_requests(task, settings, prompts)
    request = requests[0] if requests else None
    if task.draft is not None:
        # It is the only draft.
        settings = replace(settings, drafts=1, max_drafts=1)
    with user_code_errors(kind, settings.strategy):
        plans = kind.plans(settings)
    if request is None or plans is None:
        return RunEstimate(request)
    if assignments_of(task):
        # A plan is for one problem.
        plans = _multiply(plans, sum(not each.remark for each in assignments_of(task)))
    if task.draft is not None:
        low, likely, high = plans
        # A given draft is one text less to write.
        plans = (
            _without_draft(low, 1),
            _without_draft(likely, 1),
            _without_draft(high, MAX_CALLS_PER_TEXT),
        )
    sizes = _sizes(task, request)
    return RunEstimate(
        request,
        Span(*(sum(plan.values()) for plan in plans)),
        Span(*(sum(count * sum(sizes[role]) for role, count in plan.items()) for plan in plans)),
        _cost(settings, sizes, plans),
    )


def _multiply(plans: tuple[Plan, Plan, Plan], problems: int) -> tuple[Plan, Plan, Plan]:
    low, likely, high = ({role: calls * problems for role, calls in plan.items()} for plan in plans)
    return low, likely, high


def _without_draft(plan: Plan, calls: int) -> Plan:
    return {**plan, "author": plan.get("author", 0) - calls}


async def first_requests(task: Task, settings: Settings, prompts: PromptSet) -> list[Request]:
    """The requests that would be sent before any model has answered: often one, or those of a whole panel."""
    requests: list[Request] = []

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, GuidanceQuery | BudgetQuery):
            return ""
        if isinstance(request, Request):
            requests.append(request)
        raise _NoReply(request.key)

    context = JobContext(task, settings, prompts, ask, lambda _: None)
    job = build_job(job_class(settings), context)
    with suppress(_NoReply):
        await run_job(job)
    return requests


def _sizes(task: Task, request: Request) -> dict[str, tuple[int, int]]:
    """Tokens read and written in one call of each role."""
    prompt = sum(len(message.text.encode()) for message in request.messages) // _BYTES_PER_TOKEN
    words = task.contract.max_words or (count_words(task.draft) if task.draft else None)
    document = round(words * _TOKENS_PER_WORD) if words else _USUAL_DOCUMENT
    return {
        "author": (prompt, document),
        "critic": (prompt + document, _CRITIQUE),
        "reviser": (prompt + document + _CRITIQUE, document),
        "synthesizer": (prompt + 2 * document, document),
        # Where judges are asked first, their prompt contains the texts already.
        "judge": (prompt + (0 if request.role == "judge" else 3 * document), _BALLOT),
    }


def _cost(
    settings: Settings, sizes: dict[str, tuple[int, int]], plans: tuple[Plan, Plan, Plan]
) -> tuple[Decimal, Decimal, Decimal] | None:
    models = settings.models
    roles = {role for plan in plans for role in plan}
    addresses = {
        "author": models.author,
        "critic": models.critic,
        "reviser": models.author,
        "synthesizer": models.synthesizer,
        # A mixed panel is priced by its most expensive member.
        "judge": max(models.judges, key=lambda address: _price(address, sizes["judge"]) or 0),
    }
    prices = {role: _price(addresses[role], sizes[role]) for role in roles}
    if any(price is None for price in prices.values()):
        return None
    low, likely, high = (
        sum((count * (prices[role] or Decimal(0)) for role, count in plan.items()), Decimal(0))
        for plan in plans
    )
    return low, likely, high


def _price(address: str, size: tuple[int, int]) -> Decimal | None:
    price: Rates | None = rates(address)
    if price is None or price.input is None or price.output is None:
        return None
    return (size[0] * price.input + size[1] * price.output) / _MILLION
