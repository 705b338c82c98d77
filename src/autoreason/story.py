"""A run as a reader sees it: the fold over its events that every view shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple, TypeVar

from autoreason import events
from autoreason.contract import Violation
from autoreason.errors import JournalError
from autoreason.job_types import AnyJob, Product
from autoreason.kept import NewFact, find_new
from autoreason.keys import is_in_pass, pass_key
from autoreason.settings import Settings
from autoreason.task import Task, find_title
from autoreason.wording import TextKind, kind_of

CONFIRMATION = "confirmation"
"""The stage of the panel that compares what is delivered with the first draft."""

REVIEW = "review"
"""The stage of a review, or what the stages of several begin with."""

DRAFTS = "drafts"
"""The stage of the panel that chooses among several drafts."""

ALTERNATIVES = f"{CONFIRMATION}/alternatives"
"""The stage of the panel that ranks several texts to choose from."""

Other = TypeVar("Other", bound=events.Event)


class _Voted:
    decided: events.PassDecided | events.PanelDecided | events.ReviewDecided | None

    @property
    def verdict(self) -> events.Verdict | None:
        """None where it is not decided, or had too few valid ballots."""
        return self.decided.verdict if self.decided else None


@dataclass
class RecordedPass(_Voted):
    """One pass so far."""

    number: int
    incumbent: str
    guidance: str = ""
    critiques: list[events.CritiqueWritten] = field(default_factory=list)
    candidates: dict[events.Slot, events.CandidateReady] = field(default_factory=dict)
    dropped: list[events.CandidateDropped] = field(default_factory=list)
    ballots: list[events.BallotCast] = field(default_factory=list)
    decided: events.PassDecided | None = None

    def text(self, slot: events.Slot) -> str:
        """The text of a slot."""
        return self.incumbent if slot == "A" else self.candidates[slot].text

    def kind(self, slot: str, *, first: bool) -> TextKind:
        """What the text of a slot is called."""
        fresh = any(each.fresh for each in self.candidates.values() if each.slot == slot)
        return kind_of(slot, first=first, fresh=fresh)


@dataclass
class RecordedPanel(_Voted):
    """A panel over finished texts so far."""

    stage: str
    ballots: list[events.BallotCast] = field(default_factory=list)
    decided: events.PanelDecided | None = None


@dataclass
class RecordedReview(_Voted):
    """A review so far."""

    ballots: list[events.BallotCast] = field(default_factory=list)
    decided: events.ReviewDecided | None = None
    number: int = 0
    """Of the pass before it."""

    @property
    def stages(self) -> list[list[events.BallotCast]]:
        """Its ballots by stage: of two, the older texts first."""
        return [list(cast) for _, cast in groupby(self.ballots, lambda ballot: ballot.stage)]

    @property
    def last_stage(self) -> list[events.BallotCast]:
        """The ballots that decided it."""
        return self.stages[-1] if self.ballots else []


class Confirmation(NamedTuple):
    """How judges who chose nothing compare the text that was chosen with the first draft."""

    judges: int
    """Valid ballots."""
    prefer: int
    """Those that put it above the first draft."""


@dataclass
class Story:
    """Everything known of a run so far."""

    task: Task | None = None
    settings: Settings | None = None
    recovery: events.Recovery = field(default_factory=events.Recovery)
    prompts: dict[str, str] = field(default_factory=dict)
    version: str = ""
    forked_from: str | None = None
    status: events.Status = "running"
    reason: str = ""
    limit: str | None = None
    """The field of the budget at which it paused."""
    failed_drafts: int = 0
    drafts: list[events.DraftWritten] = field(default_factory=list)
    """Every draft, where there were several."""
    draft: events.DraftReady | None = None
    shortened: events.PromptsShortened | None = None
    passes: list[RecordedPass] = field(default_factory=list)
    reviews: list[RecordedReview] = field(default_factory=list)
    end: events.Delivered | events.JobFinished | None = None
    """None where it has not ended yet."""
    panels: dict[str, RecordedPanel] = field(default_factory=dict)
    """Panels over finished texts, by stage."""
    others: list[events.AnyEvent] = field(default_factory=list)
    """Events that only their own room understands, in order."""
    incumbents: list[events.Incumbent] = field(default_factory=list)
    """Every incumbent, the first draft first; without those that a review went back behind."""
    left: list[events.Incumbent] = field(default_factory=list)
    """The text that stands after each pass and each review that is over, in their order."""
    streak: int = 0
    """Survivals of A in a row."""
    _reviewed: int = 1
    """How many incumbents the last review left."""
    _kept: int = 1
    """The same of the last one that could be read."""

    @property
    def job(self) -> AnyJob | None:
        """What the run is for; None where it has not started."""
        return self.settings.job if self.settings else None

    @property
    def is_sampling(self) -> bool:
        """Whether its rounds are drafts that have nothing to do with each other."""
        return self.job is not None and self.job.is_sampling

    @property
    def writes(self) -> Product | None:
        """What the run writes; None where it judges what others have written."""
        return self.settings.job.writes if self.settings else "text"

    @property
    def incumbent(self) -> events.Incumbent | None:
        """The current text."""
        return self.incumbents[-1] if self.incumbents else None

    @property
    def closing_review(self) -> events.ReviewDecided | None:
        """The review that chose what is delivered: the last one, where no new text came after it."""
        last = self.reviews[-1].decided if self.reviews else None
        return last if self._reviewed == len(self.incumbents) else None

    @property
    def closing_ballots(self) -> list[events.BallotCast]:
        """Those of that review, or of one under way; of two stages the last one's."""
        last = self.reviews[-1] if self.reviews else None
        if not last or (last.decided and not self.closing_review):
            return []
        return last.last_stage

    @property
    def reviewed(self) -> events.Incumbent:
        """What the last review that could be read left; the first draft before any."""
        return self.incumbents[self._kept - 1]

    @property
    def trends(self) -> list[float]:
        """How far each review put younger texts before older ones."""
        found = (each.decided.trend for each in self.reviews if each.decided)
        return [trend for trend in found if trend is not None]

    @property
    def steps(self) -> list[RecordedPass | RecordedReview]:
        """Passes and reviews, in order."""
        # Where they have the same number, the pass was first: sorting keeps that.
        return sorted([*self.passes, *self.reviews], key=lambda each: each.number)

    @property
    def review_ballots(self) -> list[events.BallotCast]:
        return [ballot for review in self.reviews for ballot in review.ballots]

    @property
    def chosen(self) -> events.Incumbent | None:
        """The text that the review chose; before that the incumbent, or in a pause the last that judges put first."""
        last, rules, incumbent = self.closing_review, self.settings, self.incumbent
        if last and last.winner:
            return next(each for each in last.texts if each.name == last.winner)
        paused = incumbent and self.status != "running" and not self.end
        unseen = rules and rules.job.is_tournament and rules.reviewers > rules.judges == 0
        return self.reviewed if paused and unseen and self.reviewed.keeps_contract else incumbent

    @property
    def delivered(self) -> events.Delivered | None:
        """The end of a run that wrote a text."""
        return self.end if isinstance(self.end, events.Delivered) else None

    @property
    def text(self) -> str | None:
        """The text delivered, or the one chosen so far."""
        if self.end:
            return self.end.text
        return self.chosen.text if self.chosen else None

    @property
    def alternatives(self) -> events.AlternativesRanked | None:
        """The texts to choose from; None where one was asked for, or they are not ranked yet."""
        return next(iter(self.of(events.AlternativesRanked)), None)

    @property
    def texts(self) -> list[str]:
        """What is handed over: its text, or all alternatives, best first."""
        texts = (
            [each.text for each in self.alternatives.texts] if self.alternatives else [self.text]
        )
        return [text for text in texts if text]

    @property
    def output(self) -> str | None:
        """What is handed over as one text, one a line where all of several are lines."""
        between = "\n\n---\n\n" if any("\n" in each for each in self.texts) else "\n"
        return between.join(self.texts) or self.text

    @property
    def origin(self) -> str:
        """Where that text came from: `draft`, `draft 3`, or the pass it won; empty where there is none."""
        if self.end:
            return self.end.origin
        return self.chosen.name if self.chosen else ""

    @property
    def title(self) -> str:
        """The heading of its text, if the task has a word of it; else the first words of the brief."""
        written = find_title(self.text) if self.writes == "text" and self.text else ""
        return written if self.task is None else self.task.title_of(written)

    @property
    def confirmation(self) -> Confirmation | None:
        """The text that was chosen against the first draft, whichever of them was delivered then."""
        panel = self.panels.get(CONFIRMATION)
        if not panel or not panel.verdict:
            return None
        firsts = [ballot.ranking[0] for ballot in panel.ballots if ballot.ranking]
        return Confirmation(len(firsts), sum(name != self.incumbents[0].name for name in firsts))

    @property
    def is_draft_preferred(self) -> bool:
        """Whether the first draft is delivered because fresh judges preferred it to what was chosen."""
        is_draft = self.delivered is not None and self.delivered.origin == self.incumbents[0].name
        return is_draft and self.confirmation is not None

    @property
    def breaches(self) -> list[tuple[Violation, ...]]:
        """What each text that was written breaks; a draft that is given counts as one."""
        found = [each.violations for each in self.drafts or filter(None, [self.draft])]
        for one in self.passes:
            found += [each.violations for each in one.candidates.values()]
            # Those without a text are candidates that left the ballot.
            found += [each.violations for each in one.dropped if each.violations and each.text]
        return found

    @property
    def new_facts(self) -> tuple[NewFact, ...]:
        """What its texts state that its person did not: no error, but theirs to check."""
        if self.task is None or not self.texts or self.writes != "text":
            return ()
        given = self.task.given
        if self.forked_from and not given.keep:
            # It began with what a model wrote.
            given = given._replace(draft="")
        return find_new(given, "\n\n".join(self.texts), tuple(one.guidance for one in self.passes))

    @property
    def trajectory(self) -> tuple[str, ...]:
        """Winners pass by pass; `?` where a pass was inconclusive."""
        return tuple(p.decided.winner or "?" for p in self.passes if p.decided)

    def apply(self, event: events.AnyEvent) -> None:
        """Apply one event."""
        match event:
            case events.RunStarted():
                self.task, self.settings = event.task, event.settings
                self.prompts, self.version = event.prompts, event.version
                self.forked_from = event.forked_from
            case events.RunResumed():
                self.settings, self.recovery = event.settings, event.recovery
                self.status, self.reason, self.limit = "running", "", None
            case events.RunPaused():
                self.status, self.reason, self.limit = event.status, event.reason, event.limit
            case events.DraftWritten():
                self.drafts.append(event)
            case events.DraftFailed():
                self.failed_drafts += 1
            case events.DraftReady():
                self.draft = event
                self._promote("draft", 0, event.text, event.violations)
            case events.PromptsShortened():
                self.shortened = event
            case events.ReviewDecided():
                self._decide_review(event)
            case events.Delivered() | events.JobFinished():
                self.end, self.status, self.reason = event, event.status, event.reason
            case events.BallotCast() | events.PanelDecided() if not is_in_pass(event.stage):
                self._apply_panel(event)
            case _:
                self._apply_pass(event)

    def of(self, kind: type[Other]) -> list[Other]:
        """Events of a kind that only its own room understands, in order."""
        return [event for event in self.others if isinstance(event, kind)]

    def _apply_panel(self, event: events.BallotCast | events.PanelDecided) -> None:
        if isinstance(event, events.BallotCast) and event.stage.startswith(REVIEW):
            self._review().ballots.append(event)
            return
        panel = self.panels.setdefault(event.stage, RecordedPanel(event.stage))
        if isinstance(event, events.PanelDecided):
            panel.decided = event
        else:
            panel.ballots.append(event)

    def _review(self) -> RecordedReview:
        """The review under way; a new one where the last is decided."""
        if not self.reviews or self.reviews[-1].decided:
            number = self.passes[-1].number if self.passes else 0
            self.reviews.append(RecordedReview(number=number))
        return self.reviews[-1]

    def _decide_review(self, event: events.ReviewDecided) -> None:
        """Take the line back to the text put first; where that is unknown, to where the review before left it."""
        self._review().decided = event
        if event.back:
            names = [each.name for each in self.incumbents]
            end = names.index(event.winner) + 1 if event.winner else self._kept
            del self.incumbents[end:]
        self._reviewed = len(self.incumbents)
        self._kept = self._reviewed if event.winner else self._kept
        self.left += filter(None, [self.chosen])

    def _apply_pass(self, event: events.AnyEvent) -> None:
        match event:
            case events.PassStarted():
                if self.incumbent is None:
                    raise _incomplete(f"pass {event.number} begins without a text")
                if self.reviews and (last := self.reviews[-1].decided) and last.back:
                    # The row of another text.
                    self.streak *= last.after != event.number - 1
                self.passes.append(RecordedPass(event.number, self.incumbent.text))
            case events.GuidanceGiven():
                self._current(pass_key(event.number)).guidance = event.text
            case events.CritiqueWritten():
                self._current(pass_key(event.number)).critiques.append(event)
            case events.CandidateReady():
                self._current(pass_key(event.number)).candidates[event.slot] = event
            case events.CandidateDropped():
                self._current(pass_key(event.number)).dropped.append(event)
            case events.BallotCast():
                self._current(event.stage).ballots.append(event)
            case events.PassDecided():
                self._decide(event)
            case _:
                self.others.append(event)

    def _current(self, stage: str) -> RecordedPass:
        if not self.passes or stage != pass_key(self.passes[-1].number):
            raise _incomplete(f"the beginning of {stage.replace('/', ' ')} is missing")
        return self.passes[-1]

    def _decide(self, event: events.PassDecided) -> None:
        finished, winner = self._current(pass_key(event.number)), event.winner
        finished.decided, self.streak = event, event.streak
        if winner not in (None, "A"):
            if winner not in finished.candidates:
                raise _incomplete(f"pass {event.number} was won by {winner}, whose text is missing")
            won = finished.candidates[winner]
            name = f"{'draft' if self.is_sampling else 'pass'} {event.number}"
            name += "" if event.outcome == "unjudged" else f" {winner}"
            self._promote(name, event.number, won.text, won.violations)
        self.left.append(self.incumbents[-1])

    def _promote(self, name: str, since: int, text: str, violations: tuple[Violation, ...]) -> None:
        new = events.Incumbent(name=name, since=since, text=text, keeps_contract=not violations)
        self.incumbents.append(new)


def _incomplete(missing: str) -> JournalError:
    return JournalError(f"the record is incomplete: {missing}; restore the journal from a copy")


def build_story(recorded: Sequence[events.AnyEvent]) -> Story:
    """The story of a whole record."""
    story = Story()
    for event in recorded:
        story.apply(event)
    return story
