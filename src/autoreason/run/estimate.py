"""Before anything is spent: what a run may take, its first request, and what would only fail later."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from msgspec.json import encode
from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.exchange import Query, Request, Role
from autoreason.job_types import JobType
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import (
    Plans,
    build_job,
    check_job,
    plan_calls,
    run_job,
    user_code_errors,
)
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool, require_batches
from autoreason.models.prices import rates
from autoreason.prompts import PromptSet, built_in
from autoreason.reasoning import reasoning_tokens_for
from autoreason.report.numbers import count, duration, listed, money, percent
from autoreason.report.report import Report, Section, plain_values
from autoreason.settings import Budget, Models, Settings
from autoreason.strategies import job_class
from autoreason.task import Task
from autoreason.tournament.loop import without_drafts
from autoreason.tournament.voting import ballot_size

_TOKENS_PER_WORD = 1.4
_BYTES_PER_TOKEN = 4
_USUAL_DOCUMENT = 900
_CRITIQUE = 400
_BALLOT = 450
_MILLION = 1_000_000


Number = TypeVar("Number", int, Decimal, float)
Sizes = dict[str, tuple[int, int]]
"""Tokens read and written in one call, by role."""
Amounts = dict[str, Any]
"""What is taken, by the names of spans."""
_SPANS = ("calls", "tokens", "cost", "reasoning_tokens", "reasoning_cost")
_REASONING = {"tokens": "reasoning_tokens", "cost": "reasoning_cost"}


class Span(NamedTuple, Generic[Number]):
    """From, most likely, up to."""

    low: Number
    likely: Number
    high: Number


_ALL = Span(1.0, 1.0, 1.0)


@dataclass(frozen=True, repr=False)
class RunEstimate(Report):
    """What a run may take. Rough by nature: the number of passes is not known."""

    heading: ClassVar[str] = "Estimate"
    request: Request | None
    """The first one; None where the run would ask nothing."""
    calls: Span[int] | None = None
    """None where the strategy cannot estimate it."""
    tokens: Span[int] | None = None
    cost: Span[Decimal] | None = None
    """US dollars; None where a price is not known."""
    unpriced: tuple[str, ...] = ()
    """Models whose price is not known."""
    reasoning_tokens: Span[int] | None = None
    """What models that reason may take at most on top of `tokens`; None where none of them reasons."""
    reasoning_cost: Span[Decimal] | None = None
    """US dollars on top of `cost`."""
    paid: Span[float] = _ALL
    """How much of the least, the likely and the most the limits pay for; 1 is all of it."""

    @property
    def conclusion(self) -> str:
        """What a run would most likely take."""
        parts = [
            count(self.calls.likely, "call") if self.calls else "",
            count(self.tokens.likely, "token") if self.tokens else "",
            money(self.cost.likely) if self.cost and not self._is_free else "",
        ]
        takes = listed([part for part in parts if part] or ["an unknown number of calls"])
        more = f", and up to {extra} more for reasoning" if (extra := self._max_reasoning()) else ""
        free = ", free of charge" if self._is_free else ""
        cut = " up to its limit, which " + describe_paid(self.paid.likely)
        return f"a run takes about {takes}{cut if self.paid.likely < 1 else ''}{more}{free}"

    def sections(self) -> list[Section]:
        """Calls, tokens and cost, and the first prompt."""
        rows = [
            ("calls", _describe_numbers(self.calls)),
            ("tokens", _describe_numbers(self.tokens)),
            ("cost", self._describe_cost()),
        ]
        if extra := self._max_reasoning():
            rows.append(("reasoning", f"up to {extra} more, which is charged as output"))
        if self.paid.likely < 1:
            least = ", less than the least, so that it would stop before its end"
            paid = describe_paid(self.paid.likely) + (least if self.paid.low < 1 else "")
            rows.append(("budget", paid))
        sections = [Section("Estimate", rows)]
        if request := self.request:
            title = f"First prompt, to the {request.role} ({request.model})"
            messages = [f"── {each.speaker} ──\n{each.text}" for each in request.messages]
            sections.append(Section(title, text="\n".join(messages)))
        return sections

    def to_dict(self) -> dict[str, Any]:
        """The spans and the first request as plain values."""
        return {
            "conclusion": self.conclusion,
            **self.spans(),
            **plain_values({"request": self.request}),
        }

    def spans(self) -> dict[str, Any]:
        """Calls, tokens and cost, each from low to high, and how much of each is paid for."""
        spans = {name: getattr(self, name) for name in (*_SPANS, "paid")}
        return plain_values({name: span and span._asdict() for name, span in spans.items()})

    @property
    def _is_free(self) -> bool:
        return self.cost is not None and not any(self.cost)

    def _max_reasoning(self) -> str:
        """The most tokens and money for reasoning in the likely number of calls; empty where there is none."""
        if self.reasoning_tokens is None or not self.reasoning_tokens.likely:
            return ""
        tokens = count(self.reasoning_tokens.likely, "token")
        cost = self.reasoning_cost.likely if self.reasoning_cost else None
        return f"{tokens} and {money(cost)}" if cost else tokens

    def _describe_cost(self) -> str:
        if self._is_free:
            return "free"
        if self.cost is not None:
            return _describe(*map(money, self.cost))
        if self.unpriced:
            return f"unknown: the price of {' and '.join(self.unpriced)} is not known"
        return "unknown: the strategy does not say how many calls it makes"


def _describe_numbers(span: Span[int] | None) -> str:
    if span is None:
        return "unknown: the strategy does not say"
    return _describe(*(f"{number:,}" for number in span))


def _describe(low: str, likely: str, high: str) -> str:
    return low if low == high else f"{low} to {high}, most likely about {likely}"


class _NoReply(AutoreasonError):
    """Raised in place of the first reply."""


async def estimate_run(
    task: Task, settings: Settings, prompts: PromptSet | None = None
) -> RunEstimate:
    """Calls, tokens and cost of a run, from the least to the most, without calling anything."""
    kind = job_class(settings.job)
    prompts = prompts or built_in(writes=settings.job.writes or settings.job.steps_write)
    requests = await first_requests(task, settings, prompts)
    unknown = RunEstimate(
        requests[0] if requests else None,
        unpriced=tuple(each for each in settings.models.all() if rates(each) is None),
    )
    if task.draft is not None:
        # It is the only draft.
        settings = replace(settings, drafts=1, max_drafts=1)
    plans = plan_calls(kind, settings)
    if plans is None:
        return unknown
    if task.draft is not None:
        plans = without_drafts(plans, kind.draft_count(settings))
    plans = kind.fit_plans(plans, task, settings)
    if not sum(plans[2].values()):
        nothing, free = Span(0, 0, 0), Span(*[Decimal(0)] * 3)
        return dataclasses.replace(unknown, calls=nothing, tokens=nothing, cost=free)
    if not requests:
        return unknown
    # Where judges are asked first about texts that are there, their prompt contains them already.
    shown = requests[0].role == "judge" and not (settings.job.writes or settings.job.steps_write)
    sizes = _sizes(task, settings, requests, shown=shown)
    reasoning = _reasoning(settings, plans)
    whole = dataclasses.replace(
        unknown,
        calls=Span(*(sum(plan.values()) for plan in plans)),
        tokens=_tokens(sizes, plans),
        cost=_cost(settings, sizes, plans),
        reasoning_tokens=_tokens(reasoning, plans) if reasoning else None,
        reasoning_cost=_cost(settings, reasoning, plans) if reasoning else None,
    )
    return _cut(whole, settings.budget)


def describe_paid(share: float) -> str:
    """How much of a run the budget pays for."""
    return f"pays for {percent(share)} of what it likely takes"


def describe_time_limit(seconds: float) -> str:
    """A limit of time, of which no estimate knows what it pays for."""
    return f"{duration(seconds)}; what that allows is not known beforehand"


def share_paid(budget: Budget, needed: Mapping[str, int | Decimal]) -> Fraction:
    """How much of what is needed these limits allow, 1 is all."""
    limits = {unit: getattr(budget, unit) for unit in needed if needed[unit]}
    shares = [Fraction(n) / Fraction(needed[unit]) for unit, n in limits.items() if n is not None]
    return min([Fraction(1), *shares])


def _cut(whole: RunEstimate, budget: Budget) -> RunEstimate:
    """The estimate of a run that ends at its limits."""
    spans = {name: span for name in _SPANS if (span := getattr(whole, name)) is not None}
    cut = [_within(budget, {name: span[i] for name, span in spans.items()}) for i in range(3)]
    within: Amounts = {}
    for name in spans:
        parts = [each[name] for _, each in cut]
        # Roles differ, so that as many calls may take less in a longer run.
        within[name] = Span(*(parts if name in _REASONING.values() else accumulate(parts, max)))
    paid = Span(*(float(share) for share, _ in cut))
    return dataclasses.replace(whole, paid=paid, **within)


def _within(budget: Budget, needed: Amounts) -> tuple[Fraction, Amounts]:
    """The share that is paid for, and what is taken up to the first limit; reasoning may take what is left."""
    paid = share_paid(budget, {unit: needed[unit] for unit in _SPANS[:3] if unit in needed})
    taken = {name: _part(amount, paid) for name, amount in needed.items()}
    reasoning = {unit: taken[name] for unit, name in _REASONING.items() if name in taken}
    limits = {unit: getattr(budget, unit) for unit in reasoning}
    left = {unit: limit - taken[unit] for unit, limit in limits.items() if limit is not None}
    more = share_paid(Budget(**left), reasoning)
    return paid, taken | {_REASONING[u]: _part(amount, more) for u, amount in reasoning.items()}


def _part(amount: Any, share: Fraction) -> Any:
    """A share of a number, of the same type."""
    if isinstance(amount, int):
        return round(amount * share)
    exact = Fraction(amount) * share
    return Decimal(exact.numerator) / exact.denominator


async def first_requests(task: Task, settings: Settings, prompts: PromptSet) -> list[Request]:
    """The requests that would be sent before any model has answered: often one, or those of a whole panel."""
    requests: list[Request] = []

    kind = job_class(settings.job)

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, Request):
            requests.append(request)
        elif (answer := kind.sample_answer(task, request)) is not None:
            return answer
        raise _NoReply(request.key)

    context = JobContext(task, settings, prompts, ask, lambda _: None)
    job = build_job(kind, context)
    with suppress(_NoReply):
        await run_job(job)
    return requests


def unseen_tokens(task: Task, requests: Sequence[Request], job: JobType) -> int:
    """Tokens of a brief that parts are shown later, where the first requests are about something else."""
    texts = [message.text for request in requests for message in request.messages]
    if not job.steps_write or any(task.brief in text for text in texts):
        return 0
    return _text_tokens(f"{task.brief}{task.facts or ''}")


def _text_tokens(text: str) -> int:
    return len(text.encode()) // _BYTES_PER_TOKEN


def _sizes(task: Task, settings: Settings, requests: Sequence[Request], *, shown: bool) -> Sizes:
    """Tokens read and written in one call of each role."""
    texts = [message.text for request in requests for message in request.messages]
    prompt = sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN // len(requests)
    prompt += unseen_tokens(task, requests, settings.job)
    words = task.contract.max_words or (count_words(task.draft) if task.draft else None)
    document = round(words * _TOKENS_PER_WORD) if words else _USUAL_DOCUMENT
    # Next to the candidates an anchored judge reads the first draft.
    judged = ballot_size(settings) + (settings.style == "anchored")
    return {
        "author": (prompt, document),
        "critic": (prompt + document, _CRITIQUE),
        "reviser": (prompt + _CRITIQUE + (not settings.blind_revision) * document, document),
        "synthesizer": (prompt + 2 * document, document),
        "judge": (prompt + (0 if shown else judged * document), _BALLOT),
    }


def _players(models: Models, plans: Plans) -> Iterator[tuple[Role, tuple[str, ...]]]:
    """The models of each role that has calls."""
    players: dict[Role, tuple[str, ...]] = {
        "author": (models.author,),
        "critic": (models.critic,),
        "reviser": models.revisers or (models.author,),
        "synthesizer": (models.synthesizer,),
        "judge": models.judges,
    }
    roles = {role for plan in plans for role in plan}
    return ((role, addresses) for role, addresses in players.items() if role in roles)


def _reasoning(settings: Settings, plans: Plans) -> Sizes:
    """The most tokens of reasoning in one call of each role; empty where no model reasons."""
    sizes: Sizes = {}
    for role, addresses in _players(settings.models, plans):
        sizes[role] = (
            0,
            max(reasoning_tokens_for(each, settings.effort(role)) for each in addresses),
        )
    return sizes if any(written for _, written in sizes.values()) else {}


def _tokens(sizes: Sizes, plans: Plans) -> Span[int]:
    return Span(*(sum(calls * sum(sizes[role]) for role, calls in plan.items()) for plan in plans))


def _cost(settings: Settings, sizes: Sizes, plans: Plans) -> Span[Decimal] | None:
    prices: dict[str, Decimal] = {}
    for role, addresses in _players(settings.models, plans):
        known = [_price(address, sizes[role], batch=settings.batch) for address in addresses]
        priced = [price for price in known if price is not None]
        if len(priced) < len(known):
            return None
        # A mixed panel is priced by its most expensive member.
        prices[role] = max(priced)
    return Span(
        *(sum((calls * prices[role] for role, calls in plan.items()), Decimal(0)) for plan in plans)
    )


def _price(address: str, size: tuple[int, int], *, batch: bool) -> Decimal | None:
    price = rates(address, batch=batch)
    if price is None:
        return None
    return (size[0] * price.input + size[1] * price.output) / _MILLION


async def check(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Raise `InvalidInput` for what would only fail later; spends nothing."""
    check_settings(task, settings)
    if task.knowledge or task.work:
        from autoreason.run.knowledge_choice import check_destinations

        check_destinations(task, settings, pool)
    await check_models(task, settings, pool, prompts)
    for address in settings.models.all():
        result = await pool.check(address)
        if False in (result.reachable, result.key_accepted, result.model_known):
            raise InvalidInput(result.problem)


