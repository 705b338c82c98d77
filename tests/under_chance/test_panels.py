"""Panels over finished texts, ranked: what `autoreason judge` says of random judges."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tests.once import once
from tests.under_chance.luck import (
    biased_ballots,
    every_panel,
    graded_rankings,
    misses,
    most_often,
    random_rankings,
    reported,
    verdict_of,
)

from autoreason.studies.panel_report import PanelReport, positions_of

COUNTED = [(2, 2), (3, 2), (4, 2), (5, 2), (7, 2), (12, 2), (2, 3), (3, 3), (4, 3), (5, 3), (7, 3)]
"""Judges and texts of panels that can be gone through one and all."""
DRAWN = [(7, 5), (3, 7)]
"""Those of panels that are drawn."""
TIMES = 120

Statement = Callable[[PanelReport], bool]


def wins(found: PanelReport) -> bool:
    """It says that a text wins."""
    assert (found.winner is None) == found.conclusion.startswith("no winner")
    assert found.summary()[0].startswith("Judges prefer ") == (found.winner is not None)
    return found.winner is not None


def leaves_out_an_average(found: PanelReport) -> bool:
    """An interval of points a ballot leaves out what every text has on average."""
    middle = (1 + len(found.standings)) / 2
    return any(misses(each.mean_points, middle) for each in found.standings)


def leaves_out_an_even_duel(found: PanelReport) -> bool:
    """An interval of a preference leaves out one half."""
    return any(misses(each.preferred, 0.5) for each in found.duels)


def tells_two_apart(found: PanelReport) -> bool:
    """A corrected test calls a duel uneven."""
    return any((each.p_value_adjusted or 1) <= 0.05 for each in found.duels)


def leaves_out_no_taste_for_length(found: PanelReport) -> bool:
    """The interval of how often the longer text is preferred leaves out one half."""
    return misses(found.longer_preferred, 0.5)


def claims_something(found: PanelReport) -> bool:
    """The one sentence says that a text wins, or that one loses."""
    behind = "shown to be behind" in found.summary()[0]
    assert behind == (" lose" in found.conclusion)
    return wins(found) or " lose" in found.conclusion


STATEMENTS: Mapping[str, Statement] = {
    "wins": wins,
    "claims": claims_something,
    "points": leaves_out_an_average,
    "preferred": leaves_out_an_even_duel,
    "duels": tells_two_apart,
    "length": leaves_out_no_taste_for_length,
}


@once
def counted(judges: int, texts: int) -> Mapping[str, float]:
    """How likely each statement is, over all panels."""
    likely = dict.fromkeys(STATEMENTS, 0.0)
    for rankings, chance in every_panel(judges, texts):
        found = reported(rankings)
        for name, holds in STATEMENTS.items():
            likely[name] += chance * holds(found)
    return likely


@once
def drawn(judges: int, texts: int) -> Counter[str]:
    """How often each statement is made of panels that are drawn."""
    rng = np.random.default_rng((judges, texts))
    made: Counter[str] = Counter()
    for _ in range(TIMES):
        found = reported(random_rankings(rng, judges, texts))
        made.update(name for name, holds in STATEMENTS.items() if holds(found))
    return made


def seldom(statement: str, judges: int, texts: int) -> None:
    """A statement is made of random judges in one case of twenty at most."""
    if (judges, texts) in COUNTED:
        assert counted(judges, texts)[statement] <= 0.0505
    else:
        assert drawn(judges, texts)[statement] <= most_often(TIMES)


sizes = pytest.mark.parametrize(("judges", "texts"), COUNTED + DRAWN)


@sizes
def test_a_text_seldom_wins(judges: int, texts: int) -> None:
    seldom("wins", judges, texts)


@sizes
def test_the_conclusion_seldom_claims_anything_of_any_text(judges: int, texts: int) -> None:
    seldom("claims", judges, texts)


def test_a_text_that_all_judges_put_below_another_loses_from_nine_judges_on() -> None:
    for judges, said in ((7, False), (9, True)):
        # Two texts share the lead, and both are above the third on every ballot.
        found = reported([("a", "b", "c"), ("b", "a", "c")] * (judges // 2) + [("a", "b", "c")])
        assert found.winner is None
        assert ("but c loses beyond chance" in found.conclusion) == said


@sizes
def test_the_intervals_of_points_hold_together_the_best_among_them_too(
    judges: int, texts: int
) -> None:
    seldom("points", judges, texts)


@sizes
def test_the_intervals_of_all_duels_hold_together(judges: int, texts: int) -> None:
    seldom("preferred", judges, texts)


@sizes
def test_corrected_tests_seldom_tell_two_texts_apart(judges: int, texts: int) -> None:
    seldom("duels", judges, texts)


# Panels are counted whatever their texts are called, so only of two texts it is known which is the longer.
@pytest.mark.parametrize(("judges", "texts"), [each for each in COUNTED if each[1] == 2] + DRAWN)
def test_the_longer_text_is_seldom_said_to_be_preferred(judges: int, texts: int) -> None:
    seldom("length", judges, texts)


@pytest.mark.parametrize(("judges", "texts"), [(3, 2), (7, 3), (9, 2)])
@pytest.mark.parametrize("most", [1, 3, 20])
def test_a_text_seldom_wins_by_random_grades_however_many_are_equal(
    judges: int, texts: int, most: int
) -> None:
    rng, luck = np.random.default_rng((judges, texts, most)), random.Random(most)
    found = [reported(graded_rankings(rng, luck, judges, texts, most)) for _ in range(TIMES)]
    for holds in (wins, claims_something):
        assert sum(map(holds, found)) <= most_often(TIMES)


def test_agreement_is_no_more_than_chance_on_average() -> None:
    for judges, texts in [(2, 2), (3, 2), (4, 3)]:
        every = [(reported(each).agreement, chance) for each, chance in every_panel(judges, texts)]
        mean = sum(tau * chance for tau, chance in every if tau is not None)
        assert mean == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("judges", "texts"), [(2, 2), (3, 3), (7, 3), (7, 5)])
@pytest.mark.parametrize("bias", [0.3, 0.9])
def test_position_never_makes_a_winner_where_orders_are_balanced(
    judges: int, texts: int, bias: float
) -> None:
    rng = np.random.default_rng((judges, texts))
    verdicts = [
        verdict_of([cast.ranking or () for cast in biased_ballots(rng, judges, texts, bias)])
        for _ in range(400)
    ]
    assert sum(each.chance <= 0.05 for each in verdicts) <= most_often(400)


@pytest.mark.parametrize(("judges", "texts"), [(2, 2), (3, 3), (7, 3), (7, 5), (40, 5)])
def test_position_is_seldom_said_to_matter(judges: int, texts: int) -> None:
    rng = np.random.default_rng((judges, texts))
    tests = [positions_of(biased_ballots(rng, judges, texts, 0))[1] for _ in range(400)]
    seen = [each.p_value is not None and each.p_value <= 0.05 for each in tests]
    assert sum(seen) <= most_often(400)
