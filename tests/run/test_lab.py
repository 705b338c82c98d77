"""Suites from start to end: what is shared is asked once, limits hold over all cells, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.artifacts.evaluating import needs_jail
from tests.run.leaving import leave_when_asked
from tests.run.runs import lend
from tests.run.suites import SMALL, SUITE, CountedModel, run_suite, write_knob, write_suite

from autoreason.cli.live import Live, View
from autoreason.cli.runner import read_new, recorded_live
from autoreason.errors import BudgetReached, InvalidInput, ProviderFailed, RunLocked, UnknownRun
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.job_types import Judge
from autoreason.journal import Journal
from autoreason.journal.run_names import cell_name
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.run.cells import lab_status, report_of
from autoreason.run.lab import NothingToAdd, lab, prepare_add
from autoreason.run.record import recorded_result, working_time
from autoreason.run.recorded import replay, resume
from autoreason.run.result import StopSwitch, StudyResult
from autoreason.settings import Budget
from autoreason.studies.lab_report import LabReport
from autoreason.studies.lab_suite import CellFinished

CELLS = 2 * 2 * (1 + 3 + 1)


async def test_every_cell_is_a_run_named_after_its_suite_and_what_they_share_is_asked_once(
    tmp_path: Path, journal: Journal
) -> None:
    model = CountedModel()
    result = await run_suite(tmp_path, journal, model=model)
    assert result.status == "done"
    assert result.report.cells == CELLS
    cells = {row.id: row for row in journal.cells(result.run)}
    assert set(cells) <= {f"{result.run}.{n:04}" for n in range(1, CELLS + 1)}
    assert all(row.finished for row in cells.values())
    assert [row.id for row in journal.runs()] == [result.run]
    assert journal.find("last").id == result.run
    second = f"{result.run}.0002"
    assert journal.find(second).title == journal.story(second).title
    assert model.asked.count("author") == 4
    assert result.calls == len(model.asked) == journal.row(result.run).spent.calls
    assert result.report.spent.calls == len(model.asked)
    for run in (result.run, *cells):
        assert (await replay.aio(run, journal=journal)).same


async def test_the_same_seed_gives_the_same_report(tmp_path: Path, journal: Journal) -> None:
    one = await run_suite(tmp_path, journal)
    other = await run_suite(tmp_path, journal, parallel=1)
    assert one.report.pairs == other.report.pairs


@pytest.mark.parametrize("calls", [1, 20])
async def test_a_limit_holds_over_all_cells_together_and_the_rest_follows(
    tmp_path: Path, journal: Journal, calls: int
) -> None:
    model = CountedModel()
    paused = await run_suite(tmp_path, journal, model=model, budget=Budget(calls=calls))
    assert paused.status == "budget"
    assert "all cells together" in paused.reason
    assert len(model.asked) <= calls
    with pytest.raises(BudgetReached, match="has no report yet"):
        _ = paused.report
    whole = await run_suite(tmp_path, journal)
    result = await _resume(journal, paused.run, model)
    assert result.report.pairs == whole.report.pairs
    assert len(model.asked) == whole.calls


async def _resume(journal: Journal, run: str, model: EchoModel) -> StudyResult[LabReport]:
    result = await resume.aio(run, journal=journal, pool=lend(model), budget=Budget(calls=10_000))
    assert isinstance(result, StudyResult)
    return result


async def test_a_suite_that_is_stopped_goes_on(tmp_path: Path, journal: Journal) -> None:
    switch = StopSwitch()

    def stop(asked: int) -> None:
        if asked == 12:
            switch.stop()

    model = CountedModel(stop)
    stopped = await run_suite(tmp_path, journal, model=model, stop_switch=switch)
    assert stopped.status == "stopped"
    assert stopped.run not in stopped.reason
    status = lab_status(stopped.run, journal=journal)
    assert status.status == "stopped"
    assert status.progress.done + status.progress.left == CELLS
    result = await _resume(journal, stopped.run, model)
    whole = await run_suite(tmp_path, journal)
    assert result.report.pairs == whole.report.pairs
    assert len(model.asked) == whole.calls


async def test_a_suite_that_another_process_has_just_left_goes_on(
    tmp_path: Path, journal: Journal
) -> None:
    paused = await run_suite(tmp_path, journal, SMALL, budget=Budget(calls=3))
    with leave_when_asked(journal, paused.run):
        assert (await _resume(journal, paused.run, CountedModel())).finished


class Mute(CountedModel):
    """Its judges rank nothing."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        reply = await super().ask(request, on_signal)
        return replace(reply, text="I cannot say.") if request.role == "judge" else reply


