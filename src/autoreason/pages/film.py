"""A run as a film: one moment after the other, each with what was known then and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autoreason.events import (
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueProblem,
    PassDecided,
    Slot,
)
from autoreason.report.numbers import count
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament.rounds import (
    describe_faults,
    describe_text,
    is_first_draft,
    rounds_of,
    short_name,
)
from autoreason.tournament.statements import DROPPED
from autoreason.wording import TextKind, kind_of, numeral

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
    """Rankings of the round that are in."""
    problems: tuple[CritiqueProblem, ...] = ()
    """What the critic has marked in the text."""


def moments(story: Story) -> list[Moment]:
    """Every moment of a run so far; a run that goes on adds moments and changes none."""
    found = [*_drafts(story)]
    ends = {each.number: each.sentence for each in rounds_of(story)}
    for one in story.passes:
        found += (
            _round(one, story, ends.get(one.number, ""))
            if not is_sampling(story)
            else [
                Moment(
                    f"Draft {one.number} is written: {count(each.words, 'word')}.",
                    "draft",
                    each.text,
                )
                for each in one.candidates.values()
            ]
        )
    return [*found, *_last_panels(story)]


def is_sampling(story: Story) -> bool:
    """Whether its rounds are drafts that have nothing to do with each other."""
    return story.job is not None and story.job.is_sampling


def name_text(name: str, story: Story) -> str:
    """`the text of round 3`, `draft 3`: one of the texts that a run ends with a vote on."""
    words = name.split()
    if words[0] != "pass":
        return "the first draft"
    return f"draft {words[1]}" if is_sampling(story) else f"the text of round {words[1]}"


def _drafts(story: Story) -> Iterator[Moment]:
    for each in story.drafts:
        words = count(each.words, "word")
        yield Moment(f"Draft {each.number} is written: {words}.", "draft", each.text)
    among = story.panels.get(DRAFTS)
    for ballot in among.ballots if among else ():
        first = f"puts {ballot.ranking[0]} first" if ballot.ranking else "cannot be read"
        yield Moment(f"{short_name(ballot.model)} {first}.", "draft", story.drafts[0].text)
    if draft := story.draft:
        said = "The first draft is written"
        if draft.given or draft.of > 1:
            said = "It begins with your draft" if draft.given else f"Draft {draft.number} is taken"
        yield Moment(f"{said}: {count(draft.words, 'word')}.", "draft", draft.text)


def _round(one: RecordedPass, story: Story, end: str) -> Iterator[Moment]:
    first = is_first_draft(one, story)
    so_far = Moment("", kind_of("A", first=first), one.incumbent, round=one.number)
    if one.guidance:
        yield so_far._replace(sentence=f"You ask the critic to look at: {one.guidance}")
    for critique in one.critiques:
        who = "A program that checks limits" if critique.by_code else "The critic"
        who = "Another critic" if critique.critic else who
        faults = describe_faults([critique]) if critique.readable else "nothing that can be read"
        sentence = f"{who} finds {faults}."
        yield so_far._replace(sentence=sentence, problems=critique.problems)
    left = [each for each in one.dropped if each.reason == "contract" and not each.text]
    """Candidates that left the ballot; their texts are where they stood."""
    failed = [each for each in one.dropped if each not in left]
    written = {slot: each for slot, each in one.candidates.items() if not each.fresh}
    # Revisions come before the merge; where none could be used, new drafts were tried after it.
    steps: list[CandidateDropped | CandidateReady] = [*failed, *written.values()]
    if written:
        steps.sort(key=lambda each: _WRITTEN_IN_ORDER.index(each.slot))
    for step in steps:
        if isinstance(step, CandidateReady):
            yield _written(one, step, first=first)
        else:
            yield so_far._replace(sentence=_left_out("A", step.slot, step.reason, first=first))
    for ready in one.candidates.values():
        if ready.fresh:
            yield _written(one, ready, first=first)
    for each in left:
        yield so_far._replace(sentence=_left_out("The", each.slot, each.reason, first=first))
    for at, ballot in enumerate(one.ballots, 1):
        yield so_far._replace(sentence=_vote(ballot, first=first), ballots=at)
    if one.decided:
        yield _decided(one, one.decided, end, so_far._replace(ballots=len(one.ballots)))


def _left_out(article: str, slot: Slot, reason: str, *, first: bool) -> str:
    name = describe_text(slot, first=first).removeprefix("the ")
    return f"{article} {name} is left out: {DROPPED[reason]}."


def _written(one: RecordedPass, ready: CandidateReady, *, first: bool) -> Moment:
    name = describe_text(ready.slot, first=first).removeprefix("the ")
    sentence = f"A {name} is written: {count(ready.words, 'word')}."
    kind = kind_of(ready.slot, first=first)
    return Moment(sentence, kind, ready.text, one.incumbent, one.number)


def _vote(ballot: BallotCast, *, first: bool) -> str:
    if not ballot.ranking:
        return f"{short_name(ballot.model)} gives no ranking that can be read."
    return f"{short_name(ballot.model)} puts {describe_text(ballot.ranking[0], first=first)} first."


def _decided(one: RecordedPass, decided: PassDecided, end: str, so_far: Moment) -> Moment:
    row = f": {numeral(decided.streak)} in a row" if decided.survived else ""
    sentence = f"{end[:1].upper()}{end[1:]}{row}."
    if decided.winner in (None, "A"):
        kind: TextKind = so_far.kind if decided.winner is None else "kept"
        return so_far._replace(sentence=sentence, kind=kind)
    assert decided.winner is not None
    kind = kind_of(decided.winner, first=False)
    text = one.text(decided.winner)
    return so_far._replace(sentence=sentence, kind=kind, text=text, before=one.incumbent)


def _last_panels(story: Story) -> Iterator[Moment]:
    last = story.incumbent
    if last is None:
        return
    chosen, first = story.chosen or last, story.incumbents[0]
    for ballot in story.playoff_ballots:
        judge, ranking = short_name(ballot.model), ballot.ranking
        said = f"puts {name_text(ranking[0], story)} first" if ranking else "cannot be read"
        yield Moment(f"Of all texts so far, {judge} {said}.", "kept", last.text)
    fresh = story.panels.get(CONFIRMATION)
    for ballot in fresh.ballots if fresh else ():
        judge, ranking = short_name(ballot.model), ballot.ranking
        said = "cannot be read"
        if ranking:
            said = f"prefers {'the first draft' if ranking[0] == first.name else 'the result'}"
        sentence = f"{judge}, asked for the first time, {said}."
        yield Moment(sentence, "kept", chosen.text, first.text)
    if story.delivered:
        kind: TextKind = "draft" if story.delivered.origin == "draft" else "kept"
        before = first.text if first.text != story.delivered.text else None
        yield Moment("This is the result.", kind, story.delivered.text, before)
