"""The record of a run in lines, in the words of the method: letters, passes and ballots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from autoreason import events
from autoreason.cli.lookup import is_sampled
from autoreason.keys import is_in_pass
from autoreason.programs.events import ProgramExamined, describe_examined, describe_pass
from autoreason.report import numbers
from autoreason.story import Story
from autoreason.strategies import name_drafts, sampled_draft
from autoreason.tournament import statements

_SEVERITIES = {"critical": "red", "major": "yellow", "minor": "dim"}


class Line(NamedTuple):
    place: str
    """`pass 3`, `playoff`; empty where it belongs to the whole run."""
    about: str
    """`critique`, `judge 2`, `verdict`; empty where it goes on from the line before."""
    text: str
    style: str = ""
    kind: Literal["step", "reason", "text"] = "step"
    """Whether it says what happened, why a judge voted so, or is a text as it was written."""


def describe_record(recorded: Iterable[events.AnyEvent], *, full: bool = False) -> list[Line]:
    """What happened, step by step; `full` has texts and the reasons of judges as well."""
    story, found = Story(), []
    for event in recorded:
        story.apply(event)
        lines = [line for line in _lines(event, story) if full or line.kind == "step"]
        found += _name_as_drafts(event, lines, story) if is_sampled(story) else lines
    return found


def _name_as_drafts(event: events.AnyEvent, lines: list[Line], story: Story) -> list[Line]:
    match event:
        case events.PassStarted() | events.PassDecided():
            return []
        case events.CandidateReady() | events.CandidateDropped():
            name = sampled_draft(story, event.number)
            return [each._replace(place="", about=name) for each in lines[:1]]
    return [
        each._replace(place=name_drafts(each.place), text=name_drafts(each.text)) for each in lines
    ]


def _lines(event: events.AnyEvent, story: Story) -> Iterator[Line]:
    match event:
        case events.DraftWritten():
            yield Line("", f"draft {event.number}", statements.draft(event))
        case events.DraftReady():
            size = _size(event.text, story, statements.draft(event, event.of))
            yield Line("", "draft", f"{'given' if event.given else 'written'}, {size}")
        case events.DraftFailed():
            yield Line("", "draft", f"none ({event.reason}: {event.detail})")
        case events.BallotCast():
            yield from _ballot(event)
        case events.PanelDecided():
            place = event.stage.replace("/", " ")
            yield from _decision(place, statements.panel(event), event.verdict)
        case events.PlayoffDecided():
            yield from _decision("playoff", _playoff(event), event.verdict)
        case ProgramExamined():
            place, _, about = event.stage.rpartition("/") if is_in_pass(event.stage) else ("",) * 3
            about = about or event.stage.replace("/", " ")
            yield Line(place.replace("/", " "), about, _examined(event))
        case _:
            yield from _pass_lines(event, story)


def _pass_lines(event: events.AnyEvent, story: Story) -> Iterator[Line]:
    place = f"pass {event.number}" if hasattr(event, "number") else ""
    match event:
        case events.PromptsShortened():
            yield Line(place, "prompts", f"in few words from here on: {event.reason}")
        case events.PassStarted():
            assert story.incumbent is not None
            text = story.incumbent.text
            size = _size(text, story, numbers.count(event.words, "word"))
            yield from (Line(place, "text A", size), _quote(place, "A", text))
        case events.GuidanceGiven():
            yield Line(place, "guidance", event.text)
        case events.CritiqueWritten():
            yield from _critique(place, event)
        case events.CandidateReady():
            size = _size(event.text, story, statements.candidate(event))
            yield Line(place, _name(event.slot), size)
            yield _quote(place, event.slot, event.text)
            if event.notes:
                yield _quote(place, f"notes on {event.slot}", event.notes)
        case events.CandidateDropped():
            yield Line(place, _name(event.slot), statements.dropped(event), "yellow")
            if event.text:
                yield _quote(place, event.slot, event.text)
        case events.PassDecided():
            describe = describe_pass if story.writes == "programs" else statements.decided
            text = describe(event, story.settings.k if story.settings else None)
            yield from _decision(place, text, event.verdict)
        case _:
            about, _, text = event.line.partition(": ")
            if text:
                yield Line("", about, text)


def _size(text: str, story: Story, words: str) -> str:
    return numbers.lines(text) if story.writes == "programs" else words


def _name(slot: events.Slot) -> str:
    return f"{'synthesis' if slot == 'AB' else 'revision'} {slot}"


def _quote(place: str, name: str, text: str) -> Line:
    return Line(place, name, text, kind="text")


def _critique(place: str, event: events.CritiqueWritten) -> Iterator[Line]:
    about = "contract" if event.by_code else "second" if event.critic else "critique"
    yield Line(place, about, statements.critique(event))
    for problem in event.problems:
        missing = " (missing from the text)" if problem.kind == "missing" else ""
        style = _SEVERITIES[problem.severity]
        yield Line(place, f"  {problem.severity}", problem.problem + missing, style)
        if problem.quote:
            yield Line(place, "", f"“{problem.quote}”", "italic dim")
    for each in event.prose.splitlines():
        yield Line(place, "", each)


def _ballot(event: events.BallotCast) -> Iterator[Line]:
    place = "playoff" if event.stage.startswith("playoff") else event.stage.replace("/", " ")
    who, _, vote = statements.ballot(event).partition(": ")
    yield Line(place, who, vote, "" if event.ranking else "yellow")
    checked = (event.check.model, event.check.reasoning) if event.check else ()
    saw = f"saw {', '.join(event.order)}; {event.model}"
    for each in "\n".join((saw, event.reasoning, *checked)).splitlines():
        yield Line(place, "", each, "dim", "reason")


def _decision(place: str, text: str, verdict: events.Verdict | None) -> Iterator[Line]:
    """What was decided, after the ballots of seats that code fills, which have no events of their own."""
    for name, ballot in verdict.code.items() if verdict else ():
        yield Line(place, name, statements.code_ballot(ballot, name))
    yield Line(place, "verdict", text, "bold")


def _playoff(event: events.PlayoffDecided) -> str:
    if event.winner is None or event.verdict is None:
        return "too few valid ballots; the last A is delivered"
    points = statements.scores(event.verdict.scores)
    worth = f"{statements.lead(event.verdict)} ({statements.ballots(event.verdict)})"
    return f"{event.winner} wins, {points}{statements.weights(event)}: {worth}"


def _examined(event: ProgramExamined) -> str:
    if not event.program:
        return "no program in the answer"
    found = f"{numbers.lines(event.program)}; {describe_examined(event.examined)}"
    failed = event.examined.failed
    if failed is None:
        return found
    reason = failed.detail or failed.difference or (failed.trace.strip().splitlines() or [""])[-1]
    return f"{found}; test {failed.number}{f': {reason}' if reason else ' is the first'}"
