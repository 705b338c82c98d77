"""What is known of the arms of a suite, by task and repeat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from statistics import fmean

from msgspec.structs import replace

from autoreason.studies.lab.lab_suite import CellFinished, CellResult, Measure, Suite

Unit = tuple[str, int]
"""A task and a repeat."""
_SAMPLING = "best_of_n"


class ArmValues:
    """What is known of every arm, by task and repeat."""

    def __init__(self, suite: Suite, finished: Sequence[CellFinished]) -> None:
        self.suite = suite
        self.cells: dict[str, dict[Unit, CellResult]] = {arm: {} for arm in suite.arms}
        """Cells of each arm that have a result."""
        self.failed: dict[str, dict[Unit, CellResult]] = {arm: {} for arm in suite.arms}
        """Those that have none."""
        self.panels: list[CellFinished] = []
        self._drafts: dict[tuple[str, Unit], CellResult] = {}
        for each in finished:
            unit = (each.cell.task, each.cell.repeat)
            if each.cell.kind == "draft":
                self._drafts |= {(arm, unit): each.result for arm in each.cell.arms}
            elif not each.result.finished:
                if each.cell.kind == "arm":
                    self.failed[each.cell.arms[0]][unit] = each.result
            elif each.cell.kind == "panel":
                self.panels.append(each)
            else:
                self.cells[each.cell.arms[0]][unit] = self._without_drafts(each)

    def _without_drafts(self, finished: CellFinished) -> CellResult:
        """The result of an arm without what is recorded as a pass and is a draft."""
        strategy = self.suite.arms[finished.cell.arms[0]].settings.strategy
        if strategy != _SAMPLING:
            return finished.result
        return replace(finished.result, trajectory=(), words_by_pass=())

    def at_limit(self, arm: str) -> dict[Unit, CellResult]:
        """Cells of an arm that ended at their own limit; without their draft they never began."""
        failed = self.failed[arm].items()
        return {unit: each for unit, each in failed if each.status == "budget" and each.run}

    def of(self, arm: str, measure: Measure) -> dict[Unit, float]:
        """A measure of an arm, where it is known; at its limit a tournament had not converged."""
        found: dict[Unit, float] = {}
        cells = self.cells[arm] | (self.at_limit(arm) if measure == "converged" else {})
        for unit, result in cells.items():
            if (value := self._value(arm, unit, result, measure)) is not None:
                found[unit] = float(value)
        return found

    def _value(self, arm: str, unit: Unit, result: CellResult, measure: str) -> float | None:
        if measure in ("calls", "tokens", "cost", "seconds"):
            # Every arm needs its draft, also where others begin from the same one.
            draft = self._drafts.get((arm, unit))
            both = result.spent.joined(draft.spent) if draft else result.spent
            if measure == "seconds":
                return result.seconds + (draft.seconds if draft else 0.0)
            amount: float | Decimal | None = getattr(both, measure)
            return None if amount is None else float(amount)
        strategy = self.suite.arms[arm].settings.strategy
        if measure == "passes":
            return None if strategy == _SAMPLING else len(result.trajectory)
        if measure == "converged":
            return float(result.status == "converged") if strategy == "autoreason" else None
        value: float | None = getattr(result, measure, None)
        return value

    def preferences(self, one: str, other: str, arms: Sequence[str]) -> dict[Unit, float]:
        """How far judges prefer one arm to another, from 1 to -1, over the panels of these arms."""
        found: dict[Unit, float] = {}
        for each, first, second in self._judged(one, other, arms):
            votes = [0.0] if first == second else list(_votes(each, first, second))
            if votes:
                found[each.cell.task, each.cell.repeat] = fmean(votes)
        return found

    def same_texts(self, one: str, other: str, arms: Sequence[str]) -> int:
        """How often both arms delivered the same text, by the panels of these arms."""
        return sum(first == second for _, first, second in self._judged(one, other, arms))

    def _judged(
        self, one: str, other: str, arms: Sequence[str]
    ) -> Iterator[tuple[CellFinished, str, str]]:
        """Panels of these arms, with the names under which the texts of two of them were judged."""
        for each in self.panels:
            names = each.judged_as
            if set(each.cell.arms) == set(arms) and one in names and other in names:
                yield each, names[one], names[other]


def _votes(panel: CellFinished, one: str, other: str) -> Iterator[float]:
    for ballot in panel.result.ballots:
        ranking = ballot.ranking or ()
        if one in ranking and other in ranking:
            yield 1.0 if ranking.index(one) < ranking.index(other) else -1.0
