"""Keep rules in worlds where the true effect of every change is known: many runs side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from autoreason.artifacts.acceptance import (
    FINALISTS,
    SHRINK_PAIRS,
    BudgetPlan,
    KeepRule,
    plan_budget,
)

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


class ResearchWorld(Struct, frozen=True, kw_only=True):
    """How proposals and evaluations turn out. The unit is the standard deviation of one evaluation of the start."""

    name: str
    about: str
    gain: float = 0.5
    """Mean of the effects that help, which are exponential."""
    harm: float = 0.5
    helping: float = 0.2
    """Share of proposals."""
    idle: float = 0.4
    """Share of proposals that do nothing; the others harm."""
    fading: float = 0.0
    """By how much each proposal helps less than the one before, as a share."""
    correlation: float = 0.0
    """Of two evaluations with one seed at an artifact and at a change of it; the luck of a seed is inherited."""
    heavy: bool = False
    """Noise by Student's t with three degrees of freedom."""
    growth: float = 0.0
    """By how much noise grows from the first evaluation to the last, as a share."""
    price: int = 0
    """Evaluations that a proposal costs before it is evaluated."""


class Way(Struct, frozen=True, kw_only=True):
    """A way to spend evaluations."""

    name: str
    rule: KeepRule = KeepRule()
    floor_looks: int | None = None
    """Values at the start before the first proposal; None is as planned for the budget."""
    margin: float = 0.0
    """What one must be ahead by, in spreads of the noise floor."""
    pooled: bool = True
    """The spread is measured by all evaluations, not by those of the noise floor alone."""
    e_value: float | None = None
    """Keeps by a mixture e-value of 1 over this instead of the thresholds."""
    stacked: bool = True
    """A proposal changes the incumbent; else the start."""
    shared: bool = True
    """A candidate is evaluated with the seeds of the incumbent's latest evaluations."""
    end_test: bool = True
    playoff: bool = False


class Trials(NamedTuple):
    """What was seen of decided trials and what was true, one row each."""

    run: NDArray[np.int64]
    value: Numbers
    error: Numbers
    evaluations: Numbers
    truth: Numbers
    kept: Flags


class Results(NamedTuple):
    """One number for every run."""

    quality: Numbers
    """True quality of the result; the start has 0."""
    claim: Numbers
    """What is said of it."""
    low: Numbers
    high: Numbers
    """The interval of the end test; the claim itself where there is none."""
    keeps: Numbers
    false_keeps: Numbers
    """Those that do nothing or harm."""
    proposals: Numbers
    used: Numbers
    """Keeps that led to the result: the first so many."""
    trials: Trials


class Decisions(NamedTuple):
    """Who is kept and who is dropped; the others are evaluated again."""

    keep: Flags
    drop: Flags


def decide_all(
    rule: KeepRule, value: Numbers, error: Numbers, evaluations: Numbers, floor: Numbers
) -> Decisions:
    """`KeepRule.decide` for many candidates whose evaluations differ."""
    exact, ahead = error == 0, value > floor
    z = np.where(exact, np.where(ahead, np.inf, -np.inf), value / np.where(exact, 1, error))
    drop = np.where(exact, ~ahead, z < rule.drop)
    enough = exact | (z > np.where(evaluations == 1, rule.keep_first, rule.keep_later))
    keep = ~drop & ahead & enough
    last = (evaluations >= rule.evaluations) & ~drop & ~keep
    keep |= last & ahead & (z > rule.keep_last)
    return Decisions(keep, drop | (last & ~keep))


def effects(
    spread: Numbers,
    correlation: Numbers,
    candidate: tuple[Numbers, Numbers],
    incumbent: tuple[Numbers, Numbers],
    shared: tuple[Numbers, Numbers],
) -> tuple[Numbers, Numbers]:
    """`effect_of` for many: value and error, from sum and number of the candidate's evaluations, the incumbent's, and
    those of the incumbent's that the candidate shares."""
    (total, n), (record, m), (alike, pairs) = candidate, incumbent, shared
    mean = record / m
    weight = correlation * pairs / n
    value = total / n - mean - weight * np.where(pairs > 0, alike / np.maximum(pairs, 1) - mean, 0)
    rest = np.where(pairs > 0, 1 / np.maximum(pairs, 1) - 1 / m, 0)
    variance = 1 / n + 1 / m - 2 * weight / m - weight**2 * rest
    return value, spread * np.sqrt(np.maximum(variance, 0))


