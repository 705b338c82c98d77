"""The search for a keep rule: every family with as many tries, judged where nothing was chosen."""

from __future__ import annotations

import pytest

from autoreason.artifacts.rule_search import (
    FAMILIES,
    OTHER_CASES,
    RuleSearchReport,
    search_rules,
    settings_of,
)
from autoreason.artifacts.rule_study import WORLDS


@pytest.fixture(scope="module")
def report() -> RuleSearchReport:
    """A small search."""
    return search_rules(20, 2, 4, 1, processes=1)


def test_the_best_of_every_family_and_the_default_are_shown(report: RuleSearchReport) -> None:
    assert len(report.rules) == len(FAMILIES) + 1
    assert "race, the default" in report.names()
    assert report.rules == sorted(report.rules, key=lambda rule: rule.worst_shortfall)
    assert report.conclusion.startswith(f"{report.rules[0].name} falls short the least at worst")
    assert "race, the default" in report.conclusion


def test_rules_are_judged_in_cases_that_none_was_tuned_in(report: RuleSearchReport) -> None:
    assert not {case.world for case in OTHER_CASES} & set(WORLDS)
    names = [case.world.name for case in OTHER_CASES]
    for rule in report.rules:
        assert list(rule.quality) == names
        assert 0 <= rule.mean_shortfall <= rule.worst_shortfall
        assert rule.worst in names


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_as_many_tries_and_the_same_seed_draws_the_same(family: object) -> None:
    ways = settings_of(family, 8, 1)  # type: ignore[arg-type]
    assert ways == settings_of(family, 8, 1)  # type: ignore[arg-type]
    assert 1 < len(ways) <= 8
    assert all(way.end_test for way in ways)


def test_the_report_is_a_table_of_rules_and_one_of_cases(report: RuleSearchReport) -> None:
    text = report.to_text()
    for words in ("one in ten helps, 300", "e-value", "no playoff", "2 settings of each family"):
        assert words in " ".join(text.split())
