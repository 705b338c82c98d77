"""A suite's cells, each a run of its own: started, resumed or read, paid from one budget, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence, Sized
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import reduce
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from autoreason.contract import count_words
from autoreason.errors import BudgetReached, InvalidInput, RunLocked, UnknownRun
from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Service, Signal, Spent
from autoreason.job_types import Lab, Solve
from autoreason.jobs.job import last_panel
from autoreason.journal import Journal, RunRow
from autoreason.journal.listing import find_suite
from autoreason.journal.run_names import cell_name, suite_name
from autoreason.keys import sub_key
from autoreason.models.budget import BudgetTracker, CostBound, Reservation, SharedBudget
from autoreason.models.pool import ModelPool
from autoreason.models.providers import rates
from autoreason.parsing.documents import share_kept
from autoreason.programs.assignment import Assignments
from autoreason.programs.policy import Policy, PolicyQuery
from autoreason.prompts import PromptSet
from autoreason.report.numbers import duration, spending
from autoreason.report.report import Report, Section, plain_values
from autoreason.run import driver
from autoreason.run.prepared import choose_prompts, suite_report
from autoreason.run.record import recorded_result, working_time
from autoreason.run.result import Result, StopSwitch, resume_command
from autoreason.run.services import LazyService
from autoreason.run.verbs import RunHooks
from autoreason.settings import Budget, Settings
from autoreason.story import Story
from autoreason.studies.lab_job import LabProgress
from autoreason.studies.lab_suite import (
    Ballot,
    CellFinished,
    CellResult,
    Suite,
    all_cells,
    count_cells,
    suite_of,
)
from autoreason.studies.panel_jobs import STAGE, votes_by_pair
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluators import Evaluate
    from autoreason.studies.lab_report import LabReport


_KILLED = "its process was killed, or could not reach the journal"


class RunningCell(Struct, frozen=True, kw_only=True):
    run: str
    name: str
    """What people call it: `letter, tournament 2`."""
    seconds: float
    """Worked on it."""


class LabStatus(Report, Struct, frozen=True, kw_only=True):
    run: str
    suite: str
    status: str
    progress: LabProgress
    """Spending and time are also those of the suite that this one adds repeats to, whose cells it has."""
    running: tuple[RunningCell, ...]
    base: str = ""
    """The suite that this one adds repeats to."""
    resume: str = ""
    """The command that goes on with it; empty where it is finished or live."""

    heading = "A suite so far"

    @property
    def conclusion(self) -> str:
        state = _KILLED if self.status == "killed" else self.status
        state = f"paused ({state})" if self.resume else state
        return f"{self.run} ({self.suite}) is {state}: {self.progress.so_far}"

    def names(self) -> Sequence[str]:
        return [self.run]

    def sections(self) -> list[Section]:
        rows = [("Took", spending(self.progress.spent, self.progress.seconds))]
        if self.base:
            rows.append(("Adds to", f"{self.base}, whose cells are counted"))
        if (left := self.progress.seconds_left) is not None:
            rows.append(("Left", f"about {duration(left)} at the same pace"))
        if self.running:
            running = (
                f"{each.name} ({each.run}, {duration(each.seconds)})" for each in self.running
            )
            rows.append(("Running", "; ".join(running)))
        if self.resume:
            rows.append(("Resume", self.resume))
        return [Section(sentences=rows)]

    def to_dict(self) -> dict[str, Any]:
        numbers = self.progress._asdict()
        numbers["cells"] = numbers.pop("total")
        more = {"left": self.progress.left, "seconds_left": self.progress.seconds_left}
        fields = {"conclusion": self.conclusion, **asdict(self), **numbers, **more}
        del fields["progress"]
        return plain_values(fields | {"running": self.running})


class FoundReport(NamedTuple):
    report: LabReport
    cells: Sequence[CellFinished]
    runs: Sequence[str]
    """The suite's, and those that it adds repeats to."""

    def files(self) -> dict[str, str]:
        from autoreason.studies.lab_report import lab_files

        return lab_files(self.report, self.cells)


