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
from tests.run.leaving import Breaking, left_after_every_call, told
from tests.run.runs import go_on, lend, settings, start_run
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
from autoreason.studies.panels.panel_jobs import (
    cut,
    cut_to_equal_length,
    make_entries,
    pair_verdict,
    votes,
)
from autoreason.studies.panels.panel_report import CountedBallot, panel_report, report
from autoreason.task import Entry, Task
from autoreason.tournament.voting import from_scores


def texts(count: int) -> dict[str, str]:
    """As many different texts."""
    return {f"{number}.md": f"Text number {number}." for number in range(count)}


@pytest.mark.parametrize("count", [0, 1, 11, 30])
def test_fewer_than_two_or_more_than_ten_texts_are_no_panel(count: int) -> None:
    with pytest.raises(InvalidInput, match=f"2 to 10 texts, not {count}"):
        make_entries(texts(count))


@pytest.mark.parametrize("count", [2, 10])
def test_entries_keep_names_texts_and_order(count: int) -> None:
    entries = make_entries(texts(count))
    assert {entry.name: entry.text for entry in entries} == texts(count)
    assert [entry.name for entry in entries] == list(texts(count))


@pytest.mark.parametrize("same", ["A text.\nOf two lines.", "  A text. Of   two\n\nlines.\n"])
def test_texts_that_differ_in_white_space_alone_are_one_text(same: str) -> None:
    with pytest.raises(InvalidInput, match=r"one and three are the same text; leave one"):
        make_entries({"one": "A text. Of two lines.", "two": "Another.", "three": same})


@pytest.mark.parametrize("nothing", ["", " \n\t "])
def test_an_empty_text_is_named(nothing: str) -> None:
    with pytest.raises(InvalidInput, match=r"b\.md is empty"):
        make_entries({"a.md": "Something.", "b.md": nothing})


def test_texts_that_are_the_same_once_cut_are_refused() -> None:
    with pytest.raises(InvalidInput, match="begin alike"):
        make_entries({"a": "One two.", "b": "One two. And more."}, equal_length=True)


def test_a_cut_keeps_layout_and_ends_with_a_sentence() -> None:
    text = "# Title\n\nFirst line here.\n\n- one item\n- two items\n\nThe rest goes on. And on."
    assert cut(text, 6) == "# Title\n\nFirst line here.\n\n- one item"
    assert cut(text, 4) == "# Title\n\nFirst line here."
    assert cut(text, 100) == text


def test_a_heading_alone_is_no_text() -> None:
    assert cut("# A long title of a text\n\nThe first sentence. More.", 2) == (
        "# A long title of a text\n\nThe first sentence."
    )
    assert cut("First one. Second one.\n\n## Next part\n\nMore words here.", 7) == (
        "First one. Second one."
    )


def test_a_code_block_is_kept_whole_or_left_out() -> None:
    block = "```python\nx = 1. \ny = 2\n```"
    assert cut(f"Do this.\n\n{block}\n\nThen that.", 5) == "Do this."
    assert cut(f"Do this.\n\n{block}\n\nThen that. And more.", 9) == (
        f"Do this.\n\n{block}\n\nThen that."
    )
    assert cut(f"{block}\n\nThen that.", 2) == block


def test_one_kind_of_fence_may_stand_in_the_other() -> None:
    text = "Begin.\n\n```\n~~~\n```\n\nAnd on. And on."
    assert cut(text, 3) == "Begin.\n\n```\n~~~\n```\n\nAnd on."


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
    """Lines that open or close a block of code."""
    return sum(line.lstrip().startswith(("```", "~~~")) for line in text.splitlines())


def first_whole(text: str) -> str:
    """What stands up to the first sentence that is no heading, or to the end of the block it opens."""
    return cut(text, 0)


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
    assert count_words(kept) <= most or kept == first_whole(text)
    last = kept.splitlines()[-1]
    only_headings = all(line.startswith("#") or not line for line in whole.splitlines())
    assert only_headings or not rest or not last.startswith("#")


