"""A cell of a suite is a run of its own: started, resumed or read, and paid from one budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sized
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, convert
from msgspec.structs import replace

from autoreason.artifacts.research_task import research_of
from autoreason.contract import count_words
from autoreason.errors import BudgetReached, RunLocked
from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Reply, Service, Signal, Spent
from autoreason.job_types import Solve
from autoreason.jobs.job import last_panel
from autoreason.journal import Journal
from autoreason.journal.run_names import suite_name
from autoreason.keys import sub_key
from autoreason.models.budget import BudgetTracker, CostBound, Reservation, SharedBudget
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.programs.assignment import Assignments
from autoreason.programs.search import Policy, PolicyQuery
from autoreason.prompts import PromptSet
from autoreason.run import driver
from autoreason.run.lab_status import time_worked, with_bases
from autoreason.run.prepared import choose_prompts
from autoreason.run.record import recorded_result
from autoreason.run.result import Result, StopSwitch
from autoreason.run.services import LazyService
from autoreason.settings import Budget, Settings
from autoreason.story import Story
from autoreason.studies.audit.check_writing import share_kept
from autoreason.studies.lab.lab_suite import (
    Ballot,
    CellResult,
)
from autoreason.studies.panels.panel_jobs import STAGE, votes_by_pair
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluators import Evaluate

LEFT_OUT = ("panel_failed", "metric_failed")
"""How a cell may end without a result; all else that is not finished pauses the suite, which can be resumed."""
_PATIENCE, _PAUSE = 600.0, 0.2
"""Seconds to wait for a process that has a run, and between two tries."""


class CellRun(Struct, frozen=True, kw_only=True):
    """The run of a cell, with everything decided."""

    run: str
    part: str
    task: Task
    settings: Settings
    prompts: dict[str, str] = {}
    """Empty where it has the built-in ones."""
    again: bool = False
    """Whether it goes on though its panels failed."""


class CellOutcome(Struct, frozen=True):
    """What came of a cell."""

    result: CellResult | None
    reached: str = ""
    """Why a call could not be paid from the budget of all cells."""
    limit: str | None = None
    refusal: str = ""
    """Why it could not be run, where there is no result."""


class Executor(Protocol):
    """Where cells run, each to its end or a pause: in this process, in others of this machine, or elsewhere."""

    async def run(self, cell: CellRun) -> CellOutcome: ...
    async def close(self) -> None: ...


# One budget for all cells.


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
    for _, _, request, reply in journal.calls(run):
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


# What answers the queries of cells.


class SharedExaminer:
    """Runs the programs of all cells over a set, whose searches learn from each other."""

    def __init__(self, service: Service) -> None:
        self.answer = service.answer
        self.policy = Policy()


class CellServices:
    """The services of all cells that run in this process."""

    def __init__(self, evaluate: Evaluate | None = None, examiner: Service | None = None) -> None:
        self._evaluate = evaluate
        self._examiner = SharedExaminer(examiner) if examiner else None
        """One that is open already."""
        self._opened: dict[tuple[str, bool], LazyService] = {}
        self._shared: dict[tuple[str, bool], SharedExaminer] = {}

    def of(self, run: str, task: Task, settings: Settings, journal: Journal) -> Service | None:
        """What a cell's queries go to; None where it opens a process of its own."""
        if isinstance(task.work, Assignments):
            return self._examiner or self._examiner_of(run, task.work, settings, journal)
        if self._evaluate and research_of(task):
            from autoreason.run.research import caller_service

            return caller_service(task, settings, self._evaluate, run)
        return None

    def _examiner_of(
        self, run: str, work: Assignments, settings: Settings, journal: Journal
    ) -> SharedExaminer:
        terms = settings.job_as(Solve)
        key = (terms.set, terms.unsafe)
        if key not in self._shared:
            self._opened[key] = LazyService(work, settings, run)
            self._shared[key] = SharedExaminer(self._opened[key])
            # What other processes have seen before.
            for row in journal.cells(suite_name(run)):
                for each in journal.answers(row.id).values() if row.finished else ():
                    if each.kind == PolicyQuery.kind:
                        self._shared[key].policy.learn(convert(each.question, PolicyQuery).turn)
        return self._shared[key]

    async def close(self) -> None:
        """Close the processes that were opened."""
        for each in self._opened.values():
            await each.close()


# Running cells.


@asynccontextmanager
async def lock_when_free(journal: Journal, run: str) -> AsyncIterator[None]:
    """Lock a run, or a worker's name, once no other process has it: one on a lost machine may live on for a while."""
    deadline = monotonic() + _PATIENCE
    async with AsyncExitStack() as exits:
        while True:
            try:
                await exits.enter_async_context(journal.lock_async(run))
                break
            except RunLocked:
                if monotonic() > deadline:
                    raise
                await asyncio.sleep(_PAUSE)
        yield


