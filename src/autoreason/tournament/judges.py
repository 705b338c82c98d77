"""One seat of a panel: a fresh, blind judge, asked once more if necessary, then replaced by another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import factorial
from typing import Any, NamedTuple

from msgspec.structs import replace

from autoreason.events import BallotCast
from autoreason.exchange import Outcome, Reply, Request, Schema
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.keys import judge_key, try_key
from autoreason.parsing.ballots import read_ranking
from autoreason.parsing.documents import same_text
from autoreason.settings import Settings
from autoreason.tournament.length_check import check_length
from autoreason.tournament.orders import neutral_labels

LENSES = (
    "is everything in it right, and does it do what the task asks, all of it and nothing else",
    "can its reader use it: is it specific, sound and complete where it matters",
    "is it clear: well ordered, to the point, not a word too many",
)
"""What specialists look at, seat by seat."""

JUDGE_PROMPTS = ("judge", "ballot_again", "length_check")
"""What judges of texts are asked with."""
JUDGE_SETTINGS = (
    *("judge_models", "judge_temperature", "judge_effort"),
    *("style", "voting", "balanced_orders"),
)
"""What every panel looks at, whatever its size."""
PANEL_SETTINGS = (*JUDGE_SETTINGS, "judges", "single_judge", "protocol")
"""What a panel of the usual size looks at."""
_MAX_ENUMERATED = 120
_MAX_LISTED = 6
JUDGES_PER_SEAT = 2
MAX_REQUESTS_PER_SEAT = 2 * JUDGES_PER_SEAT
"""Requests a seat takes at most: every judge is asked once more if necessary."""


async def cast_ballot(
    context: JobContext,
    stage: str,
    seat: int,
    order: tuple[str, ...],
    texts: Mapping[str, str],
    *,
    judge: int | None = None,
    max_requests: int = MAX_REQUESTS_PER_SEAT,
    reference: str = "",
) -> BallotCast:
    """The ballot of one seat; its ranking is None where two judges in turn gave none.

    Seats with the same `judge` are asked of the same model; without it every seat has its own.
    The seat may take `max_requests` requests for its ballot. An anchored judge is shown the `reference`,
    unless it is one of the texts: that would be ranked twice, and known for what it is.
    """
    judge_number = seat if judge is None else judge
    style = context.settings.style
    lens = lens_of(style, judge_number)
    if style != "anchored" or any(same_text(reference, text) for text in texts.values()):
        reference = ""
    asked = 0
    for fresh in range(JUDGES_PER_SEAT):
        key = judge_key(stage, seat, fresh)
        labels = neutral_labels(len(order), draw(context.settings.seed, f"{key}/labels"))
        labelled = dict(zip(labels, (texts[name] for name in order), strict=True))
        request = _build_request(context, key, judge_number, lens, labelled, reference)
        reply = await context.ask(request)
        ranking = _read_ballot(reply, labels)
        asked += 1
        if ranking is None and asked < max_requests:
            short = replace(request, schema=ballot_schema(labels, reasons=False))
            reply = await context.ask(
                context.second_request(
                    short, try_key(key, 1), reply, "ballot_again", labels=sorted(labels)
                )
            )
            ranking = _read_ballot(reply, labels)
            asked += 1
        if ranking is not None or asked >= max_requests:
            break
    by_label = dict(zip(labels, order, strict=True))
    reasoning = _reasoning(reply.text)
    check = None
    if style == "verified" and ranking:
        judges = context.settings.models.judges
        # Of a mixed panel another model than the one that ranked.
        model = judges[(judge_number + 1) % len(judges)]
        check = await check_length(context, key, model, labelled, ranking, reasoning)
        if check and check.only_length:
            ranking = (ranking[1], ranking[0], *ranking[2:])
    return BallotCast(
        stage=stage,
        seat=seat,
        model=reply.model,
        order=order,
        labels=labels,
        ranking=tuple(by_label[label] for label in ranking) if ranking else None,
        reasoning=reasoning,
        asked=asked,
        lens=lens,
        anchored=bool(reference),
        check=check,
    )


class SeatCalls(NamedTuple):
    """Calls that a seat takes."""

    usual: int
    most: int


def seat_calls(settings: Settings) -> SeatCalls:
    """A ballot, up to four tries at it, and the check of a verified one."""
    checks = int(settings.style == "verified")
    return SeatCalls(1 + checks, MAX_REQUESTS_PER_SEAT + checks)


def lens_of(style: str, judge_number: int) -> str:
    """What a judge is asked to look at; the whole text under most styles."""
    return LENSES[judge_number % len(LENSES)] if style == "specialists" else ""


def ballot_schema(labels: tuple[str, ...], *, reasons: bool = True) -> Schema:
    """The shape of a ballot. Where the rankings can be spelt out, only a full one can be given.

    Asked for in words, it has its reasons first, unless it is only the ranking that is asked for again.
    """
    ranking: dict[str, Any]
    # By name, so that the order in which the texts are shown does not come into it.
    names = sorted(labels)
    if factorial(len(labels)) <= _MAX_ENUMERATED:
        ranking = {"type": "string", "enum": [" > ".join(p) for p in permutations(names)]}
    else:
        ranking = {"type": "array", "items": {"type": "string", "enum": names}}
    return Schema(
        name="ballot",
        definition={
            "type": "object",
            "properties": {"reasoning": {"type": "string"}, "ranking": ranking},
            "required": ["reasoning", "ranking"],
            "additionalProperties": False,
        },
        plain=_form_with_reasons(names) if reasons else _form(names),
    )


def _form_with_reasons(names: Sequence[str]) -> str:
    return (
        f"Begin with the line REASONS: and below it write, for each of {', '.join(names)}, one sentence on where it "
        "serves the task and where it does not. End with one line that gives the ranking, best first, with the "
        f"names in place of the question marks:\nRANKING: {' > '.join('?' * len(names))}"
    )


def _form(names: Sequence[str]) -> str:
    """The line alone: as a choice, where there are few."""
    if factorial(len(names)) <= _MAX_LISTED:
        rankings = "\n".join(f"RANKING: {' > '.join(p)}" for p in permutations(names))
        return f"Answer with one of these lines, whichever has the best first:\n{rankings}"
    return (
        f"Answer with one line, best first, with {', '.join(names)} in place of the question marks:\n"
        f"RANKING: {' > '.join('?' * len(names))}"
    )


def _build_request(
    context: JobContext,
    key: str,
    judge_number: int,
    lens: str,
    labelled: Mapping[str, str],
    reference: str,
) -> Request:
    settings = context.settings
    prompt = context.prompt(
        "judge",
        key,
        (*labelled.values(), *filter(None, [reference])),
        candidates=[{"label": label, "text": text} for label, text in labelled.items()],
        style=settings.style,
        lens=lens,
        reference=reference,
    )
    return context.request(
        "judge",
        try_key(key, 0),
        settings.models.judges[judge_number % len(settings.models.judges)],
        prompt,
        temperature=settings.judge_temperature,
        schema=ballot_schema(tuple(labelled)),
    )


def _read_ballot(reply: Reply, labels: tuple[str, ...]) -> tuple[str, ...] | None:
    return read_ranking(reply.text, labels) if reply.outcome is Outcome.OK else None


def _reasoning(text: str) -> str:
    """The argument of a structured ballot, or the whole answer."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip()
    return str(value.get("reasoning", "")).strip() if isinstance(value, dict) else text.strip()
