"""The published figures, recomputed: what each line states of itself exactly, whole-set figures in kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.stats.recordings import (
    OPEN,
    SONNET_4,
    SONNET_46,
    audit,
    panels_with_methods,
    passes_with_rankings,
    rankings,
    recorded,
    stopped_at,
    winners,
)

from autoreason.stats.ranks import borda, condorcet_winner, cycles, first_places
from autoreason.stats.resampling import equal_shares, position_effect
from autoreason.stats.shares import cohens_h, mcnemar, share, sign_test
from autoreason.tournament.voting import from_scores

# ---- panels and passes -------------------------------------------------------------------------


def test_every_panel_adds_up_to_its_recorded_points_and_first_places(records: Path) -> None:
    panels = panels_with_methods(records)
    assert panels
    for panel in panels:
        cast = [ballot["methods"] for ballot in panel["ballots"] if ballot["methods"]]
        firsts = first_places(cast)
        wanted = {method: panel["first_place"].get(method, 0) for method in firsts}
        assert firsts == wanted, panel["panel_id"]
        assert panel["kind"] == "pairwise" or borda(cast) == panel["borda"], panel["panel_id"]


def test_no_panel_misses_points(records: Path) -> None:
    for panel in recorded(records, "panels"):
        if panel["kind"] == "rank":
            n = len(panel["methods"])
            assert sum(panel["borda"].values()) == panel["judges_valid"] * n * (n + 1) / 2


def test_every_pass_with_rankings_adds_up_to_its_scores_and_its_winner(records: Path) -> None:
    for line in passes_with_rankings(records):
        scores = borda(rankings(line))
        assert scores == line["scores"], line["key"]
        counted = {name: round(points) for name, points in scores.items()}
        assert from_scores(counted, line["tie_order"].split(">")).winner == line["winner"]


def test_the_circle_of_task_one_is_in_pass_six(shared: Path) -> None:
    found = [
        line["key"]
        for line in passes_with_rankings(shared)
        if line["experiment"] in ("v2_task01", "multi_task") and cycles(rankings(line))
    ]
    assert found == ["v2_task01/task_01/pass_06"]
    for line in passes_with_rankings(shared):
        circle = cycles(rankings(line))
        assert not circle or condorcet_winner(rankings(line)) is None


# ---- published counts into intervals and tests -------------------------------------------------


def test_the_published_tests_are_the_exact_ones(shared: Path) -> None:
    recovery = audit(shared, "Sec 6", "recovery 15 vs 5")["data"]
    assert mcnemar(15, 5).p_value == pytest.approx(recovery["exact"], abs=5e-5)
    assert round(mcnemar(15, 5).p_value or 0, 3) == 0.041
    table_10 = audit(shared, "Table 10", "McNemar")["data"]
    assert mcnemar(11, 5).p_value == pytest.approx(table_10["exact"], abs=5e-5)
    assert sign_test(10, 6).p_value == pytest.approx(0.45, abs=5e-3)


def test_cohens_h_is_038_and_not_032(shared: Path) -> None:
    data = audit(shared, "Sec 6", "Cohen's h")["data"]
    assert round(cohens_h(33 / 53, 23 / 53), 2) == data == 0.38
    assert round(cohens_h(0.62, 0.43), 2) == 0.38
    assert round(cohens_h(0.62, 0.46), 2) == 0.32


def test_seven_to_nothing_is_more_than_chance_and_six_to_one_is_not() -> None:
    assert sign_test(7, 0).p_value == pytest.approx(0.0156, abs=1e-4)
    assert sign_test(6, 1).p_value == 0.125
    assert share(22, 28).low == pytest.approx(0.605, abs=1e-3)


# ---- position, stopping ------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "favoured"), [(SONNET_4, 0), (SONNET_46, 2)])
def test_judges_favour_a_position_and_models_differ_in_which(
    shared: Path, model: str, favoured: int
) -> None:
    judges = [judge for line in passes_with_rankings(shared, model) for judge in line["judges"]]
    found = position_effect([j["order"] for j in judges], [j["ranking"] for j in judges])
    assert found.counts.index(max(found.counts)) == favoured
    assert found.test.p_value is not None
    assert found.test.p_value < 1e-6
    shown_first = Counter(judge["order"][0] for judge in judges)
    drawn = equal_shares([shown_first[name] for name in ("A", "B", "AB")])
    assert drawn.p_value is not None
    assert drawn.p_value > 0.001, "orders were drawn fairly, so it is position and not the texts"


def test_the_first_long_run_would_have_stopped_at_pass_15(shared: Path) -> None:
    (run,) = winners(shared, "v2_task01").values()
    assert stopped_at([winner == "A" for winner in run], 2) == 15


def test_runs_that_converged_did_so_on_their_last_pass_and_never_showed_a_third_win(
    shared: Path,
) -> None:
    converged = 0
    for run, won in winners(shared).items():
        survived = [winner == "A" for winner in won]
        print(
            f"{run:<48} {len(won):>3} passes, k = 1 to 3:",
            *(stopped_at(survived, k) for k in (1, 2, 3)),
        )
        assert stopped_at(survived, 3) is None, run
        if run.startswith("v2_task01"):
            continue  # it asked for three in a row
        assert stopped_at(survived, 2) in (None, len(won)), run
        converged += stopped_at(survived, 2) is not None
    assert converged > 25


def test_counting_ab_as_a_makes_runs_stop_long_before_they_did(shared: Path) -> None:
    sooner = 0
    for won in winners(shared, *OPEN).values():
        right = stopped_at([winner == "A" for winner in won], 2)
        by_prefix = stopped_at([winner.startswith("A") for winner in won], 2)
        assert by_prefix is not None
        assert right is None or by_prefix <= right
        sooner += right is None or by_prefix < right
    assert sooner >= 5
