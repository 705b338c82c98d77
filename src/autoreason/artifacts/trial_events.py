"""What happens in research, besides what happens in every job."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from autoreason.artifacts import research_statements
from autoreason.artifacts.artifact import Changes
from autoreason.artifacts.measurement import LookOutcome
from autoreason.events import Event
from autoreason.report.numbers import count

TrialStatus = Literal["kept", "dropped", "refused", "failed", "guarded"]
"""`refused` by code before a look; `failed` without a value; `guarded` by a guard, whatever the metric said."""
ProposalSource = Literal["model", "optimiser"]


class Effect(Struct, frozen=True, kw_only=True):
    """A difference of two artifacts, positive where the first is better."""

    value: float
    error: float
    """Standard error."""
    looks: int
    against: int
    """Looks at the other one."""
    paired: bool = False


class NoiseMeasured(Event, frozen=True, kw_only=True):
    """The start was measured several times, before the first proposal."""

    values: tuple[float, ...]
    metrics: tuple[dict[str, float], ...] = ()
    spread: float
    """Standard deviation of one look; 0 where all are equal."""
    seconds: float
    """Of one look, on average."""
    level: str = ""
    """How artifacts were kept from everything else."""
    drawn: bool = False
    """Items were drawn for each look, so that equal values do not show that there is no noise."""

    @property
    def line(self) -> str:
        """How much one look varies."""
        return f"noise floor: {research_statements.noise_floor(self)}"


class TrialDecided(Event, frozen=True, kw_only=True):
    """A proposal was measured, or refused, and is decided."""

    sentences = ("reason",)
    number: int
    """From 1."""
    incumbent: int
    """The trial whose artifact it was measured against; 0 is the start."""
    by: ProposalSource
    hypothesis: str = ""
    expected: str = ""
    """The effect that the proposer expected, in its words."""
    status: TrialStatus
    reason: str
    guidance: str = ""
    """What a person wanted this proposal to try."""
    changes: Changes = field(default_factory=dict)
    """Paths with their new texts; None where a file is removed. Empty where it was refused."""
    values: tuple[float, ...] = ()
    """Look by look, as the evaluator returned them."""
    seeds: tuple[int, ...] = ()
    """Which of the incumbent's looks each shares seed and items with."""
    record: dict[int, float] = field(default_factory=dict)
    """The incumbent's looks that it was compared with, by number, as the evaluator returned them."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Means of the other numbers."""
    outcome: LookOutcome | None = None
    """Of the look that ended it; None where none was taken."""
    effect: Effect | None = None
    """Against the incumbent; None where there was no value."""
    evaluations: int = 0
    """Looks it took, the incumbent's included."""
    shared: int = 0
    """Runs of eight words that it shares with an item and the start does not."""
    tail: str = ""

    @property
    def line(self) -> str:
        """What was tried and became of it."""
        decision = research_statements.decision(self)
        return f"trial {self.number} {decision}; {research_statements.idea(self)}"


class SearchCut(Event, frozen=True, kw_only=True):
    """A limit or a person ended the search; playoff and end test need no model and follow."""

    reason: str

    @property
    def cut(self) -> str:
        """Why."""
        return self.reason

    @property
    def line(self) -> str:
        """Why, and what comes next."""
        return f"search ended: {self.reason}; the end test follows, which asks no model"


class FinalistsMeasured(Event, frozen=True, kw_only=True):
    """The playoff: fresh looks at the start, the last incumbent and two in between."""

    trials: tuple[int, ...]
    """0 is the start."""
    means: tuple[float | None, ...]
    """None where no look gave a number."""
    looks: int
    chosen: int
    broken: dict[int, str] = field(default_factory=dict)
    """Guards that these looks break, in words, by trial: what breaks one is not chosen."""

    @property
    def line(self) -> str:
        """Which of them is delivered."""
        return f"playoff: {research_statements.finalists(self)}"


class EndTested(Event, frozen=True, kw_only=True):
    """The result against the start, on looks that chose nothing: the only number that is claimed."""

    trial: int
    """Whose artifact is the result; 0 is the start, which needs no test."""
    result: tuple[float | None, ...]
    start: tuple[float | None, ...]
    """Look by look with the same seed and items; None where a look gave no number."""
    sealed: bool
    opened: int = 0
    """How often the sealed set has been opened, this time included."""
    broken: str = ""
    """The guard that the result breaks on these looks, in words: then nothing is claimed."""

    @property
    def line(self) -> str:
        """On what it rests."""
        looks = count(len(self.result), "pair")
        return f"end test: {looks} on {research_statements.where_tested(self)}"
