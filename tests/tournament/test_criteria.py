"""Criteria in the user's words: who sees them, how judges grade by them, and what a critic reads after a split vote."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tournament.stage import (
    CONTESTS,
    UNSEEN,
    Played,
    document,
    grade,
    play,
    shown_texts,
    vote,
)

from autoreason.events import BallotCast, CritiqueWritten, Delivered
from autoreason.exchange import Request
from autoreason.parsing.ballots import rank_by_grades
from autoreason.story import build_story
from autoreason.tournament.judges import neutral_labels
from autoreason.tournament.rounds import describe_split
from autoreason.tournament.statements import ballot

CRITERIA = ("accurate", "sounds like us: short sentences")
NAMES = ("accurate", "sounds like us")
KEYS = ("accurate_1", "sounds_like_us_2")
ONE: dict[str, Any] = {"passes": 1, "k": 1, "early_stop": False, "reviewers": 0, "confirmation": 0}
PROBLEM = {"severity": "major", "kind": "missing", "quote": "", "problem": "It lacks an example."}


def prompts(played: Played, role: str) -> list[str]:
    return ["\n".join(part.text for part in each.messages) for each in played.asked(role)]


async def test_every_role_sees_the_criteria_and_a_critic_says_which_one_a_problem_belongs_to() -> (
    None
):
    named = json.dumps({"problems": [PROBLEM | {"criterion": "Sounds like us"}]})
    played = await play({"critic": named}, criteria=CRITERIA, **ONE)
    for role in ("author", "critic", "reviser", "synthesizer", "judge"):
        assert all("- sounds like us: short sentences" in each for each in prompts(played, role))
    assert "accurate; sounds like us" in prompts(played, "judge")[0]
    (found,) = played.of(CritiqueWritten)[0].problems
    assert found.criterion == "sounds like us"
    assert "It lacks an example. [sounds like us]" in prompts(played, "reviser")[0]
    schema = played.asked("critic")[0].schema
    assert schema
    of_problem = schema.definition["properties"]["problems"]["items"]["properties"]
    assert of_problem["criterion"]["enum"] == [*NAMES, ""]


async def test_without_criteria_no_request_says_a_word_of_them() -> None:
    played = await play({"judge": split_judge(["First", "Second", "Third"])}, passes=3)
    assert len(played.asked("critic")) > 1
    for request in played.requests:
        assert "criteri" not in request.messages[-1].text
        assert "criteri" not in repr(request.schema)


# ---- grades ------------------------------------------------------------------------------------


GRADES = {"First": (14, 9), "Second": (10, 15), "Third": (3, 4)}


async def test_the_ranking_follows_from_the_sum_of_grades_which_are_recorded() -> None:
    script = {"judge": grade(GRADES, *KEYS)}
    played = await play(script, criteria=CRITERIA, ballot="graded", **ONE)
    for cast in played.of(BallotCast):
        assert cast.ranking == ("B", "A", "AB")
        assert cast.grades == {"A": (14.0, 9.0), "B": (10.0, 15.0), "AB": (3.0, 4.0)}
        assert "B > A > AB (grades: B 10 15, A 14 9, AB 3 4)" in ballot(cast)
    assert played.decided[0].winner == "B"
    whole = {word: marks[:1] for word, marks in GRADES.items()}
    played = await play({"judge": grade(whole)}, ballot="graded", **ONE)
    assert {cast.ranking for cast in played.of(BallotCast)} == {("A", "B", "AB")}
    assert "from 1, of no use, to 20" in prompts(played, "judge")[0]


async def test_judges_who_grade_see_the_texts_in_the_order_of_judges_who_rank() -> None:
    ranked = await play(**ONE)
    graded = await play({"judge": grade(GRADES, *KEYS)}, criteria=CRITERIA, ballot="graded", **ONE)
    shown = [[shown_texts(each) for each in run.asked("judge")] for run in (ranked, graded)]
    assert shown[0] == shown[1]


async def test_who_does_not_grade_every_text_is_asked_once_more_and_then_replaced() -> None:
    def judge(request: Request) -> str:
        if request.key.startswith("pass/1/judge/0/"):
            return "RANKING: " + " > ".join(shown_texts(request))
        return grade(GRADES, *KEYS)(request)

    played = await play({"judge": judge}, criteria=CRITERIA, ballot="graded", **ONE)
    first, *others = played.of(BallotCast)
    assert (first.ranking, first.asked, first.grades) == (None, 4, {})
    assert all(each.ranking and each.asked == 1 for each in others)
    asked = [each for each in played.asked("judge") if each.key.endswith("/try/1")]
    assert asked
    for again in asked:
        said = again.messages[-1].text
        assert said.startswith("That does not give a grade from 1 to 20 for each of")
        assert re.search(r"^[A-Z]{2}_sounds_like_us_2: \?$", said, re.MULTILINE)


@given(st.integers(2, 6), st.integers(0, 2**32))
@settings(derandomize=True, max_examples=20)
def test_equal_grades_favour_no_text_and_no_position(texts: int, seed: int) -> None:
    rng, firsts = random.Random(seed), Counter[int]()
    for _ in range(300):
        labels = neutral_labels(texts, rng)
        ranking = rank_by_grades(dict.fromkeys(labels, (10.0,)))
        assert sorted(ranking) == sorted(labels)
        firsts[labels.index(ranking[0])] += 1
    expected = 300 / texts
    assert all(abs(firsts[at] - expected) < 5 * expected**0.5 for at in range(texts))


# ---- where judges split ------------------------------------------------------------------------


def split_judge(*rankings: list[str]) -> Any:
    """Judges who rank by turns, each with a reason for every text and one that compares two."""

    def judge(request: Request) -> str:
        seat = int(request.key.split("/judge/")[1].split("/")[0])
        answer = json.loads(vote(*rankings[seat % len(rankings)])(request))
        labels = answer["ranking"].split(" > ")
        said = [f"{labels[0]} is better than {labels[-1]}."]
        said += [f"Text {label} is number {at}." for at, label in enumerate(labels, 1)]
        return json.dumps(answer | {"reasoning": " ".join(said)})

    return judge


SPLIT = (["First", "Second", "Third"], ["Second", "Third", "First"], ["Third", "First", "Second"])
READERS = re.compile(r"<<<READERS (\w+)>>>\n(.*?)\n<<<END READERS \1>>>", re.DOTALL)


async def test_after_a_split_vote_the_next_critic_reads_one_judge_on_each_side() -> None:
    played = await play({"judge": split_judge(*SPLIT)}, passes=2, reviewers=0)
    first, second, *_ = prompts(played, "critic")
    assert not READERS.search(first)
    (said,) = [found[1] for found in READERS.findall(second)]
    assert said == "Put it first: [This text] is number 1.\nPut it lower: [This text] is number 3."
    labels = {label for cast in played.of(BallotCast) for label in cast.labels}
    assert not re.findall(rf"\b(?:{'|'.join(labels)})\b", second)
    # Neither the author nor a judge reads it.
    assert not any(
        "READERS" in each for role in ("reviser", "judge") for each in prompts(played, role)
    )


async def test_after_a_clear_vote_nothing_is_said_of_judges() -> None:
    two_of_three = split_judge(SPLIT[1], SPLIT[1], ["Third", "Second", "First"])
    played = await play({"judge": two_of_three}, passes=2, reviewers=0)
    assert not any(READERS.search(each) for each in prompts(played, "critic"))


async def test_critics_of_the_published_procedure_hear_nothing_of_judges() -> None:
    played = await play({"judge": split_judge(*SPLIT)}, passes=2, protocol="paper")
    assert len(prompts(played, "critic")) > 1
    assert not any("number 1" in each for each in prompts(played, "critic"))


async def test_a_split_review_is_told_where_the_passes_have_no_vote() -> None:
    script = {"judge": split_judge(["in 2."], ["First"], ["in 1."])}
    reviews = UNSEEN | {"passes": 3, "review_every": 2, "reviewers": 7, "max_growth": 100.0}
    played = await play(script, **reviews)
    said = [bool(READERS.search(each)) for each in prompts(played, "critic")]
    assert said == [False, False, True]


async def told(draft: str, revision: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who won the one vote, in which three of five judges like what is fine, and what is said of that."""
    likes = split_judge(["Fine"], ["Fine"], ["Fine"], ["Dull"], ["Dull"])
    script = {"reviser": document(revision), "judge": likes}
    changes = ONE | {"judges": 5, "candidates": "B"}
    played = await play(script, draft=draft, **changes)
    story = build_story([each for each in played.events if not isinstance(each, Delivered)])
    return story.trajectory, describe_split(story)


