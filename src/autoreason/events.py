"""What happened in a run, as typed values. The journal keeps them in order; every view is a fold over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from autoreason.contract import Violation
from autoreason.settings import Settings
from autoreason.task import Task

Slot = Literal["A", "B", "AB", "B1", "B2", "B3"]
"""A is the incumbent, AB the synthesis, B the revision; B1 to B3 where several models revise."""
PassOutcome = Literal["decided", "unconfirmed", "unopposed", "unjudged", "inconclusive"]
"""`unconfirmed` is a vote after which A stays without a lead, by a tie or by one that is too small against it: it
counts neither way. `unjudged` is a text that another strategy takes as it comes, without a vote."""
Finished = Literal["converged", "capped", "done", "accepted"]
Paused = Literal["budget", "stopped", "waiting", "panel_failed", "provider_failed", "metric_failed"]
Status = Literal["running", Finished, Paused]
_Limit = Literal["passes", "budget", "allowance"]
_Judged = Literal["survivals", "plateau", "contract", "tests"]
EndedBy = Literal[_Limit, _Judged, "review", "drafts", "author", "person", "strategy"]
"""What ended a run with a text: k survivals, the limit of passes, what is left of the budget, a plateau, reviews that
no longer put later texts before earlier ones, a contract that no text keeps, drafts that were asked for and no more, an
author with nothing left to improve, tests that all pass, a person who accepts, or the strategy's own decision."""
FINISHED: frozenset[str] = frozenset(get_args(Finished))
"""A text was delivered; `done` ends what has no passes. Everything else that is not running can be resumed."""
NoText = Literal["truncated", "refused", "empty"]
"""Why an author gave no text."""
WorseReason = Literal["metric", "number", "added", "longer", "changed", "leak", "alike"]
"""Its number is worse, or it has none; it says more than the texts it may only cut; it is too long, or more than an
edit; it mentions how it was written, and no judge sees it; or it is too much like a text that it is to differ from."""
DropReason = Literal[NoText, WorseReason, "clone", "contract", "tests", "unlisted"]


class Excess(NamedTuple):
    """How a text goes beyond those it is made of; its author is sent the remedy once, where there is one."""

    reason: WorseReason
    detail: str
    remedy: str = ""


class Event(Struct, frozen=True, tag_field="type", tag=True):
    """One thing that happened; the fields that a class names as `worded` are sentences, which no replay compares."""

    @property
    def of_cell(self) -> str:
        """The cell that ended with it; cells end in any order."""
        return ""

    @property
    def cut(self) -> str:
        """The limit or the stop after which the run does only what needs no model; empty where it is none."""
        return ""

    @property
    def line(self) -> str:
        """One line for a log, where the event is another room's; empty for those of this module."""
        return ""


AnyEvent = Event
"""An event of this module or of another room."""
OnEvent = Callable[[AnyEvent], None]


# The life of a run, emitted by the driver.


class RunStarted(Event, frozen=True, kw_only=True):
    """A run was created."""

    task: Task
    settings: Settings
    prompts: dict[str, str]
    """Every prompt template the run uses, by name."""
    version: str
    forked_from: str | None = None


class Recovery(Struct, frozen=True, kw_only=True):
    """What keeps a resumed run from failing again on the same record."""

    forgiven: int = 0
    """Inconclusive passes up to this one no longer count, nor reviews that could not be read."""
    failed_panels: int = 0
    """Times the run was resumed after its last panel, over finished texts, had failed."""
    redrafts: int = 0
    """Times the run was resumed after it had ended without a first draft."""


class RunResumed(Event, frozen=True, kw_only=True):
    """The run was resumed, perhaps with other limits."""

    settings: Settings
    recovery: Recovery = Recovery()


class RunPaused(Event, frozen=True, kw_only=True):
    """The run cannot go on now; nothing paid for is lost."""

    status: Status
    reason: str
    limit: str | None = None
    """The field of `Budget` that was reached; None where none was."""


# The tournament's own story: the same seed and the same replies give the same events.


class DraftWritten(Event, frozen=True, kw_only=True):
    """One of several drafts."""

    number: int
    text: str
    words: int
    violations: tuple[Violation, ...] = ()
    leaks: tuple[str, ...] = ()


class DraftReady(Event, frozen=True, kw_only=True):
    """The first incumbent."""

    text: str
    words: int
    given: bool
    """Supplied by the user rather than written by the author."""
    violations: tuple[Violation, ...] = ()
    leaks: tuple[str, ...] = ()
    number: int = 1
    of: int = 1
    """How many drafts it was chosen from."""


class DraftFailed(Event, frozen=True, kw_only=True):
    """The author gave no usable first draft."""

    worded = ("detail",)
    attempt: int
    reason: NoText
    detail: str


class PassStarted(Event, frozen=True, kw_only=True):
    """A pass begins with the incumbent on the ballot."""

    number: int
    words: int


class PromptsShortened(Event, frozen=True, kw_only=True):
    """From this pass on the short prompts are used, because the author's model failed at the long ones."""

    worded = ("reason",)
    number: int
    reason: str


