"""The confirmation: judges who chose nothing compare the delivered text with the first draft."""

from __future__ import annotations

from autoreason.events import Incumbent, PanelDecided
from autoreason.jobs.context import JobContext
from autoreason.parsing.documents import same_text
from autoreason.story import CONFIRMATION
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import PanelSize


async def confirm(context: JobContext, draft: Incumbent, delivered: Incumbent) -> None:
    """Ask fresh judges which of the two they prefer.

    Ballots that chose a text favour it, even if judges rank at random, so they are no evidence for it.
    A draft that breaks its contract is never judged: code knows that without judges.
    """
    judges = context.settings.confirmation
    if not judges or not draft.keeps_contract or same_text(draft.text, delivered.text):
        return
    texts = {draft.name: draft.text, delivered.name: delivered.text}
    verdict = await Panel(context, CONFIRMATION, texts, PanelSize(start=judges)).run()
    context.emit(PanelDecided(stage=CONFIRMATION, verdict=verdict))
