"""The loop: what it keeps, when it stops, what it claims, and that it goes on wherever it is left."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.artifacts.knob import (
    Meter,
    SlowWhenFresh,
    proposal,
    research_settings,
    research_task,
    turning,
)
from tests.run.leaving import emitted
from tests.run.runs import go_on, start_run

from autoreason.artifacts.artifact import Measurement
from autoreason.artifacts.research_history import (
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    TrialDecided,
)
from autoreason.errors import BudgetReached, InvalidInput, ProviderFailed, UnusableStart
from autoreason.events import JobFinished
from autoreason.exchange import Query
from autoreason.journal import Journal
from autoreason.models.budget import BudgetTracker, CostBound
from autoreason.models.doubles import ScriptedModel
from autoreason.run.recorded import replay
from autoreason.run.result import Result, StopSwitch
from autoreason.settings import Budget


async def begin(
    journal: Journal,
    meter: Meter,
    model: ScriptedModel,
    task: Any = None,
    *,
    calls: int | None = None,
    stop_switch: StopSwitch | None = None,
    **terms: Any,
) -> Result:
    """A run that may be left before its end."""
    chosen = replace(research_settings(**terms), budget=Budget(calls=calls))
    given: dict[str, Any] = {"task": task or research_task(), "settings": chosen, "service": meter}
    return await start_run(journal, model, **given, stop_switch=stop_switch)


async def ended(journal: Journal, result: Result) -> list[Any]:
    """The story of a run that came to its end, and does again."""
    assert result.status == "done"
    assert (await replay.aio(result.run, journal=journal)).same
    return emitted(journal, result.run)


async def run(
    journal: Journal, meter: Meter, model: ScriptedModel, *args: Any, **terms: Any
) -> Any:
    """The story of a run."""
    return await ended(journal, await begin(journal, meter, model, *args, **terms))


def trials(story: list[Any]) -> list[TrialDecided]:
    """The decided trials of a story."""
    return [each for each in story if isinstance(each, TrialDecided)]


async def test_without_noise_one_evaluation_decides_and_the_gain_is_tested_on_fresh_evaluations(
    journal: Journal,
) -> None:
    meter = Meter(best=5)
    story = await run(journal, meter, turning(lambda number: 1.0 if number % 2 else -1.0))
    decided = trials(story)
    assert [each.status for each in decided[:10:2]] == ["kept"] * 5
    assert {each.status for each in decided[1:10:2]} == {"dropped", "refused"}
    assert all(len(each.values) <= 1 for each in decided)
    assert {each.evaluations for each in decided if each.status == "kept"} == {1, 2}
    (end,) = (each for each in story if isinstance(each, EndTested))
    assert set(end.result) == {5.0}
    assert set(end.start) == {0.0}
    assert isinstance(story[-1], JobFinished)


async def test_the_budget_covers_noise_floor_races_playoff_and_end_test(journal: Journal) -> None:
    for evaluations in (16, 40, 100, 204):
        meter = Meter(noise=1.0)
        steps = [random.Random(evaluations + each).gauss(0.1, 1.0) for each in range(300)]
        await run(
            journal, meter, turning(steps.__getitem__), evaluations=evaluations, patience=1000
        )
        assert len(meter.evaluations) <= evaluations
        # With a single candidate the start may stay, which needs no test.
        assert evaluations < 40 or len(meter.evaluations) >= evaluations * 0.7
        assert len({key for key, _ in meter.evaluations}) == len(meter.evaluations)


async def test_evaluations_of_playoff_and_end_test_share_no_seed_with_those_that_decided(
    journal: Journal,
) -> None:
    meter = Meter(noise=0.5)
    story = await run(journal, meter, turning(lambda _: 0.5), evaluations=220)
    seeds: dict[str, set[int]] = {"playoff": set(), "end": set(), "search": set()}
    for key, evaluation in meter.evaluations:
        head = key.split("/")[0]
        seeds[head if head in seeds else "search"].add(evaluation.seed)
    assert any(isinstance(each, FinalistsMeasured) for each in story)
    assert len(seeds["end"]) == 8
    assert not seeds["end"] & seeds["playoff"]
    assert not (seeds["end"] | seeds["playoff"]) & seeds["search"]


async def test_a_trial_records_the_evaluations_at_the_incumbent_that_it_was_compared_with(
    journal: Journal,
) -> None:
    decided = trials(await run(journal, Meter(noise=1.0), turning(lambda _: 0.3), patience=1000))
    kept = {each.number: each for each in decided if each.status == "kept"}
    assert kept
    for each in decided:
        assert each.effect
        assert len(each.record) == each.effect.against
        # The latest did not choose the incumbent.
        assert len(each.seeds) > 1 or each.seeds[0] == max(each.record)
        if each.incumbent:
            before = kept[each.incumbent]
            assert (
                dict(zip(before.seeds, before.values, strict=True)).items() <= each.record.items()
            )


async def test_a_run_ends_after_patience_or_at_the_target_at_once_if_the_start_has_it(
    journal: Journal,
) -> None:
    story = await run(journal, Meter(best=0), turning(float), patience=4)
    assert len(trials(story)) == 4
    assert "of 4 proposals in a row none was kept" in story[-1].reason
    story = await run(journal, Meter(), turning(lambda _: 1.0), research_task(target=3.0))
    assert len(trials(story)) == 3
    assert "the target of 3 is reached" in story[-1].reason
    model = turning(lambda _: 1.0)
    for task in (research_task(target=0.0), research_task(target=0.0, better="lower")):
        story = await run(journal, Meter(), model, task)
        assert story[-1].reason == "the target of 0 is reached by the start"
    assert not model.requests


async def test_a_start_that_scores_the_same_on_every_draw_is_not_raced_without_noise(
    journal: Journal,
) -> None:
    drawn = research_task(items=20, per_evaluation=5)
    story = await run(journal, Meter(), turning(lambda _: 1.0), drawn, patience=1000)
    assert all(len(each.values) == 3 for each in trials(story) if each.status == "kept")
    assert not any("without noise" in each.reason for each in trials(story))
    assert next(each for each in story if isinstance(each, NoiseMeasured)).drawn


async def test_a_guard_is_checked_in_the_end_test_and_chooses_in_the_playoff(
    journal: Journal,
) -> None:
    guarded = research_task(guard={"ms": "<= 2"}, target=5.0)
    story = await run(journal, SlowWhenFresh("end"), turning(lambda _: 1.0), guarded)
    (end,) = (each for each in story if isinstance(each, EndTested))
    assert end.broken == "ms is 5, the guard is <= 2"
    guarded = research_task(guard={"ms": "<= 20"}, target=50.0)
    meter = SlowWhenFresh("playoff", noise=0.5)
    story = await run(journal, meter, turning(lambda _: 9.0), guarded, evaluations=220)
    (playoff,) = (each for each in story if isinstance(each, FinalistsMeasured))
    assert playoff.broken
    assert playoff.chosen in set(playoff.trials) - set(playoff.broken)
    assert playoff.chosen


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("limit", ["calls", "stop"])
async def test_whatever_ends_the_search_what_was_kept_is_tested_and_the_run_is_over(
    journal: Journal, parallel: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter, switch = Meter(), StopSwitch()

    def step(number: int) -> float:
        if limit == "stop" and number > 3:
            switch.stop()
        return 1.0

    def check(tracker: BudgetTracker, upper: CostBound) -> None:
        del upper
        if tracker.spent.calls >= 4:
            raise BudgetReached(f"the limit of {limit} is reached", limit)

    if limit != "stop":
        monkeypatch.setattr(BudgetTracker, "_check", check)
    model = turning(step)
    terms: dict[str, Any] = {"parallel": parallel, "evaluations": 40, "calls": 900}
    task = research_task(sealed=8)
    result = await begin(journal, meter, model, task, stop_switch=switch, **terms)
    assert ("stopped" if limit == "stop" else limit) in result.reason
    story = await ended(journal, result)
    (end,) = (each for each in story if isinstance(each, EndTested))
    assert end.trial == [each.number for each in trials(story) if each.status == "kept"][-1]
    assert sum(evaluation.sealed for _, evaluation in meter.evaluations) == 12
    with pytest.raises(InvalidInput, match=r"is finished \(done\); `autoreason fork"):
        await go_on(journal, result.run, model, service=meter)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_limit_before_anything_was_kept_only_pauses_and_opens_nothing(
    journal: Journal, parallel: int
) -> None:
    meter, model = Meter(), turning(lambda number: 1.0 if number > 3 else -1.0)
    terms: dict[str, Any] = {"parallel": parallel, "evaluations": 40, "calls": 3}
    result = await begin(journal, meter, model, research_task(sealed=8), **terms)
    assert (result.status, len(model.requests)) == ("budget", 3)
    assert not any(evaluation.sealed for _, evaluation in meter.evaluations)
    result = await go_on(
        journal, result.run, model, service=meter, changes={"budget": Budget(calls=900)}
    )
    assert any(isinstance(each, EndTested) for each in await ended(journal, result))


@pytest.mark.parametrize("parallel", [1, 3])
async def test_an_end_test_after_a_limit_that_was_broken_off_goes_on_without_a_model(
    journal: Journal, parallel: int
) -> None:
    class Gone(Meter):
        async def answer(self, query: Query[Any]) -> Any:
            if query.key == "end/result/evaluation/2":
                raise ProviderFailed("the evaluator is gone")
            return await super().answer(query)

    ends = []
    for meter in (Gone(0.1), Meter(0.1)):
        model = turning(lambda number: 1.0 if number % 2 else -1.0)
        result = await begin(journal, meter, model, parallel=parallel, calls=4)
        if isinstance(meter, Gone):
            assert result.status == "provider_failed"
            again, none = Meter(0.1), ScriptedModel({})
            more = {"budget": Budget(calls=900)}
            result = await go_on(journal, result.run, none, service=again, changes=more)
            assert not {key for key, _ in again.evaluations} & {key for key, _ in meter.evaluations}
        assert len(model.requests) == 4
        story = await ended(journal, result)
        ends.append([each for each in story if isinstance(each, EndTested)])
    assert parallel > 1 or ends[0] == ends[1]


async def test_what_fails_breaks_a_guard_or_cannot_be_read_is_never_kept_nor_a_start(
    journal: Journal,
) -> None:
    knobs = ("crash knob = 100", f"knob = 5  # {'long ' * 50}", "knob = 0 ", "knob = 1", "knob = 2")
    model = ScriptedModel(["no idea", "no idea either", *map(proposal, knobs)])
    task = research_task(guard={"size": "<= 100"}, target=2.0)
    story = await run(journal, Meter(), model, task)
    assert [each.status for each in trials(story)] == [
        *("refused", "failed", "guarded", "refused"),
        *("kept", "kept"),
    ]
    model = turning(lambda _: 1.0)
    broken = research_task(files={"knob.txt": "crash"})
    with pytest.raises(UnusableStart, match="gave no number for the artifact as it is"):
        await run(journal, Meter(), model, broken)
    for guard in ({"size": "< 1"}, {"missing": "< 1"}):
        with pytest.raises(UnusableStart, match="breaks a guard"):
            await run(journal, Meter(), model, research_task(guard=guard))
    assert not model.requests


class Uneven(Meter):
    """A meter whose evaluations take longer or shorter, so that trials end in any order."""

    def __init__(self, seed: int, noise: float = 1.0) -> None:
        super().__init__(noise)
        self.draw = random.Random(seed)
        self.asked: list[str] = []
        self.left = -1

    async def answer(self, query: Query[Any]) -> Measurement:
        """Evaluate at leisure; after so many evaluations, be cut off."""
        await asyncio.sleep(self.draw.random() / 500)
        if self.left == 0:
            raise ProviderFailed("the evaluator is gone")
        self.left -= 1
        self.asked.append(query.key)
        result: Measurement = await super().answer(query)
        return result


@pytest.mark.parametrize("parallel", [1, 2, 5])
async def test_trials_side_by_side_replay_and_resume_whatever_ends_first(
    journal: Journal, parallel: int
) -> None:
    draw = random.Random(parallel)
    steps = [draw.gauss(0.3, 1) for _ in range(200)]
    model = turning(lambda number: steps[number])
    kept = 0
    for left in (3, 17, 31):
        first, second = Uneven(left), Uneven(left + 1)
        first.left = left
        result = await begin(journal, first, model, parallel=parallel, patience=1000)
        if result.status != "done":
            assert result.status == "provider_failed"
            assert (await replay.aio(result.run, journal=journal)).same
            result = await go_on(journal, result.run, model, service=second)
        assert not set(first.asked) & set(second.asked)
        story = await ended(journal, result)
        kept += sum(each.status == "kept" for each in trials(story))
        assert isinstance(story[0], NoiseMeasured)
        numbers = [each.number for each in trials(story)]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert kept


async def test_a_candidate_that_is_raced_again_is_measured_and_charged_once_for_each_seed(
    journal: Journal,
) -> None:
    raced_again = repeated = 0
    for seed in range(6):
        meter = Uneven(seed, noise=0.02)
        model = turning(lambda number: 0.5 + number / 1000)
        result = await begin(journal, meter, model, evaluations=80, parallel=4, patience=1000)
        story = await ended(journal, result)
        evaluations = [
            (str(evaluation.files), evaluation.seed, evaluation.items)
            for _, evaluation in meter.evaluations
        ]
        assert len(set(evaluations)) == len(evaluations)
        measured = [key for key, _ in meter.evaluations if not key.startswith(("playoff", "end"))]
        noise = next(each for each in story if isinstance(each, NoiseMeasured))
        charged = len(noise.values) + sum(each.evaluations for each in trials(story))
        assert charged == len(measured)
        answers = journal.answers(result.run)
        raced_again += any("/again/" in key for key in answers)
        repeated += sum("/again/" in key and "/evaluation/" in key for key in answers) - sum(
            "/again/" in key for key in measured
        )
    assert raced_again
    assert repeated


async def test_artifacts_that_are_proposed_side_by_side_are_measured_and_decided_once(
    journal: Journal,
) -> None:
    twins = 0
    for seed in range(4):
        meter, again = Uneven(seed, noise=0.02), Uneven(seed)
        model = turning(lambda number: 0.1 * (number // 3))
        meter.left = 12 + 9 * seed
        result = await begin(journal, meter, model, parallel=3, patience=1000)
        assert result.status == "provider_failed"
        result = await go_on(journal, result.run, model, service=again)
        evaluations = [
            (str(evaluation.files), evaluation.seed)
            for _, evaluation in (*meter.evaluations, *again.evaluations)
        ]
        assert len(set(evaluations)) == len(evaluations)
        decided = trials(await ended(journal, result))
        search = [key for key in meter.asked + again.asked if key.startswith(("trial", "inc"))]
        assert sum(each.evaluations for each in decided) >= len(search)
        same = [each for each in decided if each.reason.startswith("it was tried before: trial")]
        assert all(each.status == "refused" for each in same)
        twins += len(same)
    assert twins


async def test_times_are_compared_with_the_incumbent_next_to_each_evaluation(
    journal: Journal,
) -> None:
    meter = Meter(noise=0.3)
    model = turning(lambda number: 1.0 if number % 2 else -1.0)
    task = research_task(timed=True, better="lower")
    story = await run(journal, meter, model, task, parallel=4)
    assert any(each.status == "kept" for each in trials(story))
    assert not any("without noise" in each.reason for each in trials(story))
    keys = [key for key, _ in meter.evaluations if key.startswith("trial/")]
    assert all(
        a.replace("beside", "evaluation") == b for a, b in zip(keys[::2], keys[1::2], strict=True)
    )


@pytest.mark.parametrize("rule", ["greedy", "independent"])
async def test_rivals_run_under_the_same_budget(journal: Journal, rule: str) -> None:
    meter = Meter(noise=1.0, interaction=1.0)
    steps = [random.Random(each).gauss(0, 1.0) for each in range(300)]
    story = await run(
        journal, meter, turning(steps.__getitem__), evaluations=60, rule=rule, patience=1000
    )
    assert len(meter.evaluations) <= 60
    kept = [each for each in trials(story) if each.status == "kept"]
    assert kept
    if rule == "greedy":
        assert all(len(each.values) <= 1 for each in trials(story))
        numbers = [each.seeds for each in trials(story)]
        assert len(set(numbers)) == len(numbers)
        values = [each.values[0] for each in kept]
        assert values == sorted(values)
    else:
        assert {each.incumbent for each in kept} != {0}


async def test_judges_decide_where_the_metric_cannot_tell(journal: Journal) -> None:
    def answer(request: Any) -> str:
        if request.role == "judge":
            return '{"ranking": ["1", "2"], "reasoning": "clearer"}'
        number = int(request.key.split("/")[1])
        return proposal(f"knob = 0\nnote {number}")

    task = research_task(judge="Prefer the plainer version.")
    meter = Meter(noise=1.0, interaction=1.0)
    story = await run(journal, meter, ScriptedModel(answer), task, patience=8)
    assert [type(each).__name__ for each in story if type(each).__name__ == "BallotCast"]
    assert any("judges" in each.reason for each in trials(story))
