"""One seat of a panel: a fresh, blind judge, asked once more if necessary, then replaced by another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, permutations
from math import factorial
from typing import Any, NamedTuple

from msgspec.structs import replace

from autoreason.characters import with_whole_characters
from autoreason.contract import count_words
from autoreason.events import BallotCast, LengthCheck
from autoreason.exchange import Outcome, Reply, Schema, object_schema
from autoreason.jobs.context import JobContext, draw
from autoreason.keys import judge_key, sub_key, try_key
from autoreason.parsing import parse_json
from autoreason.parsing.ballots import (
    LEAST,
    LENGTH_CHECK,
    MOST,
    Grades,
    name_grades,
    rank_by_grades,
    read_grades,
    read_ranking,
    rests_on_length,
)
from autoreason.parsing.documents import same_text
from autoreason.settings import Settings
from autoreason.tournament.voting import JUDGES_PER_SEAT, MAX_REQUESTS_PER_SEAT

Order = tuple[str, ...]


def balanced_orders(
    candidates: Sequence[str], judges: int, seed: int, before: int = 0
) -> tuple[Order, ...]:
    """One order per judge, after those of `before` judges, so that no candidate gains by its position.

    Every n judges in turn see each of the n candidates once in each position. Neighbours are
    balanced as well: over n judges where n is even, over 2n where it is odd. The orders of
    a smaller panel are the first of a larger one's.
    """
    return tuple(islice(_schedule(candidates, random.Random(seed)), before, before + judges))


def random_orders(
    candidates: Sequence[str], judges: int, seed: int, before: int = 0
) -> tuple[Order, ...]:
    rng = random.Random(seed)
    orders = (tuple(rng.sample(candidates, len(candidates))) for _ in range(before + judges))
    return tuple(islice(orders, before, None))


def neutral_labels(count: int, rng: random.Random) -> tuple[str, ...]:
    """Different two-consonant codes that suggest neither a rank nor a meaning."""
    return tuple(rng.sample(_CODES, count))


def _schedule(candidates: Sequence[str], rng: random.Random) -> Iterator[Order]:
    """Williams designs, one after the other, each with the candidates dealt anew."""
    while True:
        dealt = rng.sample(candidates, len(candidates))
        squares = [_square(dealt)]
        if len(dealt) % 2:
            # An odd square is balanced only together with its mirror image.
            squares.append([order[::-1] for order in squares[0]])
        rng.shuffle(squares)
        for square in squares:
            rng.shuffle(square)
            yield from square


def _square(names: Sequence[str]) -> list[Order]:
    """A Latin square whose rows step outwards in zigzag: 0, 1, n-1, 2, n-2, ..."""
    n = len(names)
    zigzag = [(step + 1) // 2 if step % 2 else -(step // 2) for step in range(n)]
    return [tuple(names[(turn + offset) % n] for offset in zigzag) for turn in range(n)]


_WELL_KNOWN = (
    "BC BK BR BS BT CD CF CL CM CN CP CR CT CV DB DC DJ DK DL DM DR FB FC FM FR FX GB GD GM GP GT"
    " HD HK HP HQ HR HT HZ JR JS KB KG KM KP KR KS KW LB LC LG LP LR LS LT MB MC MD MG MK ML MN MP"
    " MR MS MT MW NB NC ND NG NH NJ NL NM NR NT NV NZ PC PD PG PH PK PL PM PR PS PT QB QC QR RC RD"
    " RN RP RS SC SD SF SK SM SN SP SQ SR ST TB TD TN TS TV TX VC VM VP VR VS VT WC WP WS WV XL XS"
)
"""Pairs a reader takes for something: units, titles, places, brands, file types, "versus"."""

_CODES = [x + y for x, y in permutations("BCDFGHJKLMNPQRSTVWXZ", 2) if x + y not in _WELL_KNOWN]


async def check_length(
    context: JobContext,
    key: str,
    model: str,
    labelled: Mapping[str, str],
    ranking: Sequence[str],
    reasons: str,
) -> LengthCheck | None:
    """What a second judge says of the first place; None where that text is not the longer of the first two.

    It sees the two texts, in the order of the ballot, and the reasons that the first judge gave.
    """
    first, second, *_ = ranking
    if count_words(labelled[first]) <= count_words(labelled[second]):
        return None
    key = sub_key(key, "check")
    both = {label: text for label, text in labelled.items() if label in (first, second)}
    shown = {"candidates": _to_show(both), "labels": [first, second], "reasons": reasons}
    prompt = context.prompt("length_check", key, **shown)
    request = context.request("judge", try_key(key, 0), model, prompt, schema=LENGTH_CHECK)
    reply = await context.ask(request)
    answer = rests_on_length(reply.text) if reply.outcome is Outcome.OK else None
    return LengthCheck(model=reply.model, only_length=answer, reasoning=reply.text.strip())


def _to_show(labelled: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"label": label, "text": text} for label, text in labelled.items()]


LENSES = (
    "is everything in it right, and does it do what the task asks, all of it and nothing else",
    "can its reader use it: is it specific, sound and complete where it matters",
    "is it clear: well ordered, to the point, not a word too many",
)
"""What specialists look at, seat by seat."""

JUDGE_PROMPTS = ("judge", "ballot_again", "length_check")
JUDGE_SETTINGS = (
    *("judge_models", "judge_temperature", "judge_effort"),
    *("style", "ballot", "voting", "balanced_orders"),
)
"""What every panel looks at, whatever its size."""
PANEL_SETTINGS = (*JUDGE_SETTINGS, "judges", "protocol")
"""What a panel of the usual size looks at."""
_MAX_ENUMERATED = 120
_MAX_LISTED = 6
_REASONS = (
    "Begin with the line REASONS: and below it write, for each of {}, one sentence on where it serves the task and "
    "where it does not."
)


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
    style, judges = context.settings.style, context.settings.models.judges
    model = judges[judge_number % len(judges)]
    lens = LENSES[judge_number % len(LENSES)] if style == "specialists" else ""
    if style != "anchored" or any(same_text(reference, text) for text in texts.values()):
        reference = ""
    names, graded = context.task.criterion_names, context.settings.ballot == "graded"
    form = partial(grades_schema, names) if graded else ballot_schema
    how = {"style": style, "lens": lens, "reference": reference}
    asked = 0
    for fresh in range(JUDGES_PER_SEAT):
        key = judge_key(stage, seat, fresh)
        labels = neutral_labels(len(order), draw(context.settings.seed, f"{key}/labels"))
        labelled = dict(zip(labels, (texts[name] for name in order), strict=True))
        shown = {"candidates": _to_show(labelled), **how, "criteria": names, "grades": graded}
        prompt = context.prompt("judge", key, **shown)
        request = context.request("judge", try_key(key, 0), model, prompt, schema=form(labels))
        reply = await context.ask(request)
        ranking, grades = _read_ballot(reply, labels, names if graded else None)
        asked += 1
        if ranking is None and asked < max_requests:
            short = replace(request, schema=form(labels, reasons=False))
            second, listed = try_key(key, 1), {"labels": sorted(labels), "grades": graded}
            again = context.second_request(short, second, reply, "ballot_again", **listed)
            reply = await context.ask(again)
            ranking, grades = _read_ballot(reply, labels, names if graded else None)
            asked += 1
        if ranking is not None or asked >= max_requests:
            break
    by_label = dict(zip(labels, order, strict=True))
    reasoning = _reasoning(reply.text)
    check = None
    if style == "verified" and ranking:
        # Of a mixed panel another model than the one that ranked.
        other = judges[(judge_number + 1) % len(judges)]
        check = await check_length(context, key, other, labelled, ranking, reasoning)
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
        grades={by_label[label]: grades[label] for label in rank_by_grades(grades)},
    )


class SeatCalls(NamedTuple):
    usual: int
    most: int


def seat_calls(settings: Settings) -> SeatCalls:
    """A ballot, up to four tries at it, and the check of a verified one."""
    checks = int(settings.style == "verified")
    return SeatCalls(1 + checks, MAX_REQUESTS_PER_SEAT + checks)


def ballot_schema(labels: tuple[str, ...], *, reasons: bool = True) -> Schema:
    """The shape of a ballot. Where the rankings can be spelt out, only a full one can be given.

    Asked for in words, it has its reasons first, unless it is only the ranking that is asked for again.
    """
    # By name, so that the order in which the texts are shown does not come into it.
    names = sorted(labels)
    ranking: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": names}}
    if factorial(len(labels)) <= _MAX_ENUMERATED:
        ranking = {"type": "string", "enum": [" > ".join(p) for p in permutations(names)]}
    listed, blank = ", ".join(names), f"RANKING: {' > '.join('?' * len(names))}"
    if reasons:
        plain = (
            f"{_REASONS.format(listed)} End with one line that gives the ranking, best first, with the "
            f"names in place of the question marks:\n{blank}"
        )
    elif factorial(len(names)) <= _MAX_LISTED:
        rankings = "\n".join(f"RANKING: {' > '.join(p)}" for p in permutations(names))
        plain = f"Answer with one of these lines, whichever has the best first:\n{rankings}"
    else:
        plain = f"Answer with one line, best first, with {listed} in place of the question marks:\n{blank}"
    definition = object_schema({"reasoning": {"type": "string"}, "ranking": ranking})
    return Schema(name="ballot", definition=definition, plain=plain)


def grades_schema(
    criteria: Sequence[str], labels: tuple[str, ...], *, reasons: bool = True
) -> Schema:
    """The same of a ballot with grades."""
    keys = [key for each in name_grades(labels, criteria).values() for key in each]
    fields = {"reasoning": {"type": "string"}} | {key: {"type": "integer"} for key in keys}
    begin = f"{_REASONS.format(', '.join(sorted(labels)))} End" if reasons else "Answer"
    blank = "\n".join(f"{key}: ?" for key in keys)
    plain = f"{begin} with these lines, a grade from {LEAST} to {MOST} in place of every question mark:\n{blank}"
    return Schema(name="ballot", definition=object_schema(fields), plain=plain)


def _read_ballot(
    reply: Reply, labels: tuple[str, ...], criteria: Sequence[str] | None
) -> tuple[tuple[str, ...] | None, Grades]:
    """The ranking, and the grades it follows from where a judge was asked to grade on `criteria`."""
    text = reply.text if reply.outcome is Outcome.OK else ""
    if criteria is None:
        return read_ranking(text, labels), {}
    grades = read_grades(text, labels, criteria) or {}
    return rank_by_grades(grades) or None, grades


def gives_ballot(text: str, schema: Schema, criteria: Sequence[str]) -> bool:
    """Whether an answer to a request with the schema of a ballot has a whole one."""
    fields = schema.definition["properties"]
    ranking = fields.get("ranking")
    if ranking is None:
        graded = {key.partition("_")[0] for key in fields if key != "reasoning"}
        return _read_ballot(Reply(text=text), tuple(graded), criteria)[0] is not None
    spelt = ranking["enum"][0].split(" > ") if "enum" in ranking else ranking["items"]["enum"]
    return _read_ballot(Reply(text=text), tuple(spelt), None)[0] is not None


def _reasoning(text: str) -> str:
    value = parse_json(text)
    said = str(value.get("reasoning", "")) if isinstance(value, dict) else text
    return with_whole_characters(said).strip()
