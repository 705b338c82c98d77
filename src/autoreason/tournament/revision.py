"""The revision of a pass: a text written against a critique."""

from __future__ import annotations

from autoreason.jobs.context import JobContext
from autoreason.keys import pass_key, try_key
from autoreason.tournament.authors import MissingText, WrittenText, write


async def revise(
    context: JobContext,
    key: str,
    text: str,
    problems: str,
    *,
    model: str = "",
    blind: bool = False,
) -> WrittenText | MissingText:
    """A better text for the task, by an author who sees the old one and its problems; `blind`, only its problems."""
    settings = context.settings
    shown = {} if blind else {"text": text}
    prompt = context.prompt(
        "blind_reviser" if blind else "reviser",
        key,
        (*shown.values(), problems),
        critique=problems,
        **shown,
    )
    request = context.request(
        "reviser",
        try_key(key, 0),
        model or settings.models.author,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)


def reviser_key(number: int, slot: str = "B") -> str:
    """The key of a pass's revision: `pass/3/reviser`, for B2 `pass/3/reviser/2`."""
    return pass_key(number, "reviser", *slot[1:])
