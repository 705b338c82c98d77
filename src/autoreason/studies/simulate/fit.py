"""What recorded ballots show about their judges: noise, agreement, position and the lead of what is new.

The model is a Plackett-Luce judge: what it sees in a text is the text's worth, which all judges of the
panel share, plus what its slot (B, AB) and its position (first, last) are worth, plus an error of its
own, whose standard deviation is the unit. Worths are normal and new in every pass, and are integrated
out over fixed draws. The likelihood is climbed by the scores of the panels; intervals are sandwich
intervals, clustered by run where there are several, and never narrower than those over single panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit

from autoreason.errors import InvalidInput
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.studies.simulate.outcomes import Interval
from autoreason.studies.simulate.random_draws import Numbers
from autoreason.studies.simulate.recorded_ballots import SLOTS, PanelVotes
from autoreason.studies.simulate.texts import Counts
from autoreason.studies.simulate.world import Judges, Revision, Synthesis, World, write_world

MIN_PANELS = 8
_SCALE = np.sqrt(6) / np.pi
"""What a Gumbel error is multiplied by to have standard deviation 1."""
_DRAWS = 256
_STEPS, _HALVINGS = 60, 12
_ENOUGH = 1e-5
_MIN_LOG, _MAX_LOG = -3.0, 2.5
_95 = 1.959964
_ASSUMED = (
    "Ballots do not tell whether what is new is better or only liked: here it is only liked.",
    "Nor do they tell quality all judges see from a taste they share: here each is half.",
)


class FittedJudges(Struct, frozen=True, kw_only=True):
    """What the ballots show about their judges, in units of a judge's own error."""

    runs: int
    panels: int
    ballots: int
    revision_lead: Interval
    """What judges see in B over A, on average."""
    synthesis_lead: Interval
    """What judges see in AB over A, on average."""
    first: Interval
    """What the first position is worth."""
    last: Interval
    """What the last position is worth."""
    common: Interval
    """Standard deviation of what all judges of a panel see alike in a text."""
    correlation: Interval
    """Between two judges' views of a text, slots and positions aside."""


class FitReport(Report, Struct, frozen=True, kw_only=True):
    """What recorded ballots show about their judges, and a world with such judges."""

    heading: ClassVar[str] = "Judges fitted to recorded ballots"
    fitted: FittedJudges
    world: World

    @property
    def conclusion(self) -> str:
        """How far two judges see the same in a text."""
        return (
            f"what two judges see in a text correlates by {self.fitted.correlation} (95 % interval)"
        )

    def sections(self) -> list[Section]:
        """Every estimate with its interval."""
        fitted = self.fitted
        estimates = {
            "lead of B over A": fitted.revision_lead,
            "lead of AB over A": fitted.synthesis_lead,
            "standing first": fitted.first,
            "standing last": fitted.last,
            "what judges see alike": fitted.common,
            "correlation of judges": fitted.correlation,
        }
        table = Table(
            [Column("", figures=False), Column("estimate (95 %)")],
            [(name, str(each)) for name, each in estimates.items()],
        )
        data = (
            f"{count(fitted.ballots, 'ballot')} of {count(fitted.panels, 'panel')} in "
            f"{count(fitted.runs, 'run')}; the unit is a judge's own error (standard deviation 1)"
        )
        return [Section(tables=[table], sentences=[("Ballots", data)])]

    def world_file(self) -> str:
        """The world as YAML, with what it assumes."""
        return write_world(self.world, _ASSUMED)


class _Data(NamedTuple):
    slots: Counts
    """One row per ballot: its texts from best to worst."""
    positions: Counts
    """The position of each of them."""
    starts: Counts
    """The first ballot of every panel."""
    panel: Counts
    """The panel of every ballot."""


def fit_judges(panels: Sequence[PanelVotes]) -> FittedJudges:
    """The most likely judges, with intervals."""
    if len(panels) < MIN_PANELS:
        raise InvalidInput(
            f"{len(panels)} panels of two or more judges over A, B and AB are too few to fit; "
            f"give {MIN_PANELS} or more"
        )
    data = _arrange(panels)
    draws = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(SLOTS)))
    worths = np.concatenate([draws, -draws])
    values = _climb(data, worths)
    reach = _reach(data, worths, values, [panel.run for panel in panels])
    low, high = values - reach, values + reach
    plain = [Interval(*map(float, each)) for each in zip(values, low, high, strict=True)]
    logs = np.clip([each[4] for each in (values, low, high)], _MIN_LOG, _MAX_LOG)
    common = [float(each) for each in np.exp(logs)]
    return FittedJudges(
        runs=len({panel.run for panel in panels}),
        panels=len(panels),
        ballots=len(data.slots),
        revision_lead=plain[0],
        synthesis_lead=plain[1],
        first=plain[2],
        last=plain[3],
        common=Interval(*common),
        correlation=Interval(*(sd**2 / (1 + sd**2) for sd in common)),
    )


