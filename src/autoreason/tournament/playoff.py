"""The playoff: a larger, balanced panel over texts that reigned decides which of them is delivered."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.events import Incumbent, PlayoffDecided
from autoreason.jobs.attempts import stage_of
from autoreason.jobs.context import JobContext
from autoreason.parsing.documents import same_text
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import Size


async def run_playoff(
    context: JobContext, incumbents: Sequence[Incumbent], most: int | None = None, attempt: int = 0
) -> Incumbent:
    """The text to deliver; the last incumbent where there is nothing to decide, or nothing was decided."""
    finalists = choose_finalists(incumbents, most or context.settings.playoff_texts)
    if not context.settings.playoff or len(finalists) < 2:
        return incumbents[-1]
    by_name = {reign.name: reign for reign in finalists}
    # Every judge counts towards the evidence, so none is spared. Ties go to whichever reigned last.
    panel = Panel(
        context,
        stage_of("playoff", attempt),
        {name: by_name[name].text for name in reversed(by_name)},
        Size(start=context.settings.playoff),
    )
    verdict = await panel.hold()
    winner = by_name[verdict.winner] if verdict else incumbents[-1]
    first = incumbents[0].name
    compared = verdict is not None and first in by_name and winner.name != first
    context.emit(
        PlayoffDecided(
            texts=tuple(finalists),
            winner=winner.name if verdict else None,
            verdict=verdict,
            preferred=(
                sum(ranking.index(winner.name) < ranking.index(first) for ranking in panel.rankings)
                if compared
                else None
            ),
        )
    )
    return winner


def choose_finalists(incumbents: Sequence[Incumbent], most: int) -> list[Incumbent]:
    """The first draft, the last incumbent, and others spread evenly over the run; no breach, no clone."""
    distinct: list[Incumbent] = []
    for reign in reversed(incumbents):
        if reign.keeps_contract and not any(
            same_text(reign.text, other.text) for other in distinct
        ):
            distinct.insert(0, reign)
    if len(distinct) <= most:
        return distinct
    last = len(distinct) - 1
    return [distinct[round(step * last / (most - 1))] for step in range(most)]
