"""Runs as the audit reads them: their own stories, with the panels in them and what their calls came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, Verdict
from autoreason.exchange import Outcome
from autoreason.job_types import Certify, Research
from autoreason.journal import Journal, RecordedEvent, ReplyText
from autoreason.keys import judge_key, try_key
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import solved_in
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import RecordedPanel, RecordedPass, Story, build_story
from autoreason.task import Task
from autoreason.tournament.evidence import SurvivalChances, survival_chances
from autoreason.tournament.voting import (
    BUILT_IN,
    MAX_REQUESTS_PER_SEAT,
    count_votes,
    from_scores,
    pass_size,
    quorum,
)


class NotAudited(InvalidInput):
    """A run without anything to audit."""

    def __init__(self, run: str, why: str, instead: str) -> None:
        super().__init__(f"run {run} {why}; {instead}")
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One vote over two texts or more."""

    ballots: Sequence[BallotCast]
    verdict: Verdict | None
    rule: str
    winner: str | None
    """None where the panel decided nothing."""
    always_asked: int | None = None
    """Seats that are asked whatever the others say; None where the panel's size was fixed."""
    chances_of_a: SurvivalChances | None = None
    """How often A would survive such a panel of judges who rank at random."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(sorted(self.ballots[0].order))

    @cached_property
    def judge(self) -> str:
        """The model that judged; several are joined."""
        return " + ".join(dict.fromkeys(ballot.model for ballot in self.ballots))

    @property
    def seats(self) -> int:
        """Judges asked."""
        return len(self.ballots)

    @cached_property
    def valid(self) -> int:
        """Ballots that counted."""
        return sum(ballot.ranking is not None for ballot in self.ballots)

    @property
    def scores(self) -> Mapping[str, int]:
        """Points by candidate; none where nothing was counted."""
        return self.verdict.scores if self.verdict else {}

    @property
    def tied(self) -> bool | None:
        """Whether the best score was reached by two."""
        return from_scores(self.scores, tuple(self.scores)).tied if len(self.scores) > 1 else None

    @cached_property
    def sample(self) -> list[tuple[str, ...]]:
        """The valid ballots of the seats that are always asked, which stopping early cannot bias."""
        asked = self.ballots[: self.always_asked]
        return [ranking for ballot in asked if (ranking := ballot.first_ranking)]

    @cached_property
    def fair_scores(self) -> Mapping[str, int]:
        """Scores that stopping early cannot bias: from the ballots of the seats that are always asked."""
        if self.always_asked is None or self.rule not in BUILT_IN:
            return self.scores
        sample = self.sample
        return count_votes(self.rule, sample, self.candidates).scores if sample else {}


@dataclass(frozen=True)
class AuditedPass:
    """One pass of a run, with its panel where there was one."""

    record: RecordedPass
    panel: Panel | None

    @property
    def winner(self) -> str | None:
        """None where nothing was decided."""
        return self.record.decided.winner if self.record.decided else None

    @property
    def unconfirmed(self) -> bool:
        """Whether A stayed without a lead, which counts neither way."""
        return self.record.decided is not None and self.record.decided.outcome == "unconfirmed"

    @cached_property
    def texts(self) -> dict[str | None, str]:
        """By slot."""
        candidates = self.record.candidates.items()
        return {"A": self.record.incumbent, **{slot: ready.text for slot, ready in candidates}}

    @cached_property
    def words(self) -> dict[str | None, int]:
        """Lengths by slot."""
        return {slot: count_words(text) for slot, text in self.texts.items()}


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """One run, or a cell of a suite, such as a strategy of a comparison or a problem of a set."""

    name: str
    story: Story
    task: Task
    settings: Settings
    programs: bool = False
    """Whether it writes programs instead of texts."""
    replies: Mapping[str, str] = field(default_factory=dict)
    """Those of judges, by the key of the request."""
    events: Sequence[RecordedEvent] = ()
    """With their times."""
    answers: Sequence[ReplyText] = ()
    unanswered: int = 0
    """Calls that were sent and never answered."""

    @property
    def group(self) -> str:
        """Runs of one group used the same protocol, panel and author, and are comparable."""
        settings, author = self.settings, self.settings.models.author
        if self.programs:
            strategy = next((each.strategy for each in solved_in(self.story)), settings.job.name)
            return f"{strategy}, {author}"
        models = author or ", ".join(settings.models.judges)
        return f"{settings.protocol}, {count(settings.judges, 'judge')}, {models}"

    @property
    def converged(self) -> bool | None:
        """Whether it ended because A survived often enough in a row; None of programs."""
        return None if self.programs else self.story.status == "converged"

    @property
    def first(self) -> str | None:
        """The first draft."""
        return self.story.draft.text if self.story.draft and not self.programs else None

    @property
    def last(self) -> str | None:
        """The text delivered, or the incumbent at the end."""
        return None if self.programs else self.story.text

    @cached_property
    def outcomes(self) -> Counter[Outcome]:
        """How its calls ended."""
        return Counter(answer.outcome for answer in self.answers)

    @property
    def panels(self) -> Iterator[Panel]:
        """Every panel of the run, those over finished texts last."""
        yield from (audited.panel for audited in self.passes if audited.panel)
        yield from self.finals

    @cached_property
    def passes(self) -> list[AuditedPass]:
        """Those of a text."""
        recorded = () if self.programs else self.story.passes
        return [AuditedPass(each, self._pass_panel(each)) for each in recorded]

    @cached_property
    def finals(self) -> list[Panel]:
        """Panels over finished texts, the playoff among them, and all panels over programs."""
        story = self.story
        ended: list[RecordedPass | RecordedPanel] = [*story.panels.values()]
        if self.programs:
            # How large a panel was meant to be depended on the calls left; a quorum is always asked.
            ended, known = [*story.passes, *ended], {"always_asked": quorum(0)}
            found = [self._panel(each.ballots, each.verdict, **known) for each in ended]
        else:
            verdict = story.playoff.verdict if story.playoff else None
            found = [self._panel(story.playoff_ballots, verdict)]
            found += [self._panel(each.ballots, each.verdict) for each in ended]
        return [panel for panel in found if panel]

    def answer(self, ballot: BallotCast) -> str | None:
        """What a judge wrote; every judge of a seat is asked twice before the next one."""
        fresh, attempt = divmod(min(ballot.asked, MAX_REQUESTS_PER_SEAT) - 1, 2)
        return self.replies.get(try_key(judge_key(ballot.stage, ballot.seat, fresh), attempt))

    def _pass_panel(self, recorded: RecordedPass) -> Panel | None:
        """The panel of a pass, which may have stopped before its last judge."""
        if not recorded.ballots:
            return None
        rule, texts = self.settings.voting, tuple(sorted(recorded.ballots[0].order))
        size, chances = pass_size(self.settings, texts), None
        if recorded.verdict:
            size = size.with_code(recorded.verdict.code.values(), texts)
            invalid = tuple(ballot.seat for ballot in recorded.ballots if not ballot.ranking)
            chances = survival_chances(size, len(texts), rule, invalid) if "A" in texts else None
        asked = size.first_wave(texts, rule)
        return self._panel(
            recorded.ballots, recorded.verdict, always_asked=asked, chances_of_a=chances
        )

    def _panel(
        self, ballots: Sequence[BallotCast], verdict: Verdict | None, **known: Any
    ) -> Panel | None:
        if not ballots:
            return None
        # A certificate asks questions one by one: nothing is decided by the answers.
        decided = verdict if not isinstance(self.settings.job, Certify) else None
        winner, rule = decided.winner if decided else None, self.settings.voting
        return Panel(ballots=ballots, verdict=verdict, rule=rule, winner=winner, **known)


Runs = Sequence[AuditedRun]


def panels_of(runs: Runs) -> Iterator[Panel]:
    """Every panel of some runs."""
    return (panel for run in runs for panel in run.panels)


def read_run(run: str, journal: Journal) -> list[AuditedRun]:
    """One run as recorded in the journal; of a suite each of its cells."""
    if cells := journal.cells(run):
        found: list[AuditedRun] = []
        for row in cells:
            # In some there is nothing to audit.
            with suppress(NotAudited):
                found += read_run(row.id, journal)
        return found
    events = journal.events(run)
    story = build_story([recorded.event for recorded in events])
    if story.task is None or story.settings is None:
        why = "was killed before anything was recorded"
        raise NotAudited(run, why, "audit another, see `autoreason runs`")
    if isinstance(story.job, Research) and not story.panels:
        why = "improves an artifact by a number, and no judge voted in it"
        raise NotAudited(run, why, f"`autoreason show {run}` has its evidence")
    answers = journal.reply_texts(run, "judge")
    return [
        AuditedRun(
            name=run,
            story=story,
            task=story.task,
            settings=story.settings,
            programs=bool(assignments_of(story.task)),
            replies={answer.key: answer.text for answer in answers if answer.text is not None},
            events=events,
            answers=answers,
            unanswered=0 if journal.lock_owner(run) else len(journal.in_flight(run)),
        )
    ]
