"""A panel that ranks finished texts: every judge sees them all."""

from __future__ import annotations

from autoreason.errors import PanelFailed
from autoreason.events import JobFinished, PanelDecided, Verdict
from autoreason.jobs.job import panel_attempts
from autoreason.keys import attempt_stage
from autoreason.report.numbers import describe_tie
from autoreason.studies.panels.panel_job import PanelJob
from autoreason.tournament.panel import Panel
from autoreason.tournament.voting import PanelSize

STAGE = "panel"
_FEW = 3


class RankedPanel(PanelJob):
    """Fresh judges, each with its own labels and an order from a balanced schedule."""

    summary = "a blind panel over finished texts"

    async def run(self) -> JobFinished:
        """Run the panel and choose the text it prefers."""
        texts = {entry.name: entry.text for entry in self.context.task.entries}
        for attempt in panel_attempts(self.context):
            stage = attempt_stage(STAGE, attempt)
            panel = Panel(self.context, stage, texts, PanelSize(start=self.settings.judges))
            verdict = await panel.run()
            self.emit(PanelDecided(stage=stage, verdict=verdict))
            if verdict:
                return self.finish(describe_verdict(verdict), texts[verdict.winner], verdict.winner)
        pairs = "; judges who cannot rank so many at once may compare two at a time, pairwise"
        raise PanelFailed(
            f"{len(panel.rankings)} of {len(panel.ballots)} ballots were valid, too few to decide"
            f"{pairs if len(texts) > _FEW else ''}"
        )


def describe_verdict(verdict: Verdict) -> str:
    """The result of a panel in a sentence, for the record."""
    if verdict.tied:
        return describe_tie(verdict.scores, verdict.winner)
    return f"{verdict.winner} has the most points of {verdict.ballots} judges"
