"""Panels of judges: seats filled in waves, next to those that code fills; the review and the confirmation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite
from statistics import fmean

from msgspec import Struct

from autoreason import events
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext, draw, use_in_order
from autoreason.keys import sub_key
from autoreason.parsing.documents import same_text
from autoreason.settings import Settings
from autoreason.stats import BEYOND_CHANCE
from autoreason.stats.ranks import agreement
from autoreason.story import CONFIRMATION, REVIEW
from autoreason.task import Metric, MetricRole, Task
from autoreason.tournament.evidence import SurvivalChances, chance_of_margin, survival_chances
from autoreason.tournament.judges import balanced_orders, cast_ballot, random_orders
from autoreason.tournament.voting import QUARTERS, PanelSize, count_votes, trend

EVALUATIONS = 4
"""Measurements of each text, with the same seeds for all texts that are compared."""


def metric_of(task: Task, role: MetricRole) -> Metric | None:
    """The task's metric, where it has one in this role."""
    work = task.work
    return work if isinstance(work, Metric) and work.role == role else None


async def measure(
    context: JobContext, metric: Metric, key: str, text: str, seeds: str
) -> tuple[list[float | None], str]:
    """The numbers of a text, and why one is missing; texts measured with the same `seeds` share them."""
    values, fault = [], ""
    for evaluation in range(EVALUATIONS):
        seed = draw(context.settings.seed, sub_key(seeds, evaluation)).getrandbits(31)
        answer = await context.ask(metric.query(sub_key(key, "evaluation", evaluation), text, seed))
        values.append(metric.read(answer))
        fault = fault or metric.fault(answer)
    return values, fault


class Prediction(Struct, frozen=True):
    value: float | None
    """How well it may do, higher is better; None where it is unlike all that the predictor knows."""


class PredictionQuery(Query[Prediction], frozen=True, kw_only=True):
    """How well a text may do, by a saved fit."""

    kind = "prediction"
    fit: str
    text: str


