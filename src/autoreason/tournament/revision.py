"""The revision of a pass: a text written against a critique."""

from __future__ import annotations

from autoreason.jobs.context import JobContext
from autoreason.keys import pass_key, try_key
from autoreason.tournament.authors import MissingText, WrittenText, write


async def revise(
    context: JobContext, number: int, text: str, problems: str
) -> WrittenText | MissingText:
    """A better text for the task, by an author who sees the old one and its problems."""
    settings = context.settings
    key = pass_key(number, "reviser")
    prompt = context.prompt("reviser", key, (text, problems), text=text, critique=problems)
    request = context.request(
        "reviser",
        try_key(key, 0),
        settings.models.author,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)
