"""The page of a run: of every kind of run, with every kind of text, and nothing on it acts."""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any
from zlib import compress

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.cli import made_up
from tests.pages.listing import ended
from tests.pages.plays import (
    BACK,
    BACK_SETTINGS,
    LINE,
    SEEDS,
    WITHOUT_REWRITES,
    play_story,
    random_events,
    random_script,
    random_story,
    result_of,
    unpack,
)
from tests.tournament.stage import USUAL, Answer, critique, document, shown_texts, vote

from autoreason.contract import Contract, Violation
from autoreason.events import RunPaused
from autoreason.exchange import Request, Spent
from autoreason.pages.run_page import check_limits, describe_fresh_judges
from autoreason.story import CONFIRMATION, RecordedReview, Story, build_story
from autoreason.task import Task
from autoreason.tournament import statements
from autoreason.tournament.endings import summarize
from autoreason.tournament.panel import verdict_of
from autoreason.tournament.rounds import tell

_EMPTY = ("meta", "input", "br", "hr", "rect", "path")


class Reader(HTMLParser):
    """Reads a page: its headings, what its tags are, and whether they are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.first_heading = ""
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "h1" in self.open:
            self.first_heading += data


def read(story: Story, **changes: Any) -> tuple[str, Reader]:
    """A page with what is packed in it, and what its tags are."""
    page = result_of(story, **changes).to_html()
    page += "".join(unpack(page)[0])
    found = Reader(page)
    assert not found.open
    assert found.tags.count("script") == 1 + page.count('<script type="text/plain"')
    assert not {name for name in found.attributes if name.startswith("on")}
    assert len(found.ids) == len(set(found.ids))
    return page, found


@cases("seed", SEEDS)
def test_a_page_begins_with_the_outcome_is_whole_and_has_each_limit_that_is_broken(
    seed: int,
) -> None:
    story = random_story(seed)
    _, found = read(story)
    assert found.first_heading == result_of(story).summary()[0]
    if story.delivered:
        broken = story.delivered.violations
        assert sum(not each.kept for each in check_limits(story)) == len(broken)


@pytest.mark.parametrize("strategy", ["single", "best_of_n", "critique_revise", "self_refine"])
def test_runs_of_other_strategies_have_a_page(strategy: str) -> None:
    story = play_story(5, strategy=strategy, passes=2)
    page, found = read(story)
    assert found.first_heading == result_of(story).summary()[0]
    assert ("view-what-if" in found.ids) == ("How the judges voted" in page)
    assert ("The drafts" in page) == (strategy == "best_of_n")
    assert ("Each was written by itself" in page) == (strategy == "best_of_n")
    assert strategy != "best_of_n" or "Round 1" not in page


def test_a_run_that_paused_anywhere_has_a_page_with_a_command_to_type() -> None:
    events = random_events(14)
    paused = RunPaused(status="budget", reason="$1 is spent", limit="cost")
    for until in range(1, len(events), 5):
        page, found = read(build_story([*events[:until], paused]))
        assert found.first_heading.startswith("Paused")
        assert "autoreason resume" in page
        assert "Autoreason resume" not in page


HOSTILE = (
    "</template><script>alert(1)</script>",
    "<svg onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "</script><!--",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eright to left\u202c zero\u200bwidth \x00\x1b[31m",
    "\ufdd0\ufdd1",
    "",
)


@cases("text", HOSTILE)
def test_no_text_acts_wherever_it_stands(text: str) -> None:
    said = f'{{"reasoning": {json.dumps(text)}, "ranking": ""}}'
    script = {
        **USUAL,
        "author": document(f"# {text}\n\nFirst {text}"),
        "critic": critique(text or "It lacks an example."),
        "reviser": document(f"# {text}\n\nSecond {text}"),
        "synthesizer": document(f"Third {text}\n\n- {text}\n"),
        "pass/1/judge/0/try/0": said,
    }
    page, found = read(
        play_story(1, script, brief=text or "Write.", protocol="robust"), run=f"run {text}"
    )
    assert "alert(1)</script>" not in page
    assert "<svg onload" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "49" not in found.first_heading


def test_two_megabytes_are_shown_as_they_are() -> None:
    long = "A sentence of a very long text. " * 65_000
    events = [
        replace(each, text=f"{long}{at}") if hasattr(each, "text") else each
        for at, each in enumerate(made_up.whole_run())
    ]
    page, _ = read(build_story(events))
    assert page.count(long.strip()) >= 2
    assert "too long to compare" in page


def without_texts(page: str) -> int:
    """Bytes of markup, styles, scripts, and what is packed but for texts of several words and words that changed."""
    blocks, parts = unpack(page)
    packed = json.dumps([[TEXTS.sub("", each) for each in blocks], parts], ensure_ascii=False)
    own = re.findall(r"(?s)<s(?:tyle|cript)>(.*?)</s", page)
    counted = "".join([*own, *re.findall(r"<[^<>]+>", page)])
    return len(counted.encode()) + len(b64encode(compress(packed.encode())))


TEXTS = re.compile(r"(?<=<ins>)[^<]+|(?<=<del>)[^<]+|(?<=>)[^<>]*[^\W\d_] [^<>]*(?=<)")


def _write_anew(request: Request, paragraphs: int = 13) -> str:
    """500 words that no other text has; of a critic five faults of such a text."""
    rng = random.Random(request.key)
    words = 500 // paragraphs
    texts = [
        " ".join(f"{rng.randrange(36**5):x}z" for _ in range(words)) for _ in range(paragraphs)
    ]
    if request.role != "critic":
        return document("\n\n".join(["# A text", *texts]))
    lines = next(iter(shown_texts(request).values())).split("\n\n")[1:6]
    fault = {"severity": "major", "kind": "quote", "problem": "It is not so."}
    return json.dumps({"problems": [fault | {"quote": each[:40]} for each in lines]})


def _edit(request: Request) -> str:
    """The text with a word changed in 25 to 40 of its 42 paragraphs."""
    rng = random.Random(request.key)
    if request.role in ("author", "critic"):
        return _write_anew(request, paragraphs=42)
    title, *texts = next(iter(shown_texts(request).values())).split("\n\n")
    for at in rng.sample(range(42), rng.randrange(25, 41)):
        words = texts[at].split(" ")
        words[rng.randrange(len(words))] = f"{rng.randrange(36**5):x}z"
        texts[at] = " ".join(words)
    return document("\n\n".join([title, *texts]))


USUAL_SCRIPT = random_script(3, flaws=0.0)
ANEW, EDITED = (
    USUAL_SCRIPT | dict.fromkeys(("author", "critic", "reviser", "synthesizer"), each)
    for each in (_write_anew, _edit)
)
VOTED = {"k": 99, "passes": 100, "protocol": "robust", "judges": 9}
HELD = LINE | {"passes": 100, "review_every": 5, "reviewers": 7, "min_reviews": 99}


@pytest.mark.parametrize("settings", [VOTED, HELD])
@pytest.mark.parametrize("script", [USUAL_SCRIPT, ANEW, EDITED])
def test_a_page_of_a_hundred_rounds_is_small_without_its_texts(
    script: dict[str, Answer], settings: dict[str, Any]
) -> None:
    story = play_story(3, script, **settings)
    assert len(story.passes) == 100
    assert without_texts(result_of(story).to_html()) < 150_000


def confirmed(prefers: str) -> Story:
    """A run whose fresh judges prefer a text."""
    judged = {**USUAL, "judge": vote(prefers, "Third", "First")}
    return play_story(1, judged, protocol="robust", k=1, passes=2, confirmation=9)


def test_it_says_how_often_coins_agree_only_where_a_split_is_ruled_out() -> None:
    said = [describe_fresh_judges(confirmed(prefers)) for prefers in ("Second", "First")]
    assert "Tossing coins, judges would agree as much once in 256 times." in said[0]
    assert said[1] == ""


def test_a_judge_who_gave_no_ranking_is_no_second_opinion() -> None:
    story = confirmed("Second")
    cast = story.panels[CONFIRMATION].ballots
    one, other = f"{cast[0].model}, asked 9 times", replace(cast[0], model="my/lark")
    unread, alone = replace(other, ranking=None), f"All judges are {one}: no other model was asked."
    for more, asked, line in (
        ([], one, alone),
        ([unread], one, f"All judges are {one}: no answer of my/lark could be read."),
        ([other], f"{cast[0].model} and my/lark", ""),
    ):
        story.panels[CONFIRMATION].ballots = [*cast, *more]
        assert f"9 of 9 fresh judges ({asked})" in read(story)[0]
        lines = summarize(story, run="run", spent=Spent(), seconds=None)
        assert [each for each in lines if "All judges" in each] == [line] * bool(line)
        assert ("Here: " in describe_fresh_judges(story)) == (not line)
    assert story.delivered is not None
    story.panels[CONFIRMATION].ballots = [*cast, unread]
    broken = Violation("max_words", "12 words, at most 9 allowed")
    story.end = replace(story.delivered, violations=(broken,))
    lines = summarize(story, run="run", spent=Spent(), seconds=None, new="Please check: 9")
    said = "It breaks a limit: 12 words, at most 9 allowed. · more: see show --evidence"
    assert lines[3:] == ["Please check: 9", said]


ONE_OF_ONE = "1 of 1 limit broken"
MISSING = Violation("must_include", "“Sundays” is missing")


@cases(
    ("task", "broken", "said"),
    [
        (Contract(max_words=20), Violation("echo", "“at most 20” repeats"), "1 of 2 limits broken"),
        (Contract(), Violation("echo", "“at most 20” repeats"), ONE_OF_ONE),
        # The words are only in what the text repeats of the request.
        (Contract(must_include=("Sundays",)), MISSING, ONE_OF_ONE),
    ],
)
def test_no_text_that_breaks_a_limit_is_said_to_keep_them_all(
    task: Contract, broken: Violation, said: str
) -> None:
    story = ended(violations=(broken,))
    story.task = Task(brief="Open on Sundays?", contract=task)
    page, _ = read(story)
    assert said in page
    assert f"It breaks a limit: {broken.message}" in page
    assert [each.found for each in check_limits(story) if not each.kept] == [broken.message]
    assert "limits broken" in " ".join(result_of(story).summary())
    assert statements.contract(story.task, (broken,)) == f"broken: {broken.message}"


def test_a_new_draft_is_called_one_wherever_a_page_names_it() -> None:
    script = {**WITHOUT_REWRITES, "judge": vote("pass 1", "draft try", "pass")}
    page, _ = read(play_story(1, script, protocol="robust", k=1, passes=3))
    left = "ewrite was left out: it is the same as another text."
    for said in (
        *("Stopped after 2 rounds: once no new draft beat it.", "What the new draft changed"),
        *("Round 1: a new draft won, 3 of 3 judges", f"The r{left}"),
        *("A new draft was left out: the reply was empty.", "round 1, the new draft"),
        *("You put the new draft first. So did every judge.", "born in a new draft"),
    ):
        assert said in page
    page = page.replace(left, "").replace(left.replace("was", "is"), "")
    named = page.replace("B the rewrite or new draft", "").partition("<main")[2]
    assert "rewrite" not in named.partition("<script")[0]


def test_reviews_stand_between_rounds_with_what_judges_ranked() -> None:
    story = play_story(3, BACK, **BACK_SETTINGS)
    page, found = read(story)
    places = [each for each in found.ids if each.startswith(("review", "r")) and each[-1].isdigit()]
    assert places == [*(f"r{number}" for number in range(1, 6)), "review5", "r6", "r7", "review7"]
    put_first = "the text of round 3 is put first by 7 of 7 judges"
    for said in (
        *("Round 1: rewritten</h3>", f"Review after round 5: {put_first}: back to it</h3>"),
        *("“[The text of round 3] says who pays.”", "Given up in the review after round 5."),
        *("[The first draft] does not.", "back to round 3"),
        "You put the first draft first. No judge did. The judges together chose the text of round 3.",
    ):
        assert said in page
    assert "without a vote" not in page
    given_up = [each.place for each in tell(story) if "Given up" in each.note]
    assert given_up == ["r4", "r5", "r6", "r7"]
    assert "It stops after this many" not in page


def test_a_draft_that_is_chosen_with_fewer_first_places_is_said_to_have_won_on_points() -> None:
    story = play_story(5, strategy="best_of_n", voting="borda")
    assert story.closing_review is not None
    a, b, c = [each.name for each in story.incumbents][:3]
    one = story.closing_ballots[0]
    rankings = ((a, b, c), (a, b, c), (b, c, a), (c, b, a))
    ballots = [replace(one, ranking=each, order=each, labels=tuple("XYZ")) for each in rankings]
    verdict = verdict_of(ballots, (a, b, c), "borda", 4)
    chosen = replace(story.closing_review, winner=b, verdict=verdict)
    story.reviews = [RecordedReview(ballots, chosen, number=story.reviews[-1].number)]
    said = "Draft 2 is put first on points. It won on points, 9 to 8: every place counts"
    assert said in read(story)[0]


def test_a_pause_among_drafts_names_the_draft() -> None:
    story = play_story(5, strategy="best_of_n")
    story.end, story.status = None, "stopped"
    first, *_ = summarize(story, run="r", spent=Spent(), seconds=None)
    assert first == f"Stopped in draft {story.passes[-1].number}, as you asked."


def test_fresh_judges_stand_in_the_evidence_with_their_reasons() -> None:
    story = next(each for each in map(random_story, SEEDS) if CONFIRMATION in each.panels)
    page = read(story)[0]
    assert "What fresh judges said" in page
    assert '<th scope="row">Judges</th><td>39</td>' in page
    # The letters are explained where they are used: in the folds.
    parts = page.split('id="evidence-h"')[1].split("<details>", 1)
    assert ["AB the merge" in each for each in parts] == [False, True]
