"""Research from Python: a function or a saved evaluator measures, and a run can be left and taken up anywhere."""

from __future__ import annotations

import asyncio
import random
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from time import sleep
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.artifacts.evaluating import needs_jail
from tests.artifacts.knob import Meter, knob_of, research_settings, research_task, turning
from tests.run.suites import write_knob

from autoreason.artifacts import command_jail
from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    EvaluationService,
    Measurement,
    OrderQuery,
    Orders,
)
from autoreason.artifacts.research_history import NoiseMeasured, TrialDecided
from autoreason.artifacts.research_job import ResearchJob
from autoreason.errors import InvalidInput, ProviderFailed, UnusableStart
from autoreason.events import AnyEvent, JobFinished
from autoreason.exchange import Query, Request
from autoreason.files import data_folder
from autoreason.jobs.context import JobContext
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.programs.sandbox import levels
from autoreason.programs.sandbox.levels import DetectedLevel
from autoreason.prompts import built_in
from autoreason.run.estimate import DryRun
from autoreason.run.prepared import reported_result
from autoreason.run.record import recorded_result
from autoreason.run.recorded import fork, replay, resume
from autoreason.run.research import research
from autoreason.run.research_result import ResearchResult
from autoreason.run.result import StopSwitch
from autoreason.run.studies import compare_rules

pytestmark = pytest.mark.usefixtures("evaluator_here")


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_knob(Path())
    return Path("task.md")


def measure(folder: Path, seed: int, items: list[Any]) -> float:
    del seed, items
    return knob_of((folder / "knob.txt").read_text())


def saved() -> list[Path]:
    return list((data_folder() / "evaluations").glob("*.msgpack"))


def up(most: int = 3) -> ScriptedModel:
    """A proposer that turns the knob up a few times and then down."""
    return turning(lambda number: 1.0 if number <= most else -1.0 / number)


def stopped_early(task: Path, **options: Any) -> Any:
    """A run that was stopped once the noise was measured."""
    switch = StopSwitch()

    def stop(event: object) -> None:
        if isinstance(event, NoiseMeasured):
            switch.stop()

    options = {"evaluations": 30, "patience": 3, "seed": 3, **options}
    result = research(task, up(), on_event=stop, stop_switch=switch, **options)
    assert result.status == "stopped"
    return result


def test_a_function_measures_and_the_result_has_files_patch_and_gain(task: Path) -> None:
    result = research(task, up(), evaluate=measure, evaluations=30, patience=3)
    assert result.files == {"knob.txt": "knob = 3.000000\n"}
    assert result.patch.startswith("diff --git a/knob.txt b/knob.txt\n")
    assert "-knob = 0\n+knob = 3.000000\n" in result.patch
    assert result.gain
    assert result.gain.gain == 3.0
    assert result.improved
    assert result.conclusion.startswith("result against start on fresh evaluations +3, the same")
    assert result.report.noise
    assert result.report.noise.level == "caller"
    assert Path("knob.txt").read_text() == "knob = 0\n"


async def test_in_an_event_loop_a_command_or_function_of_a_file_takes_the_place_of_the_tasks(
    task: Path,
) -> None:
    ten_times = task.with_name("evaluate.py").read_text().replace("float(", "10 * float(")
    task.with_name("other.py").write_text(ten_times)
    result = await research.aio(
        task, up(), evaluate="other.py:score", evaluations=30, patience=3, journal="other.db"
    )
    assert result.gain
    assert result.gain.gain == 30.0


def test_the_evaluator_is_saved_when_the_run_starts_and_not_before(task: Path) -> None:
    prepared = research.prepare(task, up(), evaluations=30)
    assert prepared.estimate().calls
    assert not saved()
    with pytest.raises(KeyboardInterrupt):
        prepared.run(on_ready=Mock(side_effect=KeyboardInterrupt))
    assert not saved()
    prepared.run()
    assert len(saved()) == 1


def test_a_run_with_a_saved_evaluator_is_resumed_without_the_tasks_folder(task: Path) -> None:
    result = stopped_early(task)
    assert "no gain is claimed" in result.conclusion
    for path in (task, Path("evaluate.py"), Path("knob.txt")):
        path.unlink()
    whole = resume(result.run, model=up())
    assert isinstance(whole, ResearchResult)
    assert whole.improved
    assert replay(whole.run).same