class GuidanceGiven(Event, frozen=True, kw_only=True):
    """A person's guidance reached the critic of this pass."""

    number: int
    text: str


class CritiqueProblem(Struct, frozen=True, kw_only=True):
    """One problem a critic found."""

    severity: Literal["critical", "major", "minor"]
    kind: Literal["quote", "missing", "general"]
    """In words of the text, in what is not there, or in the whole of it."""
    problem: str
    quote: str = ""
    criterion: str = ""
    """The name of the task's criterion that it belongs to, where the critic named one."""

    @property
    def said(self) -> str:
        """The problem with its criterion in brackets."""
        return f"{self.problem} [{self.criterion}]" if self.criterion else self.problem


class CritiqueWritten(Event, frozen=True, kw_only=True):
    """A critic answered."""

    number: int
    critic: int
    """0 is the first critic of the pass, 1 the second opinion when the first found nothing."""
    problems: tuple[CritiqueProblem, ...] = ()
    dropped: int = 0
    """Problems whose quote is not in the text."""
    miscited: int = 0
    """Problems that name a record which was not shown, or another figure than it has."""
    prose: str = ""
    """The whole critique where no quotes are asked for."""
    withheld: tuple[CritiqueProblem, ...] = ()
    """What it would take more than an edit to put right, where only that was asked for: no reviser sees it."""
    readable: bool = True
    by_code: bool = False
    """Not a critic's: the limits that code knows the text breaks."""


class CandidateReady(Event, frozen=True, kw_only=True):
    """A challenger is on the ballot."""

    number: int
    slot: Slot
    text: str
    words: int
    notes: str = ""
    """The author's remarks on the changes; never shown to a judge."""
    repaired: bool = False
    """A breach of contract was sent back once."""
    rewritten: bool = False
    """A leak of its own making was sent back once."""
    leaks: tuple[str, ...] = ()
    """Leaks that are left."""
    violations: tuple[Violation, ...] = ()
    """What it breaks; it is judged only against texts that break as much."""
    fresh: bool = False
    """It is a new draft, written without seeing A."""


class CandidateDropped(Event, frozen=True, kw_only=True):
    """A text that will not be on the ballot."""

    worded = ("detail",)
    number: int
    slot: Slot
    reason: DropReason
    detail: str = ""
    violations: tuple[Violation, ...] = ()
    text: str = ""


class LengthCheck(Struct, frozen=True, kw_only=True):
    """Whether a text has the first place of a ballot for its length alone, by a second judge."""

    model: str
    only_length: bool | None
    """If so, the first and the second place of the ballot are exchanged; None is an answer that cannot be read."""
    reasoning: str = ""


class BallotCast(Event, frozen=True, kw_only=True):
    """One seat of a panel has voted, or could not."""

    stage: str
    """`pass/3`, `review`, or the panel of finished texts it belongs to."""
    seat: int
    model: str
    order: tuple[str, ...]
    """Candidates as this judge saw them, first to last."""
    labels: tuple[str, ...]
    """What they were called."""
    ranking: tuple[str, ...] | None
    """Candidates from best to worst; None where there is no ballot."""
    reasoning: str = ""
    asked: int = 1
    """Requests this seat took, second tries and replacements included."""
    lens: str = ""
    """What a specialist was asked to look at."""
    anchored: bool = False
    """Whether the judge was shown the first draft as a reference."""
    check: LengthCheck | None = None
    """A second judge's look at the first place; None where there was none."""
    grades: dict[str, tuple[float, ...]] = {}
    """What a judge who grades gave each candidate, criterion by criterion; the ranking follows from their sums."""

    @property
    def first_ranking(self) -> tuple[str, ...] | None:
        """The ranking as the judge gave it, before any check."""
        if self.ranking and self.check and self.check.only_length:
            return (self.ranking[1], self.ranking[0], *self.ranking[2:])
        return self.ranking


class CodeBallot(Struct, frozen=True, kw_only=True):
    """The ballot of a seat that code fills. It is not evidence: it is fixed by the texts, the same in every pass."""

    ranking: tuple[str, ...] | None
    """Candidates from best to worst; None where there is no vote, because one has no number or two have the same."""
    values: dict[str, float | None]
    """What it measured, by candidate; higher is better, whichever numbers of a metric are."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What a panel decided, with the chance of as much by luck."""

    winner: str
    scores: dict[str, int]
    margin: int
    """Winner's points over the best of the others; negative where A stays because no lead over it was large enough."""
    chance: float
    """Probability of at least this margin if judges ranked at random, next to the ballots of code as they are."""
    tied: bool
    ballots: int
    invalid: int
    agreement: float | None
    """Mean Kendall tau between the judges who were asked in any case."""
    metric: CodeBallot | None = None
    """That of a metric with a seat on the panel: in the scores, not among `ballots`, `invalid` and `agreement`."""
    predictor: CodeBallot | None = None
    """Likewise that of a predictor fitted on past outcomes."""
    required_lead: int = 1
    """Points by which a challenger had to lead A."""

    @property
    def code(self) -> dict[str, CodeBallot]:
        """The ballots of seats that code fills, by their names."""
        seats = {"metric": self.metric, "predictor": self.predictor}
        return {name: ballot for name, ballot in seats.items() if ballot}


