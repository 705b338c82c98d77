"""A second look at a ballot: whether its first place is for what a text does, or for its length alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoreason.contract import count_words
from autoreason.events import LengthCheck
from autoreason.exchange import Outcome
from autoreason.jobs.context import JobContext
from autoreason.keys import sub_key, try_key
from autoreason.parsing.length_checks import LENGTH_CHECK, rests_on_length


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
    prompt = context.prompt(
        "length_check",
        key,
        (*both.values(), reasons),
        candidates=[{"label": label, "text": text} for label, text in both.items()],
        labels=[first, second],
        reasons=reasons,
    )
    reply = await context.ask(
        context.request(
            "judge",
            try_key(key, 0),
            model,
            prompt,
            temperature=context.settings.judge_temperature,
            schema=LENGTH_CHECK,
        )
    )
    answer = rests_on_length(reply.text) if reply.outcome is Outcome.OK else None
    return LengthCheck(model=reply.model, only_length=answer, reasoning=reply.text.strip())
