"""The results of runs, for the caller."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cli import made_up
from tests.run.runs import scripted, start_run
from tests.run.solve_runs import SCRIPT, solve_set
from tests.tournament.stage import UNSEEN, critique

from autoreason.errors import AutoreasonError, BudgetReached
from autoreason.events import PassDecided, RunPaused
from autoreason.exchange import Spent
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.report.table import lay_out
from autoreason.run.result import Result
from autoreason.run.solution import Solution
from autoreason.settings import Budget
from autoreason.story import Story, build_story
from autoreason.tournament.statements import passes_table

SLOTS = st.sampled_from(["A", "B", "AB", None])


def result(story: Story | None = None, **changes: object) -> Result:
    story = story or build_story(made_up.whole_run())
    fields: dict[str, object] = {
        "run": "amber-fox",
        "status": story.status,
        "reason": story.reason,
        "spent": Spent(calls=40, input=9000, output=3000),
        "story": story,
        "seconds": 192.0,
    }
    return Result(**(fields | changes))  # type: ignore[arg-type]


def test_it_concludes_how_the_run_ended_and_shows_the_evidence() -> None:
    found = result()
    rows = dict(found.sections()[0].sentences)
    assert found.sentence.startswith("Converged: ")
    assert rows["Took"] == "40 calls, 12,000 tokens, $0.00, 3 min 12 s"
    assert {"Passes", "Text", "Survival", "Confirmation", "Contract", "More"} <= rows.keys()


def test_a_run_that_paused_says_how_to_go_on() -> None:
    story = build_story(made_up.whole_run())
    story.apply(RunPaused(status="budget", reason="$1 is spent", limit="cost"))
    paused = result(story)
    rows = dict(paused.sections()[0].sentences)
    assert paused.conclusion == "paused at the budget: $1 is spent"
    assert rows["Resume"] == "autoreason resume amber-fox --cost-limit 2.2"
    assert "--text" in dict(paused.next_steps())["More"]
    labels = [label for label, _ in paused.sections()[0].sentences]
    assert len(labels) == len(set(labels))


def test_only_a_run_that_has_ended_has_a_delivered_text_and_what_it_lacks_is_refused() -> None:
    story = build_story(made_up.whole_run())
    assert result(story).delivered_text == story.text
    story.apply(RunPaused(status="budget", reason="$1 is spent", limit="cost"))
    assert result(story).text == story.text
    with pytest.raises(BudgetReached, match="has no delivered text yet"):
        assert result(story).delivered_text
    opened = made_up.whole_run()[:1]
    paused = RunPaused(status="budget", reason="$1 is spent", limit="cost")
    story = build_story([*opened, paused])
    found = result(story)
    for read in (lambda: found.text, lambda: found.evidence):
        said = r"has no (text|evidence) yet \(paused at"
        with pytest.raises(BudgetReached, match=said) as raised:
            read()
        assert raised.value.limit == "cost"
    assert found.to_dict()["text"] is None
    with pytest.raises(AutoreasonError, match="has no text"):
        assert result(build_story(opened), status="running", reason="killed").text


def test_programs_get_what_every_run_has_and_the_text_with_its_evidence() -> None:
    fields = result().to_dict()
    assert list(fields) == [
        *("conclusion", "summary", "run", "status", "reason", "calls", "tokens", "cost", "seed"),
        *("ended_by", "text", "alternatives", "criteria", "origin", "passes", "evidence"),
        *("violations", "undecided", "not_from_you"),
    ]


@given(st.lists(st.sampled_from(["A", "B", "AB", "?"]), min_size=1, max_size=1000))
def test_however_many_passes_there_were_they_are_one_line(won: list[str]) -> None:
    class Long(Story):
        trajectory = tuple(won)

    shown = dict(result(Long(**vars(build_story(made_up.whole_run()))))._summary())["Passes"]
    assert len(lay_out([("Passes", shown)], 80)) == 1
    assert shown.startswith(f"{len(won)}, won by ")


@given(st.lists(SLOTS, min_size=1, max_size=60))
def test_every_pass_is_a_row(winners: list[str | None]) -> None:
    first = build_story(made_up.whole_run()).passes[0].decided
    assert first is not None
    passes: list[PassDecided] = [
        replace(first, number=at, winner=winner, verdict=first.verdict if at % 3 else None)
        for at, winner in enumerate(winners, 1)
    ]
    assert [row[0] for row in passes_table(passes).rows] == [str(each.number) for each in passes]


async def test_only_where_texts_were_written_they_are_said_to_be_accepted(
    journal: Journal,
) -> None:
    for critic, said in ((critique("It is dull."), "new texts accepted"), (critique(), "no new")):
        written = scripted({"critic": critic})
        ended = await start_run(journal, written, changes=UNSEEN | {"passes": 2})
        assert dict(ended._summary())["Passes"].startswith(f"2, {said}")


async def test_what_was_spent_is_known_by_role_and_adds_up(journal: Journal) -> None:
    found = await start_run(journal, scripted())
    assert {"author", "critic", "judge"} <= found.spent_by_role.keys()
    assert reduce(Spent.joined, found.spent_by_role.values()).calls == found.spent.calls


async def solve(journal: Journal, problems: int, *strategies: str, **options: Any) -> Solution:
    return await solve_set(journal, ScriptedModel(SCRIPT), problems, strategies, width=1, **options)


async def test_one_problem_ends_with_its_tests_and_its_program(journal: Journal) -> None:
    found = await solve(journal, 1, "best_of_n")
    assert found.is_single
    assert found.conclusion == found.to_text().splitlines()[0].rstrip(".")
    assert found.conclusion.startswith("Solved: ")
    for label in ("Attempts", "Public", "Private", "Sandbox", "Took", "More"):
        assert f"\n{label} " in found.to_text()
    fields = found.to_dict()
    assert fields["program"] == found.program
    assert fields["private"]["verdict"] == "accepted"
    assert "report" not in fields


async def test_a_set_ends_with_its_tables_and_has_them_on_its_page(journal: Journal) -> None:
    found = await solve(journal, 2, "single", "best_of_n")
    assert not found.is_single
    assert found.conclusion == found.report.conclusion
    assert found.to_text().index("Comparisons") < found.to_text().index("Took ")
    assert "program" not in found.to_dict()
    assert "Which passes the tests of more problems?" in found.to_html()


async def test_a_set_that_paused_says_so_and_has_no_report_yet(journal: Journal) -> None:
    found = await solve(journal, 2, "best_of_n", budget=Budget(calls=5))
    assert (found.status, len(found.solved)) == ("budget", 1)
    assert found.conclusion.startswith("paused at the budget: ")
    with pytest.raises(BudgetReached):
        _ = found.report
    assert "autoreason resume" in found.to_text()
    assert not found.unsolved, "it is not finished"
