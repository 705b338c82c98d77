"""Panels over finished texts: what may be compared, ranked at once or in pairs."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.run.leaving import Breaking, left_after_every_call
from tests.run.runs import go_on, settings, start_run
from tests.tournament.stage import play, shown_texts, vote

from autoreason.contract import Contract, count_words
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import BallotCast, PanelDecided
from autoreason.exchange import Request
from autoreason.job_types import AnyJob, Judge, JudgePairs, Rejudge
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.prompts import built_in
from autoreason.report.numbers import listed
from autoreason.run.prepared import check
from autoreason.run.recorded import replay
from autoreason.settings import Models
from autoreason.studies.panel_jobs import (
    cut,
    cut_to_equal_length,
    make_entries,
    pair_verdict,
    votes,
)
from autoreason.studies.panel_report import CountedBallot, panel_report, report
from autoreason.task import Task
from autoreason.tournament.voting import from_scores


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({}, "2 to 10 texts, not 0; give 2 more"),
        ({"a": "One."}, "2 to 10 texts, not 1; give 1 more"),
        ({str(n): f"Text {n}." for n in range(11)}, "2 to 10 texts, not 11; leave out 1"),
        ({"a": "A text. Of two.", "b": "No.", "c": " A text.\nOf  two."}, "a and c are the same"),
        ({"a.md": "Something.", "b.md": " \n\t "}, "b.md is empty"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(texts: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        make_entries(texts)


def test_entries_keep_names_texts_and_order_and_differ_once_cut() -> None:
    texts = {f"{number}.md": f"Text number {number}." for number in range(10)}
    entries = make_entries(texts)
    assert [(entry.name, entry.text) for entry in entries] == list(texts.items())
    with pytest.raises(InvalidInput, match="begin alike"):
        make_entries({"a": "One two.", "b": "One two. And more."}, equal_length=True)


_LAYOUT = "# Title\n\nFirst line here.\n\n- one item\n- two items\n\nThe rest goes on. And on."
_BLOCK = "```python\nx = 1. \ny = 2\n```"


@pytest.mark.parametrize(
    ("text", "words", "kept"),
    [
        (_LAYOUT, 6, "# Title\n\nFirst line here.\n\n- one item"),
        (_LAYOUT, 4, "# Title\n\nFirst line here."),
        (_LAYOUT, 100, _LAYOUT),
        ("# A long title\n\nThe first sentence. More.", 2, "# A long title\n\nThe first sentence."),
        ("First. Second one.\n\n## Next part\n\nMore words here.", 6, "First. Second one."),
        (f"Do this.\n\n{_BLOCK}\n\nThen that.", 5, "Do this."),
        (f"Do.\n\n{_BLOCK}\n\nThen that. And more.", 8, f"Do.\n\n{_BLOCK}\n\nThen that."),
        (f"{_BLOCK}\n\nThen that.", 2, _BLOCK),
        ("Go.\n\n```\n~~~\n```\n\nAnd on. And on.", 3, "Go.\n\n```\n~~~\n```\n\nAnd on."),
    ],
)
def test_a_cut_keeps_layout_and_ends_with_a_sentence_or_a_whole_block(
    text: str, words: int, kept: str
) -> None:
    assert cut(text, words) == kept


_words = st.lists(
    st.sampled_from(["tide", "boat", "e.g.", "3.14", "and", "“so”"]), min_size=1, max_size=6
)
_sentences = st.builds(
    lambda words, end: " ".join(words) + end,
    _words,
    st.sampled_from([".", "!", "?", "…", '."', ""]),
)
_paragraphs = st.lists(_sentences, min_size=1, max_size=4).map(" ".join)
_blocks = st.one_of(
    _paragraphs,
    _words.map(lambda words: "## " + " ".join(words)),
    _sentences.map(lambda line: f"- {line}\n- {line}"),
    st.tuples(st.sampled_from(["```", "~~~", "```python"]), _paragraphs).map(
        lambda made: f"{made[0]}\n{made[1]}\n{made[0][:3]}"
    ),
)
_texts = st.lists(_blocks, min_size=1, max_size=8).map("\n\n".join)


def fences(text: str) -> int:
    return sum(line.lstrip().startswith(("```", "~~~")) for line in text.splitlines())


@given(_texts, st.integers(min_value=0, max_value=60))
@example("```\na. b\n```\n\nc", 1)
@example("# a\n\nb c d. e", 1)
def test_a_cut_text_is_a_tidy_beginning_of_the_whole(text: str, most: int) -> None:
    kept = cut(text, most)
    whole = text.strip()
    assert whole.startswith(kept)
    assert kept
    rest = whole[len(kept) :]
    assert not rest or rest[0].isspace()
    assert not rest or rest.lstrip(" \t")[0] == "\n" or re.search(r"[.!?…][\"'”’)\]*_]*\Z", kept)
    assert fences(kept) % 2 == 0
    assert count_words(kept) <= most or kept == cut(text, 0), (
        "up to a sentence, or the end of the block it opens"
    )
    last = kept.splitlines()[-1]
    only_headings = all(line.startswith("#") or not line for line in whole.splitlines())
    assert only_headings or not rest or not last.startswith("#")


@given(st.dictionaries(st.sampled_from("abcdef"), _texts, min_size=2))
def test_no_text_is_longer_than_the_shortest_unless_its_beginning_is(given: dict[str, str]) -> None:
    shortest = min(count_words(text) for text in given.values())
    for name, kept in cut_to_equal_length(given).items():
        assert count_words(kept) <= shortest or kept == cut(given[name], 0)


def test_of_all_lengths_the_one_at_which_texts_differ_least_is_taken() -> None:
    long = "One two three four five six. Seven eight nine ten. Eleven twelve."
    short = "One two three four. Five six seven eight nine ten. Eleven."
    cut = cut_to_equal_length({"long": long, "short": short})
    assert {name: len(text.split()) for name, text in cut.items()} == {"long": 10, "short": 10}


TEXTS = {
    "incumbent-final.md": "Alpha is the first of them.",
    "rival.md": "Beta is another one.",
    "draft-v1.md": "Gamma is the last.",
}
ENTRIES = make_entries(TEXTS)
TASK = Task(brief="Write one sentence.", entries=ENTRIES)
JUDGING: dict[str, Any] = {"judge": vote("Beta", "Alpha", "Gamma")}
DEAD: dict[str, Any] = {"judge": "I would rather not say."}


async def test_every_judge_sees_every_text_under_labels_of_its_own() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=6)
    judges = played.asked("judge")
    assert len(judges) == len(played.requests) == 6
    for judge in judges:
        assert sorted(shown_texts(judge).values()) == sorted(TEXTS.values())
        output = " ".join(message.text for message in judge.messages)
        assert "Write one sentence." in judge.messages[1].text
        assert not any(name in output or name.removesuffix(".md") in output for name in TEXTS)
    assert len({tuple(shown_texts(judge)) for judge in judges}) > 1
    assert played.end is not None
    assert (played.end.status, played.end.origin) == ("done", "rival.md")
    assert played.end.text == TEXTS["rival.md"]
    verdict = played.of(PanelDecided)[0].verdict
    assert verdict is not None
    assert verdict.scores == {"rival.md": 18, "incumbent-final.md": 12, "draft-v1.md": 6}


@pytest.mark.parametrize("count", [2, 4])
async def test_every_text_stands_in_every_place_equally_often(count: int) -> None:
    entries = make_entries({f"{n}": f"Text number {n} here." for n in range(count)})
    played = await play(JUDGING, entries=entries, job=Judge(), judges=2 * count)
    orders = [ballot.order for ballot in played.of(BallotCast)]
    for place in range(count):
        assert set(Counter(order[place] for order in orders).values()) == {2}


@pytest.mark.parametrize("job", [Judge(), JudgePairs()])
async def test_left_after_any_call_a_panel_ends_the_same(journal: Journal, job: AnyJob) -> None:
    chosen = settings(job=job, judges=2)
    ended = await left_after_every_call(journal, TASK, chosen, JUDGING)
    assert ended.origin == "rival.md"


@pytest.mark.parametrize(
    ("job", "said"), [(Judge(), "1 of 6 rankings"), (JudgePairs(), "3 of 18 judges")]
)
async def test_too_few_judges_who_can_be_read_decide_nothing(job: AnyJob, said: str) -> None:
    def mostly_mute(request: Request) -> str:
        seats = ("/judge/0/", "/judge/1/") if isinstance(job, JudgePairs) else ("/judge/0/",)
        return vote("Beta")(request) if any(seat in request.key for seat in seats) else "No."

    played = await play({"judge": mostly_mute}, entries=ENTRIES, job=job, judges=6)
    assert isinstance(played.interruption, PanelFailed)
    assert said in str(played.interruption)


@pytest.mark.parametrize(("job", "models"), [(Judge(), "abcab"), (JudgePairs(), "aabbccaabb")])
async def test_a_mixed_panel_takes_its_models_in_turn_and_both_orders_by_one(
    job: AnyJob, models: str
) -> None:
    mixed = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/a", "m/b", "m/c"))
    played = await play(JUDGING, entries=ENTRIES, job=job, judges=5, models=mixed)
    stages = {ballot.stage for ballot in played.of(BallotCast)}
    for stage in stages:
        asked = [ballot.model for ballot in played.of(BallotCast) if ballot.stage == stage]
        assert asked == [f"m/{name}" for name in models]


async def test_dead_judges_pause_the_panel_and_others_may_take_their_place(
    journal: Journal,
) -> None:
    paused = await start_run(
        journal, Breaking(DEAD), task=TASK, settings=settings(job=Judge(), judges=3)
    )
    assert paused.status == "panel_failed"
    assert "0 of 3 rankings could be read" in paused.reason

    again = await hold_on(journal, paused.run, DEAD)
    assert again.status == "panel_failed"
    assert again.calls == 2 * paused.calls

    result = await hold_on(journal, paused.run, JUDGING)
    assert (result.status, result.origin) == ("done", "rival.md")
    assert result.calls == 2 * paused.calls + 3
    report = panel_report(result.story)
    assert (report.ballots, report.standings[0].name) == (3, "rival.md")
    assert (await replay.aio(result.run, journal=journal)).same


async def hold_on(journal: Journal, run: str, script: dict[str, Any]) -> Any:
    """Go on, and see that nothing is asked twice."""
    before = set(journal.replies(run))
    model = Breaking(script)
    result = await go_on(journal, run, model)
    assert not before & set(model.asked)
    return result


@pytest.mark.parametrize("job", [Judge(), JudgePairs()])
async def test_judges_of_finished_texts_read_limits_and_not_that_breaches_are_thrown_out(
    job: AnyJob,
) -> None:
    limits = Contract(max_words=2)
    played = await play(JUDGING, entries=ENTRIES, contract=limits, job=job, judges=3)
    for request in played.asked("judge"):
        text = "\n".join(message.text for message in request.messages)
        assert "Limits that the text must keep:\n\n- At most 2 words." in text
        assert "throws out" not in text


async def test_a_panel_without_texts_is_refused() -> None:
    for job in (Judge(), JudgePairs(), Rejudge(of="x")):
        chosen = settings("echo/echo", job=job)
        with pytest.raises(InvalidInput, match="has no texts; give"):
            await check(Task(brief="x"), chosen, ModelPool(), built_in())


def first_shown(request: Request) -> str:
    labels = list(shown_texts(request))
    return json.dumps({"reasoning": "the first", "ranking": " > ".join(labels)})


async def start_pairing(journal: Journal, judge: Any) -> Any:
    chosen = settings(job=JudgePairs(), judges=2)
    return await start_run(journal, Breaking({"judge": judge}), task=TASK, settings=chosen)


async def test_every_judge_sees_every_pair_both_ways_round() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=JudgePairs(), judges=3)
    assert len(played.asked("judge")) == 3 * 3 * 2
    ballots = played.of(BallotCast)
    pairs = list(combinations(TEXTS, 2))
    for at, pair in enumerate(pairs, 1):
        orders = [b.order for b in ballots if b.stage == f"pair/{at}"]
        assert [sorted(orders[2 * j : 2 * j + 2]) for j in range(3)] == [
            sorted([pair, pair[::-1]])
        ] * 3
        assert orders[0] != orders[2], "judges must not all begin with the same text"
    assert [held.stage for held in played.of(PanelDecided)] == ["pair/1", "pair/2", "pair/3"]


async def test_who_flips_with_the_order_abstains(journal: Journal) -> None:
    def one_flips(request: Request) -> str:
        seat = int(request.key.split("/judge/")[1].split("/")[0])
        message = first_shown(request) if seat < 2 else JUDGING["judge"](request)
        assert isinstance(message, str)
        return message

    result = await start_pairing(journal, one_flips)
    report = panel_report(result.story)
    assert (report.ballots, report.abstained) == (3, 3)
    assert {each.name: each.points for each in report.standings} == {
        "rival.md": 2,
        "incumbent-final.md": 1,
        "draft-v1.md": 0,
    }
    assert result.origin == "rival.md"


async def test_no_one_wins_where_all_flip_and_the_panel_can_be_run_again(journal: Journal) -> None:
    played = await play({"judge": first_shown}, entries=ENTRIES, job=JudgePairs(), judges=2)
    assert isinstance(played.interruption, PanelFailed)
    assert all(held.verdict is None for held in played.of(PanelDecided))

    paused = await start_pairing(journal, first_shown)
    assert paused.status == "panel_failed"
    result = await hold_on(journal, paused.run, JUDGING)
    assert (result.status, result.origin) == ("done", "rival.md")
    report = panel_report(result.story)
    assert (report.ballots, report.abstained) == (6, 0)


async def test_texts_with_equally_many_votes_lead_nowhere_and_the_first_is_delivered(
    journal: Journal,
) -> None:
    first, second, third = TEXTS
    circle = {(first, second): first, (second, third): second, (first, third): third}

    def in_a_circle(request: Request) -> str:
        shown = shown_texts(request)
        best = next(
            best for pair, best in circle.items() if set(shown.values()) == {TEXTS[n] for n in pair}
        )
        ranked = sorted(shown, key=lambda label: shown[label] != TEXTS[best])
        return json.dumps({"reasoning": "round and round", "ranking": " > ".join(ranked)})

    result = await start_pairing(journal, in_a_circle)
    equal = f"{first}, {second} and {third} are equal"
    assert panel_report(result.story).conclusion == f"no winner: {equal}"
    assert result.reason == (
        f"no text leads: {equal}, and {first} is first on the list; each has 2 of 6 votes over all pairs"
    )
    assert result.origin == first == panel_report(result.story).standings[0].name


_votes = st.lists(st.sampled_from(["ab", "ba", "ac", "ca", "bc", "cb"]), min_size=1, max_size=12)


@given(_votes)
def test_record_and_report_name_the_same_leaders(cast: list[str]) -> None:
    points = {name: sum(vote[0] == name for vote in cast) for name in "abc"}
    judged = [CountedBallot(ranking=((vote[0],), (vote[1],)), cluster=0) for vote in cast]
    found = report(judged, dict.fromkeys("abc", 10), [], pairwise=True)
    result = from_scores(points, "abc")
    assert found.standings[0].name == result.winner
    equal = [name for name in "abc" if points[name] == points[result.winner]]
    assert found.conclusion.endswith(f": {listed(equal)} are equal") == result.tied


_rankings = st.sampled_from([("x", "y"), ("y", "x"), None])


@given(st.lists(st.tuples(_rankings, _rankings), max_size=9))
def test_a_duel_counts_those_who_keep_to_their_choice(judges: list[tuple[Any, Any]]) -> None:
    cast = [
        BallotCast(
            stage="pair/1", seat=seat, model="m", order=("x", "y"), labels=("P", "Q"), ranking=r
        )
        for seat, r in enumerate(ranking for pair in judges for ranking in pair)
    ]
    counted = votes(cast)
    steady = [pair[0][0] for pair in judges if pair[0] is not None and pair[0] == pair[1]]
    assert [vote.winner for vote in counted if vote.winner] == steady
    assert sum(vote.flipped for vote in counted) == sum(
        None not in pair and pair[0] != pair[1] for pair in judges
    )
    verdict = pair_verdict(counted)
    if not steady:
        assert verdict is None
        return
    assert verdict is not None
    assert verdict.margin == abs(steady.count("x") - steady.count("y"))
    assert verdict.tied == (verdict.margin == 0)
    assert (verdict.ballots, verdict.invalid) == (len(steady), len(judges) - len(steady))
    assert steady.count(verdict.winner) * 2 >= len(steady)
