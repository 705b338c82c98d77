"""What the keeps of somebody's log are worth, given how far values move when nothing changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from msgspec import Struct

from autoreason.artifacts.keep_rule import KeepRule, Noise
from autoreason.artifacts.research_task import Better
from autoreason.artifacts.trial_events import Effect


class LoggedTrial(Struct, frozen=True):
    """One line of a log in which a trial is one number."""

    value: float | None
    """None where it failed."""
    kept: bool


class LogReview(Struct, frozen=True, kw_only=True):
    """A log of single looks, judged by its noise."""

    keeps: int
    """After the first, which is the start."""
    within_noise: int
    """Keeps whose gain is less than what one standard deviation of two looks at one artifact makes."""
    within_noise_share: float
    """Of the whole gain."""
    sure: int
    """Keeps that this rule makes after one look; the others it would look at again."""
    trials_since: int
    """Trials after the last keep."""


def review_log(
    trials: Iterable[LoggedTrial],
    spread: float,
    better: Better = "higher",
    rule: KeepRule | None = None,
) -> LogReview:
    """Judge the keeps of a log whose single looks have this standard deviation."""
    sign, rule = (1 if better == "higher" else -1), rule or KeepRule()
    noise, error = Noise(spread=spread), sqrt(2) * spread
    record: float | None = None
    gains, trials_since = [], 0
    for trial in trials:
        trials_since += 1
        if trial.kept and trial.value is not None:
            if record is not None:
                gains.append(sign * (trial.value - record))
            record, trials_since = trial.value, 0
    small = [gain for gain in gains if gain < error]
    effects = (Effect(value=gain, error=error, looks=1, against=1) for gain in gains)
    return LogReview(
        keeps=len(gains),
        within_noise=len(small),
        within_noise_share=sum(small) / sum(gains) if sum(gains) else 0.0,
        sure=sum(rule.decide(effect, noise) == "keep" for effect in effects),
        trials_since=trials_since,
    )
