"""Recorded passes judged by another panel: which decisions would change?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins

from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import JobFinished, PanelDecided, Verdict
from autoreason.job_types import Rejudge
from autoreason.jobs.context import Emit, side_by_side
from autoreason.jobs.job import last_panel, panel_attempts
from autoreason.keys import Key, attempt_stage, pass_key, sub_key
from autoreason.report.numbers import UNKNOWN, count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.stats import BEYOND_CHANCE
from autoreason.stats.shares import holm
from autoreason.story import RecordedPanel, Story
from autoreason.studies.panels.panel_jobs import PanelJob
from autoreason.task import Entry, Task
from autoreason.tournament.panel import Metric, Panel
from autoreason.tournament.voting import PanelSize, in_tie_order

_AGAIN = "again"


class Decision(NamedTuple):
    """A recorded decision and that of the other panel."""

    stage: str
    recorded_winner: str
    new_winner: str | None
    """None where too few of the new ballots were valid."""
    recorded_verdict: Verdict | None
    new_verdict: Verdict | None

    @property
    def changed(self) -> bool:
        """Whether the other panel would have decided otherwise."""
        return self.new_winner is not None and self.new_winner != self.recorded_winner


class RejudgeReport(Report, Struct, frozen=True, kw_only=True):
    """Recorded decisions and those of another panel."""

    rejudged_run: str
    """The run whose decisions they are."""
    decisions: tuple[Decision, ...]

    heading = "Recorded panels, judged again"

    @property
    def conclusion(self) -> str:
        """How many decisions would have been different."""
        judged = [each for each in self.decisions if each.new_verdict]
        changed = sum(each.changed for each in self.decisions)
        clear = sum(each.changed for each in beyond_chance(self.decisions))
        by = f", {clear or 'none'} of them by a lead beyond chance" if changed else ""
        undecided = len(self.decisions) - len(judged)
        exclusion = f"; {undecided} got too few valid ballots to say" if undecided else ""
        recorded = [each.recorded_verdict for each in self.decisions if each.recorded_verdict]
        seats = " and a ".join(dict.fromkeys(name for each in recorded for name in each.code))
        alone = f"; a {seats} had a seat on those, and none on this one" if seats else ""
        return (
            f"another panel would have decided {changed} of {len(judged)} "
            f"recorded panels otherwise{by}{exclusion}{alone}"
        )

    def sections(self) -> list[Section]:
        """Each decision."""
        heads = ("recorded", "other panel", "", "its lead")
        rows = [
            (
                each.stage,
                each.recorded_winner,
                each.new_winner or UNKNOWN,
                "changed" if each.changed else "",
                _lead(each.new_verdict) if each.new_verdict else "too few valid ballots",
            )
            for each in self.decisions
        ]
        columns = [*words("decision"), *figures(*heads)]
        return [Section(tables=[Table(columns, rows, tones={"changed": "warning"})])]

    def to_dict(self) -> dict[str, Any]:
        """Its values, and of each decision whether it changed."""
        decisions = [to_builtins(e._asdict()) | {"changed": e.changed} for e in self.decisions]
        return {
            "rejudged_run": self.rejudged_run,
            "conclusion": self.conclusion,
            "decisions": decisions,
        }

    def run_fields(self) -> dict[str, Any]:
        """All of it."""
        return self.to_dict()


def _lead(verdict: Verdict) -> str:
    if verdict.tied:
        return "a tie"
    if verdict.margin < 0:
        return f"{count(-verdict.margin, 'point')} behind"
    return f"{count(verdict.margin, 'point')}, {percent(verdict.chance)} by chance"


class RejudgeJob(PanelJob):
    """Every recorded panel once more, over the same texts; no text is written."""

    summary = "recorded passes judged again by another panel"

    async def run(self) -> JobFinished:
        """Run all panels side by side."""
        stages = stages_of(self.context.task)
        for attempt in panel_attempts(self.context):
            works = [partial(self._judge_again, stage, attempt) for stage in stages]
            verdicts = await side_by_side(self.emit, works)
            if any(verdicts):
                return self.finish(f"{len(stages)} panels were run again")
        raise PanelFailed("no panel got enough valid ballots to decide anything")

    @classmethod
    def plan_count(cls, task: Task) -> int:
        """Once for each recorded panel."""
        return len(stages_of(task))

    async def _judge_again(self, stage: str, attempt: int, emit: Emit) -> Verdict | None:
        texts = {e.name: e.text for e in self.context.task.entries if e.stage == stage}
        context = replace(self.context, emit=emit)
        stage_again = attempt_stage(stage, attempt)
        panel = Panel(context, stage_again, texts, PanelSize(start=self.settings.judges))
        verdict = await panel.run()
        emit(PanelDecided(stage=stage_again, verdict=verdict))
        return verdict


def stages_of(task: Task) -> list[str]:
    """The stages of the panels that are run again."""
    return list(dict.fromkeys(entry.stage for entry in task.entries))


def recorded_panels(story: Story, run: str) -> Task:
    """A run's task with the texts of every panel, in the order in which ties are decided."""
    if story.task is None or story.settings is None:
        raise InvalidInput(f"run {run} was killed before anything was recorded")
    entries: list[Entry] = []
    for recorded in story.passes:
        if recorded.verdict:
            stage = sub_key(_AGAIN, pass_key(recorded.number))
            slots = in_tie_order(recorded.verdict.scores, story.settings)
            texts = {"A": recorded.incumbent} | {s: c.text for s, c in recorded.candidates.items()}
            entries += [Entry(name=slot, text=texts[slot], stage=stage) for slot in slots]
    if story.playoff and story.playoff.verdict:
        stage = sub_key(_AGAIN, "playoff")
        # Ties go to the last incumbent, which is last among the finalists.
        finalists = reversed(story.playoff.texts)
        entries += [Entry(name=text.name, text=text.text, stage=stage) for text in finalists]
    is_text = not story.task.work or isinstance(story.task.work, Metric)
    if not entries or not is_text:
        raise InvalidInput(
            f"run {run} has no pass over texts that a panel decided; name one that has, "
            "or give finished texts to `autoreason judge`"
        )
    return Task(
        brief=story.task.brief,
        facts=story.task.facts,
        contract=story.task.contract,
        entries=tuple(entries),
        knowledge=story.task.knowledge and story.task.knowledge.origin(),
    )


