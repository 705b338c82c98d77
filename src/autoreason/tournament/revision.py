"""The revision of a pass: a text written against a critique."""

from __future__ import annotations

from autoreason.jobs.context import JobContext
from autoreason.tournament.authors import MissingText, WrittenText, write


async def revise(
    context: JobContext, number: int, text: str, problems: str
) -> WrittenText | MissingText:
    """A better text for the task, by an author who sees the old one and its problems."""
    settings = context.settings
    key = f"pass/{number}/reviser"
    prompt = context.prompt("reviser", key, (text, problems), text=text, critique=problems)
    request = context.request(
        "reviser",
        f"{key}/try/0",
        settings.models.author,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(context, request, key)