async def test_a_cell_without_a_result_is_left_out_and_named(
    tmp_path: Path, journal: Journal
) -> None:
    text = SUITE + "add: {width: 0.01, repeats: 4}\n"
    result = await run_suite(tmp_path, journal, text, model=Mute())
    report = result.report
    assert report.left_out
    assert all(each.reason for each in report.left_out)
    revising = next(each for each in report.pairs if each.comparison == "revising")
    assert revising.difference.value is None
    assert revising.missing == 4
    words = next(each for each in report.arms if each.arm == "contest")
    assert words.finished < words.cells
    assert "no answer" in report.to_text()
    with pytest.raises(InvalidInput, match="no cell of contest has a result"):
        prepare_add(result.run, journal=journal)


async def test_a_tournament_at_the_limit_of_its_cell_is_left_out_as_planned(
    tmp_path: Path, journal: Journal
) -> None:
    arm = "  contest: {passes: 5, k: 5, judges: 3}\nmeasures: [converged]\n"
    text = SMALL.replace("repeats", f"{arm}repeats")
    text = text.replace("[revised, single]", "[contest, single]") + "budget: {cell: {calls: 20}}\n"
    plan = lab.prepare(write_suite(tmp_path, text), "echo/echo").plan()
    assert {each.name: each.over_limit for each in plan.arms}["contest"] == 1
    assert plan.tests[0].units == 0
    result = await run_suite(tmp_path, journal, text)
    contest = result.report.arms[2]
    assert (contest.at_limit, contest.finished, contest.means["converged"]) == (1, 0, 0.0)
    (left_out,) = (each for each in result.report.left_out if each.runs)
    assert "another did not fit the budget" in left_out.reason
    assert journal.row(left_out.runs[0]).status == "capped"
    assert result.report.pairs[0].at_limit == 1


async def test_a_second_scheduler_is_refused(tmp_path: Path, journal: Journal) -> None:
    started: list[str] = []
    refused: list[str] = []

    class Slow(CountedModel):
        async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
            if started and not refused:
                refused.append("")
                with pytest.raises(RunLocked) as caught:
                    await resume.aio(started[0], journal=journal)
                refused[0] = str(caught.value)
            return await super().ask(request, on_signal)

    await run_suite(tmp_path, journal, model=Slow(), on_started=started.append)
    assert "is locked by" in refused[0]


async def test_a_suite_that_can_show_nothing_is_refused_before_anything_is_spent(
    tmp_path: Path, journal: Journal
) -> None:
    text = SUITE.replace("repeats: 2", "repeats: 1")
    model = CountedModel()
    with pytest.raises(InvalidInput, match="cannot show anything"):
        await run_suite(tmp_path, journal, text, model=model, anyway=False)
    assert not model.asked
    assert not journal.runs()
    prepared = lab.prepare(write_suite(tmp_path), "echo/echo", repeats=9)
    assert not prepared.plan().refusal
    poor = lab.prepare(write_suite(tmp_path), "echo/echo", repeats=9, budget=Budget(calls=30))
    plan = poor.plan()
    assert plan.refusal
    assert plan.share_paid < 0.2


@pytest.mark.parametrize(
    ("limits", "budget", "said"),
    [
        ("", Budget(tokens=500), "pays for under 1 % of what it likely takes"),
        ("budget: {cell: {calls: 5}}\n", Budget(), "18 of 18 parts of contest would likely reach"),
        ("budget: {cell: {tokens: 10}}\n", Budget(), "raise `budget.cell`"),
    ],
)
async def test_a_plan_says_what_each_limit_allows(
    tmp_path: Path, limits: str, budget: Budget, said: str
) -> None:
    path = write_suite(tmp_path, SUITE + limits)
    plan = lab.prepare(path, "echo/echo", repeats=9, budget=budget).plan()
    assert said in " ".join(plan.to_text().split())
    assert bool(plan.refusal) == ("tokens" in limits or budget.tokens is not None)
    if "calls" in limits:
        contest = next(arm for arm in plan.arms if arm.name == "contest")
        assert contest.calls is not None
        assert contest.calls.high == 18 * 5
        assert [each.units for each in plan.tests] == [18, 0, 0]


