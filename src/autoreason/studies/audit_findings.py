"""Runs as the audit reads them, questions about them, and what they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from msgspec import Struct

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, Verdict
from autoreason.exchange import Outcome
from autoreason.job_types import Certify, Research
from autoreason.journal import Journal, RecordedEvent, ReplyText
from autoreason.programs.assignment import assignments_of
from autoreason.report.numbers import count, percent
from autoreason.settings import Settings
from autoreason.stats import Estimate
from autoreason.stats.shares import holm
from autoreason.story import RecordedPanel, RecordedPass, Story, build_story
from autoreason.task import Task
from autoreason.tournament.evidence import SurvivalChances, survival_chances
from autoreason.tournament.voting import count_votes, from_scores, pass_size, quorum


class NotAudited(InvalidInput):
    def __init__(self, run: str, why: str) -> None:
        super().__init__(f"run {run} {why}; audit another, see `autoreason runs`")
        self.why = why


@dataclass(frozen=True, kw_only=True)
class AuditedPanel:
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
        return tuple(sorted(self.ballots[0].order))

    @cached_property
    def judge(self) -> str:
        """The model that judged; several are joined."""
        return " + ".join(dict.fromkeys(ballot.model for ballot in self.ballots))

    @property
    def seats(self) -> int:
        return len(self.ballots)

    @cached_property
    def valid(self) -> int:
        return sum(ballot.ranking is not None for ballot in self.ballots)

    @property
    def scores(self) -> Mapping[str, int]:
        """Points by candidate; none where nothing was counted."""
        return self.verdict.scores if self.verdict else {}

    @property
    def tied(self) -> bool | None:
        return from_scores(self.scores, tuple(self.scores)).tied if len(self.scores) > 1 else None

    @cached_property
    def sample(self) -> list[tuple[str, ...]]:
        """The valid ballots of the seats that are always asked, which stopping early cannot bias."""
        asked = self.ballots[: self.always_asked]
        return [ranking for ballot in asked if (ranking := ballot.first_ranking)]

    @cached_property
    def fair_scores(self) -> Mapping[str, int]:
        """Scores that stopping early cannot bias: from the ballots of the seats that are always asked."""
        if self.always_asked is None:
            return self.scores
        tally = count_votes(self.rule, self.sample, self.candidates) if self.sample else None
        return tally.scores if tally else {}


@dataclass(frozen=True)
class AuditedPass:
    """One pass of a run, with its panel where there was one."""

    record: RecordedPass
    panel: AuditedPanel | None

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
        candidates = self.record.candidates.items()
        return {"A": self.record.incumbent, **{slot: ready.text for slot, ready in candidates}}

    @cached_property
    def words(self) -> dict[str | None, int]:
        return {slot: count_words(text) for slot, text in self.texts.items()}


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """One run, or a cell of a suite, such as a strategy of a comparison or a problem of a set."""

    name: str
    story: Story
    task: Task
    settings: Settings
    programs: bool = False
    events: Sequence[RecordedEvent] = ()
    answers: Sequence[ReplyText] = ()
    unanswered: int = 0

    @property
    def converged(self) -> bool | None:
        """Whether it ended because A survived often enough in a row; None of programs."""
        return None if self.programs else self.story.status == "converged"

    @property
    def first(self) -> str | None:
        return self.story.draft.text if self.story.draft and not self.programs else None

    @property
    def last(self) -> str | None:
        """The text delivered, or the incumbent at the end."""
        return None if self.programs else self.story.text

    @cached_property
    def outcomes(self) -> Counter[Outcome]:
        return Counter(answer.outcome for answer in self.answers)

    @property
    def panels(self) -> Iterator[AuditedPanel]:
        yield from (audited.panel for audited in self.passes if audited.panel)
        yield from self.finals

    @cached_property
    def passes(self) -> list[AuditedPass]:
        """Those of a text."""
        recorded = () if self.programs else self.story.passes
        return [AuditedPass(each, self._pass_panel(each)) for each in recorded]

    @property
    def scored(self) -> Iterator[tuple[Mapping[str, int], dict[str | None, int]]]:
        """Scores and words of the texts of every pass and of every review."""
        for each in self.passes:
            if each.panel:
                yield each.panel.fair_scores, each.words
        for review in (each.decided for each in self.story.reviews):
            if review and review.verdict:
                words: dict[str | None, int] = {t.name: count_words(t.text) for t in review.texts}
                yield review.verdict.scores, words

    @cached_property
    def finals(self) -> list[AuditedPanel]:
        """Panels over finished texts, the review among them, and all panels over programs."""
        story = self.story
        ended: list[RecordedPass | RecordedPanel] = [*story.panels.values()]
        if self.programs:
            # How large a panel was meant to be depended on the calls left; a quorum is always asked.
            ended, known = [*story.passes, *ended], {"always_asked": quorum(0)}
            found = [self._panel(each.ballots, each.verdict, **known) for each in ended]
        else:
            found = [
                self._panel(cast, each.verdict if cast == each.last_stage else None)
                for each in story.reviews
                for cast in each.stages
            ]
            found += [self._panel(each.ballots, each.verdict) for each in ended]
        return [panel for panel in found if panel]

    def _pass_panel(self, recorded: RecordedPass) -> AuditedPanel | None:
        """The panel of a pass, which may have stopped before its last judge."""
        ballots, verdict, chances = recorded.ballots, recorded.verdict, None
        if not ballots:
            return None
        rule, texts = self.settings.voting, tuple(sorted(ballots[0].order))
        size = pass_size(self.settings, texts)
        if verdict:
            size = size.with_code(verdict.code.values(), texts)
            invalid = tuple(ballot.seat for ballot in ballots if not ballot.ranking)
            chances = survival_chances(size, len(texts), rule, invalid) if "A" in texts else None
        asked = size.first_wave(texts, rule)
        return self._panel(ballots, verdict, always_asked=asked, chances_of_a=chances)

    def _panel(
        self, ballots: Sequence[BallotCast], verdict: Verdict | None, **known: Any
    ) -> AuditedPanel | None:
        if not ballots:
            return None
        # A certificate asks questions one by one: nothing is decided by the answers.
        decided = verdict if not isinstance(self.settings.job, Certify) else None
        winner, rule = decided.winner if decided else None, self.settings.voting
        return AuditedPanel(ballots=ballots, verdict=verdict, rule=rule, winner=winner, **known)


Runs = Sequence[AuditedRun]


def panels_of(runs: Runs) -> Iterator[AuditedPanel]:
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
        raise NotAudited(run, "was killed before anything was recorded")
    if isinstance(story.job, Research) and not story.panels:
        raise NotAudited(run, "improves an artifact by a number, and no judge voted in it")
    return [
        AuditedRun(
            name=run,
            story=story,
            task=story.task,
            settings=story.settings,
            programs=bool(assignments_of(story.task)),
            events=events,
            answers=journal.reply_texts(run, "judge"),
            unanswered=0 if journal.lock_owner(run) else len(journal.in_flight(run)),
        )
    ]


Severity = Literal["alarm", "check", "fine", "unknown"]
AuditGroup = Literal["ballots", "judges", "stopping", "texts", "programs", "calls"]
LEVELS: tuple[Severity, ...] = get_args(Severity)
"""From worst to best; unknown is neither."""
GROUPS: tuple[AuditGroup, ...] = get_args(AuditGroup)
LEVEL = 0.05
"""What a corrected p-value must reach before anything is called more than chance."""


class AuditFinding(Struct, frozen=True, kw_only=True):
    """One thing a record shows about itself."""

    name: str
    group: AuditGroup
    level: Severity
    statement: str
    """The finding as a sentence with its number; where nothing is known, why."""
    normal: str
    fix: str = ""
    """What to do about it; empty where there is nothing to do."""
    number: Estimate
    p_value_adjusted: float | None = None
    """How likely chance alone is to give as much, where that was tested; corrected for all questions tested."""


class Found(NamedTuple):
    """An answer that needs no test."""

    level: Severity
    statement: str
    number: Estimate


Conclusion = tuple[Severity, str] | str
"""The level of a finding and its statement, or why nothing is known."""


class Pending(NamedTuple):
    """An answer that depends on a test: it is concluded once its p-value is corrected for all tests."""

    p: float
    number: Estimate
    conclude: Callable[[float], Conclusion]


AuditAnswer = Found | Pending | str
"""A string says why nothing is known."""
_Look = Callable[[Runs], AuditAnswer]


class AuditCheck(NamedTuple):
    """What is asked of a record: what is normal, what to do where it is not, and the function that answers."""

    group: AuditGroup
    name: str
    normal: str
    fix: str
    answer: _Look


def question(group: AuditGroup, normal: str, fix: str) -> Callable[[_Look], AuditCheck]:
    """A question that is called what its function is."""
    return lambda answer: AuditCheck(group, answer.__name__.replace("_", " "), normal, fix, answer)


def find(questions: Sequence[AuditCheck], runs: Runs) -> tuple[AuditFinding, ...]:
    """What these questions find, each test corrected for being one of several (Holm 1979)."""
    answers = [each.answer(runs) for each in questions]
    corrected = holm([each.p if isinstance(each, Pending) else None for each in answers])
    findings = []
    for asked, answer, p in zip(questions, answers, corrected, strict=True):
        if isinstance(answer, Pending) and p is not None:
            said = answer.conclude(p)
            answer = said if isinstance(said, str) else Found(*said, answer.number)
        if isinstance(answer, str):
            answer = Found("unknown", answer, Estimate(None, reason=answer))
        assert isinstance(answer, Found)
        findings.append(
            AuditFinding(
                **answer._asdict(),
                name=asked.name,
                group=asked.group,
                normal=asked.normal,
                fix=asked.fix if answer.level in ("alarm", "check") else "",
                p_value_adjusted=p,
            )
        )
    return tuple(findings)


def many(number: int, noun: str, plural: str = "") -> str:
    """`1 ballot`, `2 ballots`, `no ballot`."""
    return count(number, noun, plural) if number else f"no {noun}"


def part(number: int, total: int, noun: str, plural: str = "") -> str:
    """`70 of 2,231 ballots (3 %)`, `none of 78 ballots`."""
    nouns = noun if total == 1 else plural or noun + "s"
    if not number:
        return f"none of {total:,} {nouns}"
    return f"{number:,} of {total:,} {nouns} ({percent(number / total)})"


def listed(items: Iterable[str], shown: int = 3, joint: str = ", ") -> str:
    """The first few of some names, and how many more there are."""
    names = list(items)
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return joint.join(names[:shown]) + rest


def share_level(number: Estimate, check: float, alarm: float) -> Severity:
    """The level of a share that is better the smaller it is; few data raise no alarm."""
    value, low = number.value or 0.0, number.low or 0.0
    if value > alarm and low > check:
        return "alarm"
    return "check" if value > check else "fine"