@given(st.dictionaries(st.sampled_from("abcdef"), _texts, min_size=2))
def test_no_text_is_longer_than_the_shortest_unless_its_beginning_is(given: dict[str, str]) -> None:
    shortest = min(count_words(text) for text in given.values())
    for name, kept in cut_to_equal_length(given).items():
        assert count_words(kept) <= shortest or kept == first_whole(given[name])


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


def judging(**changes: Any) -> Any:
    """Settings of a panel."""
    return settings(job=Judge(), **{"judges": 3, **changes})


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


@pytest.mark.parametrize("count", [2, 3, 4])
async def test_every_text_stands_in_every_place_equally_often(count: int) -> None:
    entries = make_entries({f"{n}": f"Text number {n} here." for n in range(count)})
    played = await play(JUDGING, entries=entries, job=Judge(), judges=2 * count)
    orders = [ballot.order for ballot in played.of(BallotCast)]
    for place in range(count):
        assert set(Counter(order[place] for order in orders).values()) == {2}


async def test_the_panel_delivers_the_text_it_prefers() -> None:
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=3)
    assert played.end is not None
    assert (played.end.status, played.end.origin) == ("done", "rival.md")
    assert played.end.text == TEXTS["rival.md"]
    held = played.of(PanelDecided)[0].verdict
    assert held is not None
    assert held.scores == {"rival.md": 9, "incumbent-final.md": 6, "draft-v1.md": 3}


async def test_a_mixed_panel_takes_its_models_in_turn() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/a", "m/b", "m/c"))
    played = await play(JUDGING, entries=ENTRIES, job=Judge(), judges=5, models=models)
    assert [judge.model for judge in played.asked("judge")] == ["m/a", "m/b", "m/c", "m/a", "m/b"]


async def test_left_after_any_call_a_panel_ends_the_same(journal: Journal) -> None:
    ended = await left_after_every_call(journal, TASK, judging(), JUDGING)
    assert ended.origin == "rival.md"


async def test_dead_judges_pause_the_panel_and_others_may_take_their_place(
    journal: Journal,
) -> None:
    paused = await start_run(journal, Breaking(DEAD), task=TASK, settings=judging())
    assert paused.status == "panel_failed"
    assert "0 of 3 ballots were valid" in paused.reason

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


async def test_a_panel_below_its_quorum_decides_nothing() -> None:
    def seldom(request: Request) -> str:
        return vote("Beta")(request) if "/judge/0/" in request.key else "No."

    played = await play({"judge": seldom}, entries=ENTRIES, job=Judge(), judges=3)
    assert isinstance(played.interruption, PanelFailed)
    assert played.of(PanelDecided) == [PanelDecided(stage="panel", verdict=None)]


async def test_judges_who_cannot_rank_many_texts_are_said_to_manage_pairs() -> None:
    many = {f"{name}.md": f"Text {name}." for name in "abcdefg"}
    for texts, output in ((many, True), (dict(list(many.items())[:3]), False)):
        played = await play({"judge": "No."}, entries=make_entries(texts), job=Judge(), judges=3)
        assert ("may compare two at a time" in str(played.interruption)) == output


async def test_a_panel_without_texts_is_refused() -> None:
    for job in (Judge(), JudgePairs(), Rejudge(of="x")):
        chosen = settings("echo/echo", job=job)
        with pytest.raises(InvalidInput, match="no texts to judge"):
            await check(Task(brief="x"), chosen, ModelPool(), built_in())


class Narrow(ModelPool):
    """Models with little room."""

    def window(self, address: str) -> int | None:
        """A page or so."""
        return 2000 if address == "scripted/scripted" else None


@pytest.mark.parametrize("job", [Judge(), JudgePairs(), Rejudge(of="x")])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_text_over_the_window_is_refused_wherever_it_stands(job: AnyJob, at: int) -> None:
    long = "word " * 3000
    stages = ("again/pass/1", "again/pass/2") if isinstance(job, Rejudge) else ("",)
    entries = [
        Entry(name=f"{n}", text=f"Text number {n}.", stage=stage)
        for stage in stages
        for n in range(3)
    ]
    entries[-1 - at] = Entry(name=f"{2 - at}", text=long, stage=stages[-1])
    task = Task(brief="x", entries=tuple(entries))
    model = Breaking(JUDGING)
    pool = Narrow()
    pool.add({model.address: model})
    with pytest.raises(InvalidInput, match="the text to be judged needs about"):
        await check(task, settings(job=job), pool, built_in())
    assert not model.asked
    await check(TASK, settings(job=Judge()), lend(model), built_in())


