"""How far a research run is, in a few words."""

from __future__ import annotations

from collections.abc import Collection

from autoreason.artifacts import research_statements as statements
from autoreason.artifacts.research_history import ResearchHistory
from autoreason.artifacts.research_job import ResearchTerms
from autoreason.jobs.job import read_options
from autoreason.report.numbers import count
from autoreason.story import Story


class ResearchProgress:
    """Counts over what is decided so far."""

    def __init__(self, story: Story) -> None:
        assert story.settings is not None
        self._history = ResearchHistory(story)
        self._terms = read_options(story.settings, ResearchTerms)

    def stage(self, asked: Collection[str]) -> str:
        """What is going on, by the first words of the keys under way."""
        if self._history.noise is None:
            return "noise floor"
        if "end" in asked or self._history.end:
            return "end test"
        return "playoff" if "playoff" in asked or self._history.playoff else "search"

    @property
    def so_far(self) -> str:
        """Trials and keeps, and what the last one came to."""
        history = self._history
        if history.noise is None:
            return "measuring the start"
        kept = f"{len(history.kept)} kept of {count(len(history.trials), 'proposal')}"
        last = history.trials[-1] if history.trials else None
        return f"{kept}; trial {last.number} {statements.decision(last)}" if last else kept

    @property
    def needs(self) -> str:
        """What would end the search."""
        history = self._history
        kept = [at for at, trial in enumerate(history.trials, 1) if trial.status == "kept"]
        # Those under way when patience ended are decided, too.
        idle = min(len(history.trials) - (kept[-1] if kept else 0), self._terms.patience)
        used = f"{history.evaluations:,} of {count(self._terms.evaluations, 'evaluation')}"
        return f"{used}, {idle} of {self._terms.patience} proposals without a keep"
