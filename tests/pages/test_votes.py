"""What sways a judge is found with its interval; votes counted again say nothing beyond the first difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest
from tests.cases import cases
from tests.pages.plays import BACK, BACK_SETTINGS, SEEDS, play_story, random_script, random_story
from tests.tournament.stage import USUAL, critique, shown_texts, vote

from autoreason.events import Recovery
from autoreason.exchange import Request
from autoreason.pages.votes import CountingRule, WhatIf, judge_of, map_judges, recount_all
from autoreason.settings import Settings
from autoreason.story import RecordedPass, RecordedReview, Story
from autoreason.tournament.evidence import gather_evidence, longer_preferred_in
from autoreason.tournament.voting import count_votes, in_tie_order, pass_size, quorum


def ranked(key: Callable[[tuple[int, str]], float]) -> Callable[[Request], str]:
    """A judge who goes by something of each text: its place, or its words."""

    def judge(request: Request) -> str:
        shown = [*enumerate(shown_texts(request).items())]
        order = sorted(shown, key=lambda each: key((each[0], each[1][1])))
        return json.dumps({"reasoning": "", "ranking": " > ".join(each[1][0] for each in order)})

    return judge


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (lambda each: each[0], "favours the text shown first"),
        (lambda each: -each[0], "disfavours the text shown first"),
        (lambda each: -len(each[1].split()), "prefers longer texts"),
        (lambda each: len(each[1].split()), "prefers shorter texts"),
    ],
)
def test_what_sways_every_ranking_is_said(
    key: Callable[[tuple[int, str]], float], said: str
) -> None:
    script = {**random_script(3, flaws=0.0), "judge": ranked(key)}
    found = map_judges(play_story(3, script, k=9, passes=15))
    assert found is not None
    assert any(said in each for each in found.findings)


def test_of_judges_of_one_model_it_says_what_the_evidence_says() -> None:
    for story in map(random_story, SEEDS):
        found = map_judges(story)
        if found and len(found.rows) == 1:
            (_, _, (agrees, _, longer)) = found.rows[0]
            tau = gather_evidence(story, story.origin).agreement
            assert agrees.value == (None if tau is None else pytest.approx((1 + tau) / 2))
            assert longer.value == longer_preferred_in(story).value


@cases("seed", SEEDS)
def test_every_share_is_within_its_interval_and_said_only_beyond_it(seed: int) -> None:
    if (found := map_judges(random_story(seed))) is None:
        return
    for row in found.rows:
        for share in row.shares:
            if share.value is not None and share.low is not None and share.high is not None:
                assert share.low <= share.value <= share.high
                if not any(each.startswith(row.name) for each in found.findings):
                    assert share.low <= 0.5 <= share.high


def recounted(story: Story) -> WhatIf:
    """All choices, of a run that has some."""
    found = recount_all(story)
    assert found is not None
    return found


Step = RecordedPass | RecordedReview


@cases("seed", SEEDS)
def test_the_recorded_rules_change_nothing(seed: int) -> None:
    story = random_story(seed)
    if found := recount_all(story):
        recount = found.recounts[found.recorded]
        assert recount.sentence.startswith("Nothing changes")
        assert recount.until == sum(each.decided is not None for each in story.steps)
        assert not recount.more + recount.fewer


def winner(step: Step, choice: CountingRule, settings: Settings, models: int) -> str | None:
    """Who wins a round, or a review of one stage, by a choice; None where too few votes are left."""
    assert step.decided is not None
    assert step.verdict is not None
    cast = [ballot for ballot in step.ballots if judge_of(ballot, models) != choice.without]
    rankings = [ballot.ranking for ballot in cast if ballot.ranking]
    if isinstance(step, RecordedReview):
        least, lead = quorum(len(cast)), 1
        order = [each.name for each in reversed(step.decided.texts)]
    else:
        scores = step.verdict.scores
        size, order = pass_size(settings, scores), in_tie_order(scores, settings)
        least, lead = size.quorum(len(cast)), size.required_lead
        if choice.ties == "goes to the challenger":
            order, lead = [*(name for name in order if name != "A"), "A"], 1
    enough = len(rankings) >= least
    return count_votes(choice.rule, rankings, order, lead).winner if enough else None


def differences(story: Story, choice: CountingRule, settings: Settings) -> list[int]:
    """Rounds, and reviews of one stage with enough votes, that another text wins by a choice than did."""
    models = len({ballot.model for each in story.steps for ballot in each.ballots})
    found = []
    for at, step in enumerate((each for each in story.steps if each.decided), 1):
        if step.decided and step.verdict:
            recorded = step.decided.winner or "A"
            unknown = "A" if isinstance(step, RecordedPass) else recorded
            found += [at] * ((winner(step, choice, settings, models) or unknown) != recorded)
    return found


@cases("seed", SEEDS)
def test_a_choice_parts_where_its_own_count_first_gives_another_text(seed: int) -> None:
    story = random_story(seed)
    if (found := recount_all(story)) is None or story.settings is None:
        return
    if any(len({b.stage for b in each.ballots}) > 1 for each in story.reviews):
        return
    for choice, recount in found.recounts.items():
        differs = differences(story, choice, story.settings)
        if recount.parted and "too few" not in recount.parted:
            assert recount.until + 1 == differs[0]
        else:
            assert not differs or differs[0] > recount.until


@cases("seed", SEEDS)
def test_more_in_a_row_never_stops_sooner(seed: int) -> None:
    if (found := recount_all(random_story(seed))) is None:
        return
    for choice in found.recounts:
        row = [found.recounts[CountingRule(*choice[:3], k)].until for k in found.ks]
        assert all(fewer <= more for fewer, more in pairwise(row))


PARTED = "It would have parted from the record in the review after round 1"


@pytest.mark.parametrize(("reviewers", "said"), [(3, "Nothing changes"), (2, PARTED)])
def test_a_run_that_a_review_ended_needs_its_judges_to_end(reviewers: int, said: str) -> None:
    judge = vote("made in 2", "made in 1", "First")
    options = BACK_SETTINGS | {"review_every": 1, "min_reviews": 2, "reviewers": reviewers}
    story = play_story(3, {**USUAL, "judge": judge}, **options)
    assert story.delivered is not None
    assert (story.delivered.ended_by, story.delivered.origin) == ("review", "pass 2")
    found = recounted(story)
    without = found.recounts[found.recorded._replace(without="judge 1")]
    assert without.sentence.partition(":")[0] == said


@pytest.mark.parametrize("forgiven", [0, 3])
def test_a_run_of_which_two_reviews_could_not_be_read_goes_as_it_went(forgiven: int) -> None:
    def judge(request: Request) -> str:
        is_read = request.key.startswith("review/1/")
        return vote("made in 1", "First")(request) if is_read else "I cannot say."

    options = BACK_SETTINGS | {"review_every": 1, "reviewers": 3}
    recovery = Recovery(forgiven=forgiven)
    story = play_story(3, {**USUAL, "judge": judge}, **options, recovery=recovery)
    assert len(story.reviews) == (5 if forgiven else 3)
    found = recounted(story)
    assert found.recounts[found.recorded].sentence.startswith("Nothing changes")


def test_a_row_of_kept_rounds_ends_where_a_review_goes_back_to_another_text() -> None:
    def faults(request: Request) -> str:
        return critique(*["It is dull."] * request.key.startswith("pass/1/"))

    script = {**USUAL, "critic": faults, "judge": vote("First")}
    story = play_story(3, script, **BACK_SETTINGS | {"review_every": 2, "passes": 9})
    assert [each.decided and each.decided.streak for each in story.passes] == [0, 1, 1, 2, 3]
    found = recounted(story)
    assert found.recounts[found.recorded].sentence.startswith("Nothing changes")


def test_reviews_are_counted_again_and_rows_of_kept_texts_only_where_rounds_have_votes() -> None:
    story = play_story(3, BACK, **BACK_SETTINGS)
    found = recounted(story)
    assert (len(found.ties), len(found.ks)) == (1, 1)
    assert {each.sentence[:15] for each in found.recounts.values()} == {"Nothing changes"}
    # Of seven judges, four put the latest text first; by points it has them against it.
    first = story.reviews[0]
    latest = next(each for each in first.ballots if each.ranking)
    assert first.decided is not None
    for at in range(4):
        ranking = ("pass 5", *(name for name in latest.order if name != "pass 5"))
        first.ballots[at] = msgspec.structs.replace(first.ballots[at], ranking=ranking)
    found = recounted(story)
    majority = found.recounts[found.recorded._replace(rule="majority")]
    assert majority.until == 5
    assert majority.parted == "the text of round 5 would be put first"
    assert "in the review after round 5" in majority.sentence
