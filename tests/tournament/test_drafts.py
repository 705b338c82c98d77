"""Where a run begins: one draft, or the best of several by contract first and judges second."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.stage import Answer, Played, document, play, shown_texts, vote

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.events import DraftFailed, DraftReady, DraftWritten, PanelDecided
from autoreason.exchange import Outcome, Reply, Request
from autoreason.run.estimate import estimate_run
from autoreason.settings import Budget, Models, make_settings
from autoreason.task import Task

SHORT = Contract(max_words=4)
LONG = document("First text of far too many words.")
REFUSED = Reply(outcome=Outcome.REFUSED, text="", model="scripted/x")


def number(request: Request) -> int:
    """Which draft a request is for."""
    step = request.key.split("/")
    return int(step[1]) if step[0] == "drafts" else 1


def keeping_from(first: int) -> Answer:
    """An author whose drafts keep the contract from this one on."""

    def write(request: Request) -> str:
        n = number(request)
        return document(f"Draft number {n}.") if n >= first else LONG

    return write


async def drafted(author: Answer, **more: Any) -> Played:
    """A run of one pass, whose challengers are no drafts."""
    script = {"author": author, **more.pop("script", {})}
    return await play(script, passes=1, rivals=False, **more)


async def test_a_first_draft_that_keeps_the_contract_is_the_only_one() -> None:
    played = await drafted(keeping_from(1), contract=SHORT)
    assert len(played.asked("author")) == 1
    assert not played.of(DraftWritten)
    (ready,) = played.of(DraftReady)
    assert (ready.number, ready.of) == (1, 1)


async def test_without_a_contract_there_is_one_draft() -> None:
    assert len((await drafted(LONG)).asked("author")) == 1


async def test_drafts_are_written_until_one_keeps_the_contract() -> None:
    played = await drafted(keeping_from(4), contract=SHORT)
    written = played.of(DraftWritten)
    assert [(each.number, bool(each.violations)) for each in written] == [
        (1, True),
        (2, True),
        (3, True),
        (4, False),
    ]
    (ready,) = played.of(DraftReady)
    assert (ready.text, ready.number, ready.of) == ("Draft number 4.", 4, 4)


async def test_drafts_are_independent_of_each_other() -> None:
    played = await drafted(keeping_from(3), contract=SHORT)
    first_tries = [each for each in played.asked("author") if each.key.endswith("try/0")]
    assert len(first_tries) == 3
    assert len({request.messages for request in first_tries}) == 1


async def test_where_none_keeps_it_the_run_begins_with_what_breaks_the_least() -> None:
    def write(request: Request) -> str:
        return document(
            "Far too many words here." if number(request) == 2 else "Very many words are here."
        )

    contract = Contract(max_words=4, must_not_include=("Very",))
    played = await drafted(write, contract=contract, max_drafts=3)
    (ready,) = played.of(DraftReady)
    assert (ready.number, ready.of, len(ready.violations)) == (2, 3, 1)


async def test_of_those_that_break_as_much_it_begins_with_the_nearest_to_the_length() -> None:
    def write(request: Request) -> str:
        return document("word " * (5 if number(request) == 2 else 50) + str(number(request)))

    played = await drafted(write, contract=SHORT, max_drafts=3)
    assert played.of(DraftReady)[0].number == 2


async def test_a_draft_that_never_came_is_none_of_them() -> None:
    script: dict[str, Answer] = {"drafts/2/try/0": REFUSED, "drafts/2/try/1": REFUSED}
    played = await drafted(keeping_from(2), script=script, contract=SHORT)
    assert [each.attempt for each in played.of(DraftFailed)] == [1]
    (ready,) = played.of(DraftReady)
    assert (ready.number, ready.of) == (3, 2)


async def test_of_several_drafts_that_keep_it_blind_judges_choose_one() -> None:
    played = await drafted(
        keeping_from(2), contract=SHORT, drafts=3, script={"judge": vote("number 3")}
    )
    (held,) = [each for each in played.of(PanelDecided) if each.stage == "drafts"]
    assert held.verdict is not None
    assert held.verdict.winner == "draft 3"
    judges = [each for each in played.asked("judge") if each.key.startswith("drafts/judge/")]
    assert len(judges) == 3
    for judge in judges:
        assert sorted(shown_texts(judge).values()) == [f"Draft number {n}." for n in (2, 3, 4)]
    assert played.of(DraftReady)[0].text == "Draft number 3."
    assert played.delivered is not None
    assert played.delivered.evidence.ballots >= 3


async def test_a_panel_of_drafts_that_fails_leaves_the_first_that_keeps_the_contract() -> None:
    dead: Answer = lambda request: (  # noqa: E731
        "?" if request.key.startswith("drafts/") else vote("Draft")(request)
    )
    played = await drafted(keeping_from(2), contract=SHORT, drafts=2, script={"judge": dead})
    assert played.of(DraftReady)[0].number == 2


async def test_drafts_that_are_the_same_need_no_judge() -> None:
    played = await drafted(document("The one text."), drafts=3)
    assert not [each for each in played.asked("judge") if each.key.startswith("drafts/")]
    assert played.of(DraftReady)[0].number == 1


async def test_a_draft_of_the_users_own_stands_alone() -> None:
    played = await drafted(keeping_from(1), draft="A draft of far too many words.", contract=SHORT)
    assert not played.asked("author")
    assert played.of(DraftReady)[0].given


async def test_the_paper_writes_one_draft() -> None:
    played = await drafted(LONG, contract=SHORT, protocol="paper", script={"critic": "Dull."})
    assert not [each for each in played.asked("author") if each.key.startswith("drafts/")]


async def test_another_draft_is_started_only_if_the_budget_pays_for_a_pass_and_the_end_too() -> (
    None
):
    played = await drafted(
        LONG,
        contract=SHORT,
        budget=Budget(calls=30),
        script={"drafts/3/budget": "2 of 30 calls were left"},
    )
    assert [each.number for each in played.of(DraftWritten)] == [1, 2]


async def test_an_estimate_knows_of_more_drafts_and_of_a_given_one() -> None:
    def high(task: Task, **changes: Any) -> Any:
        settings = make_settings(Models.everywhere("scripted/x"), 1, **changes)
        return estimate_run(task, settings)

    task = Task(brief="Write.", contract=SHORT)
    one, ten = await high(task, max_drafts=1), await high(task, max_drafts=10)
    assert ten.calls.high - one.calls.high == 9 * 4
    assert ten.calls.likely == one.calls.likely
    several = await high(task, drafts=3)
    assert several.calls.likely - one.calls.likely == 2 + 3
    given_one = Task(brief="Write.", draft="Text.", contract=SHORT)
    assert (await high(given_one, drafts=3)).calls == (await high(given_one, max_drafts=1)).calls


def test_at_most_as_many_drafts_as_a_judge_can_rank() -> None:
    with pytest.raises(InvalidInput, match="drafts"):
        make_settings(Models.everywhere("scripted/x"), 1, drafts=11)
    with pytest.raises(InvalidInput, match="max_drafts"):
        make_settings(Models.everywhere("scripted/x"), 1, drafts=3, max_drafts=2)


@given(kept=st.lists(st.booleans(), min_size=10, max_size=10), wanted=st.integers(1, 4))
async def test_no_more_drafts_are_written_than_it_takes(kept: list[bool], wanted: int) -> None:
    def write(request: Request) -> str:
        n = number(request)
        return document(f"Draft number {n}." if kept[n - 1] else f"Draft {n} is far too long.")

    played = await drafted(write, contract=SHORT, drafts=wanted)
    (ready,) = played.of(DraftReady)
    written = max(1, len(played.of(DraftWritten)))
    keepers = [n for n in range(1, written + 1) if kept[n - 1]]
    assert len(keepers) == wanted or written == 10
    assert (ready.number in keepers) == bool(keepers)
