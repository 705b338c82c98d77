"""Advice from start to end: it says what judges and drafts are known to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.run.runs import lend
from tests.studies.advise.cast import (
    BRIEF,
    advised,
    blind,
    by_draft,
    by_grade,
    cast,
    keeps_draft,
    repeated,
)
from tests.studies.certify.judges import erratic, first_come, garbled

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.run.advice import advise_from, prepare_advise
from autoreason.run.export import export
from autoreason.run.fork import prepare_fork
from autoreason.run.replay import replay_async
from autoreason.run.resume import resume_async
from autoreason.settings import Models, make_settings
from autoreason.studies.advise.advice_job import conclude
from autoreason.studies.advise.judge_check import JudgeScore, check_questions
from autoreason.studies.advise.pick_test import PickTest
from autoreason.studies.advise.pilots import Pilot
from autoreason.task import Task


async def test_judges_who_prefer_the_result_end_in_run_it(journal: Journal) -> None:
    result = await advised(journal, cast(by_grade))
    report = result.report
    assert report.advice == "run it"
    assert report.command == f"autoreason fork {result.run}"
    assert [(each.judges, each.prefer) for each in report.pilots] == [(7, 7)] * len(report.pilots)
    assert 2 <= len(report.pilots) <= 4
    assert result.calls <= 150
    assert report.price
    assert "fresh judges prefer the result" in str(result)


async def test_the_command_goes_on_from_the_best_pilot(journal: Journal) -> None:
    result = await advised(journal, cast(by_grade), k=2)
    forked = prepare_fork(result.run, journal=journal)
    best = result.story.parts["repeat/1/pilot"].text
    assert (forked.task.draft, forked.settings.strategy) == (best, "autoreason")
    assert (forked.settings.k, forked.settings.strategy_options) == (2, {})
    assert result.text == best
    assert result.origin.startswith("pilot 1: pass ")
    model = cast(by_grade)
    whole = await forked.run_async(journal=journal, pool=lend(model))
    assert whole.finished
    assert journal.story(whole.run).forked_from == result.run


@pytest.mark.parametrize("seed", range(6))
async def test_judges_who_toss_coins_are_not_advised(journal: Journal, seed: int) -> None:
    result = await advised(journal, cast(erratic), seed=seed)
    assert result.report.advice in ("another judge", "undecided")


@pytest.mark.parametrize("seed", range(6))
async def test_judges_who_see_defects_and_no_difference_never_end_in_run_it(
    journal: Journal, seed: int
) -> None:
    result = await advised(journal, cast(blind), seed=seed, budget={"calls": 260})
    assert result.report.advice != "run it"


async def test_a_judge_that_goes_by_position_is_found_out_in_twenty_calls(
    journal: Journal,
) -> None:
    result = await advised(journal, cast(first_come))
    assert result.report.advice == "another judge"
    assert result.calls == 20
    assert "--judge-model OTHER" in result.report.command


async def test_a_judge_that_gives_no_ballot_is_to_be_replaced(journal: Journal) -> None:
    result = await advised(journal, cast(garbled))
    assert result.report.advice == "another judge"
    assert "can be read" in result.report.reason


async def test_drafts_that_are_alike_need_no_choice(journal: Journal) -> None:
    endings = set()
    for seed in range(2):
        result = await advised(
            journal, cast(keeps_draft, repeated), seed=seed, budget={"calls": 400}
        )
        report = result.report
        assert report.pick
        assert report.pick.alike
        assert all(each.note.startswith("no revision beat") for each in report.pilots)
        endings.add(report.advice)
    assert "one draft" in endings
    assert endings <= {"one draft", "best of n"}, "judges confirm a pick by chance"


async def test_where_judges_agree_on_drafts_and_a_run_gains_nothing_best_of_n_is_enough(
    journal: Journal,
) -> None:
    endings = set()
    for seed in (0, 1):
        result = await advised(journal, cast(by_draft), seed=seed, budget={"calls": 260})
        report = result.report
        assert report.pick
        assert report.pick.works
        endings.add(report.advice)
        if report.advice == "best of n":
            drafts = result.story.parts["repeat/1/drafts"]
            assert result.text == drafts.text
            assert report.command == f"autoreason show {result.run} --text"
            assert report.price
            assert report.price.calls == 11
    assert "best of n" in endings
    assert endings <= {"best of n", "undecided"}


async def test_a_draft_that_is_given_is_what_pilots_begin_from(journal: Journal) -> None:
    task = Task(brief="Write a note.", draft="Grade 1. The machine is here.")
    result = await advised(journal, cast(by_grade), task)
    assert result.report.advice == "run it"
    assert result.report.pick is None
    pilot = result.story.parts["repeat/1/pilot"]
    assert pilot.draft
    assert pilot.draft.given


async def test_calls_that_run_out_leave_it_undecided(journal: Journal) -> None:
    result = await advised(journal, cast(by_grade), budget={"calls": 60})
    assert (result.report.advice, result.status) == ("undecided", "done")
    assert result.calls <= 60
    again = await advised(journal, cast(by_grade), budget={"calls": 25})
    assert (again.report.advice, again.calls) == ("undecided", 20)


async def test_a_fact_needs_no_call(journal: Journal) -> None:
    result = await advised(journal, cast(by_grade), Task(brief="How many moons has Mars?"))
    assert (result.report.advice, result.calls) == ("one draft", 0)
    estimate = await prepare_advise("How many moons has Mars?", "echo/echo").estimate_async()
    assert estimate.calls
    assert tuple(estimate.calls) == (0, 0, 0)


async def test_a_brief_without_limits_is_warned_of_drift(journal: Journal) -> None:
    result = await advised(journal, cast(first_come))
    assert "drift" in str(result)
    limited = Task(brief="Write a note.", contract=Contract(max_words=90))
    assert "drift" not in str(await advised(journal, cast(first_come), limited))


async def test_advice_that_breaks_off_goes_on_without_asking_anything_twice(
    journal: Journal,
) -> None:
    whole = await advised(journal, cast(by_grade))
    for most in (7, 36, 70):
        paused = await advised(journal, cast(by_grade, most=most))
        assert paused.status == "provider_failed"
        recorded = set(journal.replies(paused.run))
        model = cast(by_grade)
        ended = await resume_async(paused.run, journal=journal, pool=lend(model))
        asked = [request.key for request in model.requests]
        assert recorded.isdisjoint(asked)
        assert len(recorded) + len(asked) == whole.calls
        assert (ended.text, ended.conclusion) == (whole.text, whole.conclusion)
        assert (await replay_async(ended.run, journal=journal)).difference is None


async def test_a_limit_below_the_short_certificate_is_refused(journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="at least 20"):
        await advised(journal, cast(by_grade), budget={"calls": 19})


@pytest.mark.parametrize(("limit", "calls"), [(20, 20), (39, 20), (40, 38), (91, 38)])
async def test_no_pilot_is_paid_for_that_could_decide_nothing(
    journal: Journal, limit: int, calls: int
) -> None:
    budget = {"calls": limit}
    result = await advised(journal, cast(by_grade), budget=budget)
    assert (result.report.advice, result.calls) == ("undecided", calls)
    assert "no pilot was run" in result.conclusion
    assert "--call-limit 92 is the least that can end otherwise" in str(result)
    estimate = await prepare_advise(BRIEF, "echo/echo", budget=budget).estimate_async()
    assert estimate.calls
    assert estimate.calls.likely == calls


SOUND = JudgeScore(valid=20, right=19, first=10)


@pytest.mark.parametrize(
    ("prefer", "distance", "votes", "ending"),
    [
        (4, 0.6, (7, 7), "run it"),
        (7, 0.6, (7, 4), "undecided"),
        (7, 0.6, (0, 0), "best of n"),
        (4, 0.1, (3, 3, 3, 3, 3), "one draft"),
        (4, 0.6, (3, 3, 3, 3, 3), "another judge"),
        (4, 0.6, (0, 0), "one draft"),
        (0, None, (0, 0), "one draft"),
    ],
)
def test_what_is_advised_follows_from_what_was_measured(
    prefer: int, distance: float | None, votes: tuple[int, ...], ending: str
) -> None:
    pick = PickTest(drafts=4, distance=distance, judges=7, prefer=prefer)
    pilots = tuple(Pilot(name="", judges=7, prefer=each) for each in votes)
    assert conclude(SOUND, pick, pilots)[0] == ending
    blind_judge = JudgeScore(valid=20, right=11, first=10)
    assert conclude(blind_judge, pick, pilots)[0] == "another judge"


async def test_the_dry_run_covers_what_it_takes(journal: Journal) -> None:
    for habit in (by_grade, first_come, by_draft):
        model = cast(habit)
        prepared = prepare_advise(BRIEF, model, seed=7, journal=journal, budget={"calls": 150})
        estimate = await prepared.estimate_async()
        result = await prepared.run_async()
        assert estimate.calls
        assert estimate.calls.low <= result.calls <= estimate.calls.high
        assert estimate.calls.likely <= 150


async def test_a_mixed_panel_takes_turns_in_the_short_certificate() -> None:
    models = Models(author="a/a", judges=("a/a", "b/b", "c/c"))
    questions = check_questions(make_settings(models, 7))
    assert [each.judge for each in questions] == [at for at in range(10) for _ in range(2)]
    assert len({each.stage for each in questions}) == 10
    first_shown = [each.order[0] for each in questions]
    assert first_shown.count("sound") == first_shown.count("spoiled") == 10


async def test_records_of_earlier_runs_say_it_for_nothing(journal: Journal) -> None:
    first = await advised(journal, cast(by_grade))
    second = await advised(journal, cast(by_grade), seed=8)
    report = advise_from([first.run, second.run], journal=journal)
    assert report.advice == "run it"
    assert len(report.pilots) == len(first.report.pilots) + len(second.report.pilots)
    with pytest.raises(InvalidInput, match="named twice"):
        advise_from([first.run, first.run], journal=journal)
    none = await advised(journal, cast(first_come))
    with pytest.raises(InvalidInput, match="no run named here says anything"):
        advise_from([none.run], journal=journal)
    report = advise_from([first.run, none.run], journal=journal)
    assert any(note.startswith(f"{none.run} is left out") for note in report.notes)


async def test_every_text_of_an_advice_is_exported(journal: Journal, tmp_path: Path) -> None:
    result = await advised(journal, cast(by_grade))
    files = {
        str(f.relative_to(tmp_path / "out"))
        for f in export(result.run, tmp_path / "out", journal=journal)
    }
    assert "repeat/1/pilot/final.md" in files
    assert "final.md" in files
