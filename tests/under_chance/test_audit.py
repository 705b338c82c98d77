"""Judges who rank at random: the audit finds nothing more in their records, and says so where they are large."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import scipy
from tests.programs.stage import critique, fenced, program
from tests.run.runs import open_journal
from tests.run.solve_runs import solve_set
from tests.studies.audit.example_runs import SLOTS, judged, run, vote
from tests.tournament.stage import CONTESTS
from tests.under_chance.random_runs import random_run

from autoreason.events import BallotCast
from autoreason.exchange import Request
from autoreason.models.doubles import ScriptedModel
from autoreason.studies.audit import QUESTIONS, audit_runs
from autoreason.studies.audit_findings import (
    LEVEL,
    AuditAnswer,
    AuditedRun,
    AuditFinding,
    Pending,
    find,
    read_run,
)

SINGLE, LARGE = 120, 30
SHORT = {**CONTESTS, "passes": 5}
PROTOCOLS: tuple[dict[str, Any], ...] = (
    SHORT,
    {**SHORT, "balanced_orders": False},
    {**SHORT, "early_stop": False},
    {**SHORT, "judges": 5, "voting": "majority"},
    # Reviews alone, as by default.
    {"passes": 10},
)
pytestmark = pytest.mark.timeout(600)
ABOUT_CHANCE = [each for each in QUESTIONS if each.group in ("judges", "stopping")]
"""The questions about judges and about stopping."""


@pytest.fixture(scope="module")
def runs() -> list[AuditedRun]:
    return [random_run(seed, **PROTOCOLS[seed % len(PROTOCOLS)]) for seed in range(SINGLE)]


@pytest.fixture(scope="module")
def uncorrected(runs: list[AuditedRun]) -> list[list[AuditAnswer]]:
    """What is found in each run by itself, question by question."""
    return [[question.answer([one]) for question in ABOUT_CHANCE] for one in runs]


@pytest.fixture(scope="module")
def alone(runs: list[AuditedRun]) -> list[tuple[AuditFinding, ...]]:
    return [findings([one]) for one in runs]


def findings(record: list[AuditedRun]) -> tuple[AuditFinding, ...]:
    return find(ABOUT_CHANCE, record)


def beyond_chance(found: tuple[AuditFinding, ...]) -> list[str]:
    """Everything said to be more, or less, than chance explains."""
    return [
        each.name
        for each in found
        if each.p_value_adjusted is not None and each.p_value_adjusted <= LEVEL
    ]


def named(found: tuple[AuditFinding, ...], name: str) -> AuditFinding:
    (one,) = [each for each in found if each.name == name]
    return one


def no_more_than_the_level(claims: int, records: int, level: float = LEVEL) -> bool:
    return bool(scipy.stats.binomtest(claims, records, level, alternative="greater").pvalue > 0.01)


def test_hardly_a_record_is_said_to_be_more_than_chance(
    alone: list[tuple[AuditFinding, ...]],
) -> None:
    tested = Counter(f.name for found in alone for f in found if f.p_value_adjusted is not None)
    for name in ("agreement", "length preferred"):
        assert tested[name] > 0.9 * SINGLE, name
    for name in ("position", "survival", "confirmation"):
        assert tested[name] > 0.5 * SINGLE, name
    assert tested["streaks"] > 0.2 * SINGLE
    claims = Counter(name for found in alone for name in beyond_chance(found))
    false = sum(bool(beyond_chance(found)) for found in alone)
    assert no_more_than_the_level(false, SINGLE), claims


def test_no_sentence_claims_more_without_its_test(alone: list[tuple[AuditFinding, ...]]) -> None:
    for found in alone:
        sound = {name: named(found, name) for name in ("agreement", "survival")}
        for each in (*sound.values(), named(found, "confirmation")):
            assert each.level != "fine" or (each.p_value_adjusted or 0) <= LEVEL, each


@pytest.mark.parametrize("level", [LEVEL, 0.005])
def test_single_questions_keep_their_level_as_well(
    uncorrected: list[list[AuditAnswer]], level: float
) -> None:
    for question, found in zip(ABOUT_CHANCE, zip(*uncorrected, strict=True), strict=True):
        p_values = [each.p for each in found if isinstance(each, Pending)]
        false = sum(p <= level for p in p_values)
        assert not p_values or no_more_than_the_level(false, len(p_values), level), question.name


def test_in_a_large_record_the_alarm_says_that_judges_do_not_agree(runs: list[AuditedRun]) -> None:
    large = [findings(runs[start : start + LARGE]) for start in range(0, SINGLE, LARGE)]
    for found in large:
        assert named(found, "agreement").level == "alarm"
        assert "not shown to be more than chance" in named(found, "agreement").statement
    assert no_more_than_the_level(sum(map(bool, map(beyond_chance, large))), len(large))


def test_fifteen_thousand_panels_raise_it_and_nothing_else() -> None:
    rng = random.Random(2)

    def ballot() -> BallotCast:
        return vote(*rng.sample(SLOTS, 3), order=rng.sample(SLOTS, 3))

    passes = [judged(ballot(), ballot(), ballot(), number=n) for n in range(15_093)]
    record = [
        run(*passes[at : at + 100], name=str(at), k=1000) for at in range(0, len(passes), 100)
    ]
    found = findings(record)
    assert named(found, "agreement").level == "alarm"
    assert not beyond_chance(found)


async def test_panels_over_programs_show_no_more_than_chance(tmp_path: Path) -> None:
    """Judges stop early there as well, and how many sit depends on the calls that are left."""

    writes = dict.fromkeys(("author", "reviser", "synthesizer"), _equally_good)
    script: dict[str, Any] = {**writes, "critic": critique("It misses a case.")}
    found, panels = [], 0
    with open_journal(tmp_path) as journal:
        for seed in range(8):
            model = ScriptedModel(script | {"judge": partial(_toss, seed)})
            done = await solve_set(journal, model, 12, ("tournament",), calls=12)
            audit = audit_runs(read_run(done.run, journal))
            panels += audit.panels
            found.append(bool(beyond_chance(audit.findings)))
    assert panels > 100
    assert no_more_than_the_level(sum(found), len(found))


def _toss(seed: int, request: Request) -> str:
    assert request.schema
    rankings = request.schema.definition["properties"]["ranking"]["enum"]
    return f"RANKING: {random.Random(f'{seed}/{request.seed}/{request.key}').choice(rankings)}"


def _equally_good(request: Request) -> str:
    return fenced(program(1, request.key))
