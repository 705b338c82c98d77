"""People and a panel of models: do they put the same texts in the same order?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from autoreason.stats.ranks import borda, tau_b
from autoreason.stats.results import Estimate
from autoreason.stats.shares import clustered_share
from autoreason.studies.raters.model_panel import PanelRankings, Ranking


class TaskAgreement(Struct, frozen=True, kw_only=True):
    """People and panel on one task."""

    people: dict[str, float]
    """Borda points."""
    panel: dict[str, float]
    judges: int
    tau: Estimate
    """Kendall's tau-b between the two rows of points."""


class AgreementWithPanel(Struct, frozen=True, kw_only=True):
    """How far people and a panel agree."""

    tasks: tuple[TaskAgreement, ...]
    pairs: Estimate
    """Shown two texts, how often a person prefers the one with more points from the panel."""
    tied: int
    """Pairs left out because the panel puts both texts on the same place."""


def compare(
    people: Sequence[Sequence[tuple[str, Ranking]]], panel: PanelRankings
) -> AgreementWithPanel:
    """Agreement of people with a panel; `people` are rankings by person, for each task in turn."""
    tasks, tied = [], 0
    agreed: dict[str, list[float]] = {}
    for rankings, panel_rankings in zip(people, panel.by_task(), strict=True):
        points = borda(panel_rankings)
        people_points = borda([ranking for _, ranking in rankings])
        names = sorted(points)
        tau = (
            tau_b([people_points[name] for name in names], [points[name] for name in names])
            if people_points
            else Estimate(None, reason="needs a whole ranking by a person, there is none")
        )
        tasks.append(
            TaskAgreement(people=people_points, panel=points, judges=len(panel_rankings), tau=tau)
        )
        for person, ranking in rankings:
            for better, worse in combinations(ranking, 2):
                if points[better] == points[worse]:
                    tied += 1
                    continue
                agreed.setdefault(person, []).append(float(points[better] > points[worse]))
    # A person's pairs are not independent: the interval rests on persons.
    pairs = clustered_share(agreed.values())
    if pairs.n == 1:
        reason = "an interval needs two persons or more, there is one person"
        pairs = replace(pairs, low=None, high=None, reason=reason)
    return AgreementWithPanel(tasks=tuple(tasks), pairs=pairs, tied=tied)
