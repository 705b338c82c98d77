"""The results of a set of problems: pass rates with intervals, duels, what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from statistics import fmean

from msgspec import Struct

from autoreason.exchange import Spent
from autoreason.plugins import short
from autoreason.programs.assignment import Assignment, difficulty_order
from autoreason.programs.duels import Outcomes, StrategyDuel, duels
from autoreason.programs.events import Solved
from autoreason.programs.units import Exclusion, Unit, find_exclusions, units_of
from autoreason.report.report import Report, Section
from autoreason.stats.results import Estimate
from autoreason.stats.shares import clustered_share

ALL = ""
"""The difficulty of what is counted over all problems."""
UNRATED = "unrated"


class Score(Struct, frozen=True, kw_only=True):
    """How one strategy did on the problems of one difficulty, or on all of them."""

    strategy: str
    difficulty: str
    """Empty over all of them."""
    problems: int
    """Problems with a verdict; whatever has none is in no share."""
    results: int
    """Repeats of problems with a verdict."""
    public: Estimate
    """Share that passes every public test."""
    private: Estimate
    """Share that passes every private test."""
    solved: Estimate
    """Share that passes every private test, or every public one where a problem has no private tests."""
    failed_first: int
    """Repeats whose first attempt failed a public test."""
    recovery: Estimate
    """Share of those that were solved in the end; its n counts their problems."""
    passes_public_only: Estimate
    """Share of what passes every public test that fails a private one; its n counts their problems."""
    verdicts: dict[str, int]
    """How the programs handed in ended, by private tests where there are any."""
    attempts: float | None
    """Programs written for a problem, once, on average over repeats with a verdict; so are the next three."""
    calls: float | None
    tokens: float | None
    """None where a call was not metered, too."""
    cost: Decimal | None
    """US dollars; None where a price is not known, too."""
    spent: Spent
    """Over everything that was tried, with a verdict or without."""


class SolveReport(Report, Struct, frozen=True, kw_only=True):
    """A set of problems in numbers."""

    problems: int
    """Problems that were to be solved."""
    strategies: tuple[str, ...]
    repeats: int
    scores: tuple[Score, ...]
    """One per strategy, over all problems."""
    by_difficulty: tuple[Score, ...]
    """One per strategy and difficulty; none where problems have no difficulty, or all the same."""
    duels: tuple[StrategyDuel, ...]
    """Every two strategies on the problems that both have a verdict on."""
    duels_after_failure: tuple[StrategyDuel, ...]
    """The same on problems where the first attempt of both failed."""
    winner: str | None
    """The strategy that beats every other beyond chance."""
    left_out: tuple[Exclusion, ...]
    sandbox_levels: dict[str, int]
    """How many results come from each level of the sandbox."""

    heading = "Programs"

    @property
    def conclusion(self) -> str:
        """Which strategy wins beyond chance, or that none does and what could have been seen."""
        from autoreason.programs.solve_tables import conclusion

        return conclusion(self)

    def names(self) -> list[str]:
        """Those of the strategies."""
        return list(map(short, self.strategies))

    def sections(self) -> list[Section]:
        """Rates, differences, what it took and what was left out."""
        from autoreason.programs.solve_tables import sections

        return sections(self)

    @property
    def leaders(self) -> tuple[Score, ...]:
        """The scores, the best first; a strategy without any result comes last."""

        def rank(score: Score) -> tuple[bool, float]:
            # Strategies may lack different problems, so the winner need not have the largest share.
            share = score.solved.value
            return score.strategy != self.winner, 1.0 if share is None else -share

        return tuple(sorted(self.scores, key=rank))


def solve_report(
    solved: Sequence[Solved],
    assignments: Sequence[Assignment],
    *,
    strategies: Sequence[str] = (),
    repeats: int = 1,
    broken: Sequence[str] = (),
) -> SolveReport:
    """The report on solved problems; `broken` says which lines of the set could not be read."""
    names = tuple(strategies) or tuple(dict.fromkeys(each.strategy for each in solved))
    wanted = [each for each in assignments if not each.remark]
    units = units_of(solved, {each.id: each for each in assignments})
    scores = tuple(_score(units, name, ALL) for name in names)
    contests = duels(names, _by_strategy(names, units, lambda unit: unit.solved))
    return SolveReport(
        problems=len(wanted),
        strategies=names,
        repeats=repeats,
        scores=scores,
        by_difficulty=_by_difficulty(units, names),
        duels=contests,
        duels_after_failure=duels(names, _by_strategy(names, units, lambda unit: unit.recovered)),
        winner=_winner(names, contests),
        left_out=find_exclusions(assignments, units, names, repeats, broken),
        sandbox_levels=dict(Counter(unit.level for unit in units if unit.level)),
    )


def _by_difficulty(units: Sequence[Unit], names: Sequence[str]) -> tuple[Score, ...]:
    difficulties = {unit.difficulty for unit in units}
    if len(difficulties) < 2:
        return ()
    return tuple(
        _score([unit for unit in units if unit.difficulty == tier], name, tier or UNRATED)
        for tier in sorted(difficulties, key=difficulty_order)
        for name in names
    )


def _score(units: Sequence[Unit], strategy: str, difficulty: str) -> Score:
    own = [unit for unit in units if unit.strategy == strategy]
    scored = [unit for unit in own if unit.solved is not None]
    spent = _spent(scored)
    return Score(
        strategy=strategy,
        difficulty=difficulty,
        problems=len({unit.problem for unit in scored}),
        results=len(scored),
        public=_share(own, lambda unit: unit.public),
        private=_share(own, lambda unit: unit.private),
        solved=_share(own, lambda unit: unit.solved),
        failed_first=sum(unit.recovered is not None for unit in own),
        recovery=_share(own, lambda unit: unit.recovered),
        passes_public_only=_share(own, lambda unit: unit.passes_public_only),
        verdicts=dict(Counter(str(unit.verdict) for unit in scored if unit.verdict)),
        attempts=fmean(unit.attempts for unit in scored) if scored else None,
        calls=fmean(unit.spent.calls for unit in scored) if scored else None,
        tokens=spent.tokens / len(scored) if scored and spent.tokens is not None else None,
        cost=spent.cost / len(scored) if scored and spent.cost is not None else None,
        spent=_spent(own),
    )


def _spent(units: Sequence[Unit]) -> Spent:
    spent = Spent()
    for unit in units:
        spent = spent.joined(unit.spent)
    return spent


def _share(units: Sequence[Unit], rule: Callable[[Unit], bool | None]) -> Estimate:
    return clustered_share(outcomes(units, rule).values())


def outcomes(units: Sequence[Unit], rule: Callable[[Unit], bool | None]) -> Outcomes:
    """What a rule gives for every repeat, by problem; without repeats for which it gives None."""
    by_problem: dict[str, list[bool]] = {}
    for unit in units:
        outcome = rule(unit)
        if outcome is not None:
            by_problem.setdefault(unit.problem, []).append(outcome)
    return by_problem


def _by_strategy(
    names: Sequence[str], units: Sequence[Unit], rule: Callable[[Unit], bool | None]
) -> Mapping[str, Outcomes]:
    return {name: outcomes([u for u in units if u.strategy == name], rule) for name in names}


def _winner(names: Sequence[str], contests: Sequence[StrategyDuel]) -> str | None:
    """The strategy that beats every other beyond chance."""
    wins = Counter(duel.ahead for duel in contests if duel.beyond_chance)
    return next((name for name in names if wins[name] == len(names) - 1 > 0), None)