def simulate(world: ResearchWorld, way: Way, evaluations: int, runs: int, seed: int) -> Results:
    """Runs of a way with one budget, everything included."""
    search = _Search(world, way, plan_budget(evaluations), runs, np.random.default_rng(seed))
    return search.run()


def simulate_fixed_set(
    world: ResearchWorld, rule: KeepRule, proposals: int, runs: int, seed: int
) -> tuple[Numbers, Numbers]:
    """True and claimed gain where all proposals are measured once, on the same items, without other noise.

    The unit is the standard error over the items, and how a change errs on them is independent of other changes.
    """
    rng, fixed = np.random.default_rng(seed), rule.on_fixed_set()
    quality, claimed = np.zeros(runs), np.zeros(runs)
    last, level = np.full(runs, float(rule.evaluations)), np.zeros(runs)
    for number in range(proposals):
        change = draw_changes(world, rng, np.full(runs, float(number)))
        seen = change + rng.standard_normal(runs)
        keep = decide_all(fixed, seen, np.ones(runs), last, level).keep
        quality += np.where(keep, change, 0)
        claimed += np.where(keep, seen, 0)
    return quality, claimed


def draw_changes(world: ResearchWorld, rng: np.random.Generator, before: Numbers) -> Numbers:
    """The true effects of proposals, each after so many others."""
    kind, size = rng.random(len(before)), rng.exponential(1, len(before))
    gain = world.gain * (1 - world.fading) ** before
    harms = kind >= world.helping + world.idle
    return np.where(kind < world.helping, gain * size, np.where(harms, -world.harm * size, 0))