def test_a_run_that_a_function_measures_is_resumed_with_it_and_only_from_python(task: Path) -> None:
    result = stopped_early(task, evaluate=measure)
    with pytest.raises(InvalidInput, match=r"measured by a Python function.*evaluate=function"):
        resume(result.run, model=up())
    whole = resume(result.run, model=up(), evaluate=measure)
    assert whole.status == "done"
    assert replay(whole.run).same
    with Journal.open(None, create=False) as journal:
        row = journal.find(whole.run)
        report = reported_result(recorded_result(row, journal.story(row.id), journal), journal)
    assert isinstance(report, ResearchResult)
    assert report.files == {"knob.txt": "knob = 3.000000\n"}


def test_sealed_items_are_counted_as_opened_and_a_second_run_says_so(task: Path) -> None:
    Path("items.txt").write_text("\n".join(map(str, range(20))))
    Path("sealed.txt").write_text("\n".join(map(str, range(100, 120))))
    text = task.read_text().replace("---\nTurn", "items: items.txt\nsealed: sealed.txt\n---\nTurn")
    task.write_text(text)

    def score(folder: Path, seed: int, items: list[Any]) -> float:
        return measure(folder, seed, items) + sum(map(int, items)) / 1000

    first = research(task, up(), evaluate=score, evaluations=30, patience=3)
    assert first.report.end
    assert first.report.end.sealed
    assert "on sealed items" in first.conclusion
    assert "opened" not in first.conclusion
    assert research.prepare(task, up(), evaluate=score).notes[0].endswith("opened once before")
    second = research(task, up(), evaluate=score, evaluations=30, patience=3)
    assert "the sealed set has been opened 2 times" in second.conclusion
    with Journal.open(None, create=False) as journal:
        assert not re.search(r"\b100\b", str(journal.story(second.run).task))


def test_a_fork_starts_from_the_result_with_the_same_evaluator(task: Path) -> None:
    result = research(task, up(), evaluations=30, patience=3)
    task.unlink()
    forked = fork.prepare(result.run, model=up(2))
    work: Any = forked.task.work
    assert work.files == result.files
    again = forked.run()
    assert isinstance(again, ResearchResult)
    assert again.status == "done"
    start = f"the start of this fork, which is the result of {result.run}"
    assert again.conclusion.startswith(f"result against {start}, on fresh evaluations +2")
    assert "+2" in again.report.test
    shown = " ".join(str(again).split())
    assert f"of {result.run}; gains are against its result; the patch leads from the start" in shown
    assert again.to_dict()["patch"] == again.patch
    unchanged = fork.prepare(result.run, model=up(0), evaluations=20, patience=1).run()
    assert isinstance(unchanged, ResearchResult)
    assert unchanged.patch == result.patch
    assert f"no change was kept, so the result is {start};" in unchanged.conclusion
    with pytest.raises(InvalidInput, match="has no rounds"):
        fork.prepare(result.run, 2)


def test_a_run_that_a_function_measures_is_forked_with_that_function(task: Path) -> None:
    result = research(task, up(), evaluate=measure, evaluations=30, patience=3)
    with pytest.raises(InvalidInput, match=rf'fork\("{result.run}", evaluate=function\)'):
        fork(result, model=up())
    forked = fork(result, model=up(2), evaluate=measure)
    assert isinstance(forked, ResearchResult)
    assert forked.files == {"knob.txt": "knob = 5.000000\n"}
    assert forked.gain
    assert forked.gain.gain == 2.0
    assert replay(forked.run).same
    saved_one = research(task, up(), evaluations=30, patience=3)
    with pytest.raises(InvalidInput, match="needs no `evaluate`"):
        fork(saved_one, evaluate=measure)


def test_a_function_without_a_number_and_judge_models_without_use_are_named(task: Path) -> None:
    with pytest.raises(UnusableStart, match="gave no number") as refused:
        research(task, up(), evaluate=lambda *_: "none")
    assert "research check" not in str(refused.value)
    unused = "the judge models are not asked: the task has no `judge`"
    assert unused in research.prepare(task, up(), judge_models=["echo/echo"]).notes
    task.write_text(task.read_text().replace("---\nTurn", "judge: the shorter one\n---\nTurn"))
    assert unused not in research.prepare(task, up(), judge_models=["echo/echo"]).notes
    assert unused not in research.prepare(task, up()).notes


def test_one_prepared_run_is_run_in_several_event_loops(task: Path) -> None:
    def slow(folder: Path, seed: int, items: list[Any]) -> float:
        sleep(0.002)
        return measure(folder, seed, items)

    prepared = research.prepare(
        task, up(), evaluate=slow, evaluations=30, patience=3, parallel=2, seed=1
    )
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(prepared.run) for _ in range(2)]
        results = [each.result() for each in running]
    results.append(prepared.run())
    assert [each.status for each in results] == ["done"] * 3
    assert len({each.run for each in results}) == 3