def check_settings(task: Task, settings: Settings) -> None:
    """Refuse what no model and no machine could run."""
    check_job(task, settings, job_class(settings.job))
    if settings.batch:
        for address in settings.models.all():
            require_batches(address)


def check_call_limit(task: Task, settings: Settings) -> None:
    """Refuse a limit of calls that would be spent without coming to anything."""
    kind = job_class(settings.job)
    limit = settings.budget.calls
    with user_code_errors(kind, settings.job.name):
        least = kind.min_calls(task, settings)
    if limit is not None and limit < least:
        raise InvalidInput(
            f"`budget.calls` is {limit}, and this run needs at least {least}; "
            f"give so many{kind.fewer_calls and f', or {kind.fewer_calls}'}"
        )


async def check_models(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Refuse what these models cannot do, as far as that is known without reaching any of them."""
    require_prices(settings.budget, {address: rates(address) for address in settings.models.all()})
    largest = "text to be judged" if task.entries else "draft" if task.draft else "brief"
    if settings.job.writes == "programs":
        from autoreason.programs.assignment import Assignments, assignments_of

        largest = "longest problem"
        longest = max(assignments_of(task), key=lambda each: len(encode(each)))
        task = replace(task, work=Assignments((longest,)))
    needed = await _tokens_needed(task, settings, prompts)
    for address in settings.models.all():
        # All are opened before the first is asked: a key may be missing, or not meant for its server.
        pool.check_here(address)
    for address in settings.models.all():
        room = pool.window(address)
        if room is not None and needed > room:
            raise InvalidInput(
                f"the {largest} needs about {needed:,} tokens and {address} has room for {room:,}; "
                "shorten it or choose a model with a larger window"
            )


async def _tokens_needed(task: Task, settings: Settings, prompts: PromptSet) -> int:
    requests = await first_requests(task, settings, prompts)
    longest_request = max(
        (sum(_text_tokens(message.text) for message in each.messages) for each in requests),
        default=0,
    )
    # The first request contains a given draft once; a synthesizer reads two texts and writes a third.
    unseen = unseen_tokens(task, requests, settings.job)
    return longest_request + unseen + 2 * _text_tokens(task.draft or "")