def lab_status(run: str | None, *, journal: Journal) -> LabStatus:
    """How far a suite is; the newest one without a name."""
    row, suite, story = find_suite_run(run, journal)
    done, left_out, missing = journal.cells_done(row.id)
    names, now = set(running_cells(row.id, journal)), datetime.now(UTC)
    running = tuple(
        RunningCell(
            run=name, name=cell.name, seconds=working_time(name, journal=journal).until(now)
        )
        for cell in (all_cells(suite) if names else ())
        if (name := cell_name(row.id, cell.number)) in names
    )
    chain = list(with_bases(row, journal))
    progress = LabProgress(
        total=count_cells(suite),
        done=done - missing,
        left_out=left_out,
        running=len(running),
        spent=reduce(Spent.joined, [each.spent for each in chain]),
        seconds=time_worked(row, journal),
        missing=missing,
    )
    return LabStatus(
        run=row.id,
        suite=suite.name,
        status=row.state,
        progress=progress,
        running=running,
        base=chain[1].id if chain[1:] else "",
        resume="" if row.live or row.finished else resume_command(row.id, story),
    )


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


def running_cells(suite: str, journal: Journal) -> Iterator[str]:
    """Runs of a suite's cells that a process drives now."""
    return (each for each in journal.locked_runs() if suite_name(each) == suite)


def report_of(run: str | None, *, journal: Journal) -> FoundReport:
    row, *_ = find_suite_run(run, journal)
    story = journal.story(row.id)
    cells = story.of(CellFinished)
    if not cells:
        raise InvalidInput(f"no cell of {row.id} has ended yet; see `autoreason show {row.id}`")
    runs = [each.id for each in with_bases(row, journal)]
    return FoundReport(suite_report(row, story, journal)(), cells, runs)


def find_suite_run(run: str | None, journal: Journal) -> tuple[RunRow, Suite, Story]:
    """The suite of this name, else the newest; of its story the outline."""
    suites = (
        each
        for each in journal.iter_runs(page=1)
        if (settings := journal.settings(each.id)) and isinstance(settings.job, Lab)
    )
    row = next(suites, None) if run is None else find_suite(journal, run)
    if row is None:
        raise UnknownRun("there is no suite in the journal; start one with `autoreason lab run`")
    story = journal.outline(row.id)
    suite = suite_of(story.task)
    if suite is None:
        raise InvalidInput(f"run {row.id} is not a suite; `autoreason show {row.id}` shows it")
    return row, suite, story


LEFT_OUT = ("panel_failed", "metric_failed")
"""How a cell may end without a result; all else that is not finished pauses the suite, which can be resumed."""
_PATIENCE, _PAUSE = 600.0, 0.2
"""Seconds to wait for a process that has a run, and between two tries."""


class CellRun(Struct, frozen=True, kw_only=True):
    run: str
    part: str
    task: Task
    settings: Settings
    prompts: dict[str, str] = {}
    """Empty where it has the built-in ones."""
    again: bool = False
    """Whether it goes on though its panels failed."""


class CellOutcome(Struct, frozen=True):
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
        self.settle, self.release = whole.settle, whole.release
        self.reached: BudgetReached | None = None
        """Why a call of this cell could not be paid."""

    async def reserve(self, upper: CostBound) -> Reservation:
        try:
            return await self._whole.reserve(upper)
        except BudgetReached as reached:
            self.reached = reached
            raise

    def time_reached(self, failure: str = "") -> BudgetReached | None:
        reached = self._whole.time_reached(failure)
        self.reached = reached or self.reached
        return reached


class SharedExaminer:
    """Runs the programs of all cells over a set, whose searches learn from each other."""

    def __init__(self, service: Service) -> None:
        self.service, self.answer = service, service.answer
        self.policy = Policy()