def test_a_person_accepts_the_incumbent_without_an_end_test(task: Path) -> None:
    def slow(folder: Path, seed: int, items: list[Any]) -> float:
        sleep(0.1 if names and knob_of((folder / "knob.txt").read_text()) > 3 else 0)
        return measure(folder, seed, items)

    prepared = research.prepare(task, up(20), evaluate=slow, evaluations=60)
    names: list[str] = []

    def accept(event: object) -> None:
        if getattr(event, "number", 0) == 3:
            with Journal.open(None, create=False) as journal:
                journal.command(names[0], "accept")

    result = prepared.run(on_started=names.append, on_event=accept)
    assert result.status == "accepted"
    assert "accepted by a person before the end test, so no gain is claimed" in result.conclusion
    assert isinstance(result.story.end, JobFinished)
    assert isinstance(result, ResearchResult)
    assert knob_of(result.files["knob.txt"]) >= 3
    assert replay(result.run).same


def test_guidance_reaches_the_next_proposal(task: Path) -> None:
    model = up(3)
    names: list[str] = []

    def guide(event: object) -> None:
        if getattr(event, "number", 0) == 1:
            with Journal.open(None, create=False) as journal:
                journal.command(names[0], "guide", "try the left side")

    told: dict[str, Any] = {"on_started": names.append, "on_event": guide}
    research(task, model, evaluate=measure, evaluations=30, patience=3, **told)
    guided = [each.key for each in model.requests if "try the left side" in str(each.messages)]
    assert guided == ["trial/2/proposer/try/0"]


