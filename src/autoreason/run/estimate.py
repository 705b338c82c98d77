"""Before anything is spent: what a run may take, and the first thing it would say."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from autoreason.contract import count_words
from autoreason.exchange import Outcome, Reply, Request
from autoreason.models.budget import Rates
from autoreason.models.prices import rates
from autoreason.prompts import PromptSet, built_in
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.critic import CRITICS
from autoreason.tournament.evidence import chance_of_survival
from autoreason.tournament.judging import JUDGES_A_SEAT
from autoreason.tournament.loop import Tournament
from autoreason.tournament.venue import Venue

_TOKENS_A_WORD = 1.4
_BYTES_A_TOKEN = 4
_USUAL_DOCUMENT = 900
_CRITIQUE = 400
_BALLOT = 450
_MILLION = 1_000_000
_TRIES = 2
_MENDS = 2


Plan = dict[str, int]
"""Calls by role."""


class Span(NamedTuple):
    """From, most likely, up to."""

    low: int
    likely: int
    high: int


@dataclass(frozen=True)
class Estimate:
    """What a run may take. Rough by nature: nobody knows how many passes it will need."""

    request: Request
    calls: Span
    tokens: Span
    cost: tuple[Decimal, Decimal, Decimal] | None
    """US dollars; None where a price is not known."""


class _First(Exception):
    def __init__(self, request: Request) -> None:
        super().__init__(request.key)
        self.request = request


def estimate(task: Task, settings: Settings, prompts: PromptSet | None = None) -> Estimate:
    """Calls, tokens and cost of a run, from the fewest to the most, without calling anything."""
    request = first_request(task, settings, prompts or built_in())
    plans = [_fewest(settings), _likely(settings), _most(settings)]
    if task.draft is not None:
        plans = [{**plan, "author": 0} for plan in plans]
    sizes = _sizes(task, request)
    return Estimate(
        request,
        Span(*(sum(plan.values()) for plan in plans)),
        Span(*(sum(count * sum(sizes[role]) for role, count in plan.items()) for plan in plans)),
        _cost(settings, sizes, plans),
    )


def first_request(task: Task, settings: Settings, prompts: PromptSet) -> Request:
    """The first thing a model would be asked."""

    async def ask(request: Request) -> Reply:
        if request.role == "person":
            return Reply(outcome=Outcome.EMPTY, text="", model="person")
        raise _First(request)

    run = Tournament(Venue(task, settings, prompts, ask, lambda _: None)).run()
    try:
        # Nothing in it waits, so one step leads straight to the first request.
        run.send(None)
    except _First as first:
        return first.request
    raise AssertionError("a run asks at least one thing")


def _fewest(settings: Settings) -> Plan:
    """Critics find nothing from the start."""
    return {"author": 1, "critic": CRITICS * min(settings.k, settings.passes), "judge": 0}


def _likely(settings: Settings) -> Plan:
    """As many passes as chance alone would take until A survives k times in a row."""
    stays = chance_of_survival(settings.judges, rule=settings.voting)
    expected = (1 - stays**settings.k) / (stays**settings.k * (1 - stays))
    passes = min(settings.passes, round(expected))
    return {
        "author": 1,
        "critic": passes,
        "reviser": passes,
        "synthesizer": passes,
        "judge": passes * settings.judges + settings.playoff,
    }


def _most(settings: Settings) -> Plan:
    """Everything that can be asked again is."""
    texts = _TRIES + _MENDS
    seats = max(settings.judges, settings.most_judges) if settings.more_judges else settings.judges
    return {
        "author": texts,
        "critic": settings.passes * CRITICS * _TRIES,
        "reviser": settings.passes * texts,
        "synthesizer": settings.passes * texts,
        "judge": (settings.passes * seats + settings.playoff) * _TRIES * JUDGES_A_SEAT,
    }


def _sizes(task: Task, request: Request) -> dict[str, tuple[int, int]]:
    """Tokens read and written in one call of each role."""
    prompt = sum(len(message.text.encode()) for message in request.messages) // _BYTES_A_TOKEN
    words = task.contract.max_words or (count_words(task.draft) if task.draft else None)
    document = round(words * _TOKENS_A_WORD) if words else _USUAL_DOCUMENT
    return {
        "author": (prompt, document),
        "critic": (prompt + document, _CRITIQUE),
        "reviser": (prompt + document + _CRITIQUE, document),
        "synthesizer": (prompt + 2 * document, document),
        "judge": (prompt + 3 * document, _BALLOT),
    }


def _cost(
    settings: Settings, sizes: dict[str, tuple[int, int]], plans: list[Plan]
) -> tuple[Decimal, Decimal, Decimal] | None:
    models = settings.models
    addresses = {
        "author": models.author,
        "critic": models.critic,
        "reviser": models.author,
        "synthesizer": models.synthesizer,
        # A mixed panel is priced by its dearest member.
        "judge": max(models.judges, key=lambda address: _price(address, sizes["judge"]) or 0),
    }
    known = {role: _price(address, sizes[role]) for role, address in addresses.items()}
    if any(price is None for price in known.values()):
        return None
    low, likely, high = (
        sum((count * (known[role] or Decimal(0)) for role, count in plan.items()), Decimal(0))
        for plan in plans
    )
    return low, likely, high


def _price(address: str, size: tuple[int, int]) -> Decimal | None:
    found: Rates | None = rates(address)
    if found is None or found.input is None or found.output is None:
        return None
    return (size[0] * found.input + size[1] * found.output) / _MILLION
