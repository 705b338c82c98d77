"""What recorded ballots show about their judges, and a world with such judges.

    python -m paper.fit recorded/ballots.jsonl --judge-model NAME -o my-judges.yaml
    python -m paper.fit RUN

The model is a Plackett-Luce judge: what it sees in a text is the text's worth, which all judges of the
panel share, plus what its slot (B, AB) and its position (first, last) are worth, plus an error of its
own, whose standard deviation is the unit. Worths are normal and new in every pass, and are integrated
out over fixed draws. The likelihood is climbed by the scores of the panels; intervals are sandwich
intervals, clustered by run where there are several, and never narrower than those over single panels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import yaml
from msgspec import Struct
from scipy.special import stdtrit

from autoreason.cli.command import open_journal
from autoreason.cli.console import ProgressLine
from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent, BallotCast
from autoreason.files import write
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.studies.simulation import Interval
from autoreason.studies.world import Counts, Judges, Numbers, Revision, Synthesis, World
from autoreason.task import read_text
from paper.command import add_output, make_parser, show

SLOTS = ("A", "B", "AB")


class RankedVote(NamedTuple):
    """What one judge saw, first to last, and how it ranked that, best first."""

    order: tuple[str, ...]
    ranking: tuple[str, ...]
    judge: str
    """The model that judged."""


class PanelVotes(NamedTuple):
    """The votes of one pass on A, B and AB."""

    run: str
    votes: tuple[RankedVote, ...]


def from_events(run: str, events: Iterable[AnyEvent]) -> list[PanelVotes]:
    """The panels of a recorded run; its review is left out, being over other texts."""
    ballots = [event for event in events if isinstance(event, BallotCast)]
    panels = []
    for _, group in groupby(ballots, key=lambda ballot: ballot.stage):
        votes = [RankedVote(each.order, each.ranking, each.model) for each in group if each.ranking]
        panels += _panel(run, votes)
    return panels


def from_file(path: Path) -> list[PanelVotes]:
    """The panels of a JSON Lines file: one pass per line, with `judges` that have `order` and `ranking`."""
    panels = []
    for number, line in enumerate(read_text(path, "ballots").splitlines(), 1):
        if line.strip():
            try:
                panels += _read_panel(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise InvalidInput(
                    f"{path} line {number} is not a recorded pass; give `judges`, each with "
                    "`order` and `ranking`"
                ) from None
    return panels


def votes_of_judge(panels: Sequence[PanelVotes], judge: str | None) -> list[PanelVotes]:
    """Only the votes of one model; all of them where none is named."""
    if judge is None:
        return list(panels)
    panels_of_judge = []
    for panel in panels:
        panels_of_judge += _panel(panel.run, [vote for vote in panel.votes if vote.judge == judge])
    if not panels_of_judge:
        judges = sorted({vote.judge for panel in panels for vote in panel.votes})
        raise InvalidInput(f"no ballots by `{judge}`; there are ballots by {', '.join(judges)}")
    return panels_of_judge


def _read_panel(line: dict[str, Any]) -> list[PanelVotes]:
    model = str(line.get("judge_model") or "unknown")
    votes = [
        RankedVote(tuple(judge["order"]), tuple(judge["ranking"]), model)
        for judge in line["judges"] or []
        if judge and judge["ranking"]
    ]
    run = "/".join(str(line[name]) for name in ("experiment", "run") if line.get(name) is not None)
    return _panel(run, votes)


def _panel(run: str, votes: Sequence[RankedVote]) -> list[PanelVotes]:
    """One panel, or none where fewer than two judges ranked all three texts."""
    full = [vote for vote in votes if sorted(vote.ranking) == sorted(vote.order) == sorted(SLOTS)]
    return [PanelVotes(run, tuple(full))] if len(full) > 1 else []


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
        fields = msgspec.to_builtins(self.world)
        del fields["name"]
        body = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
        return "".join(f"# {line}\n" for line in _ASSUMED) + body


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


def main() -> None:
    """The command line."""
    parser = make_parser("paper.fit", __doc__)
    parser.add_argument("source", metavar="RUN|FILE", help="a run, or a file of recorded passes")
    parser.add_argument("--judge-model", metavar="NAME", help="only ballots by this model")
    parser.add_argument("--journal", help="where the run is recorded")
    parser.add_argument("-o", "--output", type=Path, help="write the world with these judges there")
    add_output(parser)
    arguments = parser.parse_args()
    source, judge = arguments.source, arguments.judge_model

    def work(_: ProgressLine) -> FitReport:
        panels = _recorded_panels(source, arguments.journal)
        by = f", by {judge}." if judge else "."
        report = fit_report(votes_of_judge(panels, judge), f"Judges as in {Path(source).name}{by}")
        if arguments.output:
            write(arguments.output, report.world_file())
        return report

    show(arguments, "panels", work)


def _recorded_panels(source: str, journal: str | None) -> list[PanelVotes]:
    if Path(source).suffix or Path(source).is_file():
        return from_file(Path(source))
    with open_journal(journal) as book:
        run = book.find(source).id
        return from_events(run, [recorded.event for recorded in book.events(run)])


if __name__ == "__main__":
    main()
