"""Runs that write programs for a set: every problem by every strategy, scored, and nothing hidden shown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed
from tests.cli.solving import MadeUpClient, examiner
from tests.programs.stage import MadeUpExaminer, fenced, program
from tests.run.runs import lend, start_run
from tests.run.solve_runs import (
    NAMES,
    SCRIPT,
    number_of,
    problems,
    solve_one,
    solve_set,
    task,
    terms,
)
from tests.tournament.stage import cut_off

from autoreason.errors import AutoreasonError, InvalidInput, StrategyError
from autoreason.exchange import CallStarted, QueryEnded, QueryStarted, Reply, Request, Signal
from autoreason.job_types import Refine, Solve
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel, ScriptedModel
from autoreason.programs.events import ProgramExamined, program_files, solved_in
from autoreason.prompts import built_in
from autoreason.run.estimate import estimate_run
from autoreason.run.export import export
from autoreason.run.lab import PreparedLab
from autoreason.run.prepared import check
from autoreason.run.recorded import replay
from autoreason.run.solution import Solution
from autoreason.run.solve import assign, open_problems, prepare_solve
from autoreason.settings import Budget
from autoreason.task import Task

__all__ = ["examiner"]


async def test_strategies_draw_alike_on_a_problem_and_differ_only_in_what_they_do(
    journal: Journal,
) -> None:
    model = ScriptedModel(SCRIPT)
    await solve_set(journal, model, 2, ("single", "best_of_n"), repeats=2)
    first = [request for request in model.requests if request.key == "draft/try/0"]
    assert len(first) == 8
    assert len({request.seed for request in first}) == 4
    for seed in {request.seed for request in first}:
        one, other = (request for request in first if request.seed == seed)
        assert one.messages == other.messages


async def test_every_problem_is_worked_on_by_every_strategy(journal: Journal) -> None:
    result = await solve_set(journal, ScriptedModel(SCRIPT), repeats=2, width=4)
    assert result.status == "done"
    assert result.story.text is None
    expected = [f"{n}/{name}/{r}" for r in (1, 2) for n in (1, 2, 3) for name in NAMES]
    assert [unit.part for unit in result.solved] == expected
    assert [row.id for row in journal.runs()] == [result.run], "it is listed once"
    first = next(unit for unit in result.solved if unit.part == "1/single/1")
    assert (first.problem, first.difficulty) == ("sum-1", "easy")
    assert first.public
    assert first.private
    assert first.first
    assert (first.first.passed, first.public.passed, first.private.verdict) == (0, 3, "accepted")
    wrong = next(unit for unit in result.solved if unit.problem == "sum-2")
    assert wrong.private
    assert wrong.private.verdict == "wrong_answer"


async def test_examinations_are_recorded_and_count_as_no_calls(journal: Journal) -> None:
    signals: list[Signal] = []
    examiner = MadeUpExaminer()
    chosen = terms("single", {"budget": Budget(calls=4)})
    told: dict[str, Any] = {"examiner": examiner, "on_signal": signals.append}
    result = await solve_one(journal, ScriptedModel(SCRIPT), settings=chosen, **told)
    assert result.status == "done"
    (unit,) = solved_in(result.story)
    assert len(examiner.asked) == 5
    assert result.calls == unit.spent.calls == unit.attempts == 4
    assert journal.spent(result.run).calls == 4
    assert journal.find(result.run).spent.calls == 4
    stages = ["draft", "attempt/2", "attempt/3", "attempt/4"]
    keys = [call.request.key for call in journal.calls(result.run)]
    assert keys == [f"{stage}/try/0" for stage in stages]
    queries = [f"{stage}/examined" for stage in (*stages, "private")]
    assert list(journal.answers(result.run)) == queries
    assert len([each for each in signals if isinstance(each, CallStarted)]) == 4
    assert [each.key for each in signals if isinstance(each, QueryStarted)] == queries
    assert [each.key for each in signals if isinstance(each, QueryEnded)] == queries


async def test_without_a_sandbox_nothing_is_run_and_one_sentence_says_so(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise InvalidInput("there is no sandbox here; install one, or use --unsafe")

    monkeypatch.setattr("autoreason.programs.examiner.process.ExaminerClient.open", refuse)
    with pytest.raises(InvalidInput, match="no sandbox here"):
        await start_run(journal, ScriptedModel(SCRIPT), task=task(), settings=terms("single"))
    assert journal.runs()[0].status == "stopped"


async def test_tests_that_could_not_be_run_are_left_out_and_the_rest_goes_on(
    journal: Journal,
) -> None:
    def author(request: Request) -> str:
        if number_of(request) == 1:
            return fenced(program(99))
        return fenced(program(3, hidden="sandbox_error" if number_of(request) == 2 else "accepted"))

    result = await solve_set(journal, ScriptedModel({"author": author}), 3, ("single",))
    one, two, three = result.solved
    assert (one.status, one.program) == ("provider_failed", program(99))
    assert (one.public, one.private) == (None, None)
    assert "the public tests could not be run" in one.reason
    assert (two.status, two.private) == ("provider_failed", None)
    assert two.public
    assert "the private tests could not be run" in two.reason
    assert three.status == "converged"
    assert three.private


async def test_no_program_is_a_wrong_answer_but_no_whole_answer_is_no_result(
    journal: Journal,
) -> None:
    def author(request: Request) -> str | Reply:
        if number_of(request) == 1:
            return "I do not know."
        reply = cut_off("```python\nprint(")
        return reply(request) if callable(reply) else reply

    result = await solve_set(journal, ScriptedModel({"author": author}), 2, ("single",))
    silent, cut = result.solved
    assert silent.program is None
    with pytest.raises(AutoreasonError, match="has no program"):
        assert result.program
    assert silent.private
    assert (silent.private.verdict, silent.private.total, silent.status) == ("no_code", 4, "capped")
    assert silent.first
    assert silent.first.verdict == "no_code"
    assert (cut.program, cut.public, cut.private) == (None, None, None)
    assert cut.status == "provider_failed"
    assert "cut off" in cut.reason
    assert (silent.spent.calls, cut.spent.calls) == (6, 6)


async def test_problems_with_a_remark_are_not_worked_on(journal: Journal) -> None:
    one, two, three = problems(3)
    left_out = changed(one, remark="several answers are right")
    given = (left_out, two, three)
    result = await solve_set(journal, ScriptedModel(SCRIPT), given=given, strategies=("single",))
    assert [unit.problem for unit in result.solved] == ["sum-2", "sum-3"]
    # Who only wants programs need not wait for it.
    assert "final_report" not in vars(result)
    assert result.report.tasks == 2
    (left,) = result.report.left_out
    assert str(left) == "1 problem: several answers are right (sum-1)"


async def test_private_tests_are_run_once_for_the_score_and_never_shown(journal: Journal) -> None:
    examiner = MadeUpExaminer()
    result = await solve_set(journal, ScriptedModel(SCRIPT), 1, examiner=examiner)
    private = [each for each in examiner.asked if each.which == "private"]
    assert len(private) == len(NAMES)
    stories = [journal.story(row.id) for row in journal.cells(result.run)]
    examined = [event for story in stories for event in story.of(ProgramExamined)]
    assert {event.examined.which for event in examined} == {"public"}


async def test_before_anything_is_spent_calls_are_estimated_for_all_problems() -> None:
    names = ["single", "tournament"]
    prepared = assign(
        prepare_solve("echo/echo", strategy=names, repeats=2),
        *(MadeUpExaminer(), problems(3), {"set": "0" * 64}),
        strategy=names,
        repeats=2,
    )
    assert isinstance(prepared, PreparedLab)
    calls = prepared.plan().calls
    assert calls
    assert calls.low == 2 * 2 * 3
    assert calls.high == 2 * 6 * 2 * 3
    assert calls.low < calls.likely < calls.high
    estimate = await estimate_run(task(), terms("single"))
    assert estimate.request
    assert estimate.request.key == "draft/try/0"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strategies": ["autoreason"]}, "autoreason writes texts, not programs"),
        ({"strategies": ["nonsense"]}, "no strategy 'nonsense' for programs; there are search,"),
        ({"strategies": ["single", "single"]}, "one or several strategies"),
        ({"repeats": 0}, "`repeats` is 0; give a number from 1 to 100"),
        ({"width": 0}, "`width` is 0; give a number from 1"),
        ({"calls": 0}, "`calls` is 0"),
        ({"cals": 2}, "`cals`"),
    ],
)
async def test_terms_that_cannot_be_kept_are_refused(
    journal: Journal, options: Any, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        await solve_set(journal, EchoModel(), 2, **{"strategies": ("single",), **options})


async def test_problems_and_texts_are_not_mixed() -> None:
    pool = lend(ScriptedModel(SCRIPT))
    with pytest.raises(InvalidInput, match="single has no use for problems; leave them out"):
        await check(
            task(), changed(terms("single"), job=Refine(strategy="single")), pool, built_in()
        )
    with pytest.raises(InvalidInput, match="use `autoreason solve`"):
        await check(Task(brief="Write."), terms("single"), pool, built_in(writes="programs"))
    with pytest.raises(InvalidInput, match="no problem to solve"):
        assign(prepare_solve("echo/echo"), MadeUpExaminer(), (), {})


async def test_the_library_hands_the_program_and_its_verdicts_back(journal: Journal) -> None:
    own_prompts = journal.path.parent / "prompts"
    own_prompts.mkdir()
    (own_prompts / "author.md").write_text("Answer with Python.")
    model = ScriptedModel(SCRIPT)
    prepared = prepare_solve(model, strategy="best_of_n", journal=journal, prompts=own_prompts)
    prepared = assign(
        prepared, MadeUpExaminer(), problems(1), {"set": "0" * 64}, strategy="best_of_n"
    )
    found: Solution = await prepared.run_async()
    assert found.program
    assert found.public
    assert found.private
    assert found.private.verdict == "accepted"
    assert (found.calls, found.cost, found.level) == (4, Decimal(0), "none")
    assert model.requests[0].messages[-1].text == "Answer with Python."


async def test_a_run_over_problems_can_be_exported(journal: Journal) -> None:
    result = await solve_one(journal, ScriptedModel(SCRIPT))
    folder = journal.path.parent / "out"
    names = {str(path.relative_to(folder)) for path in export(result.run, folder, journal=journal)}
    assert set(program_files(solved_in(result.story))) <= names, "as in a report"
    assert "problems/sum_1.md" in names
    assert "final.md" not in names
    assert result.story.text == (folder / "final.py").read_text().rstrip("\n")


async def test_a_strategy_of_ones_own_writes_programs_too(journal: Journal) -> None:
    file = journal.path.parent / "own.py"
    file.write_text(
        "from autoreason.extend import ProgramStrategy\n"
        "class Twice(ProgramStrategy):\n"
        "    async def run(self):\n"
        "        await self.author()\n"
        "        return self.hand_in(await self.author())\n"
    )
    result = await solve_one(journal, ScriptedModel(SCRIPT), f"{file}:Twice")
    (unit,) = solved_in(result.story)
    assert (unit.strategy, unit.attempts) == ("own.py:Twice", 2)
    assert (await replay.aio(result.run, journal=journal)).same


async def test_a_strategy_of_ones_own_cannot_overstep_its_calls_either(journal: Journal) -> None:
    file = journal.path.parent / "greedy.py"
    file.write_text(
        "from autoreason.extend import ProgramStrategy\n"
        "class Greedy(ProgramStrategy):\n"
        "    async def run(self):\n"
        "        while True:\n"
        "            await self.author()\n"
    )
    greedy = terms(f"{file}:Greedy", calls=2)
    with pytest.raises(StrategyError, match="asks for more than its 2 calls"):
        await solve_one(journal, ScriptedModel(SCRIPT), settings=greedy)
    assert journal.spent(journal.runs()[0].id).calls == 2


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ({"ids": ["p2", "p3"]}, ["p2", "p3"]),
        ({"difficulty": "HARD"}, ["p1", "p3", "p5"]),
        ({"difficulty": "hard", "limit": 2}, ["p1", "p3"]),
        ({"limit": 99}, ["p1", "p2", "p3", "p4", "p5"]),
    ],
)
async def test_the_library_solves_some_problems_of_a_file(
    tmp_path: Path, examiner: type[MadeUpClient], chosen: Any, ids: list[str]
) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("5\nline 17: no statement")
    prepared = prepare_solve("echo/echo")
    limits: Any = {"test_time_limit": 2.5, "test_memory_limit": 128}
    async with open_problems(prepared, file, **chosen, **limits) as assigned:
        assert isinstance(assigned, PreparedLab)
        assert list(assigned.suite.tasks) == ids
        assert assigned.suite.broken == ("line 17: no statement",)
    assert (examiner.opened[0]["seconds"], examiner.opened[0]["memory_mb"]) == (2.5, 128)


def test_options_that_solve_would_override_and_limits_of_no_problem_are_refused() -> None:
    refused: list[tuple[str, Any, str]] = [
        *((each, 2, "") for each in ("passes", "reviewers", "confirmation", "drafts", "protocol")),
        ("style", "specialists", " is specialists; programs are judged reasoned or"),
        ("limit", 0, " is 0; give a number from 1"),
        ("test_time_limit", 61.0, " is 61; give up to 60 s"),
        ("test_memory_limit", 8, " is 8; give 16 to 4096 MB"),
    ]
    for name, value, said in refused:
        with pytest.raises(InvalidInput, match=f"`{name}`{said}"):
            prepare_solve("echo/echo", **{name: value})
    settings = prepare_solve("echo/echo", k=4, judges=5).settings
    assert (settings.job_as(Solve).k, settings.judges) == (4, 5)