class Broken:
    """An evaluator that fails so many times in a row."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    async def measure(self, evaluation: Evaluation) -> Measurement:
        del evaluation
        self.left -= 1
        if self.left >= 0:
            return Measurement(outcome=EvaluationOutcome.EVALUATOR_ERROR, detail="no jail")
        return Measurement(outcome=EvaluationOutcome.OK, value=1.0)


async def test_what_could_not_be_measured_is_no_result_and_three_times_pause_the_run() -> None:
    query = EvaluationQuery(key="start/0", evaluation=Evaluation(files={"a": ""}, seed=1))
    found = await EvaluationService(Broken(2)).answer(query)
    assert found.value == 1.0
    with pytest.raises(ProviderFailed, match=r"3 times in a row \(no jail\)"):
        await EvaluationService(Broken(3)).answer(query)


class Silent:
    """An evaluator that has a number for one evaluation only, by its seed."""

    async def measure(self, evaluation: Evaluation) -> Measurement:
        if evaluation.seed == 3:
            return Measurement(outcome=EvaluationOutcome.OK, value=1.0)
        return Measurement(outcome=EvaluationOutcome.INVALID, detail="it is not a number")


async def test_a_metric_without_a_number_so_many_times_in_a_row_pauses_the_run() -> None:
    evaluations = [
        EvaluationQuery(key=f"metric/{seed}", evaluation=Evaluation(files={"a": ""}, seed=seed))
        for seed in range(7)
    ]
    service, research = EvaluationService(Silent(), max_without=3), EvaluationService(Silent())
    for evaluation in evaluations:
        assert await research.answer(evaluation)
    for evaluation in evaluations[1:6]:
        assert await service.answer(evaluation)
    with pytest.raises(ProviderFailed, match=r"no number 3 times in a row.*it is not a number"):
        await service.answer(evaluations[6])


def test_a_dry_run_says_what_evaluations_are_for_and_shows_the_first_prompt(task: Path) -> None:
    task.write_text(task.read_text().replace("---\nTurn", 'guard: {size: "<= 5"}\n---\nTurn'))
    prepared = research.prepare(task, "echo/echo", evaluations=200)
    text = DryRun(prepared.task, prepared.settings, prepared.estimate()).to_text()
    shown = " ".join(text.split())
    assert "200: 5 for the noise floor, 163 for proposals, 16 for the playoff, 16 for" in shown
    assert "1.6 times the spread of one evaluation, which the end test shows four times" in shown
    assert "with 0 for what will be measured" in text
    assert "knob = 0" in text
    assert not saved()


def test_the_judges_of_a_task_that_has_some_are_in_the_estimate(task: Path) -> None:
    alone = research.prepare(task, "echo/echo").estimate().calls
    task.write_text(task.read_text().replace("---\nTurn", "judge: the simpler one\n---\nTurn"))
    judged = research.prepare(task, "echo/echo").estimate().calls
    fewer = research.prepare(task, "echo/echo", judges=2).estimate().calls
    rules = compare_rules.prepare(task, "echo/echo", rules=["race", "greedy"]).plan().calls
    assert alone
    assert judged
    assert fewer
    assert rules
    assert judged.low == alone.low
    assert alone.likely < fewer.likely < judged.likely < rules.likely
    assert alone.high < fewer.high < judged.high < rules.high


async def test_a_dry_run_may_measure_the_noise(task: Path) -> None:
    seeds = []

    def noisy(folder: Path, seed: int, items: list[Any]) -> float:
        seeds.append(seed)
        return measure(folder, seed, items) + seed % 7

    prepared = research.prepare(task, "echo/echo", evaluate=noisy, evaluations=100)
    noise, request = await prepared.measure_start_async()
    assert len(seeds) == 5
    estimate = prepared.estimate()
    text = DryRun(prepared.task, prepared.settings, estimate, noise=noise).to_text()
    assert "5 evaluations of the start: score" in text
    assert "with 0 for what will be measured" not in text
    assert any("one evaluation varies by" in each.text for each in request.messages)
    assert "No model was called and no run was recorded" in text


@pytest.mark.parametrize(
    ("items", "least"),
    [
        ({}, "unknown: no noise was seen yet"),
        ({"items": 9, "sealed": 8}, "unknown until the end test opens the sealed items"),
        ({"items": 9, "per_evaluation": 2, "sealed": 8}, "unknown: no noise was seen yet"),
    ],
)
def test_a_dry_run_promises_no_gain_of_items_that_it_has_not_seen(
    items: dict[str, int], least: str
) -> None:
    work = research_task(**items)
    drawn = "per_evaluation" in items
    noise = NoiseMeasured(values=(1.0, 1.0, 1.0), spread=0.0, seconds=1.0, drawn=drawn)
    estimate = research.prepare(research_task(), "echo/echo", evaluate=measure).estimate()
    text = DryRun(work, research_settings(), estimate, noise=noise).to_text()
    assert f"least gain {least}" in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"evaluations": 5}, "evaluations"),
        ({"rule": "islands"}, "rule"),
        ({"parallel": 0}, "parallel"),
        ({"passes": 3}, "unknown option `passes`"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(
    task: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        research(task, up(), **options)
    assert not data_folder().exists() or not list(data_folder().iterdir())


@pytest.mark.parametrize("evaluate", ["evaluate.py:score", "python evaluate.py"])
def test_a_missing_sandbox_is_noticed_before_anything_is_written_or_asked(
    task: Path, monkeypatch: pytest.MonkeyPatch, evaluate: str
) -> None:
    missing = DetectedLevel("none", ("no bubblewrap here: install it",))
    monkeypatch.setattr(levels, "find_level", lambda *_: missing)
    monkeypatch.setattr(command_jail, "jail_problem", lambda: "no bubblewrap here: install it")
    model = up()
    with pytest.raises(InvalidInput, match=r"no bubblewrap here: install it.*`unsafe`"):
        research(task, model, evaluate=evaluate, evaluations=30)
    assert not model.requests
    assert not data_folder().exists() or not list(data_folder().iterdir())
    assert research(task, model, evaluate=measure, evaluations=30, patience=2).finished


@pytest.mark.parametrize("parallel", [1, 4])
def test_every_evaluation_is_charged_once_also_of_races_that_share_an_incumbent_or_are_run_again(
    task: Path, parallel: int
) -> None:
    evaluations = []

    def noisy(folder: Path, seed: int, items: list[Any]) -> float:
        evaluations.append(seed)
        sleep(random.Random(len(evaluations)).random() / 200)
        return measure(folder, seed, items) + random.Random(seed).gauss(0, 0.5)

    result = research(
        task, turning(lambda _: 0.4), evaluate=noisy, evaluations=100, parallel=parallel, seed=5
    )
    assert result.report.evaluations == len(evaluations) <= 100
    assert replay(result.run).same


IMPORTING = """
import os, sys
sys.path.insert(0, os.environ["AUTOREASON_ARTIFACT"])
import knob
print(knob.value(), file=open(int(os.environ["AUTOREASON_RESULT"]), "w"))
"""
CHEAT = """\
HYPOTHESIS: write the score
EXPECTED: +100