def fit_report(panels: Sequence[PanelVotes], about: str) -> FitReport:
    """The most likely judges, and a world with them."""
    fitted = fit_judges(panels)
    return FitReport(fitted=fitted, world=fitted_world(fitted, about))


def fitted_world(fitted: FittedJudges, about: str) -> World:
    """A world with these judges, pessimistic wherever ballots leave it open.

    Ballots do not show whether what is new is better or only liked better: here it is only liked. Nor do they
    separate a quality that all judges see from a taste that they share: here each is half of it.
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


def _arrange(panels: Sequence[PanelVotes]) -> _Data:
    votes = [vote for panel in panels for vote in panel.votes]
    sizes = [len(panel.votes) for panel in panels]
    return _Data(
        np.array([[SLOTS.index(name) for name in vote.ranking] for vote in votes]),
        np.array([[vote.order.index(name) for name in vote.ranking] for vote in votes]),
        np.cumsum([0, *sizes[:-1]]),
        np.repeat(np.arange(len(sizes)), sizes),
    )


class _Slope(NamedTuple):
    """One row per panel."""

    height: Numbers
    """Log likelihood."""
    scores: Numbers
    """Its derivatives."""

    @property
    def total(self) -> float:
        return float(self.height.sum())


def _slope(values: Numbers, data: _Data, worths: Numbers) -> _Slope:
    """Log likelihoods and their derivatives, worths integrated out."""
    lead = np.array([0.0, values[0], values[1]])
    position = np.array([values[2], 0.0, values[3]])
    fixed = lead[data.slots] + position[data.positions]
    # One layer per place, best first; in it one row per ballot and one column per draw.
    alike = np.exp(values[4]) * worths[:, data.slots].transpose(2, 1, 0)
    best, middle, worst = (fixed.T[:, :, None] + alike) / _SCALE
    pair = np.logaddexp(middle, worst)
    whole = np.logaddexp(best, pair)
    together = np.add.reduceat(best - whole + middle - pair, data.starts, axis=0)
    height = np.logaddexp.reduce(together, axis=1)
    weight = np.exp(together - height[:, None])[data.panel]
    second = np.exp(middle - pair)
    behind = np.exp(pair - whole)
    pushes = np.stack([behind, 1 - second - behind * second, (second - 1) * (1 + behind)])
    pushes *= weight / _SCALE
    push = pushes.sum(axis=2).T
    by_ballot = [
        (push * (data.slots == 1)).sum(axis=1),
        (push * (data.slots == 2)).sum(axis=1),
        (push * (data.positions == 0)).sum(axis=1),
        (push * (data.positions == 2)).sum(axis=1),
        (pushes * alike).sum(axis=(0, 2)),
    ]
    scores = np.add.reduceat(np.stack(by_ballot, axis=1), data.starts, axis=0)
    return _Slope(height - np.log(len(worths)), scores)


def _climb(data: _Data, worths: Numbers) -> Numbers:
    """The most likely values; steps are halved until they lead upwards."""
    values = np.zeros(5)
    here = _slope(values, data, worths)
    for _ in range(_STEPS):
        step = np.linalg.pinv(here.scores.T @ here.scores) @ here.scores.sum(axis=0)
        for _ in range(_HALVINGS):
            candidate = values + step
            candidate[4] = np.clip(candidate[4], _MIN_LOG, _MAX_LOG)
            there = _slope(candidate, data, worths)
            if there.total > here.total:
                break
            step = step / 2
        else:
            return values
        gain, values, here = there.total - here.total, candidate, there
        if gain < _ENOUGH:
            break
    return values


def _reach(data: _Data, worths: Numbers, values: Numbers, runs: Sequence[str]) -> Numbers:
    """How far intervals reach; panels of one run are not independent of each other."""
    scores = _slope(values, data, worths).scores
    inverse = np.linalg.pinv(scores.T @ scores)
    names, which = np.unique(runs, return_inverse=True)
    alone = _95 * np.sqrt(np.diag(inverse))
    if len(names) == 1:
        return np.asarray(alone)
    by_run = np.zeros((len(names), scores.shape[1]))
    np.add.at(by_run, which, scores)
    few = len(names) / (len(names) - 1)
    together = np.sqrt(np.diag(inverse @ (by_run.T @ by_run) @ inverse) * few)
    # A few runs that happen to be alike must not give narrower intervals than those of single panels.
    student = float(stdtrit(len(names) - 1, 0.975))
    return np.asarray(np.maximum(alone, student * together))
