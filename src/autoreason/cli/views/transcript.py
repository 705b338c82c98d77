"""A run in a terminal, pass by pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from autoreason.artifacts.trial_events import TrialDecided
from autoreason.cli.times import when
from autoreason.cli.views import outcome, plain
from autoreason.cli.views.console import stdout_console
from autoreason.errors import InvalidInput
from autoreason.programs.events import solved_in
from autoreason.report import numbers
from autoreason.report.table import WIDEST, wrap
from autoreason.run.dry_run import changed_settings
from autoreason.tournament import statements
from autoreason.tournament.metric import Metric

if TYPE_CHECKING:
    from autoreason.events import (
        BallotCast,
        CandidateReady,
        CritiqueProblem,
        CritiqueWritten,
        Verdict,
    )
    from autoreason.journal import RunRow
    from autoreason.run.result import Result
    from autoreason.story import RecordedPanel, RecordedPass, Story

_LABEL = 12
_MIN_WIDTH = 20
_SHORT = 12
"""Lines of a text that a short account shows."""
_SEVERITIES = {"critical": "red", "major": "yellow", "minor": "dim"}


def print_run(
    row: RunRow,
    result: Result,
    number: int | None = None,
    print_parts: Callable[[], None] | None = None,
) -> None:
    """The whole run, or one pass in full."""
    story = result.story
    transcript = Transcript(stdout_console())
    is_sampled = bool(story.job and story.job.is_sampling)
    if is_sampled:
        from autoreason.strategies.rivals import name_drafts

        transcript.rename = name_drafts
    if number is not None:
        transcript.one_pass(_find_pass(row, story, number), story, in_full=True)
        return
    transcript.opening(row, story)
    transcript.drafts(story)
    for each in story.passes:
        if is_sampled:
            transcript.sample(each, story)
        else:
            transcript.one_pass(each, story)
    transcript.playoff(story)
    if story.writes == "files":
        transcript.steps(story)
    if print_parts:
        print_parts()
    else:
        transcript.panels(story)
    if story.writes == "text" or (
        story.end is None and not solved_in(story) and story.writes != "files"
    ):
        transcript.end(row, result)


def print_end(row: RunRow, result: Result) -> None:
    """What was to be written, the beginning of the text, and how the run ended; no pass."""
    transcript = Transcript(stdout_console())
    transcript.opening(row, result.story)
    if result.story.text:
        transcript.beginning(row, result.story.text)
    transcript.end(row, result)


def _find_pass(row: RunRow, story: Story, number: int) -> RecordedPass:
    for each in story.passes:
        if each.number == number:
            return each
    passes = numbers.count(len(story.passes), "pass", "passes")
    raise InvalidInput(f"run {row.id} has no pass {number}; it has {passes}")


class Transcript:
    """Prints a story with labels in a column of their own."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, WIDEST)
        self.rename: Callable[[str], str] = str
        """How texts are called here that the record has other names for."""

    def opening(self, row: RunRow, story: Story) -> None:
        """What was to be written, and by whom."""
        name = row.id
        for line in wrap(row.title, max(_MIN_WIDTH, self.width - len(row.id) - 2)) or [""]:
            self._print(Text.assemble((name, "cyan"), "  ", (line, "bold")))
            name = " " * len(row.id)
        self._row("status", row.state)
        if story.settings:
            models = ", ".join(story.settings.models.all())
            settings = story.settings
            is_contest = settings.job.is_tournament
            how = settings.protocol if is_contest else settings.job.label
            self._row("models", f"{models}; {how}; seed {settings.seed}")
            if is_contest and (changed := changed_settings(settings)):
                self._row("changed", " · ".join(changed))
        origin = f"; forked from {row.forked_from}" if row.forked_from else ""
        self._row("started", f"{when(row.created)}, version {row.version}{origin}")
        work = story.task.work if story.task else None
        if isinstance(work, Metric):
            self._row("metric", f"{work.evaluate}, as a {work.role}")
        if (
            story.task
            and story.settings
            and (seat := statements.predictor_seat(story.task, story.settings))
        ):
            self._row("predictor", seat)
        if story.task and not story.task.contract.empty:
            self._row("contract", " ".join(story.task.contract.rules()))

    def drafts(self, story: Story) -> None:
        """The first draft, and the drafts it was chosen from."""
        for each in story.drafts:
            self._row(f"draft {each.number}", statements.draft(each))
        if story.draft:
            self._row("draft", plain.step(story.draft, story).removeprefix("draft: "))

    def sample(self, each: RecordedPass, story: Story) -> None:
        """One of several independent drafts, each recorded as a pass."""
        for event in (*each.candidates.values(), *each.dropped):
            self._row(f"draft {each.number}", plain.step(event, story).partition(": ")[2])

    def beginning(self, row: RunRow, text: str) -> None:
        """A text, or the first lines of it."""
        lines = text.rstrip("\n").split("\n")
        head = "\n".join(lines[:_SHORT])[: _SHORT * WIDEST].rstrip()
        self._quote("text", head)
        if len(head) < len(text.rstrip()):
            self._row("", f"… all of it: autoreason show {row.id} --text", "dim")

    def one_pass(self, each: RecordedPass, story: Story, *, in_full: bool = False) -> None:
        """Critique, challengers, ballots and verdict."""
        self._heading(f"Pass {each.number}")
        if each.guidance:
            self._row("guidance", each.guidance)
        if story.shortened and story.shortened.number == each.number:
            self._row("prompts", f"in few words from here on: {story.shortened.reason}")
        if in_full:
            self._quote("A", each.incumbent)
        for critique in each.critiques:
            self._critique(critique)
        for ready in each.candidates.values():
            self.candidate(ready, story)
            if in_full:
                self._quote(ready.slot, ready.text)
                self._quote(f"notes on {ready.slot}", ready.notes)
        for dropped in each.dropped:
            self._row(dropped.slot, statements.dropped(dropped), "yellow")
            self._quote(dropped.slot, dropped.text if in_full else "")
        for ballot in each.ballots:
            self._ballot(ballot, in_full)
        self._code(each.verdict)
        if each.decided:
            k = story.settings.k if story.settings else None
            self._row("verdict", statements.decided(each.decided, k), "bold")
        else:
            self._row("verdict", "none yet", "dim")

    def candidate(self, ready: CandidateReady, story: Story) -> None:  # noqa: ARG002
        """A challenger."""
        self._row(ready.slot, statements.candidate(ready))

    def playoff(self, story: Story) -> None:
        """The final panel."""
        if not story.playoff_ballots:
            return
        self._heading("Playoff")
        for ballot in story.playoff_ballots:
            self._ballot(ballot, in_full=False)
        if story.playoff:
            self._code(story.playoff.verdict)
            self._row("verdict", plain.playoff(story.playoff), "bold")

    def steps(self, story: Story) -> None:
        """What happened in research, one line each."""
        for event in story.others:
            line = plain.step(event, story)
            label, _, text = line.partition(": ")
            if isinstance(event, TrialDecided):
                label = f"trial {event.number}"
                text = line.removeprefix(f"{label} ")
            self._row(label, text)

    def panels(self, story: Story) -> None:
        """Panels over finished texts, ballot by ballot."""
        for stage, panel in story.panels.items():
            self._panel(stage.replace("/", " "), panel)

    def _panel(self, title: str, panel: RecordedPanel) -> None:
        self._heading(title.capitalize())
        for ballot in panel.ballots:
            self._ballot(ballot, in_full=False)
        self._code(panel.verdict)
        if panel.decided:
            self._row("verdict", statements.panel(panel.decided), "bold")

    def end(self, row: RunRow, result: Result) -> None:
        """How it ended, with its evidence."""
        self._print(Text())
        if row.live:
            steps = [("", "Under way"), ("Watch", f"autoreason show {row.id} --follow")]
            outcome.print_rows(steps, self.console)
        else:
            outcome.print_report(result, self.console)

    def _critique(self, critique: CritiqueWritten) -> None:
        label = "contract" if critique.by_code else "critique" if critique.critic == 0 else "second"
        self._row(label, statements.critique(critique))
        for problem in critique.problems:
            self._problem(problem)
        for line in critique.prose.splitlines():
            self._row("", line)

    def _problem(self, problem: CritiqueProblem) -> None:
        missing = " (missing from the text)" if problem.kind == "missing" else ""
        self._row(
            f"  {problem.severity}",
            problem.problem + missing,
            label_style=_SEVERITIES[problem.severity],
        )
        if problem.quote:
            self._row("", f"“{problem.quote}”", "italic dim")

    def _ballot(self, ballot: BallotCast, in_full: bool) -> None:
        who, _, vote = statements.ballot(ballot).partition(": ")
        order = f"  (saw {', '.join(ballot.order)})" if ballot.ranking else ""
        self._row(who, f"{vote}{order}", "" if ballot.ranking else "yellow")
        if in_full:
            self._row("", ballot.model, "dim")
            checked = (ballot.check.model, ballot.check.reasoning) if ballot.check else ()
            for text in (ballot.reasoning, *checked):
                for line in text.splitlines():
                    self._row("", line, "dim")

    def _code(self, verdict: Verdict | None) -> None:
        for name, ballot in (verdict.code if verdict else {}).items():
            self._row(name, statements.code_ballot(ballot), "" if ballot.ranking else "yellow")

    def _heading(self, title: str) -> None:
        self._print(Text(f"\n{title}", style="bold"))

    def _quote(self, name: str, text: str) -> None:
        """A text as it is, between rules."""
        if text:
            self._print(Text(f"── {name} ".ljust(self.width, "─"), style="dim"))
            self._print(Text(text.rstrip("\n")))
            self._print(Text("─" * self.width, style="dim"))

    def _row(self, label: str, text: str, style: str = "", label_style: str = "dim") -> None:
        column = max(_LABEL, len(label) + 1)
        lines = wrap(self.rename(text), max(_MIN_WIDTH, self.width - column - 2)) or [""]
        for place, line in enumerate(lines):
            head = f"{label if place == 0 else '':<{column}}"
            self._print(Text.assemble("  ", (head, label_style), (line, style)))

    def _print(self, line: Text) -> None:
        self.console.print(line, soft_wrap=True)
