"""Panels in pairs, both ways round: random judges, some of whom take what stands first."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from tests.once import once
from tests.under_chance.luck import ballot, misses, most_often, names

from autoreason.events import BallotCast, PanelDecided
from autoreason.story import RecordedPanel, Story
from autoreason.studies.panel_jobs import _orders, pair_verdict, votes
from autoreason.studies.panel_report import PanelReport, panel_report
from autoreason.task import Entry, Task

TIMES = 100
PANELS = [(3, 2, 0.0), (7, 3, 0.0), (7, 3, 0.6), (12, 4, 0.0)]
"""Judges, texts, and how often a judge takes what stands first whatever it is."""
panels = pytest.mark.parametrize(("judges", "texts", "bias"), PANELS)


def drawn_report(rng: np.random.Generator, judges: int, texts: int, bias: float) -> PanelReport:
    """All pairs put to all judges in both orders."""
    held = {}
    for at, pair in enumerate(combinations(names(texts), 2), 1):
        cast: list[BallotCast] = []
        for seat, order in enumerate(_orders(pair, judges)):
            turned = rng.random() >= bias and rng.random() < 0.5
            cast.append(ballot(seat, order, reversed(order) if turned else order))
        stage = f"pair/{at}"
        ended = PanelDecided(stage=stage, verdict=pair_verdict(votes(cast)))
        held[stage] = RecordedPanel(stage=stage, ballots=cast, decided=ended)
    entries = tuple(
        Entry(name=name, text="word " * (10 + at)) for at, name in enumerate(names(texts))
    )
    return panel_report(Story(task=Task(brief="Write.", entries=entries), panels=held))


@once
def said(judges: int, texts: int, bias: float) -> Counter[str]:
    """How often a report says what is not so."""
    rng = np.random.default_rng((judges, texts))
    made: Counter[str] = Counter()
    for _ in range(TIMES):
        found = drawn_report(rng, judges, texts, bias)
        assert (found.winner is None) == found.conclusion.startswith("no winner")
        made["wins"] += found.winner is not None
        made["points"] += any(misses(each.mean_points, 0.5) for each in found.standings)
        made["preferred"] += any(misses(each.preferred, 0.5) for each in found.duels)
        made["length"] += misses(found.longer_preferred, 0.5)
        made["position"] += (found.position_test.p_value or 1) <= 0.05
    return made


@panels
def test_a_text_seldom_wins_its_duels(judges: int, texts: int, bias: float) -> None:
    assert said(judges, texts, bias)["wins"] <= most_often(TIMES)


@panels
def test_the_intervals_of_votes_hold_together(judges: int, texts: int, bias: float) -> None:
    assert said(judges, texts, bias)["points"] <= most_often(TIMES)


@panels
def test_the_intervals_of_preferences_hold_together(judges: int, texts: int, bias: float) -> None:
    assert said(judges, texts, bias)["preferred"] <= most_often(TIMES)


@panels
def test_length_is_seldom_said_to_be_preferred_in_pairs(
    judges: int, texts: int, bias: float
) -> None:
    assert said(judges, texts, bias)["length"] <= most_often(TIMES)


@panels
def test_position_is_seldom_said_to_matter_in_pairs_unless_it_does(
    judges: int, texts: int, bias: float
) -> None:
    found = said(judges, texts, bias)["position"]
    assert found > TIMES / 2 if bias else found <= most_often(TIMES)
