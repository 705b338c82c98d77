"""What recorded ballots say of their judges: noise, agreement, position and the lead of what is new.

The model is a Plackett-Luce judge: what it sees in a text is the text's worth, which all judges of the
panel share, plus what its slot (B, AB) and its position (first, last) are worth, plus an error of its
own, whose standard deviation is the unit. Worths are normal and new in every pass, and are integrated
out over fixed draws. The likelihood is climbed by the scores of the panels; intervals are sandwich
intervals, clustered by run where there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.simulate.ballots import SLOTS, Sitting
from autoreason.simulate.luck import Numbers
from autoreason.simulate.texts import Counts
from autoreason.simulate.world import Judges, Revision, Synthesis, World

LEAST_SITTINGS = 8
_SCALE = np.sqrt(6) / np.pi
"""What a Gumbel error is multiplied by to have standard deviation 1."""
_DRAWS = 256
_STEP = 1e-4
_STEPS = 60
_ENOUGH = 1e-6
_LEAST_LOG, _MOST_LOG = -3.0, 2.5
_95 = 1.959964


class Estimate(Struct, frozen=True):
    """A value and its 95 % interval, in units of a judge's own error."""

    value: float
    low: float
    high: float


class Fitted(Struct, frozen=True, kw_only=True):
    """What the ballots say."""

    runs: int
    sittings: int
    ballots: int
    revision_lead: Estimate
    """What judges see in B over A, on average."""
    synthesis_lead: Estimate
    """What judges see in AB over A, on average."""
    first: Estimate
    """What standing first is worth."""
    last: Estimate
    """What standing last is worth."""
    common: Estimate
    """Standard deviation of what all judges of a panel see alike in a text."""
    correlation: Estimate
    """Between two judges' views of a text, slots and positions aside."""


class _Data(NamedTuple):
    slots: Counts
    """One row a ballot: its texts from best to worst."""
    positions: Counts
    """Where each of them stood."""
    starts: Counts
    """The first ballot of every sitting."""


def fit_judges(sittings: Sequence[Sitting]) -> Fitted:
    """The most likely judges, with intervals."""
    if len(sittings) < LEAST_SITTINGS:
        raise InvalidInput(
            f"{len(sittings)} panels of two or more judges over A, B and AB are too few to fit; "
            f"give {LEAST_SITTINGS} or more"
        )
    data = _arranged(sittings)
    draws = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(SLOTS)))
    worths = np.concatenate([draws, -draws])
    found = _climb(data, worths)
    spread = _spread(data, worths, found, [sitting.run for sitting in sittings])
    low, high = found - _95 * spread, found + _95 * spread
    plain = [Estimate(*map(float, each)) for each in zip(found, low, high, strict=True)]
    common = [float(np.exp(each[4])) for each in (found, low, high)]
    return Fitted(
        runs=len({sitting.run for sitting in sittings}),
        sittings=len(sittings),
        ballots=len(data.slots),
        revision_lead=plain[0],
        synthesis_lead=plain[1],
        first=plain[2],
        last=plain[3],
        common=Estimate(*common),
        correlation=Estimate(*(sd**2 / (1 + sd**2) for sd in common)),
    )


def fitted_world(fitted: Fitted, about: str) -> World:
    """A world with these judges, on the gloomy side wherever ballots cannot tell.

    Ballots do not tell whether what is new is better or only liked better: here it is only liked. Nor do
    they tell a quality that all judges see from a taste that they share: here each is half of it.
    """
    common = fitted.common.value
    lead = (fitted.revision_lead.value + fitted.synthesis_lead.value) / 2
    return World(
        about=about,
        kind="drift",
        revision=Revision(spread=round(common, 3)),
        synthesis=Synthesis(spread=round(common * 0.75**0.5, 3)),
        judges=Judges(
            noise=1.0,
            shared=round(common * 0.5**0.5, 3),
            first=round(fitted.first.value, 3),
            last=round(fitted.last.value, 3),
            newer=round(lead, 3),
        ),
    )


def _arranged(sittings: Sequence[Sitting]) -> _Data:
    votes = [vote for sitting in sittings for vote in sitting.votes]
    sizes = [len(sitting.votes) for sitting in sittings]
    return _Data(
        np.array([[SLOTS.index(name) for name in vote.ranking] for vote in votes]),
        np.array([[vote.order.index(name) for name in vote.ranking] for vote in votes]),
        np.cumsum([0, *sizes[:-1]]),
    )


def _likelihoods(values: Numbers, data: _Data, worths: Numbers) -> Numbers:
    """Log likelihood of every sitting."""
    lead = np.array([0.0, values[0], values[1]])
    standing = np.array([values[2], 0.0, values[3]])
    fixed = lead[data.slots] + standing[data.positions]
    # One row a ballot, then one a draw; best text first.
    seen = fixed[:, None, :] + np.exp(values[4]) * worths[:, data.slots].transpose(1, 0, 2)
    strength = seen / _SCALE
    pair = np.logaddexp(strength[..., 1], strength[..., 2])
    whole = np.logaddexp(strength[..., 0], pair)
    ballots = strength[..., 0] - whole + strength[..., 1] - pair
    together = np.add.reduceat(ballots, data.starts, axis=0)
    most = together.max(axis=1)
    return np.asarray(most + np.log(np.exp(together - most[:, None]).mean(axis=1)))


def _scores(values: Numbers, data: _Data, worths: Numbers) -> Numbers:
    """Derivatives of every sitting's log likelihood."""
    columns = []
    for step in np.eye(len(values)) * _STEP:
        above, below = (_likelihoods(values + way * step, data, worths) for way in (1, -1))
        columns.append((above - below) / (2 * _STEP))
    return np.stack(columns, axis=1)


def _climb(data: _Data, worths: Numbers) -> Numbers:
    """The most likely values; steps are halved until they lead upwards."""
    values = np.zeros(5)
    height = _likelihoods(values, data, worths).sum()
    for _ in range(_STEPS):
        scores = _scores(values, data, worths)
        step = np.linalg.pinv(scores.T @ scores) @ scores.sum(axis=0)
        for _ in range(12):
            tried = values + step
            tried[4] = np.clip(tried[4], _LEAST_LOG, _MOST_LOG)
            reached = _likelihoods(tried, data, worths).sum()
            if reached > height:
                break
            step = step / 2
        else:
            break
        gained, values, height = reached - height, tried, reached
        if gained < _ENOUGH:
            break
    return values


def _spread(data: _Data, worths: Numbers, values: Numbers, runs: Sequence[str]) -> Numbers:
    """Standard errors: sittings of one run are not independent of each other."""
    scores = _scores(values, data, worths)
    inverse = np.linalg.pinv(scores.T @ scores)
    names = sorted(set(runs))
    if len(names) > 1:
        which = np.array([names.index(run) for run in runs])
        scores = np.stack([scores[which == at].sum(axis=0) for at in range(len(names))])
        inverse_meat = inverse @ (scores.T @ scores) @ inverse * len(names) / (len(names) - 1)
        return np.sqrt(np.diag(inverse_meat))
    return np.sqrt(np.diag(inverse))
