"""A run as a film: one moment after the other, each with what was known then and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from autoreason.events import (
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueProblem,
    DraftWritten,
    Slot,
)
from autoreason.report.numbers import capital, count
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, RecordedReview, Story
from autoreason.tournament.rounds import (
    Review,
    describe_faults,
    describe_text,
    is_first_draft,
    is_new_draft,
    name_text,
    reviews_of,
    rounds_of,
    short_name,
)
from autoreason.tournament.statements import DROPPED
from autoreason.wording import KINDS, TextKind, kind_of, numeral

_WRITTEN_IN_ORDER: tuple[Slot, ...] = ("B", "B1", "B2", "B3", "AB")


class Moment(NamedTuple):
    """Something that happened, and the text to look at then."""

    sentence: str
    kind: TextKind
    text: str
    before: str | None = None
    """What the text is compared with."""
    round: int | None = None
    ballots: int = 0
    """Rankings of the round, or of the review, that are in."""
    problems: tuple[CritiqueProblem, ...] = ()
    """What the critic has marked in the text."""
    called: str = ""
    """The text, where its kind does not say which it is."""
    review: int | None = None
    """Which review it is a moment of, from 1."""

    @property
    def caption(self) -> str:
        """`Rewrite, round 2`."""
        name = capital(self.called or KINDS[self.kind].name)
        return f"{name}, round {self.round}" if self.round else name


def moments(story: Story) -> list[Moment]:
    """Every moment of a run so far; a run that goes on adds moments and changes none."""
    found = [*_drafts(story)]
    ends = {each.number: each.sentence for each in rounds_of(story)}
    over = iter(reviews_of(story))
    latest = Moment("", "draft", story.draft.text if story.draft else "", review=0)
    for each in story.steps:
        if isinstance(each, RecordedReview):
            assert latest.review is not None
            latest = latest._replace(review=latest.review + 1)
            found += _review(each, review := next(over, None), latest, story)
            latest = latest._replace(text=review.left.text) if review else latest
            continue
        if story.is_sampling:
            found += (_draft(each.number, one) for one in each.candidates.values())
        else:
            found += _round(each, is_first_draft(each, story), ends.get(each.number, ""))
        if each.decided and each.decided.winner:
            latest = latest._replace(kind="kept", text=each.text(each.decided.winner))
    return [*found, *_last_panels(story)]


def _draft(number: int, written: DraftWritten | CandidateReady) -> Moment:
    sentence = f"Draft {number} is written: {count(written.words, 'word')}."
    return Moment(sentence, "draft", written.text, called=f"draft {number}")


def _drafts(story: Story) -> Iterator[Moment]:
    yield from (_draft(each.number, each) for each in story.drafts)
    among = story.panels.get(DRAFTS)
    for ballot in among.ballots if among else ():
        yield Moment(_vote(ballot, str), "draft", story.drafts[0].text, called="draft 1")
    if draft := story.draft:
        said = "The first draft is written"
        if draft.given or draft.of > 1:
            said = "It begins with your draft" if draft.given else f"Draft {draft.number} is taken"
        yield Moment(f"{said}: {count(draft.words, 'word')}.", "draft", draft.text)


def _vote(ballot: BallotCast, name: Callable[[str], str]) -> str:
    first = f"puts {name(ballot.ranking[0])} first" if ballot.ranking else "cannot be read"
    return f"{short_name(ballot.model)} {first}."


def _round(one: RecordedPass, first: bool, end: str) -> Iterator[Moment]:
    so_far = Moment("", one.kind("A", first=first), one.incumbent, round=one.number)
    describe = partial(describe_text, first=first, one=one)
    if one.guidance:
        yield so_far._replace(sentence=f"You ask the critic to look at: {one.guidance}")
    for critique in one.critiques:
        who = "A program that checks limits" if critique.by_code else "The critic"
        who = "Another critic" if critique.critic else who
        faults = describe_faults([critique]) if critique.readable else "nothing that can be read"
        yield so_far._replace(sentence=f"{who} finds {faults}.", problems=critique.problems)
    left = [each for each in one.dropped if each.reason == "contract" and not each.text]
    """Candidates that left the ballot; their texts are where they stood."""
    fresh = [each for each in one.candidates.values() if each.fresh]
    written = [each for each in one.candidates.values() if not each.fresh]
    # Revisions come before the merge; where none could be used, new drafts were tried after it.
    steps: list[CandidateDropped | CandidateReady] = [
        each for each in one.dropped if each not in left
    ]
    if written:
        steps = sorted([*steps, *written], key=lambda each: _WRITTEN_IN_ORDER.index(each.slot))
    for step in (*steps, *fresh, *left):
        kind = kind_of(step.slot, first=first, fresh=is_new_draft(step, one))
        name = KINDS[kind].name
        if isinstance(step, CandidateReady):
            sentence = f"A {name} is written: {count(step.words, 'word')}."
            yield Moment(sentence, kind, step.text, one.incumbent, one.number)
        else:
            article = "The" if step in left else "A"
            sentence = f"{article} {name} is left out: {DROPPED[step.reason]}."
            yield so_far._replace(sentence=sentence)
    for at, ballot in enumerate(one.ballots, 1):
        yield so_far._replace(sentence=_vote(ballot, describe), ballots=at)
    if decided := one.decided:
        row = f": {numeral(decided.streak)} in a row" if decided.survived else ""
        last = so_far._replace(sentence=f"{capital(end)}{row}.", ballots=len(one.ballots))
        if decided.winner == "A":
            last = last._replace(kind="kept")
        elif decided.winner:
            kind, text = one.kind(decided.winner, first=False), one.text(decided.winner)
            last = last._replace(kind=kind, text=text, before=one.incumbent)
        yield last


def _review(
    recorded: RecordedReview, review: Review | None, latest: Moment, story: Story
) -> Iterator[Moment]:
    among = "Of all drafts" if story.is_sampling else "In the review"
    for at, ballot in enumerate(recorded.ballots, 1):
        said = _vote(ballot, lambda name: name_text(name, story))
        yield latest._replace(sentence=f"{among}, {said}", ballots=at)
    if review:
        there = "it" if review.back in review.outcome else review.back
        back = f": back to {there}" if review.back else ""
        end = latest._replace(
            sentence=f"{capital(review.outcome)}{back}.", ballots=len(recorded.ballots)
        )
        yield end._replace(text=review.left.text, before=latest.text) if back else end


def _last_panels(story: Story) -> Iterator[Moment]:
    last = story.incumbent
    if last is None:
        return
    chosen, first = story.chosen or last, story.incumbents[0]
    fresh = story.panels.get(CONFIRMATION)
    for ballot in fresh.ballots if fresh else ():
        said = "cannot be read"
        if ranking := ballot.ranking:
            said = f"prefers {'the first draft' if ranking[0] == first.name else 'the result'}"
        sentence = f"{short_name(ballot.model)}, asked for the first time, {said}."
        yield Moment(sentence, "kept", chosen.text, first.text)
    if story.delivered:
        kind: TextKind = "draft" if story.delivered.origin == "draft" else "kept"
        text = story.delivered.text
        yield Moment("This is the result.", kind, text, first.text, called="result")