async def test_what_is_checked_before_leaves_no_loose_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import asyncio
    import gc

    await check(TASK, judging(judges=5), lend(Breaking(JUDGING)), built_in())
    gc.collect()
    await asyncio.sleep(0)
    assert not caplog.records


async def test_the_story_does_not_depend_on_which_judge_is_quicker(journal: Journal) -> None:
    stories = []
    for luck in range(3):
        result = await start_run(
            journal, Breaking(JUDGING, luck=luck), task=TASK, settings=judging()
        )
        stories.append(told(journal, result.run))
    assert stories[0] == stories[1] == stories[2]


def first_shown(request: Request) -> str:
    """A judge who prefers whatever stands first."""
    labels = list(shown_texts(request))
    return json.dumps({"reasoning": "the first", "ranking": " > ".join(labels)})


def pairing(**changes: Any) -> Any:
    """Settings of a panel in pairs."""
    return settings(job=JudgePairs(), **{"judges": 2, **changes})


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


async def test_both_orders_are_judged_by_the_same_model() -> None:
    models = Models(author="m/a", critic="m/a", synthesizer="m/a", judges=("m/a", "m/b", "m/c"))
    played = await play(JUDGING, entries=ENTRIES, job=JudgePairs(), judges=4, models=models)
    for stage in ("pair/1", "pair/2", "pair/3"):
        asked = [b.model for b in played.of(BallotCast) if b.stage == stage]
        assert asked == ["m/a", "m/a", "m/b", "m/b", "m/c", "m/c", "m/a", "m/a"]


async def test_who_flips_with_the_order_abstains(journal: Journal) -> None:
    def one_flips(request: Request) -> str:
        seat = int(request.key.split("/judge/")[1].split("/")[0])
        message = first_shown(request) if seat < 2 else JUDGING["judge"](request)
        assert isinstance(message, str)
        return message

    result = await start_run(journal, Breaking({"judge": one_flips}), task=TASK, settings=pairing())
    report = panel_report(result.story)
    assert (report.ballots, report.abstained) == (3, 3)
    assert {each.name: each.points for each in report.standings} == {
        "rival.md": 2,
        "incumbent-final.md": 1,
        "draft-v1.md": 0,
    }
    assert result.origin == "rival.md"


async def test_no_one_wins_where_all_flip_and_the_panel_can_be_run_again(
    journal: Journal,
) -> None:
    played = await play({"judge": first_shown}, entries=ENTRIES, job=JudgePairs(), judges=2)
    assert isinstance(played.interruption, PanelFailed)
    assert all(held.verdict is None for held in played.of(PanelDecided))

    paused = await start_run(
        journal, Breaking({"judge": first_shown}), task=TASK, settings=pairing()
    )
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

    result = await start_run(
        journal, Breaking({"judge": in_a_circle}), task=TASK, settings=pairing()
    )
    equal = f"{first}, {second} and {third} are equal"
    assert panel_report(result.story).conclusion == f"no winner: {equal}"
    assert result.reason == (
        f"no text leads: {equal}, and {first} is first on the list; each has 2 of 6 votes over all pairs"
    )
    assert result.origin == first == panel_report(result.story).standings[0].name


async def test_left_after_any_call_pairs_end_the_same(journal: Journal) -> None:
    task = TASK
    ended = await left_after_every_call(journal, task, pairing(), JUDGING)
    assert ended.origin == "rival.md"


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


async def test_too_few_judges_who_can_be_read_decide_nothing() -> None:
    def mostly_mute(request: Request) -> str:
        return JUDGING["judge"](request) if "/judge/0/" in request.key else "no comment"

    script = {**JUDGING, "judge": mostly_mute}
    played = await play(script, entries=ENTRIES, job=JudgePairs(), judges=6)
    assert isinstance(played.interruption, PanelFailed)
    assert "gave valid ballots both ways round" in str(played.interruption)