def rejudge_report(story: Story, before: Story) -> RejudgeReport:
    """The report of another panel, whose story comes first, on the decisions of a run."""
    run = rejudged_run(story)
    return RejudgeReport(rejudged_run=run, decisions=tuple(decisions(before, story.panels)))


def rejudged_run(story: Story) -> str:
    """The run whose decisions were put to another panel."""
    assert story.settings is not None
    return story.settings.job_as(Rejudge).of


def decisions(before: Story, panels: Mapping[str, RecordedPanel]) -> list[Decision]:
    """The recorded decisions with those of the other panel."""
    verdicts = {
        sub_key(_AGAIN, pass_key(recorded.number)): recorded.verdict
        for recorded in before.passes
        if recorded.verdict
    }
    if before.playoff and before.playoff.verdict:
        verdicts[sub_key(_AGAIN, "playoff")] = before.playoff.verdict
    found = []
    for stage, was in verdicts.items():
        panel = last_panel(panels, stage)
        now = panel.verdict if panel else None
        name = " ".join(Key.parse(stage).steps[1:])
        found.append(Decision(name, was.winner, now.winner if now else None, was, now))
    return found


def beyond_chance(decisions: Sequence[Decision]) -> list[Decision]:
    """Decisions with a lead that chance would seldom give, corrected for the number of panels (Holm)."""
    chances = holm([each.new_verdict.chance if each.new_verdict else None for each in decisions])
    return [
        each
        for each, chance in zip(decisions, chances, strict=True)
        if chance is not None and chance <= BEYOND_CHANCE
    ]
