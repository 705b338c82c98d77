"""The playoff: a larger, balanced panel over former incumbents decides which of them is delivered."""

from __future__ import annotations

from collections.abc import Sequence

from autoreason.events import Incumbent, PlayoffDecided
from autoreason.jobs.context import JobContext
from autoreason.keys import attempt_stage
from autoreason.parsing.documents import same_text
from autoreason.tournament.code_judges import CodeJudges
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import QUARTERS, PanelSize


async def run_playoff(
    context: JobContext,
    incumbents: Sequence[Incumbent],
    max_texts: int | None = None,
    attempt: int = 0,
    code: CodeJudges | None = None,
) -> Incumbent:
    """The text to deliver; the last incumbent where there is nothing to decide, or nothing was decided."""
    finalists = choose_finalists(incumbents, max_texts or context.settings.playoff_texts)
    if not context.settings.playoff or len(finalists) < 2:
        return incumbents[-1]
    by_name = {incumbent.name: incumbent for incumbent in finalists}
    weights, judges = playoff_weights(context), context.settings.models.judges
    # Every judge counts towards the evidence, so none is left out. Ties go to the latest incumbent.
    panel = Panel(
        context,
        attempt_stage("playoff", attempt),
        {name: by_name[name].text for name in reversed(by_name)},
        PanelSize(
            start=context.settings.playoff,
            weights=tuple(round(QUARTERS * weights[each]) for each in judges) if weights else (),
        ),
        code=code,
        reference=incumbents[0].text,
    )
    verdict = await panel.run()
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
            weights=weights,
        )
    )
    return winner


def playoff_weights(context: JobContext) -> dict[str, float]:
    """How much a ballot of each judge counts; none unless all of a mixed panel were tested and they differ."""
    tested = context.task.knowledge.weights if context.task.knowledge else {}
    judges = context.settings.models.judges
    found = {judge: tested[judge] for judge in judges if judge in tested}
    return found if len({*found.values()}) > 1 and found.keys() == {*judges} else {}


def choose_finalists(incumbents: Sequence[Incumbent], max_texts: int) -> list[Incumbent]:
    """The first draft, the last incumbent, and others spread evenly over the run; no breach, no clone."""
    distinct: list[Incumbent] = []
    for incumbent in reversed(incumbents):
        if incumbent.keeps_contract and not any(
            same_text(incumbent.text, other.text) for other in distinct
        ):
            distinct.insert(0, incumbent)
    if len(distinct) <= max_texts:
        return distinct
    last = len(distinct) - 1
    return [distinct[round(step * last / (max_texts - 1))] for step in range(max_texts)]
