"""Runs in the journal, in the form in which every record is audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.events import BallotCast, RunPaused, RunResumed, Verdict
from autoreason.exchange import Outcome
from autoreason.journal import Journal, RecordedEvent, ReplyText
from autoreason.keys import judge_key, try_key
from autoreason.programs.events import examined_in, solved_in
from autoreason.programs.source import same_program
from autoreason.programs.task import assignments_of
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import RecordedPanel, RecordedPass, Story, build_story
from autoreason.studies.audit.audited_record import (
    AuditedCalls,
    AuditedPanel,
    AuditedPass,
    AuditedPrograms,
    AuditedRun,
    AuditedVote,
    shared_order,
)
from autoreason.task import Task
from autoreason.tournament.evidence import survival_chances
from autoreason.tournament.judges import MAX_REQUESTS_PER_SEAT
from autoreason.tournament.panel_size import pass_size, quorum

_FIRST_STAGES = ("draft", "attempt/")
"""Stages that write a program without knowing another."""
_RESEARCH = ("research",)
_LONG, _UNUSUAL = 600.0, 20.0

JudgeReplies = Mapping[str, str]
"""The replies of judges, by the key of the request."""


class NotAudited(InvalidInput):
    """A run without anything to audit."""

    def __init__(self, run: str, why: str, instead: str) -> None:
        super().__init__(f"run {run} {why}; {instead}")
        self.why = why


def read_run(run: str, journal: Journal) -> list[AuditedRun]:
    """One run as recorded in the journal; of a suite each of its cells."""
    if cells := journal.cells(run):
        return [each for row in cells for each in _read_cell(row.id, journal)]
    events = journal.events(run)
    story = build_story([recorded.event for recorded in events])
    if story.task is None or story.settings is None:
        why = "was killed before anything was recorded"
        raise NotAudited(run, why, "audit another, see `autoreason runs`")
    if story.settings.strategy in _RESEARCH and not story.panels:
        why = "improves an artifact by a number, and no judge voted in it"
        raise NotAudited(run, why, f"`autoreason show {run}` has its evidence")
    answers = journal.reply_texts(run, "judge")
    replies = {answer.key: answer.text for answer in answers if answer.text is not None}
    unanswered = 0 if journal.lock_owner(run) else len(journal.in_flight(run))
    if assignments_of(story.task):
        runs = [_over_programs(run, story, story.settings, replies)]
    else:
        runs = [audit_story(run, story, story.task, story.settings, replies)]
    runs[0] = replace(runs[0], outages=tuple(_outages(events)), calls=_calls(answers, unanswered))
    return runs


def _read_cell(run: str, journal: Journal) -> list[AuditedRun]:
    """A cell, unless there is nothing in it to audit."""
    try:
        return read_run(run, journal)
    except NotAudited:
        return []


def _over_programs(run: str, story: Story, settings: Settings, replies: JudgeReplies) -> AuditedRun:
    """A problem: what was written, and the panels there were."""
    voted: list[RecordedPass | RecordedPanel] = [*story.passes, *story.panels.values()]
    panels = [_panel(each.ballots, each.verdict, settings, replies) for each in voted]
    strategy = next((each.strategy for each in solved_in(story)), settings.strategy)
    return AuditedRun(
        name=run,
        group=f"{strategy}, {settings.models.author}",
        k=None,
        passes=(),
        # How large a panel was meant to be depended on the calls left; a quorum is always asked.
        finals=tuple(replace(each, always_asked=quorum(0)) for each in panels if each),
        programs=_programs(story),
    )


def _programs(part: Story) -> AuditedPrograms:
    programs: list[str] = []
    derived = repeated = 0
    for each in examined_in(part):
        if each.program and not each.stage.startswith(_FIRST_STAGES):
            derived += 1
            repeated += any(same_program(each.program, other) for other in programs)
        programs.append(each.program)
    # Within a pass they are kept from being run again.
    clones = sum(drop.reason == "clone" for recorded in part.passes for drop in recorded.dropped)
    return AuditedPrograms(
        answers=len(programs) + clones,
        without=sum(not program for program in programs),
        derived=derived + clones,
        repeated=repeated + clones,
    )


def audit_story(
    name: str, story: Story, task: Task, settings: Settings, replies: JudgeReplies
) -> AuditedRun:
    verdict = story.playoff.verdict if story.playoff else None
    finals = [_panel(story.playoff_ballots, verdict, settings, replies)]
    finals += [
        _panel(recorded.ballots, recorded.verdict, settings, replies)
        for recorded in story.panels.values()
    ]
    return AuditedRun(
        name=name,
        group=_group(settings),
        k=settings.k,
        passes=tuple(_pass(recorded, settings, replies) for recorded in story.passes),
        finals=tuple(panel for panel in finals if panel),
        max_passes=settings.passes,
        preferred=_preferred(story),
        confirmed=_confirmed(story),
        status=story.status,
        brief=task.brief,
        allowed=(task.brief, task.facts or "", task.draft or ""),
        # Texts that came with the task were not written under its limits.
        contract=None if task.entries else task.contract,
        first=story.draft.text if story.draft else None,
        last=story.text,
    )


def _group(settings: Settings) -> str:
    """Runs under one protocol with the same panel and the same author, where there is one, are comparable."""
    models = settings.models.author or ", ".join(settings.models.judges)
    return f"{settings.protocol}, {count(settings.judges, 'judge')}, {models}"


def _pass(recorded: RecordedPass, settings: Settings, replies: JudgeReplies) -> AuditedPass:
    decided = recorded.decided
    texts: dict[str, str] = {"A": recorded.incumbent}
    texts |= {slot: ready.text for slot, ready in recorded.candidates.items()}
    critiques = [
        critique for critique in recorded.critiques if critique.readable and not critique.by_code
    ]
    prose = [critique.prose for critique in critiques if critique.prose]
    quotes = sum(p.kind == "quote" for critique in critiques for p in critique.problems)
    false_quotes = sum(critique.dropped for critique in critiques)
    return AuditedPass(
        number=recorded.number,
        winner=decided.winner if decided else None,
        streak=decided.streak if decided else None,
        panel=_pass_panel(recorded, settings, replies),
        unconfirmed=decided is not None and decided.outcome == "unconfirmed",
        texts=texts,
        words={slot: count_words(text) for slot, text in texts.items()},
        critique_words=sum(map(count_words, prose)) if prose else None,
        no_problem=not any(m.problems or m.prose for m in critiques) if critiques else None,
        false_quotes=false_quotes,
        quotes=quotes + false_quotes,
        dropped=tuple((dropped.slot, dropped.reason) for dropped in recorded.dropped),
    )


def _pass_panel(
    recorded: RecordedPass, settings: Settings, replies: JudgeReplies
) -> AuditedPanel | None:
    """The panel of a pass, which may have stopped before its last judge."""
    panel = _panel(recorded.ballots, recorded.verdict, settings, replies)
    if panel is None:
        return None
    rule, texts = settings.voting, panel.candidates
    size = pass_size(settings, texts)
    if recorded.verdict:
        size = size.with_code(recorded.verdict.code.values(), texts)
    invalid = tuple(ballot.seat for ballot in recorded.ballots if not ballot.ranking)
    return replace(
        panel,
        always_asked=size.first_wave(texts, rule),
        chances_of_a=survival_chances(size, len(texts), rule, invalid) if "A" in texts else None,
    )


def _panel(
    ballots: Sequence[BallotCast],
    verdict: Verdict | None,
    settings: Settings,
    replies: JudgeReplies,
) -> AuditedPanel | None:
    if not ballots:
        return None
    votes = tuple(_vote(ballot, replies) for ballot in ballots)
    return AuditedPanel(
        candidates=tuple(sorted(ballots[0].order)),
        rule=settings.voting,
        judge=" + ".join(dict.fromkeys(ballot.model for ballot in ballots)),
        seats=len(ballots),
        valid=sum(ballot.ranking is not None for ballot in ballots),
        votes=votes,
        scores=verdict.scores if verdict else None,
        # A certificate asks questions one by one: nothing is decided by the answers.
        winner=verdict.winner if verdict and settings.strategy != "certify" else None,
        shared_order=shared_order(votes),
    )


def _vote(ballot: BallotCast, replies: JudgeReplies) -> AuditedVote:
    # Every judge of a seat is asked twice before the next one.
    fresh, attempt = divmod(min(ballot.asked, MAX_REQUESTS_PER_SEAT) - 1, 2)
    key = judge_key(ballot.stage, ballot.seat, fresh)
    return AuditedVote(
        judge=ballot.model,
        order=ballot.order,
        ranking=ballot.first_ranking,
        labels=ballot.labels,
        text=replies.get(try_key(key, attempt)),
    )


def _preferred(story: Story) -> tuple[int, int] | None:
    playoff = story.playoff
    if not playoff or playoff.preferred is None or not playoff.verdict:
        return None
    return playoff.preferred, playoff.verdict.ballots


def _confirmed(story: Story) -> tuple[int, int] | None:
    """Fresh judges who prefer the delivered text to the first draft, of how many."""
    recorded = story.confirmation
    return (recorded.prefer, recorded.judges) if recorded else None


def _calls(answers: Iterable[ReplyText], unanswered: int) -> AuditedCalls:
    outcomes = Counter(answer.outcome for answer in answers)
    return AuditedCalls(
        replies=outcomes.total(),
        truncated=outcomes[Outcome.TRUNCATED],
        refused=outcomes[Outcome.REFUSED],
        empty=outcomes[Outcome.EMPTY],
        unanswered=unanswered,
    )


def _outages(events: Sequence[RecordedEvent]) -> Iterator[str]:
    """Pauses because a provider or too many ballots failed, and gaps that nothing explains."""
    for recorded in events:
        if isinstance(recorded.event, RunPaused) and recorded.event.status.endswith("_failed"):
            yield f"paused, {recorded.event.reason}"
    # While a run is paused or killed nothing is expected to happen.
    waits = [
        (after.at - before.at).total_seconds()
        for before, after in pairwise(events)
        if not isinstance(after.event, RunResumed)
    ]
    usual = median(waits) if waits else 0.0
    for wait in waits:
        if wait > max(_LONG, _UNUSUAL * usual):
            yield f"nothing happened for {wait / 60:.0f} minutes"