async def test_a_plan_counts_every_call_that_is_made(tmp_path: Path, journal: Journal) -> None:
    prepared = lab.prepare(write_suite(tmp_path), "echo/echo")
    plan = prepared.plan()
    assert plan.cells == CELLS
    assert plan.calls is not None
    result = await run_suite(tmp_path, journal)
    assert plan.calls.low <= result.calls <= plan.calls.high


async def test_repeats_are_added_by_the_rule_and_nothing_is_run_twice(
    tmp_path: Path, journal: Journal
) -> None:
    text = SUITE + "add: {width: 0.01, repeats: 4}\n"
    model = CountedModel()
    first = await run_suite(tmp_path, journal, text, model=model)
    drafts = model.asked.count("author")
    prepared = prepare_add(first.run, journal=journal, named_models={"": model})
    result = await prepared.run_async()
    report = result.report
    assert report.added == {"revising": 2, "length": 2}
    assert report.cells == 2 * CELLS
    assert model.asked.count("author") == 2 * drafts
    assert first.calls + result.calls == len(model.asked)
    assert "2 repeats to revising by the rule of the suite: it had no interval of 1.0" in " ".join(
        report.to_text().split()
    )
    old = {each.result.run for each in first.story.of(CellFinished) if each.result.run}
    new = {each.result.run for each in result.story.of(CellFinished) if each.result.run}
    assert old < new
    enough = "has all repeats that its rule asks for"
    with pytest.raises(NothingToAdd, match=enough):
        prepare_add(result.run, journal=journal)
    with pytest.raises(InvalidInput, match="has no rule for more repeats"):
        prepare_add((await run_suite(tmp_path, journal)).run, journal=journal)


async def test_a_suite_is_continued_once(tmp_path: Path, journal: Journal) -> None:
    text = SMALL + "add: {width: 0.01, repeats: 2}\n"
    model = CountedModel()
    first = await run_suite(tmp_path, journal, text, model=model)
    prepared = [prepare_add(first.run, journal=journal, named_models={"": model}) for _ in range(2)]
    added = await prepared[0].run_async()
    why = "1 repeat to revising by the rule of the suite: it had no interval of 1.0 points"
    assert why in " ".join(added.report.to_text().split())
    asked = len(model.asked)
    again = f"{first.run} was continued as {added.run}; resume that one"
    with pytest.raises(InvalidInput, match=again):
        prepare_add(first.run, journal=journal)
    with pytest.raises(InvalidInput, match=again):
        await prepared[1].run_async()
    assert len(model.asked) == asked
    assert [row.id for row in journal.runs()] == [added.run, first.run]
    assert not journal.row(first.run).live


async def test_two_continuations_at_the_same_moment_are_one_and_none_of_a_deleted_suite(
    tmp_path: Path, journal: Journal
) -> None:
    first = await run_suite(tmp_path, journal, SMALL + "add: {width: 0.01, repeats: 2}\n")
    prepared = prepare_add(first.run, journal=journal, named_models={"": CountedModel()})
    with journal.lock(first.run), pytest.raises(RunLocked):
        await prepared.run_async()
    assert [row.id for row in journal.runs()] == [first.run]
    journal.delete_run(first.run)
    with pytest.raises(UnknownRun, match=f"{first.run} was deleted; run its suite anew"):
        await prepared.run_async()
    assert not journal.runs()


