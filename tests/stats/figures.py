"""Figures of the whole recorded set beside what the shared part of it gives."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tests.stats.recordings import (
    OPEN,
    OPUS_4,
    SONNET_4,
    SONNET_46,
    Line,
    audit,
    passes_with_rankings,
    rankings,
    solved,
    stopped_at,
    winners,
)

from autoreason.stats.ranks import agreement, condorcet_winner, cycles
from autoreason.stats.resampling import position_effect
from autoreason.stats.shares import longer_preferred


class Figure(NamedTuple):
    """One figure: what the whole set gives, what the shared part gives, and on how many cases."""

    ref: str
    whole: float
    shared: float
    n: int | None
    """Cases behind the shared figure; None where the two do not rest on the same runs."""
    spread: float | None = None
    """Standard deviation of one case; that of a share where None."""

    @property
    def plausible(self) -> bool:
        """Whether chance in drawing the shared part explains the difference, at three standard errors."""
        if self.n is None:
            return True
        spread = self.spread or sqrt(self.whole * (1 - self.whole))
        return abs(self.shared - self.whole) <= 3 * spread / sqrt(self.n) + 0.005

    def __str__(self) -> str:
        n = "" if self.n is None else f"n={self.n}"
        return f"{self.ref:<58} {self.whole:>8.3f} {self.shared:>8.3f}  {n}"


def figures(shared: Path) -> Iterator[Figure]:
    """Every figure of the whole set that the shared part can be held against."""
    yield from _codes(shared)
    yield from _positions(shared)
    yield from _circles(shared)
    yield from _agreement(shared)
    yield _longer(shared)
    yield from _stops(shared)


ARMS = {
    "Table 10": {
        "autoreason": ("code_s46", "autoreason", SONNET_46),
        "c&r": ("code_s46", "critique", SONNET_46),
        "single": ("code_s46", "single", SONNET_46),
    },
    "Table 19": {
        "sonnet": ("code_haiku", "single", SONNET_4),
        "ar": ("code_haiku", "autoreason", "haiku"),
        "single": ("code_haiku", "single", "haiku"),
        "c&r": ("code_haiku", "critique", "haiku"),
        "best6": ("code_best_of_n", "best6", "haiku"),
    },
    "Table 20": {
        "ar": ("code_haiku45", "autoreason", "haiku"),
        "c&r": ("code_haiku45", "critique", "haiku"),
        "single": ("code_haiku45", "single", "haiku"),
        "sonnet": ("code_haiku45", "single", SONNET_4),
    },
}
CLAIMS = {"Table 10": "S4.6 code", "Table 19": "Haiku 3.5 code", "Table 20": "Haiku 4.5 code"}


def private_shares(shared: Path, table: str) -> dict[str, float]:
    """The share of 150 problems each arm solved, as the whole set gives it."""
    line = audit(shared, table, CLAIMS[table])
    figures = line["paper"] if line["data"] == "identical" else line["data"]
    return {arm: private / 100 for arm, (_, private) in figures.items()}


def _codes(shared: Path) -> Iterator[Figure]:
    for table, arms in ARMS.items():
        whole = private_shares(shared, table)
        for arm, where in arms.items():
            results = solved(shared, *where)
            share = fmean(results.values())
            yield Figure(f"{table}: {arm}, private tests passed", whole[arm], share, len(results))


def _positions(shared: Path) -> Iterator[Figure]:
    published = {SONNET_4: (0.49, 0.24, 0.26), SONNET_46: (0.17, 0.37, 0.46)}
    for model, whole in published.items():
        judges = [j for line in passes_with_rankings(shared, model) for j in line["judges"]]
        found = position_effect([j["order"] for j in judges], [j["ranking"] for j in judges])
        for at, (wanted, share) in enumerate(zip(whole, found.shares, strict=True), start=1):
            assert share.value is not None
            yield Figure(f"{model}: first place to position {at}", wanted, share.value, share.n)


def _circles(shared: Path) -> Iterator[Figure]:
    kept = passes_with_rankings(shared)
    open_runs = [line for line in kept if line["experiment"] in OPEN]
    share = fmean(bool(cycles(rankings(line))) for line in open_runs)
    yield Figure("Sec 4.5: circles, open runs, of 166", 6 / 166, share, len(open_runs))
    same = fmean(_no_other_condorcet_winner(line) for line in kept)
    yield Figure("Borda's winner is Condorcet's, if any, of 375", 371 / 375, same, len(kept))


def _no_other_condorcet_winner(line: Line) -> bool:
    return condorcet_winner(rankings(line)) in (None, line["winner"])


def _agreement(shared: Path) -> Iterator[Figure]:
    for model, whole in ((SONNET_4, 0.21), (OPUS_4, 0.70)):
        passes = passes_with_rankings(shared, model)
        taus = [tau for line in passes if (tau := agreement(rankings(line))) is not None]
        yield Figure(f"{model}: mean tau", whole, fmean(taus), len(taus), spread=0.5)


def _longer(shared: Path) -> Figure:
    wins, longer_by = [], []
    for line in passes_with_rankings(shared):
        for first, second in (("A", "B"), ("A", "AB"), ("B", "AB")):
            for ranking in rankings(line) if line["words"] else []:
                wins.append(float(ranking.index(first) < ranking.index(second)))
                longer_by.append(line["words"][first] - line["words"][second])
    found = longer_preferred(wins, longer_by)
    assert found.value is not None
    # Three pairs a ranking and three rankings a pass are far from independent.
    return Figure("the longer of two texts preferred", 0.516, found.value, found.n // 9)


def _stops(shared: Path) -> Iterator[Figure]:
    """Which 17 runs the published table took is not recorded; here are all open runs."""
    data = audit(shared, "Table 23", "k sensitivity")["data"]
    runs = [[winner == "A" for winner in run] for run in winners(shared, *OPEN).values()]
    for k, whole in data.items():
        stops = [stop for run in runs if (stop := stopped_at(run, int(k))) is not None]
        of_17 = int((whole if isinstance(whole, str) else whole[0]).partition("/")[0]) / 17
        yield Figure(f"Table 23: stopped at k = {k}", of_17, len(stops) / len(runs), None)
        if stops and not isinstance(whole, str):
            yield Figure(f"Table 23: mean pass at k = {k}", whole[1], fmean(stops), None)
