"""The budget of all cells of a suite, and what the record says is used of it."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from time import monotonic

from autoreason.errors import BudgetReached
from autoreason.exchange import Reply, Spent
from autoreason.journal import Journal, RunRow
from autoreason.models.budget import BudgetTracker, CostBound, Reservation, SharedBudget
from autoreason.models.prices import rates
from autoreason.run.record import working_time
from autoreason.settings import Budget


def open_tracker(journal: Journal, budget: Budget, suite: str) -> BudgetTracker | None:
    """A tracker of all cells that have used nothing but time yet; None without limits."""
    if budget == Budget():
        return None
    before = time_worked(journal.row(suite), journal)
    started = monotonic()
    return BudgetTracker(budget, lambda: before + monotonic() - started)


def open_budget(journal: Journal, budget: Budget, suite: str) -> BudgetTracker | None:
    """The same with what earlier processes have used."""
    tracker = open_tracker(journal, budget, suite)
    if tracker:
        for used in usage_by_cell(journal, budget, suite).values():
            tracker.carry_used(used)
    return tracker


def usage_by_cell(journal: Journal, budget: Budget, suite: str) -> dict[str, CostBound]:
    """What the record says the cells of a suite have used, and of those that it adds to, by their runs."""
    return {
        # What a finished cell asked is answered.
        row.id: usage(journal, budget, row.id, row.spent, () if row.finished else None)
        for each in with_bases(journal.row(suite), journal)
        for row in journal.cells(each.id)
    }


def with_bases(suite: RunRow, journal: Journal) -> Iterator[RunRow]:
    """A suite, the one that it adds repeats to, and so on to the first, so far as they are in the journal."""
    yield suite
    while (base := suite.forked_from) and journal.has(base):
        suite = journal.row(base)
        yield suite


def time_worked(suite: RunRow, journal: Journal) -> float:
    """Seconds of work on a suite, and on those that it adds repeats to."""
    chain = with_bases(suite, journal)
    return sum(working_time(each.id, journal=journal).seconds for each in chain)


def usage(
    journal: Journal, budget: Budget, run: str, spent: Spent, in_flight: Sized | None = None
) -> CostBound:
    """What a run has used, calls in flight included; what is not reported counts as the most it could have been."""
    tracker = BudgetTracker(budget)
    left = journal.in_flight(run) if in_flight is None else in_flight
    tracker.carry_used(CostBound(len(left), 0, None))
    if not (spent.unmetered or spent.unpriced):
        tracker.spent = spent
        return tracker.used
    for request, reply in journal.replies(run).values():
        tracker.carry(reply, tracker.bound(request, rates(request.model)))
    return tracker.used


class CellBudget:
    """The budget of all cells, as one of them draws on it."""

    def __init__(self, whole: SharedBudget) -> None:
        self._whole = whole
        self.reached: BudgetReached | None = None
        """Why a call of this cell could not be paid."""

    async def reserve(self, upper: CostBound) -> Reservation:
        """Reserve a call's upper bound from what is left for all."""
        try:
            return await self._whole.reserve(upper)
        except BudgetReached as reached:
            self.reached = reached
            raise

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        """Pay for a reply."""
        self._whole.settle(reservation, reply)

    def release(self, reservation: Reservation) -> None:
        """Give back all of it."""
        self._whole.release(reservation)

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        """That the time for all cells is over; None before."""
        reached = self._whole.time_reached(failure)
        self.reached = reached or self.reached
        return reached
