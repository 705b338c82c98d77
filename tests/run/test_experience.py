"""Experience: what earlier runs with the same models say about rounds, and when they say nothing."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.run.runs import scripted, start_run
from tests.studies.certify.judges import stored
from tests.tournament.stage import UNSEEN, vote

from autoreason.cli.announcement import announce
from autoreason.contract import Contract
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.run.experience import LEAST, PastRun, describe_experience, find_experience, kind_of
from autoreason.run.refine import refine
from autoreason.run.studies import advise_from
from autoreason.settings import Models, Settings, make_settings
from autoreason.studies.advice_measures import read_pilot
from autoreason.studies.certificate import LENGTH, write_certificate
from autoreason.task import Task

USUAL = make_settings(Models.everywhere("scripted/scripted"), 7)
SHORT = {"passes": 4, "review_every": 2, "reviewers": 3, "confirmation": 2}
NEWEST = [f"made in {number}" for number in (4, 3, 2, 1)]


def said(past: list[PastRun], settings: Settings = USUAL) -> str:
    return describe_experience(past, settings)


def test_runs_that_rose_to_their_end_are_worth_more_rounds() -> None:
    rising = [PastRun(0.7, 30, 30)] * 8
    sentence = "Your last 8 runs with these models were still rising at their last review: --rounds 50 may pay"
    assert said(rising) == sentence
    assert said(rising[: LEAST - 1]) == ""
    assert said(rising, replace(USUAL, passes=50)) == "", "as many are asked for"
    # The newest count most; and as many must rise as chance seldom gives.
    assert said([PastRun(-1, 30, 30)] * 3 + rising[:5]) == ""
    assert said([*rising, PastRun(0.1, 30, 30)]).startswith("Your last 9 runs")


def test_rounds_that_brought_nothing_in_most_runs_can_be_saved() -> None:
    early = [PastRun(0.1, 25, 9)] * 4 + [PastRun(-0.2, 30, 3)]
    had = "Your last 5 runs with these models had what they delivered after 9 rounds"
    assert said(early) == f"{had}: --rounds 10 may do"
    one_late = [*early, PastRun(0.3, 30, 28)]
    assert said(one_late).startswith("5 of your last 6 runs")
    assert said([*one_late, PastRun(0.3, 30, 28)]) == ""
    # Runs that ended there say nothing of what would have come.
    assert said([PastRun(0.1, 10, 9)] * 8) == ""
    assert "after the first round: --rounds 5" in said([PastRun(0.0, 25, 0)] * 5)


def test_a_text_is_a_line_a_list_or_a_text() -> None:
    texts = ("One line.", "- a\n- b\n\n- c", "1. a\n2) b", "A\n\nB")
    assert [kind_of(text).form for text in texts] == ["line", "list", "list", "text"]


async def rising_run(journal: Journal, *best: str, **changes: Any) -> str:
    model = scripted({"judge": vote(*best, *NEWEST)})
    result = await start_run(journal, model, changes=UNSEEN | SHORT | changes)
    return result.run


@pytest.mark.parametrize(
    ("best", "changes", "sentence"),
    [
        # Later texts are put above earlier ones, but one of the first above them all.
        ("made in 3", {}, "may pay"),
        ("made in 2", {}, "had what they delivered after 2 rounds: --rounds 2 may do"),
        ("made in 2", {"min_reviews": 2}, "had what they delivered after 2 rounds: --rounds 2"),
    ],
)
async def test_a_run_was_rising_where_a_limit_ended_it_with_a_new_text_first(
    journal: Journal, best: str, changes: dict[str, Any], sentence: str
) -> None:
    task, settings = Task(brief="Write a note."), replace(USUAL, passes=6, review_every=2)
    for _ in range(LEAST):
        await rising_run(journal, best, **changes)
    assert sentence in find_experience(journal, settings, task)[0]


async def test_judges_who_preferred_the_first_draft_count_against_such_a_run(
    journal: Journal,
) -> None:
    def judge(request: Request) -> str:
        return vote(*(["First"] if request.key.startswith("confirmation") else NEWEST))(request)

    options = UNSEEN | SHORT | {"confirmation": 9}
    result = await start_run(journal, scripted({"judge": judge}), changes=options)
    assert result.story.is_draft_preferred
    pilot = read_pilot("run", result.story)
    assert (pilot.judges, pilot.prefer) == (9, 0)


async def test_only_runs_with_the_same_models_and_of_the_same_kind_count(journal: Journal) -> None:
    task, settings = Task(brief="Write a note."), replace(USUAL, passes=4, review_every=2)
    runs = [await rising_run(journal) for _ in range(LEAST)]
    sentence = "Your last 5 runs with these models were still rising at their last review: --rounds 8 may pay"
    assert find_experience(journal, settings, task) == [sentence]
    assert sentence in advise_from(runs, journal=journal).notes
    options: dict[str, Any] = {"passes": 4, "review_every": 2, "journal": journal}
    prepared = refine.prepare(task, "scripted/scripted", **options)
    assert announce(prepared, named=True)[-1] == ("Before", sentence)
    for limit, found in ((8, [sentence]), (80, [])):
        limited = replace(task, contract=Contract(max_words=limit))
        assert find_experience(journal, settings, limited) == found
    another = "Another text, made of six words."
    assert find_experience(journal, settings, task, another) == [sentence]
    assert find_experience(journal, settings, task, "- a list\n- of two") == []
    for models in (
        Models.everywhere("scripted/other"),
        replace(settings.models, judges=("scripted/scripted", "scripted/other")),
    ):
        assert find_experience(journal, replace(settings, models=models), task) == []
    write_certificate(stored(settings.models.author, name=LENGTH.name))
    assert find_experience(journal, settings, task) == []