class CodeJudges:
    """Vote on the panels of a run that choose; each measures a text once, however many panels it is on."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        # Each gives the number of a text, asked for under a key.
        self._seats: dict[str, Callable[[str, str], Awaitable[float | None]]] = {}
        if metric := metric_of(context.task, "judge"):
            self._seats["metric"] = partial(self._measure, metric)
        if context.task.knowledge and (seat := context.task.knowledge.seat):
            self._seats["predictor"] = partial(self._predict, seat.fit)
        self._values: dict[tuple[str, str], float | None] = {}

    async def vote(self, stage: str, texts: Mapping[str, str]) -> dict[str, events.CodeBallot]:
        ballots = {}
        for seat, number in self._seats.items():
            for name, text in texts.items():
                if (seat, text) not in self._values:
                    self._values[seat, text] = await number(sub_key(stage, seat, name), text)
            values = {name: self._values[seat, text] for name, text in texts.items()}
            ballots[seat] = events.CodeBallot(ranking=rank(values), values=values)
        return ballots

    async def _measure(self, metric: Metric, key: str, text: str) -> float | None:
        """The mean over evaluations; None where one of them has no finite number."""
        found, _ = await measure(self._context, metric, key, text, "metric")
        values = [each for each in found if each is not None and isfinite(each)]
        # Divided first, so that the sum of large numbers stays finite.
        return sum(each / EVALUATIONS for each in values) if len(values) == EVALUATIONS else None

    async def _predict(self, fit: str, key: str, text: str) -> float | None:
        return (await self._context.ask(PredictionQuery(key=key, fit=fit, text=text))).value


def rank(values: Mapping[str, float | None]) -> tuple[str, ...] | None:
    """The names by value, best first; None where one has no number, or two the same: a ballot has no ties."""
    numbers = {name: value for name, value in values.items() if value is not None}
    if len(set(numbers.values())) < len(values):
        return None
    return tuple(sorted(numbers, key=numbers.__getitem__, reverse=True))


@dataclass
class Panel:
    """Judges over texts; `texts` in the order in which ties are decided."""

    context: JobContext
    stage: str
    texts: Mapping[str, str]
    size: PanelSize
    ballots: list[events.BallotCast] = field(default_factory=list)
    code: CodeJudges | None = None
    """Have seats of their own on panels that choose."""
    reference: str = ""
    """The first draft, for judges who are shown one; empty where there is none."""
    series: str = ""
    """Panels whose orders are balanced together, so that one judge in each gives no text an advantage."""
    before: int = 0
    """Judges of the series on earlier panels."""

    @property
    def rankings(self) -> list[tuple[str, ...]]:
        return [ballot.ranking for ballot in self.ballots if ballot.ranking]

    @property
    def invalid_seats(self) -> tuple[int, ...]:
        return tuple(ballot.seat for ballot in self.ballots if not ballot.ranking)

    @property
    def survival_chances(self) -> SurvivalChances:
        """How often the first of the texts survives a panel like this one if judges rank at random."""
        rule = self.context.settings.voting
        return survival_chances(self.size, len(self.texts), rule, self.invalid_seats)

    async def run(self) -> events.Verdict | None:
        """The verdict, or None where too few ballots are valid."""
        settings, names = self.context.settings, tuple(self.texts)
        rule = settings.voting
        spread = balanced_orders if settings.balanced_orders else random_orders
        seed = draw(settings.seed, f"{self.series or self.stage}/orders").getrandbits(64)
        # Sorted first, so that the schedule cannot depend on which text is the incumbent.
        orders = spread(sorted(names), self.size.judges, seed, self.before)

        def record(ballot: events.BallotCast) -> None:
            self.ballots.append(ballot)
            self.context.emit(ballot)

        code = await self.code.vote(self.stage, self.texts) if self.code else {}
        self.size = self.size.with_code(code.values(), names)
        vote = partial(cast_ballot, self.context, self.stage, reference=self.reference)
        while wave := self.size.wave(self.rankings, names, rule, len(self.invalid_seats)):
            seats = range(len(self.ballots), len(self.ballots) + wave)
            voting = [
                vote(seat, orders[seat], self.texts, max_requests=self.size.requests(seat))
                for seat in seats
            ]
            await use_in_order(voting, record)
        if len(self.rankings) < self.size.quorum(len(self.ballots)):
            return None
        always = self.size.first_wave(names, rule)
        return verdict_of(self.ballots, names, rule, self.size, always=always, code=code)


def verdict_of(
    ballots: Sequence[events.BallotCast],
    names: Sequence[str],
    rule: str,
    size: int | PanelSize,
    *,
    always: int | None = None,
    code: Mapping[str, events.CodeBallot] | None = None,
) -> events.Verdict:
    """What ballots decide under a rule, ties in the order of `names`; agreement is that of the first `always`."""
    rankings = [ballot.ranking for ballot in ballots if ballot.ranking]
    invalid = tuple(ballot.seat for ballot in ballots if not ballot.ranking)
    seats = PanelSize(size) if isinstance(size, int) else size
    votes = [
        each.ranking for each in ballots if each.ranking for _ in range(seats.votes(each.seat))
    ]
    by_code = [each.ranking for each in (code or {}).values() if each.ranking] * seats.code_votes
    result = count_votes(rule, [*by_code, *votes], names, seats.required_lead)
    return events.Verdict(
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


async def review(
    context: JobContext,
    incumbents: Sequence[events.Incumbent],
    kept: events.Incumbent | None = None,
    max_texts: int | None = None,
    stage: str = REVIEW,
    code: CodeJudges | None = None,
    after: int = 0,
) -> None:
    """Let judges rank texts from the first draft to the latest, where there are two or more to choose from.

    `kept` is what the review before put first.
    """
    settings, size = context.settings, context.settings.ballot_texts
    most = min(max_texts or settings.review_texts, 2 * size - 1)
    finalists = choose_finalists(incumbents, most, kept)
    if not settings.reviewers or len(finalists) < 2:
        return
    first, latest = incumbents[0].name, incumbents[-1].name
    weights = review_weights(context)
    by_seat = tuple(round(QUARTERS * weights[each]) for each in settings.models.judges if weights)
    seats = PanelSize(settings.reviewers, weights=by_seat)
    panels: list[Panel] = []

    async def ask(stage: str, texts: Sequence[events.Incumbent]) -> events.Verdict | None:
        """Every judge is asked, and ties go to the latest."""
        named = {each.name: each.text for each in reversed(texts)}
        panels.append(Panel(context, stage, named, seats, code=code, reference=incumbents[0].text))
        return await panels[-1].run()

    ranked = finalists
    if len(finalists) > size:
        seats = replace(seats, judges=review_seats(settings, len(finalists)) // 2)
        chosen = await ask(sub_key(stage, "older"), finalists[:size])
        best = [each for each in finalists if chosen and each.name == chosen.winner]
        best = best or [each for each in finalists[:size] if each == kept] or finalists[:1]
        ranked = [*best, *finalists[size:]]
    verdict, panel = await ask(stage, ranked), panels[-1]
    winner, preferred = verdict.winner if verdict else None, None
    if winner not in (None, first) and first in panel.texts:
        preferred = sum(each.index(winner) < each.index(first) for each in panel.rankings)
    trends = [trend(each.rankings, [*each.texts][::-1]) for each in panels if each.rankings]
    # Of texts that no judge has seen, none takes the place of one that judges put first.
    back = winner != latest if verdict else not settings.judges
    context.emit(
        events.ReviewDecided(
            texts=tuple(finalists),
            winner=winner,
            verdict=verdict,
            preferred=preferred,
            weights=weights,
            after=after,
            trend=fmean(trends) if verdict else None,
            back=after > 0 and back,
        )
    )


def review_seats(settings: Settings, texts: int) -> int:
    """Judges of a review of so many texts; two stages have equally many."""
    return settings.reviewers + (texts > settings.ballot_texts and settings.reviewers % 2)


def review_weights(context: JobContext) -> dict[str, float]:
    """How much a ballot of each judge counts; none unless all of a mixed panel were tested and they differ."""
    tested = context.task.knowledge.weights if context.task.knowledge else {}
    judges = context.settings.models.judges
    found = {judge: tested[judge] for judge in judges if judge in tested}
    return found if len({*found.values()}) > 1 and found.keys() == {*judges} else {}


def choose_finalists(
    incumbents: Sequence[events.Incumbent], max_texts: int, kept: events.Incumbent | None = None
) -> list[events.Incumbent]:
    """The first draft, what the last review kept, what came since, and of others what fits; no breach, no clone."""
    # Of equal texts the oldest, so that the first draft and what was kept have one name.
    distinct: list[events.Incumbent] = []
    for each in incumbents:
        if each.keeps_contract and not any(same_text(each.text, old.text) for old in distinct):
            distinct.append(each)
    if len(distinct) <= max_texts:
        return distinct
    since = next((at for at, each in enumerate(distinct) if kept and each.name == kept.name), 0)
    chosen = {0, since}
    for others in (range(since + 1, len(distinct)), range(1, since)):
        number = min(len(others), max_texts - len(chosen))
        # Evenly, from the latest on.
        chosen |= {others[-1 - step * len(others) // number] for step in range(number)}
    return [distinct[at] for at in sorted(chosen)]


async def confirm(
    context: JobContext, draft: events.Incumbent, chosen: events.Incumbent
) -> events.Incumbent:
    """The text to deliver, after fresh judges said which they prefer: the draft only if they do so beyond chance.

    Ballots that chose a text favour it, even if judges rank at random, so they are not evidence for it.
    A draft that breaks its contract is never judged: code knows that without judges.
    """
    judges = context.settings.confirmation
    if not judges or not draft.keeps_contract or same_text(draft.text, chosen.text):
        return chosen
    texts = {draft.name: draft.text, chosen.name: chosen.text}
    verdict = await Panel(context, CONFIRMATION, texts, PanelSize(judges)).run()
    context.emit(events.PanelDecided(stage=CONFIRMATION, verdict=verdict))
    is_clear = verdict is not None and verdict.chance <= BEYOND_CHANCE
    return draft if is_clear and verdict and verdict.winner == draft.name else chosen
