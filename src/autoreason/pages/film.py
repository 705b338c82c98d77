"""A run as a film: one moment after the other, each with what was known then and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament.endings import the_draft
from autoreason.tournament.rounds import Chapter, describe_faults, is_new_draft, short_name, tell
from autoreason.tournament.statements import dropped
from autoreason.wording import BECOME, KINDS, TextKind, kind_of, numeral

_WRITTEN_IN_ORDER: tuple[Slot, ...] = ("B", "B1", "B2", "B3", "AB")


class Moment(NamedTuple):
    """Something that happened, and the text to look at then."""

    sentence: str
    kind: TextKind
    text: str
    before: str | None = None
    """What the text is compared with."""
    round: int | None = None
    is_cast: bool = False
    """Whether a ranking of the round, or of the review, comes in."""
    problems: tuple[CritiqueProblem, ...] = ()
    """What the critic has marked in the text."""
    called: str = ""
    """The text, where its kind does not say which it is."""
    place: str = ""
    """Where the page has the round or the review."""

    @property
    def caption(self) -> str:
        """`Rewrite, round 2`."""
        name = capital(self.called or KINDS[self.kind].name)
        return f"{name}, round {self.round}" if self.round else name


def moments(story: Story) -> list[Moment]:
    """Every moment of a run so far; a run that goes on adds moments and changes none."""
    found, so_far = [*_drafts(story)], Moment("", "draft", story.draft.text if story.draft else "")
    for each in tell(story):
        if not isinstance(each.step, RecordedPass):
            among = "Of all drafts" if story.is_sampling else "In the review"
            found += _review(each, so_far._replace(place=each.place), among)
        elif story.is_sampling:
            found += (_draft(each.number, one) for one in each.step.candidates.values())
        else:
            found += _round(each, each.step)
        if each.left:
            so_far = so_far._replace(kind="kept", text=each.left.text)
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


def _round(chapter: Chapter, one: RecordedPass) -> Iterator[Moment]:
    first, kind = chapter.first, one.kind("A", first=chapter.first)
    so_far = Moment("", kind, one.incumbent, round=one.number, place=chapter.place)
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
    steps: list[CandidateDropped | CandidateReady] = [e for e in one.dropped if e not in left]
    if written:
        steps = sorted([*steps, *written], key=lambda each: _WRITTEN_IN_ORDER.index(each.slot))
    for step in (*steps, *fresh, *left):
        kind = kind_of(step.slot, first=first, fresh=is_new_draft(step, one))
        name = KINDS[kind].name
        if isinstance(step, CandidateReady):
            said = f"A {name} is written: {count(step.words, 'word')}."
            yield so_far._replace(sentence=said, kind=kind, text=step.text, before=one.incumbent)
        else:
            article = "The" if step in left else "A"
            yield so_far._replace(sentence=f"{article} {name} is {dropped(step)}.")
    for ballot in one.ballots:
        yield so_far._replace(sentence=_vote(ballot, chapter.describe), is_cast=True)
    if decided := one.decided:
        row = f": {numeral(decided.streak)} in a row" if decided.survived else ""
        last = so_far._replace(sentence=f"{capital(chapter.sentence)}{row}.")
        if decided.winner == "A":
            last = last._replace(kind="kept")
        elif decided.winner:
            kind, text = one.kind(decided.winner, first=False), one.text(decided.winner)
            last = last._replace(kind=kind, text=text, before=one.incumbent)
        yield last


def _review(chapter: Chapter, so_far: Moment, among: str) -> Iterator[Moment]:
    for ballot in chapter.step.ballots:
        said = f"{among}, {_vote(ballot, chapter.describe)}"
        yield so_far._replace(sentence=said, is_cast=True)
    if chapter.left:
        end = so_far._replace(sentence=f"{capital(chapter.sentence)}.")
        yield end._replace(text=chapter.left.text, before=so_far.text) if chapter.back else end


def _last_panels(story: Story) -> Iterator[Moment]:
    last = story.incumbent
    if last is None:
        return
    chosen, first = story.chosen or last, story.incumbents[0]
    fresh = story.panels.get(CONFIRMATION)
    for ballot in fresh.ballots if fresh else ():
        prefers = KINDS["draft"].the if first.name in (ballot.ranking or ())[:1] else BECOME
        said = f"prefers {prefers}" if ballot.ranking else "cannot be read"
        sentence = f"{short_name(ballot.model)}, asked for the first time, {said}."
        yield Moment(sentence, "kept", chosen.text, first.text)
    if story.delivered:
        kind: TextKind = "draft" if story.delivered.origin == "draft" else "kept"
        given = f"{capital(the_draft(story.draft))} is delivered."
        sentence = given if kind == "draft" else "This is the result."
        yield Moment(sentence, kind, story.delivered.text, first.text, called="result")