class CellServices:
    def __init__(self, evaluate: Evaluate | None = None, examiner: Service | None = None) -> None:
        self._evaluate = evaluate
        self._examiner = SharedExaminer(examiner) if examiner else None
        """One that is open already."""
        self._opened: dict[tuple[str, bool], SharedExaminer] = {}

    def of(self, run: str, task: Task, settings: Settings, journal: Journal) -> Service | None:
        """What a cell's queries go to; None where it opens a process of its own."""
        if isinstance(task.work, Assignments):
            return self._examiner or self._examiner_of(run, task.work, settings, journal)
        if self._evaluate is None:
            return None
        from autoreason.artifacts.research_task import research_of

        if research_of(task):
            from autoreason.run.research import caller_service

            return caller_service(task, settings, self._evaluate, run)
        return None

    def _examiner_of(
        self, run: str, work: Assignments, settings: Settings, journal: Journal
    ) -> SharedExaminer:
        terms = settings.job_as(Solve)
        key = (terms.set, terms.unsafe)
        if not (shared := self._opened.get(key)):
            shared = self._opened[key] = SharedExaminer(LazyService(work, settings, run))
            # What other processes have seen before.
            for row in journal.cells(suite_name(run)):
                for each in journal.answers(row.id).values() if row.finished else ():
                    if each.kind == PolicyQuery.kind:
                        shared.policy.learn(convert(each.question, PolicyQuery).turn)
        return shared

    async def close(self) -> None:
        for each in self._opened.values():
            if isinstance(each.service, LazyService):
                await each.service.close()


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


class LocalExecutor(NamedTuple):
    journal: Journal
    pool: ModelPool
    switch: StopSwitch
    on_signal: OnSignal | None
    budget_of: Callable[[str], SharedBudget | None]
    services: CellServices

    async def run(self, cell: CellRun) -> CellOutcome:
        whole = self.budget_of(suite_name(cell.run))
        budget = CellBudget(whole) if whole else None
        async with lock_when_free(self.journal, cell.run):
            result = await self._drive(cell, budget)
        reached = budget.reached if budget else None
        limit = reached.limit if reached else None
        return CellOutcome(measure_cell(result), str(reached or ""), limit)

    async def _drive(self, cell: CellRun, budget: CellBudget | None) -> Result:
        journal, on_signal = self.journal, self.on_signal

        def prefixed(signal: Signal) -> None:
            if on_signal:
                on_signal(replace(signal, key=sub_key(cell.part, signal.key)))

        hooks: RunHooks = {"pool": self.pool, "stop_switch": self.switch}
        hooks["on_signal"] = prefixed if on_signal else None
        service = self.services.of(cell.run, cell.task, cell.settings, journal)
        shared: dict[str, Any] = {"service": service, "shared_budget": budget, "locked": True}
        if not journal.has(cell.run):
            prompts = PromptSet(cell.prompts) if cell.prompts else choose_prompts(cell.settings)
            new = (cell.task, cell.settings, journal, hooks)
            return await driver.start(*new, name=cell.run, prompts=prompts, **shared)
        row = journal.row(cell.run)
        if row.status in (*FINISHED, *(() if cell.again else LEFT_OUT)):
            return recorded_result(row, journal.story(row.id), journal)
        return await driver.resume(cell.run, journal, hooks, **shared)

    async def close(self) -> None:
        await self.services.close()


def measure_cell(result: Result) -> CellResult:
    """The result of a cell's run; without a text and a value where it did not finish within its limit."""
    story = result.story
    cast = [each for one in story.passes for each in one.ballots] + story.review_ballots
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
    if story.writes == "programs":
        from autoreason.programs.events import solved_in

        return {"solved": solved_in(story)[-1]}
    if story.writes == "files":
        return _research(story)
    delivered = story.delivered
    text = delivered.text if delivered else None
    ruled = story.task is not None and story.task.limited
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
