"""What happens in a run, a line for each step, in the words people know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoreason import events
from autoreason.keys import judge_of
from autoreason.report.numbers import count, lines
from autoreason.story import ALTERNATIVES, CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament.rounds import describe_faults, is_new_draft, tell
from autoreason.tournament.statements import dropped, left_out, violations
from autoreason.wording import KINDS, kind_of, numeral

if TYPE_CHECKING:
    from collections.abc import Sequence


_ROLES = {"author": "writer", "reviser": "rewrite", "synthesizer": "merge"}
_STAGES = {DRAFTS: "choice of a draft", "panel": "all rankings"}
_STAGES |= dict.fromkeys((CONFIRMATION, ALTERNATIVES), "fresh judges")
Written = events.CandidateReady | events.DraftWritten | events.DraftReady
_IN_RECORD = re.compile(r"\bpass (\d+)(?: (A|AB|B\d?)\b)?")


def describe_step(event: events.AnyEvent, story: Story) -> str:
    """The line that says an event which its story has; empty where another line says more, or the end does."""
    match event:
        case events.RunStarted():
            return story.task.title if story.task else ""
        case events.RunResumed():
            return "goes on"
        case events.DraftWritten():
            return f"draft {event.number}: {_written(event, story)}"
        case events.DraftReady():
            chosen = f"; number {event.number} of {event.of} drafts" if event.of > 1 else ""
            return f"{'your' if event.given else 'first'} draft: {_written(event, story)}{chosen}"
        case events.DraftFailed():
            return f"first draft: none ({event.reason}: {event.detail})"
        case events.BallotCast():
            return _vote(event, story)
        case events.ReviewDecided():
            last = tell(story)[-1]
            return f"{'review' if story.is_sampling else last.name}: {last.sentence}"
        case events.PanelDecided():
            return _panel(event)
        case events.PassStarted() | events.RunPaused() | events.Delivered() | events.JobFinished():
            return ""
    return _round_step(event, story)


def _round_step(event: events.AnyEvent, story: Story) -> str:
    number, place = getattr(event, "number", None), ""
    if story.is_sampling:
        from autoreason.strategies import sampled_draft

        place = sampled_draft(story, number or 0)
    place = place or f"round {number}"
    match event:
        case events.PromptsShortened():
            return f"{place}: models are asked in fewer words from here on: {event.reason}"
        case events.GuidanceGiven():
            return f"{place}: from you: {event.text}"
        case events.CritiqueWritten():
            return f"{place}: {'limits' if event.by_code else 'critic'}: {describe_critique(event)}"
        case events.CandidateReady():
            said = f"{_written(event, story)}{_unguided(event, story.passes[-1])}"
            return f"{place}{_name_text(event, story)}: {said}"
        case events.CandidateDropped():
            return f"{place}{_name_text(event, story)}: {dropped(event)}"
        case events.PassDecided():
            # That a rewrite is there, without a vote, is said already.
            is_said = story.is_sampling or event.outcome == "unjudged"
            return "" if is_said else f"{place}: {tell(story)[-1].sentence}"
    return in_words(event.line)


def _name_text(event: events.CandidateReady | events.CandidateDropped, story: Story) -> str:
    """`: rewrite`, `: merge`; `: new draft` where one takes the place of a rewrite that came to no vote."""
    if story.is_sampling:
        return ""
    new = is_new_draft(event, story.passes[-1])
    return f": {KINDS['new'].name if new else name_slot(event.slot)}"


def name_slot(slot: str) -> str:
    number = slot.lstrip("AB")
    return f"{KINDS[kind_of(slot, first=False)].name}{f' {number}' if number else ''}"


def name_role(role: str) -> str:
    return _ROLES.get(role, role)


def in_words(record: str) -> str:
    """A line of the record in the words people know: `the merge of round 3` for `pass 3 AB`."""
    return _IN_RECORD.sub(
        lambda found: f"{f'the {name_slot(found[2])} of ' if found[2] else ''}round {found[1]}",
        record,
    )


def describe_written(event: Written) -> str:
    """`138 words`, and what is to be known of them."""
    notes = [count(event.words, "word")]
    if event.violations:
        notes.append(f"breaks a limit: {violations(event.violations)}")
    elif getattr(event, "repaired", False):
        notes.append("put right once, to keep the limits")
    return "; ".join(notes)


def _written(event: Written, story: Story) -> str:
    return lines(event.text) if story.writes == "programs" else describe_written(event)


def describe_critique(event: events.CritiqueWritten) -> str:
    if event.by_code:
        return f"{len(event.problems)} broken, found by a program"
    if not event.readable:
        return "the answer could not be read"
    return f"{describe_faults([event])}{left_out(event)}"


def describe_tries(drafts: Sequence[events.DraftWritten], most: int) -> str:
    """`try 4 of at most 10; three broke a limit (over 230 words)`."""
    broken = [each.violations for each in drafts if each.violations]
    why = f"; {numeral(len(broken))} broke a limit ({violations(broken[-1])})" if broken else ""
    return f"try {min(len(drafts) + 1, most)} of at most {most}{why}"


def _vote(event: events.BallotCast, story: Story) -> str:
    """A ranking of texts that were given; how those of a round were ranked is said once, at its end."""
    if story.writes or event.stage.startswith(("pass", "review")):
        return ""
    judge, swapped = judge_of(event.stage, event.seat)
    place = "" if event.stage == "panel" else f"{_name_panel(event.stage)}: "
    who = f"{place}judge {judge}{', order reversed' if swapped else ''}"
    if event.ranking is None:
        return f"{who}: no ranking that can be counted"
    return f"{who}: {', then '.join(map(in_words, event.ranking))}"


def _name_panel(stage: str) -> str:
    return _STAGES.get(stage) or in_words(stage.replace("/", " "))


def _panel(event: events.PanelDecided) -> str:
    stage = _name_panel(event.stage)
    if event.verdict is None:
        return f"{stage}: too few rankings could be read"
    if event.stage in (CONFIRMATION, ALTERNATIVES):
        return f"{stage}: {count(event.verdict.ballots, 'ranking')}"
    return f"{stage}: {'a tie' if event.verdict.tied else f'{event.verdict.winner} leads'}"


def _unguided(event: events.CandidateReady, one: RecordedPass) -> str:
    """That a new draft, in place of a rewrite that came to nothing, is not from what a person told the critic."""
    return "; written from the brief, without your message" if event.fresh and one.guidance else ""


def describe_challengers(one: RecordedPass, slot: str) -> str:
    """What became of the rewrites or the merge of a round, in few words; empty where nothing did yet."""
    ready = [each for each in one.candidates.values() if each.slot.rstrip("123") == slot]
    gone = [each for each in one.dropped if each.slot.rstrip("123") == slot]
    gone = [each for each in gone if each.slot not in one.candidates]
    parts = [f"{describe_written(each)}{_unguided(each, one)}" for each in ready]
    if gone:
        several = f"{numeral(len(gone))} " if len(gone) > 1 else ""
        parts.append(f"{several}{dropped(gone[-1])}")
    return "; ".join(parts)