class PassDecided(Event, frozen=True, kw_only=True):
    """A pass is over."""

    worded = ("reason",)
    number: int
    outcome: PassOutcome
    winner: Slot | None
    """None where the pass is inconclusive: A stays, the streak neither grows nor resets."""
    streak: int
    words: int
    """Of the incumbent after the pass."""
    verdict: Verdict | None = None
    survival_chance: float | None = None
    """What A's chance to survive was if judges ranked at random; None without a panel."""
    tie_chance: float = 0.0
    """What its chance was to stay without a lead, where that counts neither way."""
    violations: tuple[Violation, ...] = ()
    """What A breaks, where it stays: then the pass does not count."""
    reason: str = ""

    @property
    def survived(self) -> bool:
        """Whether A won in a way that counts."""
        return self.winner == "A" and self.streak > 0 and self.outcome != "unconfirmed"


class Incumbent(Struct, frozen=True, kw_only=True):
    """A text that was an incumbent."""

    name: str
    """`draft`, or where it won: `pass 3 AB`."""
    since: int
    text: str
    keeps_contract: bool


class ReviewDecided(Event, frozen=True, kw_only=True):
    """A review: a panel ranked texts from the first draft to the latest; the last one chooses what is delivered."""

    texts: tuple[Incumbent, ...]
    winner: str | None
    """None where too few ballots were valid: the last incumbent is delivered."""
    verdict: Verdict | None
    preferred: int | None
    """Judges who put the delivered text above the first draft; None where it is the first draft. They chose it, so
    that this is not evidence: judges who rank at random do it too."""
    weights: dict[str, float] = {}
    """How much a ballot of each judge counted, in the scores and in their chance; empty where all counted the same.
    Scores are then sums of quarters."""
    after: int = 0
    """The pass after which it was held."""
    trend: float | None = None
    """How far judges put younger texts before older ones: 1 always, 0 as often as not, -1 never."""
    back: bool = False
    """Whether the run goes on from its winner and not from the latest text."""


class Alternative(Struct, frozen=True):
    """One of several texts to choose from."""

    name: str
    text: str
    share: float | None = None
    """How often fresh judges put it before another of them; None where none were asked or could be read."""
    low: float | None = None
    high: float | None = None
    """95 % interval of the share, for all of them together."""


class AlternativesRanked(Event, frozen=True, kw_only=True):
    """Several texts to choose from, best first: by judges who chose none of them, where such judges were asked."""

    wanted: int
    texts: tuple[Alternative, ...]
    leads: bool
    """Whether these judges prefer the first to the others beyond chance."""


class Survival(Struct, frozen=True, kw_only=True):
    """How often A survived, against what chance alone gives."""

    panels: int
    survived: int
    expected: float
    """Survivals that judges who rank at random give in as many panels."""
    chance: float
    """Probability that such judges give the streak within as many passes."""
    required_streak: int
    """Survivals in a row that end the run."""


class Preference(Struct, frozen=True, kw_only=True):
    """How many judges who chose nothing prefer the delivered text to the first draft."""

    judges: int
    prefer: int
    low: float
    high: float
    """Exact 95 % interval of the share."""


class Evidence(Struct, frozen=True, kw_only=True):
    """The evidence of a run. None is unknown, never zero."""

    survival: Survival | None
    agreement: float | None
    """Mean Kendall tau, over all panels, between the judges who were asked in any case."""
    preference: Preference | None
    ballots: int
    invalid: int
    first_places: tuple[int, ...]
    """First places by the position of the text, first to last, over panels of three."""
    ties: int
    inconclusive: int
    unopposed: int
    dropped_quotes: int
    miscited: int = 0
    """Criticisms that named a record which was not shown, or another figure than it has."""
    leaks: int
    """Candidates that went to a panel with a leak."""


class Delivered(Event, frozen=True, kw_only=True):
    """The run is over and this is its text."""

    worded = ("reason",)
    status: Status
    ended_by: EndedBy = "strategy"
    reason: str
    """The same in words."""
    text: str
    origin: str
    words: int
    violations: tuple[Violation, ...]
    evidence: Evidence


class JobFinished(Event, frozen=True, kw_only=True):
    """A job that writes no text of its own is over; what it found is in its events."""

    worded = ("reason",)
    status: Status = "done"
    reason: str
    text: str | None = None
    """The one it chose of the texts that others wrote, where it chose one."""
    origin: str = ""
    """Where that text comes from."""


class PanelDecided(Event, frozen=True, kw_only=True):
    """A panel over finished texts has voted."""

    stage: str
    verdict: Verdict | None
    """None where too few ballots were valid."""


CORE_EVENTS: dict[str, type[Event]] = {each.__name__: each for each in Event.__subclasses__()}
"""Events of every job; other rooms define more."""
LIFECYCLE = (RunStarted, RunResumed, RunPaused)
"""Emitted by the driver; everything else follows from seed and replies and can be replayed."""
