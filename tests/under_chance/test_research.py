"""The end test after a loop that chose by chance, and rules that are all the same."""

from __future__ import annotations

import asyncio
import random
from statistics import fmean
from typing import Any, get_args

import numpy as np
import pytest
from benchmarks.keep_rules.simulation import ResearchWorld, simulate
from benchmarks.keep_rules.study import WAYS, WORLDS, RuleReport, StudyCell
from tests.artifacts.knob import proposal, research_settings, research_task
from tests.cases import cases
from tests.once import once
from tests.under_chance.luck import misses, most_often

from autoreason.artifacts.acceptance import Effect, correct_effects, end_test
from autoreason.artifacts.artifact import (
    EvaluationOutcome,
    EvaluationQuery,
    Measurement,
    OrderQuery,
    Orders,
)
from autoreason.artifacts.research_job import ResearchJob
from autoreason.artifacts.research_report import ResearchReport, research_report
from autoreason.artifacts.research_task import ResearchTask
from autoreason.events import AnyEvent, RunStarted
from autoreason.exchange import Query, Request
from autoreason.job_types import Research, RuleName
from autoreason.jobs.context import JobContext
from autoreason.models.doubles import ScriptedModel
from autoreason.prompts import built_in
from autoreason.settings import Models, Settings
from autoreason.story import build_story
from autoreason.studies.lab_comparisons import ArmValues, compare_arms
from autoreason.studies.lab_suite import CellFinished, CellResult, compare_rules, groups
from autoreason.studies.simulation import mean
from autoreason.task import Task

RUNS = 10_000
(RACE,) = (way for way in WAYS if way.name == "race")


@pytest.mark.parametrize("evaluations", [6, 8])
def test_the_end_test_claims_a_gain_by_chance_in_one_run_of_forty_and_holds_the_truth(
    evaluations: int,
) -> None:
    rng = np.random.default_rng(evaluations)
    missed = shown = 0
    for values in rng.standard_normal((RUNS, 2, evaluations)):
        found = end_test(values[0].tolist(), values[1].tolist())
        missed += not found.low <= 0 <= found.high
        shown += found.shown
    assert abs(missed - RUNS * 0.05) <= most_often(RUNS) - RUNS * 0.05
    assert shown <= most_often(RUNS, 0.025)


@cases("noise", [0.02, 0.1])
@cases("evaluations", [6, 7, 8])
def test_a_result_that_seems_better_and_collapses_is_seldom_shown_unless_the_claim_excepts_it(
    evaluations: int, noise: float
) -> None:
    rng = np.random.default_rng(evaluations)
    runs, gain = 2000, 0.1
    unseen = end_test([1.0] * evaluations, [0.0] * evaluations).unseen
    for rate in (unseen, unseen + 0.1, unseen + 0.2):
        # On average it gains nothing.
        collapsed = (rng.random((runs, evaluations)) < rate) * gain / rate
        values = gain - collapsed + rng.normal(0, noise, (runs, evaluations))
        shown = sum(end_test(each.tolist(), [0.0] * evaluations).shown for each in values)
        assert shown <= most_often(runs), rate


@pytest.mark.parametrize(
    "world",
    [
        ResearchWorld(name="nothing does anything", about="", helping=0.0, idle=1.0),
        ResearchWorld(name="gains", about="", gain=0.5),
        ResearchWorld(name="alike", about="", gain=0.25, correlation=0.9),
    ],
)
def test_the_end_test_is_right_after_a_loop_has_chosen(world: ResearchWorld) -> None:
    played = simulate(world, RACE, 60, RUNS, 1)
    missed = int(((played.quality < played.low) | (played.quality > played.high)).sum())
    # Where nothing is kept there is no test, and nothing to miss.
    assert missed <= most_often(RUNS)
    wrong = int(((played.low > 0) & (played.quality <= 0)).sum())
    assert wrong <= most_often(RUNS, 0.025)
    error = float((played.claim - played.quality).std()) / RUNS**0.5
    assert abs(float((played.claim - played.quality).mean())) <= 4 * error


@cases("changed", [0.1, 0.5, 0.8, 1.0])
@cases("evaluations", [6, 8])
def test_sealed_items_that_pass_or_fail_by_chance_seldom_show_a_gain(
    evaluations: int, changed: float
) -> None:
    rng = np.random.default_rng(evaluations)
    runs = 600
    for items in (1, 2, 4, 5, 6, 7, 8, 12, 20, 40):
        groups = [range(each, items, evaluations) for each in range(min(evaluations, items))]
        sizes, nothing = [len(group) for group in groups], [0.0] * len(groups)
        draws = rng.random((runs, items))
        gains = np.where(draws < changed, np.where(draws < changed / 2, 1.0, -1.0), 0.0)
        means = np.column_stack([gains[:, group].mean(axis=1) for group in groups])
        shown = sum(end_test(each, nothing, 0.0, sizes).shown for each in means.tolist())
        assert shown <= most_often(runs, 0.025), items


def test_no_rule_delivers_the_best_result_by_chance() -> None:
    rng = np.random.default_rng(1)
    times, wrong = 400, 0
    for quality in rng.standard_normal((times, 3, 4, 20)):
        cells = [
            StudyCell(
                world=f"world {at}",
                rule=f"rule {one}",
                runs=20,
                quality=mean(quality[at, one]),
                gap=mean(quality[at, one]),
                false_keeps=None,
                below=None,
                shown=None,
            )
            for at in range(3)
            for one in range(4)
        ]
        report = RuleReport(evaluations=200, runs=20, seed=1, cells=cells)
        wrong += any(report.best_rules())
    assert wrong <= most_often(times)


