"""Whether judges prefer the longer text, and who would win if all were equally long."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from autoreason.stats.bootstrap import cluster_members
from autoreason.stats.results import Estimate, counted
from autoreason.stats.shares import clustered_share

Array = NDArray[Any]


def longer_preferred(
    wins: ArrayLike, length_differences: ArrayLike, *, clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """How often the longer of two texts won; draws and texts of equal length say nothing and are left out.

    Comparisons of one of the `clusters`, a ballot say, hang together; `n` counts those, and the interval rests on them.
    """
    outcomes, longer_by = _read(wins, length_differences)
    telling = (outcomes != 0.5) & (longer_by != 0)
    longer_won = (outcomes > 0.5) == (longer_by > 0)
    members = cluster_members(clusters, len(outcomes))
    return clustered_share([longer_won[each[telling[each]]].tolist() for each in members])


def length_controlled_win_rate(
    wins: ArrayLike,
    length_differences: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    ridge: float = 1.0,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """How often the first text would win if both were equally long (after Dubois and others 2024, AlpacaEval 2).

    `wins` holds 1, 0.5 or 0 for the first text, `length_differences` how much longer it is. From
    AlpacaEval 2 comes the logistic model of the outcome on a constant and on tanh(difference / standard
    deviation of all differences), and reading off the rate where the difference is 0. Not from it:
    there is no term for the difficulty of a task, which takes many models on the same tasks; and
    instead of a cross-validated L1 penalty and games of a verbose baseline there is a fixed
    penalty, `ridge` / 2 times the square of the length coefficient; the constant has none.
    The interval is a percentile bootstrap over comparisons, or over `clusters`, which `n` counts.
    """
    if ridge <= 0:
        raise ValueError(f"the ridge lies above 0, not {ridge}: outcomes may follow length exactly")
    outcomes, longer_by = _read(wins, length_differences)
    members = cluster_members(clusters, len(outcomes))
    n = len(members)
    if n < 2:
        noun = "comparison" if clusters is None else "cluster"
        return Estimate(None, n=n, reason=f"needs two {noun}s or more, {counted(n, noun)}")
    spread = float(np.std(longer_by, ddof=1))
    terms = np.tanh(longer_by / spread) if spread else np.zeros(len(longer_by))
    value = float(_rates_at_equal_length(outcomes, terms, np.ones((1, len(outcomes))), ridge)[0])
    if np.ptp(outcomes) == 0 and outcomes[0] != 0.5:
        return Estimate(value, n=n, reason="every comparison went the same way: no interval")
    rates = _rates_at_equal_length(outcomes, terms, _weights(members, resamples, seed), ridge)
    low, high = np.quantile(rates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value, float(low), float(high), n=n)


def _read(wins: ArrayLike, length_differences: ArrayLike) -> tuple[Array, Array]:
    outcomes = np.asarray(wins, dtype=float)
    longer_by = np.asarray(length_differences, dtype=float)
    if outcomes.shape != longer_by.shape:
        raise ValueError(
            f"there are {len(outcomes)} outcomes and {len(longer_by)} differences in length"
        )
    if not np.isfinite(longer_by).all():
        raise ValueError("a difference in length is a number; leave out what is not known")
    if not np.isin(outcomes, (0, 0.5, 1)).all():
        raise ValueError("an outcome is 1 (won), 0.5 (drawn) or 0 (lost)")
    return outcomes, longer_by


def _weights(members: list[NDArray[np.intp]], resamples: int, seed: int) -> Array:
    """How often each comparison is drawn in each resample, cluster by cluster."""
    n = len(members)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    weights = np.empty((resamples, sum(len(each) for each in members)))
    for at, rows in enumerate(members):
        weights[:, rows] = drawn[:, [at]]
    return weights


def _rates_at_equal_length(outcomes: Array, terms: Array, weights: Array, ridge: float) -> Array:
    """The fitted rate without the length term, for every row of weights at once, by Newton's method."""
    total = weights.sum(axis=1)
    raw = weights @ outcomes / total
    # All won or all lost: the constant runs off, and the rate is at its limit.
    open_ended = (raw > 1e-12) & (raw < 1 - 1e-12)
    w, target = weights[open_ended], outcomes
    constant = np.log(raw[open_ended] / (1 - raw[open_ended]))
    slope = np.zeros(len(constant))
    for _ in range(50):
        fitted = expit(constant[:, None] + slope[:, None] * terms)
        errors, curve = w * (target - fitted), w * fitted * (1 - fitted)
        by_constant, by_slope = errors.sum(axis=1), errors @ terms - ridge * slope
        a, b, c = curve.sum(axis=1), curve @ terms, curve @ terms**2 + ridge
        determinant = a * c - b**2
        step_constant = (c * by_constant - b * by_slope) / determinant
        step_slope = (a * by_slope - b * by_constant) / determinant
        # Steps are held short, so that Newton's method cannot run away from a flat start.
        shorter = 1 / np.maximum(1, np.maximum(abs(step_constant), abs(step_slope)))
        constant, slope = constant + shorter * step_constant, slope + shorter * step_slope
        if max(abs(step_constant).max(initial=0), abs(step_slope).max(initial=0)) < 1e-10:
            break
    rates = np.round(raw)
    rates[open_ended] = expit(constant)
    return np.asarray(rates, dtype=float)
