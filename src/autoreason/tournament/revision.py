"""The revision of a pass: a text written against a critique."""

from __future__ import annotations

from autoreason.jobs.context import Venue
from autoreason.tournament.writing import Unwritten, Written, write


async def revise(venue: Venue, number: int, text: str, problems: str) -> Written | Unwritten:
    """A text that serves the task better, written by somebody who sees the old one and its problems."""
    settings = venue.settings
    key = f"pass/{number}/reviser"
    prompt = venue.prompt("reviser", key, (text, problems), text=text, critique=problems)
    request = venue.request(
        "reviser",
        f"{key}/try/0",
        settings.models.author,
        prompt,
        temperature=settings.author_temperature,
    )
    return await write(venue, request, key)
