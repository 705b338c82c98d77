"""The confirmation: judges who chose nothing compare what is delivered with the first draft."""

from __future__ import annotations

from autoreason.events import Incumbent, PanelDecided
from autoreason.jobs.context import JobContext
from autoreason.parsing.documents import same_text
from autoreason.story import CONFIRMATION
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import Size


async def confirm(context: JobContext, draft: Incumbent, delivered: Incumbent) -> None:
    """Ask fresh judges which of the two they prefer.

    Whatever ballots chose a text lean towards it, even if judges rank at random, so they cannot also praise it.
    A draft that breaks its contract is never judged: that it does is known without judges.
    """
    judges = context.settings.confirmation
    if not judges or not draft.keeps_contract or same_text(draft.text, delivered.text):
        return
    texts = {draft.name: draft.text, delivered.name: delivered.text}
    verdict = await Panel(context, CONFIRMATION, texts, Size(start=judges)).hold()
    context.emit(PanelDecided(stage=CONFIRMATION, verdict=verdict))