def run_over_noise(seed: int, evaluations: int) -> ResearchReport:
    """A whole run whose evaluator measures nothing but noise; only journal and processes are left out."""
    orders, events = Orders(), list[AnyEvent]()
    model = ScriptedModel(lambda request: proposal(f"knob = {request.key.split('/')[1]}"))

    async def ask(asked: Request | Query[Any]) -> Any:
        match asked:
            case Request():
                return await model.ask(asked)
            case EvaluationQuery():
                draw = random.Random(f"{seed}/{asked.evaluation.seed}/{asked.evaluation.files}")
                return Measurement(outcome=EvaluationOutcome.OK, value=draw.gauss(0, 1))
            case OrderQuery():
                return orders.answer(asked)
        return ""

    task = research_task()
    settings = research_settings(seed, evaluations=evaluations)
    context = JobContext(task, settings, built_in(writes="files"), ask, events.append)
    asyncio.run(ResearchJob(context).run())
    started = RunStarted(task=task, settings=settings, prompts={}, version="1")
    return research_report(build_story([started, *events]))


@once
def runs_over_noise(evaluations: int, times: int) -> list[ResearchReport]:
    """Many of them."""
    return [run_over_noise(seed, evaluations) for seed in range(times)]


@pytest.mark.slow
def test_what_the_loop_saw_of_noise_is_flattered_and_less_so_than_the_looks_that_kept_it() -> None:
    seen, kept_for = [], []
    for report in runs_over_noise(200, 60):
        if report.kept and report.loop_gain is not None and report.noise:
            seen.append(report.loop_gain)
            number = report.result or report.kept[-1].number
            (mean,) = (each.mean or 0.0 for each in report.kept if each.number == number)
            kept_for.append(mean - fmean(report.noise.values))
    assert len(seen) > 30
    assert 0 < fmean(seen) < 0.8 * fmean(kept_for)


@pytest.mark.parametrize(("evaluations", "times"), [(40, 160), (200, 30)])
def test_a_whole_run_over_noise_seldom_claims_a_gain_and_says_that_keeps_do_nothing(
    evaluations: int, times: int
) -> None:
    reports = runs_over_noise(evaluations, times)
    claimed = [each for each in reports if each.claim.startswith("result against start")]
    assert len(claimed) <= most_often(times)
    # What is not claimed is called no gain.
    assert all(
        "no gain" in each.claim or "worse" in each.claim for each in reports if each not in claimed
    )
    tested = [each for each in reports if each.idle is not None]
    assert len(tested) > times / 4
    idle = sum(each.idle or 0 for each in tested)
    used = sum(trial.shrunken is not None for each in tested for trial in each.trials)
    assert 0.05 * used < idle <= used


LIKELY = (
    *WORLDS,
    ResearchWorld(name="two in five help", about="", helping=0.4, idle=0.3),
    ResearchWorld(name="alike", about="", gain=0.25, correlation=0.7),
    ResearchWorld(name="heavy tails", about="", gain=0.35, heavy=True),
)


@cases("evaluations", [60, 200])
@cases("world", LIKELY)
def test_keeps_are_worth_what_is_said_and_at_least_as_many_do_nothing(
    world: ResearchWorld, evaluations: int
) -> None:
    played = simulate(world, RACE, evaluations, 400, 1)
    trials = played.trials
    differences, wrong, idle, used = [], 0, 0, 0
    for run, (claim, number) in enumerate(zip(played.claim, played.used, strict=True)):
        # The first so many keeps led to the result.
        rows = np.flatnonzero((trials.run == run) & trials.kept)[: int(number)]
        effects = zip(trials.value[rows].tolist(), trials.error[rows].tolist(), strict=True)
        keeps = [
            Effect(value=value, error=error, evaluations=2, against=3) for value, error in effects
        ]
        corrected, truth = correct_effects(keeps, float(claim)), trials.truth[rows]
        differences.append(sum(corrected.effects) - float(truth.sum()))
        wrong += corrected.idle > (truth <= 0).sum()
        idle, used = idle + corrected.idle, used + len(rows)
    error = float(np.std(differences)) / len(differences) ** 0.5
    assert abs(float(np.mean(differences))) <= 4 * error
    assert wrong <= most_often(len(differences))
    # It is not an empty promise.
    assert idle > 0.03 * used


@pytest.mark.parametrize("guarded", [0.0, 0.4])
def test_no_rule_of_a_comparison_is_better_by_chance(guarded: float) -> None:
    rng = np.random.default_rng(3)
    models = Models.everywhere("random/judge")
    task = Task(brief="b", work=ResearchTask(files={"a": ""}, artifact=("a",), evaluate="e"))
    suite = compare_rules(
        task, Settings(job=Research(), models=models, seed=0), rules=get_args(RuleName), repeats=8
    )
    cells = [cell for group in groups(suite) for cell in group.arms]
    runs, shown, missed = 300, 0, 0
    for gains in rng.standard_normal((runs, len(cells))):
        # What breaks a guard gains nothing.
        gains[rng.random(gains.shape) < guarded] = 0.0
        results = (CellResult(run="r", status="done", reason="", value=float(x)) for x in gains)
        finished = [CellFinished(cell=c, result=r) for c, r in zip(cells, results, strict=True)]
        pairs = compare_arms(suite, ArmValues(suite, finished))
        shown += any(pair.shown for pair in pairs)
        missed += any(misses(pair.difference, 0.0) for pair in pairs)
    assert shown <= most_often(runs)
    assert missed <= most_often(runs)
