"""A panel: seats filled in waves, no more than the outcome needs, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoreason.events import BallotCast, CodeBallot, Verdict
from autoreason.jobs.context import JobContext
from autoreason.jobs.randomness import draw
from autoreason.jobs.tasks import use_in_order
from autoreason.stats.ranks import agreement
from autoreason.tournament.code_judges import CodeJudges
from autoreason.tournament.evidence import SurvivalChances, chance_of_margin, survival_chances
from autoreason.tournament.judges import cast_ballot
from autoreason.tournament.orders import balanced_orders, random_orders
from autoreason.tournament.panel_size import PanelSize
from autoreason.tournament.voting import count_votes


@dataclass
class Panel:
    """Judges over texts; `texts` in the order in which ties are decided."""

    context: JobContext
    stage: str
    texts: Mapping[str, str]
    size: PanelSize
    ballots: list[BallotCast] = field(default_factory=list)
    code: CodeJudges | None = None
    """Have seats of their own on panels that choose."""
    reference: str = ""
    """The first draft, for judges who are shown one; empty where there is none."""

    @property
    def rankings(self) -> list[tuple[str, ...]]:
        """The valid ballots of judges."""
        return [ballot.ranking for ballot in self.ballots if ballot.ranking]

    @property
    def invalid_seats(self) -> tuple[int, ...]:
        """Seats without a valid ballot."""
        return tuple(ballot.seat for ballot in self.ballots if not ballot.ranking)

    @property
    def survival_chances(self) -> SurvivalChances:
        """How often the first of the texts survives a panel like this one if judges rank at random."""
        rule = self.context.settings.voting
        return survival_chances(self.size, len(self.texts), rule, self.invalid_seats)

    async def run(self) -> Verdict | None:
        """The verdict, or None where too few ballots are valid."""
        orders = self._orders()
        names, rule = tuple(self.texts), self.context.settings.voting
        code = await self.code.vote(self.stage, self.texts) if self.code else {}
        self.size = self.size.with_code(code.values(), names)
        while wave := self.size.wave(self.rankings, names, rule, len(self.invalid_seats)):
            seats = range(len(self.ballots), len(self.ballots) + wave)
            voting = [
                cast_ballot(
                    self.context,
                    self.stage,
                    seat,
                    orders[seat],
                    self.texts,
                    max_requests=self.size.requests(seat),
                    reference=self.reference,
                )
                for seat in seats
            ]
            await use_in_order(voting, self._take)
        if len(self.rankings) < self.size.quorum(len(self.ballots)):
            return None
        always = self.size.first_wave(names, rule)
        return verdict_of(self.ballots, names, rule, self.size, always=always, code=code)

    def _take(self, ballot: BallotCast) -> None:
        self.ballots.append(ballot)
        self.context.emit(ballot)

    def _orders(self) -> tuple[tuple[str, ...], ...]:
        spread = balanced_orders if self.context.settings.balanced_orders else random_orders
        seed = draw(self.context.settings.seed, f"{self.stage}/orders").getrandbits(64)
        # Sorted first, so that the schedule cannot depend on which text is the incumbent.
        return spread(sorted(self.texts), self.size.limit, seed)


def verdict_of(
    ballots: Sequence[BallotCast],
    names: Sequence[str],
    rule: str,
    size: int | PanelSize,
    *,
    always: int | None = None,
    code: Mapping[str, CodeBallot] | None = None,
) -> Verdict:
    """What ballots decide under a rule, ties in the order of `names`; agreement is that of the first `always`."""
    rankings = [ballot.ranking for ballot in ballots if ballot.ranking]
    invalid = tuple(ballot.seat for ballot in ballots if not ballot.ranking)
    seats = PanelSize(size) if isinstance(size, int) else size
    votes = [
        each.ranking for each in ballots if each.ranking for _ in range(seats.votes(each.seat))
    ]
    by_code = [each.ranking for each in (code or {}).values() if each.ranking] * seats.code_votes
    result = count_votes(rule, [*by_code, *votes], names, seats.required_lead)
    return Verdict(
        winner=result.winner,
        scores=result.scores,
        margin=result.margin,
        # A lead that is too small says nothing.
        chance=chance_of_margin(size, max(0, result.margin), len(names), rule, invalid),
        tied=result.tied,
        required_lead=seats.required_lead,
        ballots=len(rankings),
        invalid=len(invalid),
        agreement=agreement([each.ranking for each in ballots[:always] if each.ranking]),
        **(code or {}),
    )