class _Search:
    """The state of many runs; every step is one evaluation of each."""

    def __init__(
        self, world: ResearchWorld, way: Way, plan: BudgetPlan, runs: int, rng: np.random.Generator
    ) -> None:
        self.world, self.way, self.plan, self.rng = world, way, plan, rng
        self.base = plan.floor if way.floor_looks is None else way.floor_looks
        self.end = plan.end if way.end_test else 0
        self.playoff = plan.playoff if way.playoff else 0
        self.most = plan.evaluations - 2 * self.end - FINALISTS * self.playoff
        rule = way.rule
        self.slots = max(self.base, rule.evaluations, rule.incumbent_most)
        self.needs = np.array(
            [rule.incumbent_needs(evaluations) for evaluations in range(rule.evaluations + 2)]
        )
        self.rows = np.arange(runs)
        none = np.zeros(runs)
        self.quality, self.left = none.copy(), np.full(runs, float(self.most))
        self.keeps, self.false_keeps, self.proposals, self.idle = (none.copy() for _ in range(4))
        # The candidate: its change, its evaluations and which of the incumbent's they share.
        self.change, self.total, self.squares, self.evaluations = (none.copy() for _ in range(4))
        self.alike, self.alike_squares, self.products, self.pairs = (none.copy() for _ in range(4))
        self.paired_total, self.paired_squares = none.copy(), none.copy()
        self.used = np.zeros((runs, self.slots), bool)
        self.under_way = np.zeros(runs, bool)
        # Squares and their degrees of freedom, of artifacts that are done with; the same within pairs.
        self.sum_squares, self.freedom = none.copy(), none.copy()
        self.sum_products, self.sum_one, self.sum_other, self.pair_freedom = (
            none.copy() for _ in range(4)
        )
        self.luck = self.draw(runs, self.slots)
        self.other_luck = self.luck.copy()
        self.values = np.zeros((runs, self.slots))
        self.other_values = self.values.copy()
        self.values[:, : self.base] = self.luck[:, : self.base]
        self.number = np.full(runs, float(self.base))
        self.record = self.values.sum(axis=1)
        self.record_squares = (self.values**2).sum(axis=1)
        self.left -= self.base
        self.start_record = self.record / self.base
        self.floor_spread = self.spread() if self.base > 1 else np.ones(runs)
        self.history = [self.quality.copy()]
        self.trials: list[Trials] = []

    def draw(self, *shape: int) -> Numbers:
        if self.world.heavy:
            return np.asarray(self.rng.standard_t(3, shape) / np.sqrt(3))
        return self.rng.standard_normal(shape)

    def run(self) -> Results:
        world = self.world
        while True:
            able = self.left >= 1 + world.price * ~self.under_way
            if not able.any():
                break
            self.propose(able & ~self.under_way)
            needs = (
                self.needs[self.evaluations.astype(int) + 1]
                + self.idle // self.way.rule.incumbent_every
            )
            again = able & (self.number < np.minimum(needs, self.way.rule.incumbent_most))
            self.look_at_incumbent(again)
            self.look_at_candidate(able & ~again)
            self.left[able] -= 1
            self.decide(able & ~again)
        return self.finish()

    def propose(self, new: Flags) -> None:
        at = self.rows[new]
        if not len(at):
            return
        world = self.world
        change = draw_changes(world, self.rng, self.proposals[at])
        self.change[at] = change if self.way.stacked else change - self.quality[at]
        for each in (self.total, self.squares, self.evaluations, self.alike, self.pairs):
            each[at] = 0
        for each in (self.alike_squares, self.products, self.paired_total, self.paired_squares):
            each[at] = 0
        self.used[at] = False
        r = world.correlation
        fresh = self.draw(len(at), self.slots)
        self.other_luck[at] = r * self.luck[at] + np.sqrt(1 - r * r) * fresh if r else fresh
        self.under_way[at] = True
        self.proposals[at] += 1
        self.left[at] -= world.price

    def scale(self, at: NDArray[np.int64]) -> Numbers | float:
        """How large noise is by now."""
        if not self.world.growth:
            return 1.0
        return np.asarray(1 + self.world.growth * (1 - self.left[at] / self.most))

    def look_at_incumbent(self, which: Flags) -> None:
        at = self.rows[which]
        slot = self.number[at].astype(int)
        value = self.quality[at] + self.scale(at) * self.luck[at, slot]
        self.values[at, slot] = value
        self.record[at] += value
        self.record_squares[at] += value**2
        self.number[at] += 1

    def look_at_candidate(self, which: Flags) -> None:
        at = self.rows[which]
        if not len(at):
            return
        free = ~self.used[at]
        there = np.arange(self.slots) < self.number[at, None]
        if self.way.shared:
            taken = free & there
            shared = np.asarray(taken.any(1))
            latest = self.slots - 1 - taken[:, ::-1].argmax(1)
            slot = np.where(shared, latest, free.argmax(1))
            luck = self.other_luck[at, slot]
        else:
            # Never shared: what the incumbent has not seen, or fresh luck where it has seen all.
            slot = self.evaluations[at].astype(int)
            shared = np.zeros(at.shape, bool)
            luck = self.draw(len(at))
        value = self.quality[at] + self.change[at] + self.scale(at) * luck
        self.other_values[at, slot] = value
        self.other_luck[at, slot] = luck
        self.used[at, slot] = True
        self.total[at] += value
        self.squares[at] += value**2
        self.evaluations[at] += 1
        # Within trials only, so the size of the values does not matter.
        both, other = at[shared], self.values[at, slot][shared]
        own = value[shared]
        self.alike[both] += other
        self.alike_squares[both] += other**2
        self.paired_total[both] += own
        self.paired_squares[both] += own**2
        self.products[both] += own * other
        self.pairs[both] += 1

    def spread(self) -> Numbers:
        """Pooled over everything that was evaluated more than once."""
        squares = self.record_squares - self.record**2 / np.maximum(self.number, 1)
        extra = self.squares - self.total**2 / np.maximum(self.evaluations, 1)
        total = self.sum_squares + squares + extra * self.under_way
        freedom = (
            self.freedom
            + np.maximum(self.number - 1, 0)
            + np.maximum(self.evaluations - 1, 0) * self.under_way
        )
        pooled = np.sqrt(np.maximum(total, 0) / np.maximum(freedom, 1))
        return np.where(freedom > 0, pooled, 1.0)

    def decide(self, which: Flags) -> None:
        way = self.way
        looked = np.where(which, self.evaluations, 1)
        spread = self.spread() if way.pooled else self.floor_spread
        both = np.sqrt(self.sum_one * self.sum_other)
        raw = np.where(both > 0, self.sum_products / np.where(both > 0, both, 1), 0)
        correlation = np.clip(raw, 0, 1) * self.pair_freedom / (self.pair_freedom + SHRINK_PAIRS)
        value, error = effects(
            spread,
            correlation,
            (self.total, looked),
            (self.record, self.number),
            (self.alike, self.pairs),
        )
        error = np.where(which, error, 1)
        if way.e_value is None:
            keep, drop = decide_all(way.rule, value, error, looked, way.margin * self.floor_spread)
        else:
            keep = _e_value(value, error, spread) >= 1 / way.e_value
            drop = ~keep & ((value / error < way.rule.drop) | (looked >= way.rule.evaluations))
        over = self.rows[which & (keep | drop)]
        seen = value[over], error[over], self.evaluations[over]
        self.trials.append(Trials(over, *seen, self.change[over], keep[over]))
        self.close(over)
        self.keep(self.rows[which & keep])
        self.idle[which & drop] += 1

    def close(self, at: NDArray[np.int64]) -> None:
        """Add what was learned about noise by trials that end."""
        pairs = np.maximum(self.pairs[at], 1)
        mean, other = self.paired_total[at] / pairs, self.alike[at] / pairs
        self.sum_products[at] += self.products[at] - pairs * mean * other
        self.sum_one[at] += self.paired_squares[at] - pairs * mean**2
        self.sum_other[at] += self.alike_squares[at] - pairs * other**2
        self.pair_freedom[at] += pairs - 1
        self.sum_squares[at] += self.squares[at] - self.total[at] ** 2 / self.evaluations[at]
        self.freedom[at] += self.evaluations[at] - 1
        self.under_way[at] = False

    def keep(self, at: NDArray[np.int64]) -> None:
        """The candidate becomes the incumbent, with its evaluations."""
        self.keeps[at] += 1
        self.false_keeps[at] += self.change[at] <= 0
        self.quality[at] += self.change[at]
        self.idle[at] = 0
        # The former incumbent's squares; the candidate's were added when its trial ended, and are its record now.
        self.sum_squares[at] += self.record_squares[at] - self.record[at] ** 2 / self.number[at]
        self.freedom[at] += self.number[at] - 1
        self.sum_squares[at] -= self.squares[at] - self.total[at] ** 2 / self.evaluations[at]
        self.freedom[at] -= self.evaluations[at] - 1
        self.record[at] = self.total[at]
        self.record_squares[at] = self.squares[at]
        self.number[at] = self.evaluations[at]
        order = np.argsort(~self.used[at], axis=1, kind="stable")
        luck = np.take_along_axis(self.other_luck[at], order, 1)
        old = np.arange(self.slots) < self.number[at, None]
        self.luck[at] = np.where(old, luck, self.draw(len(at), self.slots))
        self.values[at] = np.take_along_axis(self.other_values[at], order, 1)
        most = int(self.keeps.max())
        if len(self.history) <= most:
            self.history.append(np.zeros(len(self.rows)))
        # Rows fill up as a run keeps; later ones repeat the last.
        for each in range(most + 1):
            late = at[self.keeps[at] <= each]
            self.history[each][late] = self.quality[late]

    def finish(self) -> Results:
        """Playoff and end test."""
        quality, keeps = self.quality, self.keeps
        last_scale = 1 + self.world.growth
        if self.playoff:
            places = [0 * keeps, np.round(keeps / 3), np.round(2 * keeps / 3), keeps]
            history = np.stack(self.history)
            truths = np.stack([history[place.astype(int), self.rows] for place in places])
            means = truths + last_scale * self.draw(FINALISTS, len(quality), self.playoff).mean(2)
            # The same artifact twice has one mean; ties go to the last.
            for later in range(1, FINALISTS):
                same = places[later] == places[later - 1]
                means[later] = np.where(same, means[later - 1], means[later])
            chosen = FINALISTS - 1 - means[::-1].argmax(0)
            quality = truths[chosen, self.rows]
            used = np.stack(places)[chosen, self.rows]
        else:
            used = keeps
        changed = used > 0
        record = self.record / np.maximum(self.number, 1) - self.start_record
        claim = low = high = np.where(changed, record, 0)
        if self.end:
            r = self.world.correlation ** np.maximum(keeps, 1)[:, None]
            start = self.draw(len(quality), self.end)
            fresh = self.draw(len(quality), self.end)
            result = quality[:, None] + last_scale * (r * start + np.sqrt(1 - r * r) * fresh)
            apart = result - last_scale * start
            claim = np.where(changed, apart.mean(1), 0)
            reach = stdtrit(self.end - 1, 0.975) * apart.std(1, ddof=1) / np.sqrt(self.end)
            low, high = (np.where(changed, claim + sign * reach, 0) for sign in (-1, 1))
        trials = Trials(*map(np.concatenate, zip(*self.trials, strict=True)))
        counted = keeps, self.false_keeps, self.proposals, used
        return Results(quality, claim, low, high, *counted, trials)


def _e_value(value: Numbers, error: Numbers, spread: Numbers) -> Numbers:
    """One-sided normal mixture with half a spread, against no effect."""
    variance, prior = error**2, (spread / 2) ** 2
    factor = np.sqrt(variance / (variance + prior))
    factor *= np.exp(np.clip(value**2 * prior / (2 * variance * (variance + prior)), 0, 50))
    posterior = value * np.sqrt(prior / (variance * (variance + prior)))
    return np.asarray(2 * ndtr(posterior) * factor)
