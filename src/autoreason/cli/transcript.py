"""A recorded run on a terminal: a line for each round, its record in the words of the method, and what changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from autoreason import events
from autoreason.characters import without_controls
from autoreason.cli import outcome
from autoreason.cli.console import stdout_console
from autoreason.cli.lookup import is_contest, when
from autoreason.cli.screen import FIRST_DRAFT, RoundLine, draw_rounds, list_rounds
from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.keys import is_in_pass, sub_key
from autoreason.programs.events import ProgramExamined, describe_examined, describe_pass
from autoreason.report import numbers
from autoreason.report.changes import LINE_END, Reasons, compare_blocks, compare_texts
from autoreason.report.table import WIDEST, wrap
from autoreason.story import REVIEW, Story
from autoreason.strategies import sampled_draft
from autoreason.task import Metric
from autoreason.tournament import endings, statements
from autoreason.tournament.edits import undecided
from autoreason.tournament.endings import short_run
from autoreason.tournament.rounds import Chapter, is_new_draft, tell, unblind
from autoreason.tournament.statements import predictor_seat, written_with
from autoreason.wording import SEVERITIES

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result


_LABEL = 13
_MIN_WIDTH = 20


# ---- a run in one line for each round ----------------------------------------------------------


def print_overview(row: RunRow, result: Result) -> None:
    """What it is, what it came to, why it stopped, and what happened in every round."""
    console, story = stdout_console(), result.story
    day = row.created.astimezone()
    title = f"{story.title} · {short_run(row.id)} · {day.day} {day:%b %Y, %H:%M}"
    is_text = story.writes == "text"
    lines = result.summary()
    if is_text and result.finished:
        lines = [*takewhile(lambda each: result.took not in each, lines), *written_with(story)]
        lines += filter(None, [endings.to_check(story)])
    if row.live:
        lines = [f"Under way; to watch it: autoreason show {short_run(row.id)} --follow"]
    outcome.print_summary([title, *lines], console)
    rounds = list_rounds(story, (each for each in tell(story) if each.left)) if is_text else []
    if is_text and story.is_sampling:
        rounds = _drafts(story)
    if rounds:
        console.print()
        column = max(len(each.name) for each in rounds) + 2
        for line in draw_rounds(rounds, min(console.width, WIDEST), column):
            console.print(line, soft_wrap=True)
    for problem in undecided(story) if is_text else ():
        _print_row("your decision", problem, console)
    more = ["--text"] if story.text or story.writes == "files" else []
    more += ["--diff"] if story.draft or story.writes == "files" else []
    more += [f"--round {story.passes[-1].number}"] if story.passes else []
    more += ["--evidence", "--html run.html"]
    console.print(f"\n{' · '.join(more)}", soft_wrap=True)


def _drafts(story: Story) -> list[RoundLine]:
    """Of several drafts no one is made from another."""
    found = []
    if many := story.alternatives:
        return [RoundLine(FIRST_DRAFT, x.name, statements.standing(x), x.text) for x in many.texts]
    for number, each in enumerate(story.incumbents, 1):
        chosen = ", chosen" if story.end and each.name == story.origin else ""
        size = numbers.count(count_words(each.text), "word")
        found.append(RoundLine(FIRST_DRAFT, f"draft {number}", f"{size}{chosen}"))
    return found


# ---- all of it ---------------------------------------------------------------------------------


def print_evidence(book: Journal, row: RunRow, result: Result) -> None:
    """The whole run, in the letters of the paper; of a suite only what it is: its cells are runs themselves."""
    console, story = stdout_console(), result.story
    _print_opening(row, story, console)
    _print_lines([] if isinstance(story.job, Lab) else _read(book, row.id), console)
    console.print()
    watch = f"Under way; to watch it: autoreason show {row.id} --follow"
    console.print(watch if row.live else result, soft_wrap=True)


def print_round(book: Journal, row: RunRow, story: Story, number: int) -> None:
    """A round of a text: what its critics found, what each text changed, how judges ranked them and why."""
    one = next((each for each in story.passes if each.number == number), None)
    if one is None:
        there = numbers.count(len(story.passes), "round")
        raise InvalidInput(f"run {row.id} has no round {number}; it has {there}")
    console = stdout_console()
    if story.writes != "text":
        lines = _read(book, row.id, full=True)
        _print_lines([line for line in lines if line.place == f"pass {number}"], console)
        return
    chapter, *reviews = [each for each in tell(story) if each.number == number]
    outcome.print_summary([f"Round {number}: {chapter.sentence}. {chapter.note}".rstrip()], console)
    if one.guidance:
        _print_row("guidance", one.guidance, console)
    for fault in (fault for e in one.critiques for fault in (*e.problems, *e.withheld)):
        where = f"“{fault.quote}” " if fault.quote else "missing: " * (fault.kind == "missing")
        _print_row(SEVERITIES[fault.severity], f"{where}{fault.said}", console)
    for slot, text in one.candidates.items():
        title = f"{chapter.describe(slot)}, {numbers.count(text.words, 'word')}: what it changes"
        console.print(Text(f"\n{numbers.capital(title)}\n", style="bold"))
        print_changes(one.incumbent, text.text, {})
    for dropped in one.dropped:
        what = "a new draft" if is_new_draft(dropped, one) else chapter.describe(dropped.slot)
        _print_row(what, statements.dropped(dropped), console)
    if one.ballots:
        console.print(Text("\nJudges, best first", style="bold"))
    _print_ballots(chapter, console)
    for each in reviews:
        console.print(Text(f"\nReview after it: {each.sentence}; best first", style="bold"))
        _print_ballots(each, console)


def _print_ballots(chapter: Chapter, console: Console) -> None:
    for ballot in chapter.step.ballots:
        ranked = ", ".join(map(chapter.describe, ballot.ranking or ())) or "cannot be read"
        _print_row(f"judge {ballot.seat + 1}", ranked, console)
        _print_row("", unblind(ballot.reasoning, ballot, chapter.describe), console, "dim")


def _read(book: Journal, run: str, *, full: bool = False) -> list[Line]:
    return describe_record((recorded.event for recorded in book.events(run)), full=full)


def _print_opening(row: RunRow, story: Story, console: Console) -> None:
    from autoreason.run.estimate import changed_settings

    name, width = row.id, min(console.width, WIDEST) - len(row.id) - 2
    for each in wrap(story.title, max(_MIN_WIDTH, width)) or [""]:
        console.print(Text.assemble((name, "cyan"), "  ", (each, "bold")), soft_wrap=True)
        name = " " * len(row.id)
    task, settings = story.task, story.settings
    assert task is not None
    assert settings is not None
    is_judged = is_contest(story)
    how = settings.protocol if is_judged else settings.job.label
    origin = f"; forked from {row.forked_from}" if row.forked_from else ""
    metric = task.work if isinstance(task.work, Metric) else None
    models = ", ".join(map(numbers.without_folder, settings.models.all()))
    rows = {
        "status": row.state,
        "started": f"{when(row.created)}, version {row.version}{origin}",
        "models": f"{models} · {how} · seed {settings.seed}",
        "metric": f"{metric.evaluate}, as a {metric.role}" if metric else "",
        "predictor": predictor_seat(task, settings),
        "contract": " ".join(task.rules(short=True)),
        "criteria": " · ".join(task.criteria),
        "changed": " · ".join(changed_settings(settings)) if is_judged else "",
    }
    for label, text in rows.items():
        if text:
            _print_row(label, text, console)


def _print_lines(lines: Iterable[Line], console: Console) -> None:
    """Lines under the headings of their places."""
    width, place = min(console.width, WIDEST), ""
    for line in lines:
        if line.place != place:
            place = line.place
            heading = f"\n{place.capitalize()}" if place else ""
            console.print(Text(heading, style="bold"), soft_wrap=True)
        if line.kind != "text":
            _print_row(line.about, line.text, console, line.style)
            continue
        above, text = f"── {line.about} ".ljust(width, "─"), line.text.rstrip("\n")
        quoted = Text.assemble((f"{above}\n", "dim"), f"{text}\n", ("─" * width, "dim"))
        console.print(quoted, soft_wrap=True)


def _print_row(label: str, text: str, console: Console, style: str = "") -> None:
    column = max(_LABEL, len(label) + 1)
    width = min(console.width, WIDEST) - column - 2
    for line in wrap(text, max(_MIN_WIDTH, width)) or [""]:
        row = Text.assemble("  ", (f"{label:<{column}}", "dim"), (line, style))
        console.print(row, soft_wrap=True)
        label = ""


# ---- what changed ------------------------------------------------------------------------------

_MARKS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}", "why": "{{>>{}<<}}"}
_STYLES = {"same": "", "gone": "red strike", "new": "green", "why": "dim"}


def print_changes(before: str, after: str, reasons: Reasons) -> None:
    """In colour on a terminal that has it, else with marks: [-gone-], {+new+}, {>>why<<}; wrapped on any terminal."""
    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    if before == after:
        print("nothing changed: the text is the first draft", file=sys.stderr)
    last = ""
    for old, new in compare_texts(before, after, LINE_END):
        kind = new.kind or old.kind
        if last and not last == kind == "item":
            console.print()
        last = kind
        line = Text("#" * int(kind[1]) + " " if kind[0] == "h" else "- " if kind == "item" else "")
        for each in compare_blocks(old, new, reasons):
            mark = "{}" if coloured and each.kind != "why" else _MARKS[each.kind]
            text = without_controls(mark.format(each.text))
            line.append(text, _STYLES[each.kind] if coloured else "").append(each.gap)
        line.rstrip()
        console.print(line, soft_wrap=not console.is_terminal)


_SEVERITIES = {"critical": "red", "major": "yellow", "minor": "dim"}


class Line(NamedTuple):
    place: str
    """`pass 3`, `review`; empty where it belongs to the whole run."""
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
        found += _name_as_drafts(event, lines, story) if story.is_sampling else lines
    return found


def _name_as_drafts(event: events.AnyEvent, lines: list[Line], story: Story) -> list[Line]:
    match event:
        case events.PassStarted() | events.PassDecided():
            return []
        case events.CandidateReady() | events.CandidateDropped():
            name = sampled_draft(story, event.number)
            return [each._replace(place="", about=name) for each in lines[:1]]
    return lines


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
        case events.ReviewDecided():
            stage = sub_key(REVIEW, event.after) if event.after else REVIEW
            yield from _decision(_place(stage), _review(event), event.verdict)
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
            yield from (Line(place, "text A", size), Line(place, "A", text, kind="text"))
        case events.GuidanceGiven():
            yield Line(place, "guidance", event.text)
        case events.CritiqueWritten():
            yield from _critique(place, event)
        case events.CandidateReady():
            size = _size(event.text, story, statements.candidate(event))
            yield Line(place, _name(event.slot), size)
            yield Line(place, event.slot, event.text, kind="text")
            if event.notes:
                yield Line(place, f"notes on {event.slot}", event.notes, kind="text")
        case events.CandidateDropped():
            yield Line(place, _name(event.slot), statements.dropped(event), "yellow")
            if event.text:
                yield Line(place, event.slot, event.text, kind="text")
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


def _critique(place: str, event: events.CritiqueWritten) -> Iterator[Line]:
    about = "contract" if event.by_code else "second" if event.critic else "critique"
    yield Line(place, about, statements.critique(event))
    for problem in event.problems:
        missing = " (missing from the text)" if problem.kind == "missing" else ""
        style = _SEVERITIES[problem.severity]
        yield Line(place, f"  {problem.severity}", problem.said + missing, style)
        if problem.quote:
            yield Line(place, "", f"“{problem.quote}”", "italic dim")
    for each in event.prose.splitlines():
        yield Line(place, "", each)


def _ballot(event: events.BallotCast) -> Iterator[Line]:
    place = _place(event.stage)
    who, _, vote = statements.ballot(event).partition(": ")
    yield Line(place, who, vote, "" if event.ranking else "yellow")
    checked = (event.check.model, event.check.reasoning) if event.check else ()
    saw = f"saw {', '.join(event.order)}; {event.model}"
    for each in "\n".join((saw, event.reasoning, *checked)).splitlines():
        yield Line(place, "", each, "dim", "reason")


def _place(stage: str) -> str:
    """`pass 3`, `review after pass 5`, `review after pass 10 older`."""
    return stage.replace("review/", "review after pass ").replace("/", " ")


def _decision(place: str, text: str, verdict: events.Verdict | None) -> Iterator[Line]:
    """What was decided, after the ballots of seats that code fills, which have no events of their own."""
    for name, ballot in verdict.code.items() if verdict else ():
        yield Line(place, name, statements.code_ballot(ballot, name))
    yield Line(place, "verdict", text, "bold")


def _review(event: events.ReviewDecided) -> str:
    if event.winner is None or event.verdict is None:
        return statements.review(event)
    points = statements.scores(event.verdict.scores)
    worth = f"{statements.lead(event.verdict)} ({statements.ballots(event.verdict)})"
    trend = f"; trend {event.trend:.2f}" if event.after and event.trend is not None else ""
    back = "; the run goes on from it" if event.back else ""
    return f"{event.winner} is put first, {points}{statements.weights(event)}: {worth}{trend}{back}"


def _examined(event: ProgramExamined) -> str:
    if not event.program:
        return "no program in the answer"
    found = f"{numbers.lines(event.program)}; {describe_examined(event.examined)}"
    failed = event.examined.failed
    if failed is None:
        return found
    reason = failed.detail or failed.difference or (failed.trace.strip().splitlines() or [""])[-1]
    return f"{found}; test {failed.number}{f': {reason}' if reason else ' is the first'}"