async def test_a_suite_under_way_has_a_status_and_a_report_so_far(
    tmp_path: Path, journal: Journal
) -> None:
    seen: list[str] = []
    live = Live()

    class Watched(CountedModel):
        async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
            reply = await super().ask(request, on_signal)
            if len(self.asked) == 30:
                await journal.flush()
                status = lab_status(None, journal=journal)
                seen.append(status.conclusion)
                assert status.running
                assert report_of(None, journal=journal).report.cells == status.progress.done
                assert live.lab is not None
                assert status.conclusion.endswith(live.lab.so_far)
                spent = live.lab.spent
                assert spent == replace(status.progress.spent, seconds=spent.seconds)
                assert spent.calls > 0
                watched = View(Live())
                read_new(journal, status.run, watched, working_time(status.run, journal=journal), 0)
                assert watched.live.lab is not None
                assert watched.live.lab[:4] == live.lab[:4]
                assert {*watched.live.calls} <= {*live.calls}
                (running,) = status.running
                cells = {each.name: each.number for each in live.cells.values()}
                assert running.run == cell_name(status.run, cells[running.name])
                assert f"{running.name} (" in str(status)
                assert watched.live.lab.spent == status.progress.spent
            return reply

    told: dict[str, Any] = {"on_event": View(live).on_event, "on_signal": live.on_signal}
    result = await run_suite(tmp_path, journal, model=Watched(), parallel=1, **told)
    assert "is live" in seen[0]
    status = lab_status(result.run, journal=journal)
    assert (status.progress.done, status.progress.left, status.running) == (CELLS, 0, ())
    plain = status.to_dict()
    assert (plain["cells"], plain["running"], plain["left"]) == (CELLS, [], 0)
    files = report_of(result.run, journal=journal).files()
    assert {"report.html", "report.md", "cells.csv", "comparisons.csv"} <= set(files)


async def test_a_cell_that_is_not_in_the_journal_is_not_done(
    tmp_path: Path, journal: Journal
) -> None:
    result = await run_suite(tmp_path, journal, SMALL)
    journal.delete_run(f"{result.run}.0002")
    status = lab_status(result.run, journal=journal)
    assert (status.progress.done, status.progress.missing, status.progress.left) == (3, 1, 0)
    assert "3 of 4 parts done, 1 not in this journal, 0 running, 0 left" in status.conclusion


async def test_what_a_suite_spent_that_was_added_to_counts_in_its_status(
    tmp_path: Path, journal: Journal
) -> None:
    model, live = CountedModel(), Live()
    text = SMALL + "add: {width: 0.01, repeats: 2}\n"
    first = await run_suite(tmp_path, journal, text, model=model)
    prepared = prepare_add(first.run, journal=journal, named_models={"": model})
    added = await prepared.run_async(on_event=View(live).on_event, on_signal=live.on_signal)
    status = lab_status(added.run, journal=journal)
    assert status.progress.spent.calls == len(model.asked) > added.calls
    assert live.lab is not None
    assert live.lab.spent.calls == status.progress.spent.calls
    again = recorded_live(added.run, journal)
    again.on_event(journal.events(added.run)[0].event)
    assert again.lab is not None
    assert again.lab.seconds >= status.progress.seconds
    assert status.base == first.run
    took = [working_time(run, journal=journal).seconds for run in (first.run, added.run)]
    assert status.progress.seconds == pytest.approx(sum(took))
    assert min(took) > 0


async def test_models_of_a_suite_cannot_be_exchanged_and_a_cell_is_left_to_it(
    tmp_path: Path, journal: Journal
) -> None:
    paused = await run_suite(tmp_path, journal, budget=Budget(calls=3))
    for changes in ({"model": "echo/other"}, {"passes": 1}, {"batch": True}):
        with pytest.raises(InvalidInput, match="only the budget can change"):
            await resume.aio(paused.run, journal=journal, **changes)
    paused = await run_suite(tmp_path, journal, SMALL, budget=Budget(calls=3))
    (cell,) = (each.id for each in journal.cells(paused.run) if not each.finished)
    with pytest.raises(InvalidInput, match=f"suite: `autoreason resume {paused.run}`"):
        await resume.aio(cell, journal=journal, model="echo/other", budget=Budget(calls=99))
    with pytest.raises(InvalidInput, match=f"suite: `autoreason stop {paused.run}`"):
        journal.command(cell, "stop")
    for command in ("accept", "guide"):
        with pytest.raises(InvalidInput, match=f"`autoreason fork {cell}` starts"):
            journal.command(cell, command)
    said = str(recorded_result(journal.row(cell), journal.story(cell), journal))
    assert said.endswith(f"Resume     autoreason resume {paused.run}")


