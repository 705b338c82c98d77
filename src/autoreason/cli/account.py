"""The record of a run told in lines, in the words of the method: letters, passes and ballots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from autoreason import events
from autoreason.cli.lookup import is_contest, is_sampled
from autoreason.keys import is_in_pass
from autoreason.report import numbers
from autoreason.story import Story
from autoreason.tournament import statements

if TYPE_CHECKING:
    from autoreason.programs.events import ProgramExamined

LIVE, RECORD, FULL = 0, 1, 2
"""Shown while a run lasts; only by `show --evidence`; only by `show --round`."""
_SEVERITIES = {"critical": "red", "major": "yellow", "minor": "dim"}


class Line(NamedTuple):
    place: str
    """`pass 3`, `playoff`; empty where it belongs to the whole run."""
    about: str
    """`critique`, `judge 2`; empty where the text says it."""
    text: str
    depth: int = LIVE
    style: str = ""
    kind: Literal["", "verdict", "quote"] = ""
    """Whether it says how its place ended, or is a text as it was written."""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.place, self.about, self.text)))


# ---- what happens ------------------------------------------------------------------------------


def tell(event: events.AnyEvent, story: Story) -> list[Line]:
    """Apply an event to its story; the lines that say it, none where others say more."""
    story.apply(event)
    if story.writes == "programs":
        return list(_program_lines(event, story))
    if not is_sampled(story):
        return _lines(event, story)
    from autoreason.strategies import name_drafts, sampled_draft

    match event:
        case events.PassStarted() | events.PassDecided():
            return []
        case events.CandidateReady() | events.CandidateDropped():
            name = sampled_draft(story, event.number)
            return [each._replace(place="", about=name) for each in _lines(event, story)[:1]]
    return [
        each._replace(place=name_drafts(each.place), text=name_drafts(each.text))
        for each in _lines(event, story)
    ]


def tell_all(recorded: Iterable[events.AnyEvent]) -> list[Line]:
    story = Story()
    return [line for event in recorded for line in tell(event, story)]


def _lines(event: events.AnyEvent, story: Story) -> list[Line]:
    match event:
        case events.RunStarted():
            return _opening(story)
        case events.RunResumed():
            return [Line("", "", "resumed")]
        case events.RunPaused() | events.Delivered() | events.JobFinished():
            origin = "" if isinstance(event, events.RunPaused) else event.origin
            text = f"; delivered is {origin}" if origin else ""
            return [Line("", "", f"{statements.ENDINGS[event.status]}: {event.reason}{text}")]
        case events.DraftWritten():
            return [Line("", f"draft {event.number}", statements.draft(event))]
        case events.DraftReady():
            origin = "given" if event.given else "written"
            return [Line("", "draft", f"{origin}, {statements.draft(event, event.of)}")]
        case events.DraftFailed():
            return [Line("", "draft", f"none ({event.reason}: {event.detail})")]
        case events.BallotCast():
            return _ballot(event)
        case events.PanelDecided():
            place = event.stage.replace("/", " ")
            return _decision(place, statements.panel(event), event.verdict)
        case events.PlayoffDecided():
            return _decision("playoff", _playoff(event), event.verdict)
    return _pass_lines(event, story)


def _pass_lines(event: events.AnyEvent, story: Story) -> list[Line]:
    place = f"pass {event.number}" if hasattr(event, "number") else ""
    match event:
        case events.PromptsShortened():
            return [Line(place, "prompts", f"in few words from here on: {event.reason}")]
        case events.PassStarted():
            assert story.incumbent is not None
            return _text(place, "A", numbers.count(event.words, "word"), story.incumbent.text)
        case events.GuidanceGiven():
            return [Line(place, "guidance", event.text)]
        case events.CritiqueWritten():
            return list(_critique(place, event))
        case events.CandidateReady():
            lines = _text(place, event.slot, statements.candidate(event), event.text)
            return lines + _quote(place, f"notes on {event.slot}", event.notes)
        case events.CandidateDropped():
            (line, *quote) = _text(place, event.slot, statements.dropped(event), event.text)
            return [line._replace(style="yellow"), *quote]
        case events.PassDecided():
            text = statements.decided(event, story.settings.k if story.settings else None)
            return _decision(place, text, event.verdict)
    about, _, text = event.line.partition(": ")
    return [Line("", about, text)] if text else [Line("", "", about or type(event).__name__)]


def _program_lines(event: events.AnyEvent, story: Story) -> list[Line]:
    """The same on the way to a program, which tests decide on more often than judges."""
    from autoreason.programs.events import ProgramExamined, Solved, describe_pass, describe_solved

    match event:
        case events.DraftReady():
            return [Line("", "draft", f"written, {numbers.lines(event.text)}")]
        case events.CandidateReady():
            place = f"pass {event.number}"
            return _text(place, event.slot, numbers.lines(event.text), event.text)
        case events.PassStarted():
            return [line for line in _pass_lines(event, story) if line.depth == FULL]
        case events.PassDecided():
            text = describe_pass(event, story.settings.k if story.settings else None)
            return _decision(f"pass {event.number}", text, event.verdict)
        case ProgramExamined():
            place, _, about = event.stage.rpartition("/") if is_in_pass(event.stage) else ("",) * 3
            about = about or event.stage.replace("/", " ")
            return [Line(place.replace("/", " "), about, _examined(event))]
        case Solved():
            about = f"{event.problem}, {event.strategy}"
            return [Line("", about, describe_solved(event), style="bold")]
        case events.Delivered():
            return []
    return _lines(event, story)


def _opening(story: Story) -> list[Line]:
    from autoreason.tournament.panel import Metric

    task, settings = story.task, story.settings
    assert task is not None
    assert settings is not None
    method = describe_method(story)
    single = f" · {statements.ONE_VOTE}" if settings.judges == 1 else ""
    metric = task.work if isinstance(task.work, Metric) else None
    said = {
        "models": method,
        "metric": f"{metric.evaluate}, as a {metric.role}" if metric else "",
        "predictor": statements.predictor_seat(task, settings),
        "contract": " ".join(task.contract.rules()),
    }
    lines = [Line("", about, text, RECORD) for about, text in said.items() if text]
    return [Line("", "", f"{task.title} · {method}{single}"), *lines]


def _text(place: str, slot: events.Slot, words: str, text: str) -> list[Line]:
    kind = {"A": "text", "AB": "synthesis"}.get(slot, "revision")
    return [Line(place, f"{kind} {slot}", words), *_quote(place, slot, text)]


def _quote(place: str, name: str, text: str) -> list[Line]:
    return [Line(place, name, text, FULL, kind="quote")] if text else []


def _critique(place: str, event: events.CritiqueWritten) -> Iterator[Line]:
    about = "contract" if event.by_code else "second" if event.critic else "critique"
    yield Line(place, about, statements.critique(event))
    for problem in event.problems:
        missing = " (missing from the text)" if problem.kind == "missing" else ""
        style = _SEVERITIES[problem.severity]
        yield Line(place, f"  {problem.severity}", problem.problem + missing, RECORD, style)
        if problem.quote:
            yield Line(place, "", f"“{problem.quote}”", RECORD, "italic dim")
    for each in event.prose.splitlines():
        yield Line(place, "", each, RECORD)


def _ballot(event: events.BallotCast) -> list[Line]:
    place = "playoff" if event.stage.startswith("playoff") else event.stage.replace("/", " ")
    who, _, vote = statements.ballot(event).partition(": ")
    checked = (event.check.model, event.check.reasoning) if event.check else ()
    saw = f"saw {', '.join(event.order)}; {event.model}"
    reasons = "\n".join((saw, event.reasoning, *checked)).splitlines()
    return [
        Line(place, who, vote, style="" if event.ranking else "yellow"),
        *(Line(place, "", each, FULL, "dim") for each in reasons),
    ]


def _decision(place: str, text: str, verdict: events.Verdict | None) -> list[Line]:
    """What was decided, after the ballots of seats that code fills, which have no events of their own."""
    code = verdict.code if verdict else {}
    votes = [Line(place, name, statements.code_ballot(each)) for name, each in code.items()]
    return [*votes, Line(place, "", text, style="bold", kind="verdict")]


def _playoff(event: events.PlayoffDecided) -> str:
    if event.winner is None or event.verdict is None:
        return "too few valid ballots; the last A is delivered"
    points = statements.scores(event.verdict.scores)
    worth = f"{statements.lead(event.verdict)} ({statements.ballots(event.verdict)})"
    return f"{event.winner} wins, {points}{statements.weights(event)}: {worth}"


def _examined(event: ProgramExamined) -> str:
    from autoreason.programs.events import describe_examined

    if not event.program:
        return "no program in the answer"
    said = f"{numbers.lines(event.program)}; {describe_examined(event.examined)}"
    failed = event.examined.failed
    if failed is None:
        return said
    reason = failed.detail or failed.difference or (failed.trace.strip().splitlines() or [""])[-1]
    return f"{said}; test {failed.number}{f': {reason}' if reason else ' is the first'}"


def describe_method(story: Story) -> str:
    settings = story.settings
    if settings is None:
        return ""
    how = settings.protocol if is_contest(story) else settings.job.label
    return f"{', '.join(settings.models.all())} · {how} · seed {settings.seed}"