async def test_what_a_critic_reads_is_the_same_whether_its_text_was_the_incumbent_or_won() -> None:
    said = ("[This text] is number 1.", "[This text] is number 2.")
    assert await told("Fine text.", "Dull text.") == (("A",), said)
    assert await told("Dull text.", "Fine text.") == (("B",), said)


async def test_judges_who_saw_the_first_draft_as_a_reference_are_not_quoted() -> None:
    played = await play({"judge": split_judge(*SPLIT)}, passes=3, style="anchored", reviewers=0)
    by_pass = [bool(READERS.search(each)) for each in prompts(played, "critic")]
    anchored = {each.stage for each in played.of(BallotCast) if each.anchored}
    quoted = {f"pass/{number}" for number, said in enumerate(by_pass) if said}
    assert not anchored & quoted


@pytest.mark.parametrize("protocol", ["robust", "paper"])
async def test_a_run_with_criteria_and_grades_takes_the_same_calls_as_without(
    protocol: str,
) -> None:
    script = {"judge": grade(GRADES, *KEYS)}
    changes: dict[str, Any] = {"passes": 2} if protocol == "paper" else CONTESTS | {"passes": 2}
    graded = await play(script, criteria=CRITERIA, ballot="graded", protocol=protocol, **changes)
    ranked = await play({"judge": vote("Second", "First", "Third")}, protocol=protocol, **changes)
    assert [each.key for each in graded.requests] == [each.key for each in ranked.requests]