async def test_what_a_tree_and_a_diagnosis_need_is_in_the_record_of_each_cell(
    tmp_path: Path, journal: Journal
) -> None:
    text = SUITE.replace("reviewers: 0}", "reviewers: 0, confirmation: 3}")
    result = await run_suite(tmp_path, journal, text, repeats=1)
    cells = [each.result for each in result.story.of(CellFinished) if "contest" in each.cell.arms]
    for cell in (each for each in cells if each.trajectory):
        story = journal.story(cell.run)
        assert [set(on) for on in cell.judged] == [set(p.ballots[0].order) for p in story.passes]
        assert cell.challengers == sum(len(p.candidates) + len(p.dropped) for p in story.passes)
        assert story.delivered is not None
        assert (cell.confirmed is None) == (story.text == story.incumbents[0].text)
        assert cell.kept_wording is not None
    assert {tree.task for tree in result.report.trees} == {"tides", "wind"}


@pytest.mark.parametrize("flag", ["pairwise", "equal_length"])
async def test_panels_may_be_in_pairs_or_at_equal_length(
    tmp_path: Path, journal: Journal, flag: str
) -> None:
    text = SUITE.replace("panel: {judges: 3}", f"panel: {{judges: 3, {flag}: true}}")
    result = await run_suite(tmp_path, journal, text)
    pair = result.report.pairs[0]
    assert pair.units + pair.missing == 4
    strategies = set()
    for row in journal.cells(result.run):
        settings = journal.settings(row.id)
        assert settings is not None
        strategies.add(settings.job.name)
        if isinstance(settings.job, Judge):
            assert bool(settings.job.cut_from) == (flag == "equal_length")
    assert ("judge_pairs" in strategies) == (flag == "pairwise")


@needs_jail
async def test_research_is_a_task_of_a_suite(tmp_path: Path, journal: Journal) -> None:
    write_knob(tmp_path)
    text = (
        "name: knobs\nseed: 1\ntasks: {knob: {research: task.md}}\nrepeats: 1\n"
        "arms:\n  race: {strategy: race, evaluations: 20, patience: 2}\n"
        "  greedy: {strategy: greedy, evaluations: 20, patience: 2}\n"
        "comparisons:\n  - {name: rules, question: Which, arms: [race, greedy], measure: value}\n"
    )
    reply = "HYPOTHESIS: more is better\nEXPECTED: +4\n\nknob.txt\n```\nknob = 5\n```\n"
    model = ScriptedModel({"author": reply})
    result = await run_suite(tmp_path, journal, text, model=model)
    assert result.status == "done"
    assert [each.means["value"] for each in result.report.arms] == [5.0, 5.0]


async def test_sets_of_problems_are_tasks_of_a_suite(tmp_path: Path, journal: Journal) -> None:
    problem = {"id": "double", "statement": "Double it.", "public_tests": [["2", "4"]]}
    lines = [json.dumps({**problem, "id": f"p{n}"}) for n in range(6)]
    (tmp_path / "set.jsonl").write_text("\n".join(lines))
    text = (
        "name: programs\nseed: 1\ntasks: {set: {problems: set.jsonl, limit: 6}}\nrepeats: 2\n"
        "arms:\n  single: {strategy: single, calls: 2}\n  search: {strategy: search, calls: 3}\n"
        "comparisons:\n  - {name: a, question: Which, arms: [search, single], measure: passed}\n"
    )
    model = ScriptedModel({"author": "```python\nprint(2 * int(input()))\n```"})
    result = await run_suite(tmp_path, journal, text, model=model)
    (pair,) = result.report.pairs
    assert (pair.first_mean, pair.second_mean) == (1.0, 1.0)
    assert (pair.units, pair.difference.n, result.report.clusters) == (12, 6, "task")
    assert (result.report.tasks, result.report.cells) == (6, 24), "a problem is a task"


async def test_a_provider_that_fails_pauses_the_suite_which_goes_on_later(
    tmp_path: Path, journal: Journal
) -> None:
    broken = True

    def fail(asked: int) -> None:
        if broken and asked == 15:
            raise ProviderFailed("the server is gone")

    model = CountedModel(fail)
    paused = await run_suite(tmp_path, journal, model=model)
    assert paused.status == "provider_failed"
    assert "the server is gone" in paused.reason
    assert f"{paused.run}." in paused.reason
    broken = False
    result = await _resume(journal, paused.run, model)
    whole = await run_suite(tmp_path, journal)
    assert result.report.pairs == whole.report.pairs
    assert len(model.asked) == whole.calls