knob.py
```
import os
os.write(int(os.environ["AUTOREASON_RESULT"]), b"100")
os._exit(0)
```
"""


@needs_jail
def test_no_run_begins_whose_artifact_could_write_its_own_score(task: Path) -> None:
    Path("knob.py").write_text("def value():\n    return 1\n")
    Path("import.py").write_text(IMPORTING)
    task.write_text("---\nartifact: knob.py\nevaluate: python import.py\n---\nTurn the knob.\n")
    model = ScriptedModel({"author": CHEAT})
    beside = r"knob.py could write its own score, in Python, beside the evaluator: run it with"
    with pytest.raises(InvalidInput, match=beside):
        research(task, model, evaluations=30, patience=2)
    assert not model.requests


@needs_jail
def test_a_run_whose_artifact_no_attack_is_written_for_begins_and_says_so(task: Path) -> None:
    Path("knob.lua").write_text("1\n")
    Path("read.sh").write_text('cat "$AUTOREASON_ARTIFACT/knob.lua" >&3\n')
    task.write_text("---\nartifact: knob.lua\nevaluate: sh read.sh\n---\nTurn the knob.\n")
    model = ScriptedModel({"author": "HYPOTHESIS: more\n\nknob.lua\n```\n2\n```\n"})
    result = research(task, model, evaluations=30, patience=2)
    assert "the evaluator was not checked: the artifact may have" in result.conclusion


PROMPTS = built_in(writes="files")
FRAGMENTS = (
    *("HYPOTHESIS:", "EXPECTED: +1", "knob.txt", "../knob.txt", "/etc/passwd", "REMOVE knob.txt"),
    *("```", "````", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "knob = 1", "crash", ""),
)
RUBBISH = st.lists(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=8).map("\n".join),
    min_size=1,
    max_size=6,
)


async def test_two_runs_on_one_task_at_once_do_not_disturb_each_other(task: Path) -> None:
    both = await asyncio.gather(
        *(research.aio(task, up(), evaluations=30, patience=3, seed=seed) for seed in (1, 2))
    )
    assert [each.status for each in both] == ["done", "done"]
    assert [each.gain.gain for each in both if each.gain] == [3.0, 3.0]
    assert len(saved()) == 1
    assert len({each.run for each in both}) == 2


class TolerantMeter(Meter):
    """A meter for which an artifact without a knob fails."""

    def measure(self, evaluation: Evaluation) -> Measurement:
        if set(evaluation.files) == {"knob.txt"} and "knob = " in evaluation.files["knob.txt"]:
            return super().measure(evaluation)
        return Measurement(outcome=EvaluationOutcome.FAILED, detail="no knob")


@settings(max_examples=30, deadline=None)
@given(replies=RUBBISH)
def test_a_proposer_that_writes_rubbish_costs_trials_and_nothing_else(replies: list[str]) -> None:
    meter, orders, events = TolerantMeter(best=5), Orders(), list[AnyEvent]()
    answers = cycle(replies)
    model = ScriptedModel(lambda _: next(answers))

    async def ask(asked: Request | Query[Any]) -> Any:
        match asked:
            case Request():
                return await model.ask(asked)
            case EvaluationQuery():
                return await meter.answer(asked)
            case OrderQuery():
                return orders.answer(asked)
        return ""

    terms = research_settings(evaluations=20, patience=4)
    context = JobContext(research_task(), terms, PROMPTS, ask, events.append)
    end = asyncio.run(ResearchJob(context).run())
    assert end.status == "done"
    changed = {path for each in events if isinstance(each, TrialDecided) for path in each.changes}
    assert changed <= {"knob.txt"}
    assert all(set(evaluation.files) <= {"knob.txt"} for _, evaluation in meter.evaluations)


def test_a_run_that_goes_on_is_measured_by_the_evaluator_it_started_with(task: Path) -> None:
    first = stopped_early(task)
    Path("evaluate.py").write_text("def score(artifact):\n    return 1e9\n")
    whole = resume(first.run, model=up())
    assert isinstance(whole, ResearchResult)
    assert whole.gain
    assert whole.gain.gain == 3.0
    assert replay(whole.run).same


def test_a_saved_evaluator_that_was_tampered_with_measures_nothing(task: Path) -> None:
    first = stopped_early(task)
    (file,) = saved()
    body = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(body.replace(b"float(", b"hash (", 1))
    assert file.read_bytes() != body
    with pytest.raises(InvalidInput, match="was changed; remove it and start again"):
        resume(first.run, model=up())
