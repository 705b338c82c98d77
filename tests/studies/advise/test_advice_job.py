"""Advice: what follows from rules, from the judge and from pilots."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.run.runs import lend
from tests.studies.advise.cast import BRIEF, advised, blind, by_grade, cast, keeps_draft
from tests.studies.certify.judges import Habit, erratic, first_come, garbled

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.job_types import Refine
from autoreason.journal import Journal
from autoreason.run.export import export
from autoreason.run.recorded import fork, replay, resume
from autoreason.run.studies import advise, advise_from
from autoreason.settings import Models, make_settings
from autoreason.studies.advice_job import asks_for_fact, conclude, notes_on, run_calls
from autoreason.studies.advice_measures import Pilot, PilotFinished, check_questions, judge_findings
from autoreason.task import Task

FACTS = [
    "In which year was the telescope invented?",
    "How many moons has Mars?",
    "What is the capital of Mongolia?",
    "Who was the first woman on a board of this bank?",
    "what is the boiling point of ethanol?",
]
SHORT_QUESTIONS = [
    "Em que ano foi inventado o telescópio?",
    "¿Cuál es la capital de Mongolia?",
    "望远镜是哪一年发明的？",  # noqa: RUF001
    "متى اخترع التلسكوب؟",
    "В каком году изобрели телескоп?",  # noqa: RUF001
    "How should we price the product?",
    "What is the best way to tell a team that its project ends?",
    "Why did the launch fail?",
    "Which of our plans should we follow?",
]
OTHER_BRIEFS = [
    "Write a note about the new coffee machine.",
    "How many words make a good title? Write ten titles.",
    "When is it right to refactor?\n\nWrite an essay of two pages.",
    "What is the name of the game here, and what would you do about it if you were in my place now?",
    "Where do we go from here: a speech?",
    "Escreva uma carta de boas-vindas.",
    "写一封欢迎信。要写多长？",  # noqa: RUF001
    "اكتب رسالة ترحيب",
]


@cases("brief", [*FACTS, *SHORT_QUESTIONS, *OTHER_BRIEFS])
def test_short_questions_get_a_note_and_those_with_one_right_answer_ask_for_a_fact(
    brief: str,
) -> None:
    assert asks_for_fact(Task(brief=brief)) == (brief in FACTS)
    notes = "".join(notes_on(Task(brief=brief)))
    assert ("`--strategy single`" in notes) == (brief not in OTHER_BRIEFS)
    assert "max_words" in notes, "a brief without limits is warned of drift"


def test_a_brief_with_limits_or_a_draft_wants_a_text() -> None:
    question = "How many moons has Mars?"
    assert not asks_for_fact(Task(brief=question, contract=Contract(max_words=80)))
    assert not asks_for_fact(Task(brief=question, draft="Two."))
    assert notes_on(Task(brief="Write.", contract=Contract(max_words=80))) == []


@given(st.text(min_size=1, max_size=200))
def test_no_brief_that_asks_for_writing_is_a_fact(rest: str) -> None:
    assert not asks_for_fact(Task(brief=f"Write about this: {rest}"))


async def test_judges_who_prefer_the_result_end_in_run_it_from_the_best_pilot(
    journal: Journal, tmp_path: Path
) -> None:
    result = await advised(journal, cast(by_grade))
    report = result.report
    assert report.advice == "run it"
    assert report.command == f"autoreason fork {result.run}"
    assert [(each.judges, each.prefer) for each in report.pilots] == [(2, 2)] * 3
    assert result.calls == 4 + 3 * 5
    assert report.price
    assert "fresh judges prefer the result" in str(result)
    result = await advised(journal, cast(by_grade), k=2)
    forked = fork.prepare(result.run, journal=journal)
    best = result.story.of(PilotFinished)[0].text
    assert (forked.task.draft, forked.settings.job) == (best, Refine())
    assert forked.settings.k == 2
    assert forked.settings.budget.calls is None, "that limit was for the advice"
    assert result.text == best
    assert result.origin.startswith("pilot 1: pass ")
    model = cast(by_grade)
    whole = await forked.run_async(journal=journal, pool=lend(model))
    assert whole.finished
    assert journal.story(whole.run).forked_from == result.run
    files = {
        str(f.relative_to(tmp_path / "out"))
        for f in export(result.run, tmp_path / "out", journal=journal)
    }
    assert "pilot/1/final.md" in files
    assert "final.md" in files


@pytest.mark.parametrize("habit", [erratic, blind, by_grade, first_come, garbled, keeps_draft])
async def test_advice_takes_at_most_a_third_of_the_run_it_is_about(
    journal: Journal, habit: Habit
) -> None:
    for seed in (1, 2):
        result = await advised(journal, cast(habit), seed=seed)
        assert result.finished
        assert result.story.settings
        assert result.calls <= run_calls(result.story.settings) / 3
        assert habit is not blind or result.report.advice != "run it"


async def test_a_judge_that_goes_by_position_or_gives_no_ballot_is_to_be_replaced(
    journal: Journal,
) -> None:
    result = await advised(journal, cast(first_come))
    assert result.report.advice == "another judge"
    assert result.calls == 18
    assert "swapped order" in result.report.reason
    assert "--judge-model OTHER" in result.report.command
    result = await advised(journal, cast(garbled))
    assert result.report.advice == "another judge"
    assert "valid ballots (0 of 4" in result.report.reason


async def test_revisions_that_judges_like_less_end_in_one_draft(journal: Journal) -> None:
    result = await advised(journal, cast(keeps_draft))
    report = result.report
    assert report.advice == "one draft"
    assert result.text == result.story.of(PilotFinished)[0].draft
    assert report.command == f"autoreason show {result.run} --text"
    assert "was not measured" in str(result)


async def test_a_draft_that_is_given_is_what_pilots_begin_from(journal: Journal) -> None:
    free = Contract(keep=())
    task = Task(brief="Write a note.", draft="Grade 1. The machine is here.", contract=free)
    result = await advised(journal, cast(by_grade), task)
    assert result.report.advice == "run it"
    assert result.story.of(PilotFinished)[0].draft == task.draft


async def test_a_fact_needs_no_call_and_of_a_short_run_it_is_said_what_pilots_cost(
    journal: Journal,
) -> None:
    result = await advised(journal, cast(by_grade), passes=3)
    assert (result.report.advice, result.status, result.calls) == ("undecided", "done", 0)
    assert "pilots that can decide take 21 calls, and the run itself about 23" in result.conclusion
    assert result.report.command == "autoreason run BRIEF -m scripted/scripted"
    result = await advised(journal, cast(by_grade), Task(brief="How many moons has Mars?"))
    assert (result.report.advice, result.calls) == ("one draft", 0)
    estimate = advise.prepare("How many moons has Mars?", "echo/echo").estimate()
    assert estimate.calls
    assert tuple(estimate.calls) == (0, 0, 0)


async def test_advice_that_breaks_off_goes_on_without_asking_anything_twice(
    journal: Journal,
) -> None:
    whole = await advised(journal, cast(by_grade))
    for most in (3, 15):
        paused = await advised(journal, cast(by_grade, most=most))
        assert paused.status == "provider_failed"
        recorded = set(journal.replies(paused.run))
        model = cast(by_grade)
        ended = await resume.aio(paused.run, journal=journal, pool=lend(model))
        asked = [request.key for request in model.requests]
        assert recorded.isdisjoint(asked)
        assert len(recorded) + len(asked) == whole.calls
        assert (ended.text, ended.conclusion) == (whole.text, whole.conclusion)
        assert (await replay.aio(ended.run, journal=journal)).difference is None


async def test_a_limit_below_what_can_decide_is_refused(journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="at least 21"):
        await advised(journal, cast(by_grade), budget={"calls": 20})
    least = await advised(journal, cast(by_grade), budget={"calls": 21})
    assert least.report.advice == "run it"


SOUND = judge_findings(((True, True),) * 2, (True,) * 4)


@pytest.mark.parametrize(
    ("votes", "ending"),
    [
        ((2, 2, 2), "run it"),
        ((2, 2), "undecided"),
        ((2, 1, 2), "undecided"),
        ((0, 1, 1), "one draft"),
        ((), "undecided"),
    ],
)
def test_what_is_advised_follows_from_what_was_measured(
    votes: tuple[int, ...], ending: str
) -> None:
    pilots = tuple(Pilot(name="", judges=2, prefer=each) for each in votes)
    assert conclude(SOUND, pilots)[0] == ending
    silent = Pilot(name="failed", judges=0, prefer=0)
    assert conclude(SOUND, (*pilots, silent))[0] == ending
    blind_judge = judge_findings(((False, False),) * 9, (True,) * 18)
    assert conclude(blind_judge, pilots)[0] == "another judge"


async def test_the_dry_run_covers_what_it_takes(journal: Journal) -> None:
    for habit in (by_grade, first_come, keeps_draft):
        model = cast(habit)
        prepared = advise.prepare(BRIEF, model, seed=7, journal=journal)
        estimate = prepared.estimate()
        result = await prepared.run_async()
        assert estimate.calls
        assert estimate.calls.low <= result.calls <= estimate.calls.high
        assert estimate.calls.likely < estimate.calls.high == 36


async def test_a_mixed_panel_takes_turns_in_the_short_certificate() -> None:
    models = Models(author="a/a", judges=("a/a", "b/b", "c/c"))
    questions = check_questions(make_settings(models, 7))
    assert [each.judge for each in questions] == [at for at in range(9) for _ in range(2)]
    assert len({each.stage for each in questions}) == 9
    first_shown = [each.order[0] for each in questions]
    assert first_shown.count("sound") == first_shown.count("spoiled") == 9


async def test_records_of_earlier_runs_say_it_for_nothing(journal: Journal) -> None:
    first = await advised(journal, cast(by_grade))
    second = await advised(journal, cast(by_grade), seed=8)
    report = advise_from([first.run, second.run], journal=journal)
    assert report.advice == "run it"
    assert len(report.pilots) == len(first.report.pilots) + len(second.report.pilots)
    with pytest.raises(InvalidInput, match="named twice"):
        advise_from([first.run, first.run], journal=journal)
    none = await advised(journal, cast(first_come))
    with pytest.raises(InvalidInput, match="no run here says anything"):
        advise_from([none.run], journal=journal)
    report = advise_from([first.run, none.run], journal=journal)
    assert any(note.startswith(f"{none.run} is left out") for note in report.notes)