class LocalExecutor:
    """Runs cells in this process, over one pool of models."""

    def __init__(
        self,
        journal: Journal,
        pool: ModelPool,
        switch: StopSwitch,
        on_signal: OnSignal | None,
        budget_of: Callable[[str], SharedBudget | None],
        services: CellServices,
    ) -> None:
        self._journal, self._pool = journal, pool
        self._switch, self._on_signal = switch, on_signal
        self._budget_of, self._services = budget_of, services

    async def run(self, cell: CellRun) -> CellOutcome:
        """Start the run of a cell, or go on with it, or read its end where it has one."""
        whole = self._budget_of(suite_name(cell.run))
        budget = CellBudget(whole) if whole else None
        async with lock_when_free(self._journal, cell.run):
            result = await self._drive(cell, budget)
        reached = budget.reached if budget else None
        limit = reached.limit if reached else None
        return CellOutcome(measure_cell(result), str(reached or ""), limit)

    async def _drive(self, cell: CellRun, budget: CellBudget | None) -> Result:
        journal = self._journal
        common: dict[str, Any] = {
            "journal": journal,
            "pool": self._pool,
            "switch": self._switch,
            "on_signal": prefix_signals(self._on_signal, cell.part),
            "shared_budget": budget,
            "service": self._services.of(cell.run, cell.task, cell.settings, journal),
            "locked": True,
        }
        if not journal.has(cell.run):
            prompts = PromptSet(cell.prompts) if cell.prompts else cell_prompts(cell.settings)
            return await driver.start(
                cell.task, cell.settings, name=cell.run, prompts=prompts, **common
            )
        row = journal.row(cell.run)
        if row.status in (*FINISHED, *(() if cell.again else LEFT_OUT)):
            return recorded_result(row, journal.story(row.id), journal)
        return await driver.resume(cell.run, **common)

    async def close(self) -> None:
        """Close what cells share; journal and models are the suite's."""
        await self._services.close()


def cell_prompts(settings: Settings) -> PromptSet:
    """The prompts of a cell."""
    return choose_prompts(settings, writes=settings.job.writes or settings.job.steps_write)


def prefix_signals(on_signal: OnSignal | None, part: str) -> OnSignal | None:
    """Signals of a cell under keys that no other cell has."""
    if on_signal is None:
        return None

    def prefixed(signal: Signal) -> None:
        on_signal(replace(signal, key=sub_key(part, signal.key)))

    return prefixed


# What a cell came to.


def measure_cell(result: Result) -> CellResult:
    """The result of a cell's run; without a text and a value where it did not finish within its limit."""
    story = result.story
    cast = [each for one in story.passes for each in one.ballots] + story.playoff_ballots
    decided = [each.decided for each in story.passes if each.decided]
    drops = [one for each in story.passes for one in each.dropped if one.reason != "unlisted"]
    # A tournament that its limit cuts off still delivers; no other strategy does, and limits are the same for all.
    cut_off = story.delivered is not None and story.delivered.ended_by == "budget"
    finished = result.finished and not cut_off
    return CellResult(
        run=result.run,
        status="budget" if cut_off else result.status,
        reason=result.reason,
        finished=finished,
        trajectory=story.trajectory,
        words_by_pass=(story.draft.words, *(each.words for each in decided)) if story.draft else (),
        judged=tuple(
            tuple(sorted(each.ballots[0].order)) if each.ballots else ()
            for each in story.passes
            if each.decided
        ),
        challengers=sum(len(each.candidates) for each in story.passes) + len(drops),
        clones=sum(drop.reason == "clone" for drop in drops),
        dropped=len(drops),
        confirmed=(fresh.prefer, fresh.judges) if (fresh := story.confirmation) else None,
        cast=len(cast),
        invalid=sum(each.ranking is None for each in cast),
        ballots=tuple(_ballots(story)),
        spent=result.spent,
        seconds=result.seconds or 0.0,
        **(_product(story) if finished else {}),
    )


def _product(story: Story) -> dict[str, Any]:
    """What a finished cell delivered."""
    if story.writes == "programs":
        from autoreason.programs.events import solved_in

        return {"solved": solved_in(story)[-1]}
    if story.writes == "files":
        return _research(story)
    delivered = story.delivered
    text = delivered.text if delivered else None
    ruled = story.task is not None and not story.task.contract.empty
    return {
        "text": text,
        "words": None if text is None else count_words(text),
        "kept_wording": share_kept(story.draft.text, text) if story.draft and text else None,
        "kept_contract": not delivered.violations if delivered and ruled and text else None,
    }


def _research(story: Story) -> dict[str, Any]:
    from autoreason.artifacts.research_history import ResearchHistory

    history = ResearchHistory(story)
    end, tested = history.end, history.end_result
    gain = tested.gain if tested else None
    broken = bool(end and end.broken)
    return {
        "value": 0.0 if broken or not end else gain,
        "claimed": history.loop_gain or 0.0 if history.result else 0.0,
        "kept": len(history.kept),
        "evaluations": history.evaluations,
        "broken": broken,
        "opened": end.opened if end else 0,
    }


def _ballots(story: Story) -> Iterator[Ballot]:
    """The ballots of a panel over finished texts; of pairs one for each judge who kept to a choice."""
    if story.task is None or not story.task.entries:
        return
    if panel := last_panel(story.panels, STAGE):
        yield from (Ballot(order=each.order, ranking=each.ranking) for each in panel.ballots)
        return
    for (one, other), votes in votes_by_pair(story.panels).items():
        for vote in votes:
            loser = other if vote.winner == one else one
            ranking = (vote.winner, loser) if vote.winner else None
            yield Ballot(order=(one, other), ranking=ranking)
