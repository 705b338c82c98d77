"""Every kind of run by name."""

from __future__ import annotations

from autoreason.settings import Settings
from autoreason.strategies.registry import find_strategy
from autoreason.tournament.strategy import Strategy

STUDIES = {
    "judge": "autoreason.studies.panels.ranked:RankedPanel",
    "judge_pairs": "autoreason.studies.panels.pairwise:PairwisePanel",
    "rejudge": "autoreason.studies.panels.rejudge:Rejudge",
    "compare": "autoreason.studies.compare.comparison:Comparison",
    "certify": "autoreason.studies.certify.certification:Certification",
    "solve": "autoreason.programs.solve:Solve",
}
"""Runs that judge texts, strategies or programs instead of writing one text."""


def strategy_class(settings: Settings) -> type[Strategy]:
    """The strategy a run's settings name."""
    return find_strategy(settings.strategy, STUDIES)


def is_study(settings: Settings | None) -> bool:
    """Whether a run judges texts, strategies or programs instead of writing one text."""
    return settings is not None and settings.strategy in STUDIES
