"""The one form in which every record is audited. None is what a record does not say, never zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoreason.contract import Contract
from autoreason.tournament.evidence import SurvivalChances
from autoreason.tournament.voting import BUILT_IN, count_votes, from_scores

SLOTS = ("A", "B", "AB")


@dataclass(frozen=True, kw_only=True)
class AuditedVote:
    """One judge's part in a panel."""

    judge: str
    """The model."""
    order: tuple[str, ...] | None
    """Candidates as this judge saw them, first to last."""
    ranking: tuple[str, ...] | None
    """Best first; a lone name is a judge who was asked for a winner only; None is no valid ballot."""
    labels: tuple[str, ...] | None = None
    """What the candidates were called, in the order shown."""
    text: str | None = None
    """What the judge wrote."""
    faulty: bool = False
    """The record counts a ranking that names a text twice, or some of the texts only."""


@dataclass(frozen=True, kw_only=True)
class AuditedPanel:
    """One vote over two texts or more."""

    candidates: tuple[str, ...]
    rule: str
    judge: str
    """The model that judged; several are joined."""
    seats: int | None
    """Judges asked."""
    valid: int | None
    """Ballots that counted."""
    votes: tuple[AuditedVote, ...] | None
    """None where only the scores were kept."""
    scores: Mapping[str, int] | None
    winner: str | None
    """None where the panel decided nothing."""
    shared_order: bool | None
    """Whether all judges saw the texts in one order; None for a panel of one."""
    always_asked: int | None = None
    """Seats that are asked whatever the others say; None where the panel's size was fixed."""
    chances_of_a: SurvivalChances | None = None
    """How often A would survive such a panel of judges who rank at random; None where its size was fixed."""

    @property
    def tied(self) -> bool | None:
        """Whether the best score was reached by two."""
        if not self.scores or len(self.scores) < 2:
            return None
        return from_scores(self.scores, tuple(self.scores)).tied

    @property
    def sample(self) -> list[tuple[str, ...]]:
        """The valid full ballots of the seats that are always asked, which stopping early cannot bias."""
        size, asked = len(self.candidates), (self.votes or ())[: self.always_asked]
        return [v.ranking for v in asked if v.ranking and len(v.ranking) == size]

    @property
    def fair_scores(self) -> Mapping[str, int] | None:
        """Scores that stopping early cannot bias: from the ballots of the seats that are always asked."""
        if self.always_asked is None or self.rule not in BUILT_IN:
            return self.scores
        sample = self.sample
        return count_votes(self.rule, sample, self.candidates).scores if sample else None

    @property
    def unanimous(self) -> bool | None:
        """Whether every valid ballot puts the same text first; None where that is unknown."""
        if not self.valid or self.valid < 2:
            return None
        if self.votes is not None:
            firsts = {vote.ranking[0] for vote in self.votes if vote.ranking}
            return len(firsts) == 1
        points = self.points_for_the_best
        return max(self.scores.values()) == points * self.valid if self.scores and points else None

    @property
    def points_for_the_best(self) -> int | None:
        """What one ballot gives its first; None where the rule is no sum of points."""
        return {"borda": len(self.candidates), "majority": 1}.get(self.rule)


@dataclass(frozen=True, kw_only=True)
class AuditedPass:
    """One pass of a run."""

    number: int
    winner: str | None
    streak: int | None
    panel: AuditedPanel | None
    """None where there was no panel."""
    unconfirmed: bool = False
    """A stayed without a lead, and its run counts that neither way."""
    texts: Mapping[str, str]
    """By slot; empty where no texts were kept."""
    words: Mapping[str, int]
    critique_words: int | None = None
    """Length of the critique, all critics together."""
    no_problem: bool | None = None
    """Whether the critic found no problem."""
    false_quotes: int | None = None
    """Problems left out because their quote is not in the text."""
    quotes: int | None = None
    dropped: tuple[tuple[str, str], ...] = ()
    """Texts that were kept off the ballot, as slot and reason."""
    clones: tuple[str, ...] = ()
    """Pairs of candidates that the record itself calls the same text."""
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class AuditedCalls:
    """What is known about the calls of a run."""

    replies: int
    truncated: int
    refused: int
    empty: int
    unanswered: int
    """Sent and never answered."""


@dataclass(frozen=True, kw_only=True)
class AuditedPrograms:
    """The answers to requests for programs."""

    answers: int = 0
    """Complete answers."""
    without: int = 0
    """Those without a program."""
    derived: int = 0
    """Programs built from earlier ones: repairs, revisions, merges."""
    repeated: int = 0
    """Those that are one of the programs before."""


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """One run, from any source."""

    name: str
    group: str
    """Runs of one group used the same protocol."""
    k: int | None
    passes: tuple[AuditedPass, ...]
    finals: tuple[AuditedPanel, ...] = ()
    """Panels over finished texts, the playoff among them."""
    max_passes: int | None = None
    """The cap on its passes; None where the record does not say."""
    preferred: tuple[int, int] | None = None
    """Judges of the playoff who prefer the delivered text to the first draft, of how many."""
    confirmed: tuple[int, int] | None = None
    """Fresh judges who prefer the delivered text to the first draft, of how many."""
    status: str | None = None
    """How it ended, as recorded; None where the record does not say."""
    brief: str | None = None
    allowed: tuple[str, ...] = ()
    """Texts whose wording a candidate may use without giving itself away."""
    contract: Contract | None = None
    first: str | None = None
    """The first draft."""
    last: str | None = None
    """The text delivered, or the incumbent at the end."""
    outages: tuple[str, ...] | None = None
    """Pauses because a provider failed and unexplained gaps; None where times were not kept."""
    calls: AuditedCalls | None = None
    programs: AuditedPrograms | None = None
    """None where texts were written."""

    @property
    def panels(self) -> Iterator[AuditedPanel]:
        """Every panel of the run, those over finished texts last."""
        yield from (audited.panel for audited in self.passes if audited.panel)
        yield from self.finals

    @property
    def converged(self) -> bool | None:
        """Whether it ended because A survived often enough in a row."""
        if self.status is not None:
            return self.status == "converged"
        if not self.k or not self.passes or self.passes[-1].streak is None:
            return None
        return self.passes[-1].streak >= self.k


Runs = Sequence[AuditedRun]


def panels_of(runs: Runs) -> Iterator[AuditedPanel]:
    """Every panel of some runs."""
    return (panel for run in runs for panel in run.panels)


def votes_of(runs: Runs) -> Iterator[AuditedVote]:
    """Every vote that was kept, valid or not."""
    return (vote for panel in panels_of(runs) for vote in panel.votes or ())


def shared_order(votes: Iterable[AuditedVote]) -> bool | None:
    """Whether all judges of a panel saw one order; None where there are not two orders to compare."""
    orders = [vote.order for vote in votes if vote.order]
    return len(set(orders)) == 1 if len(orders) > 1 else None
