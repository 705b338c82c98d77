"""The first draft: given by the user, or written by the author."""

from __future__ import annotations

from autoreason.contract import count_words
from autoreason.errors import ProviderFailed
from autoreason.events import DraftFailed, DraftReady
from autoreason.tournament.venue import Venue
from autoreason.tournament.writing import ENDLESS, Unwritten, Written, write


async def draft(venue: Venue) -> None:
    """Tell what the first text is."""
    task = venue.task
    if task.draft is not None:
        text = task.draft.strip()
        violations = task.contract.violations(text)
        venue.tell(
            DraftReady(text=text, words=count_words(text), given=True, violations=violations)
        )
        return
    written = await _ask_for_draft(venue)
    venue.tell(
        DraftReady(
            text=written.text,
            words=count_words(written.text),
            given=False,
            violations=written.violations,
            leaks=written.leaks,
        )
    )


async def write_draft(venue: Venue, key: str) -> Written | Unwritten:
    """One answer to the task, by an author who sees nothing else."""
    settings = venue.settings
    request = venue.request(
        "author",
        f"{key}/try/0",
        settings.models.author,
        venue.prompts.render("author"),
        temperature=settings.author_temperature,
    )
    return await write(venue, request, key)


async def _ask_for_draft(venue: Venue) -> Written:
    """The author's text; a run resumed after it got none asks once more than before."""
    reason = mend = ""
    for attempt in range(venue.settings.redrafts + 1):
        written = await write_draft(venue, f"draft/{attempt}" if attempt else "draft")
        if isinstance(written, Written):
            return written
        venue.tell(DraftFailed(attempt=attempt, reason=written.reason, detail=written.detail))
        reason = f"{written.reason}: {written.detail}"
        mend = (
            "raise the output limit"
            if written.reason == "truncated" and written.detail != ENDLESS
            else "try another author model"
        )
    raise ProviderFailed(f"the author gave no first draft ({reason}); {mend}")
