"""Suites, prepared and run, each cell in whichever process it runs."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from msgspec import convert
from msgspec.structs import asdict, replace

from autoreason.errors import (
    BudgetReached,
    InvalidInput,
    ProviderFailed,
    Stopped,
    UnknownRun,
    Waiting,
)
from autoreason.events import FINISHED
from autoreason.exchange import Model, OnSignal, Query, Service
from autoreason.job_types import MAX_PARALLEL, Lab
from autoreason.journal import Journal
from autoreason.journal.journal import locate
from autoreason.journal.listing import SUITE_TITLE
from autoreason.journal.run_names import cell_name
from autoreason.models.pool import ModelPool
from autoreason.programs.assignment import Assignment, Assignments
from autoreason.prompts import PromptSet
from autoreason.run.cells import (
    LEFT_OUT,
    CellRun,
    CellServices,
    Executor,
    LocalExecutor,
    open_budget,
)
from autoreason.run.lab_plan import LabPlan, plan_cells
from autoreason.run.prepared import (
    ModelChoice,
    PreparedRun,
    change_budget,
    check_call_limit,
    check_models,
    check_settings,
    choose_prompts,
    hooks_in,
    job_in,
    use_pool,
)
from autoreason.run.record import name_and_journal, task_and_settings, use_journal
from autoreason.run.result import StopSwitch, StudyResult
from autoreason.run.verbs import LabOptions, RecordedRun, RunHooks, checked, compute, door
from autoreason.settings import DEFAULT_MODEL, Models, Settings
from autoreason.studies.lab_suite import (
    CellQuery,
    CellResult,
    Suite,
    SuiteTask,
    SuiteWork,
    arm_runs,
    prepare_cell,
    suite_of,
)
from autoreason.task import Entry, Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluators import Evaluate
    from autoreason.run.research import PreparedResearch
    from autoreason.studies.lab_file import SuiteFile, TaskSource
    from autoreason.studies.lab_report import LabReport


class CellService:
    def __init__(
        self, suite: Suite, settings: Settings, journal: Journal, executor: Executor, base: str
    ) -> None:
        self._suite, self._settings, self._executor = suite, settings, executor
        # What is recorded of the suite that this one adds to.
        self._known = {
            key: convert(each.answer, CellResult)
            for key, each in (journal.answers(base) if base else {}).items()
            if each.kind == CellQuery.kind
        }
        self.run = ""
        """The suite's; known once it is started."""

    async def answer(self, query: Query[Any]) -> Any:
        assert isinstance(query, CellQuery)
        if known := self._known.get(query.key):
            return known
        task, settings = prepare_cell(self._suite, query, self._settings.seed)
        # What is known of hosts is known since the suite began.
        models = replace(settings.models, hosts=self._settings.models.hosts)
        cell = CellRun(
            run=cell_name(self.run, query.cell.number),
            part=query.cell.part,
            task=task,
            settings=replace(settings, models=models),
            prompts=self._suite.prompts,
            again=query.attempt > 0,
        )
        outcome = await self._executor.run(cell)
        if not (result := outcome.result):
            raise InvalidInput(outcome.refusal)
        if result.finished or result.status in LEFT_OUT:
            return result
        if result.status == "waiting":
            raise Waiting(f"its parts wait for answers; `autoreason host next {self.run}` goes on")
        if result.status == "provider_failed":
            raise ProviderFailed(f"{result.run}: {result.reason}")
        if result.status != "budget":
            # All cells stop for the same reason.
            raise Stopped(result.reason)
        if outcome.reached:
            raise BudgetReached(f"all cells together: {outcome.reached}", outcome.limit)
        # At its own limit a cell is over; more would not be the same for all.
        return result


@asynccontextmanager
async def open_cells(
    task: Task,
    settings: Settings,
    journal: Journal,
    pool: ModelPool,
    switch: StopSwitch,
    on_signal: OnSignal | None,
    services: CellServices | None = None,
) -> AsyncIterator[CellService]:
    """The service of a suite's run; its processes end with it. `services` are those of cells in this process."""
    suite = suite_of(task)
    assert suite is not None
    terms = settings.job_as(Lab)
    executor: Executor
    if terms.ray:
        from autoreason.run.workers import RayExecutor

        executor = await RayExecutor.connect(suite, terms, journal, settings, switch)
    elif terms.workers:
        from autoreason.run.workers import WorkerExecutor

        executor = WorkerExecutor(terms, journal, settings, switch)
    else:
        budget_of = cache(partial(open_budget, journal, settings.budget))
        services = services or CellServices()
        executor = LocalExecutor(journal, pool, switch, on_signal, budget_of, services)
    try:
        yield CellService(suite, settings, journal, executor, terms.base)
    finally:
        await executor.close()


_ASKED: tuple[Literal["base_url", "allow_http", "batch"], ...] = ("base_url", "allow_http", "batch")
"""How models are asked, in all cells alike."""
_SAMPLES = (Entry(name="one", text="One text."), Entry(name="other", text="Another text."))


def choose_problems(
    assignments: Sequence[Assignment], options: Mapping[str, Any]
) -> Sequence[Assignment]:
    difficulty = options.get("difficulty")
    chosen = assignments
    if difficulty is not None:
        chosen = [each for each in assignments if each.difficulty.lower() == difficulty.lower()]
        if not chosen:
            known = sorted({each.difficulty for each in assignments if each.difficulty})
            there = f"there are {', '.join(known)}" if known else "the problems have none"
            raise InvalidInput(f"no problem of difficulty {difficulty!r}; {there}")
    chosen = chosen[: options.get("limit")]
    if chosen and all(each.remark for each in chosen):
        first = chosen[0]
        raise InvalidInput(f"no problem can be examined fairly; {first.id}: {first.remark}")
    return chosen


class NothingToAdd(Exception):
    """A suite has all repeats that its rule asks for."""


class PreparedLab(PreparedRun[StudyResult["LabReport"]], frozen=True, kw_only=True):
    prompts: PromptSet = PromptSet({})
    evaluators: tuple[PreparedResearch, ...] = ()
    anyway: bool = False
    notes: tuple[str, ...] = ()
    """What a person should know before it starts, in sentences."""
    evaluate: Evaluate | None = None
    """The caller's function, which measures research in this process."""
    examiner: Service | None = None
    """Runs programs, where it is open already."""

    @property
    def suite(self) -> Suite:
        suite = suite_of(self.task)
        assert suite is not None
        return suite

    def plan(self) -> LabPlan:
        """Cells, calls and cost, and what they can show; nothing is called."""
        return compute(lambda: plan_cells(self.suite, self.settings))

    def check_plan(self, plan: LabPlan) -> None:
        if plan.refusal and not self.anyway:
            raise InvalidInput(plan.refusal)

    async def run_async(self, **hooks: Unpack[RunHooks]) -> StudyResult[LabReport]:
        self._check_terms()
        if not self.anyway:
            self.check_plan(await plan_cells(self.suite, self.settings))
        return await super().run_async(**hooks)

    async def _check_models(self) -> None:
        self._check_terms()
        if self.settings.job_as(Lab).ray:
            from autoreason.run.workers import require_server

            journal = self.hooks.get("journal")
            require_server(journal.place if isinstance(journal, Journal) else locate(journal))
        await super()._check_models()
        async with AsyncExitStack() as exits:
            await self._check_arms(
                use_pool(self.hooks.get("pool"), self.settings, self.models, exits)
            )

    async def _check_arms(self, pool: ModelPool) -> None:
        for _, task, settings in arm_runs(self.suite):
            await check_models(task, settings, pool, choose_prompts(settings))

    def _check_terms(self) -> None:
        terms = self.settings.job_as(Lab)
        if self.models and (terms.workers or terms.ray):
            left_out = "`ray`" if terms.ray else "`workers`"
            raise InvalidInput(f"a model object stays in this process; leave {left_out} out")

    async def _check(self, pool: ModelPool) -> None:
        await super()._check(pool)
        await self._check_arms(pool)
        for each in self.evaluators:
            await each.save_evaluator()

    async def _open_service(
        self, journal: Journal, pool: ModelPool, hooks: RunHooks, exits: AsyncExitStack
    ) -> Service:
        switch, on_started = hooks["stop_switch"], hooks.get("on_started")
        assert switch is not None
        until_started = exits.enter_context(ExitStack())
        if self.forked_from:
            # Another process may have continued or deleted it since this run was prepared.
            until_started.enter_context(journal.lock(self.forked_from))
            if not journal.has(self.forked_from):
                raise UnknownRun(f"{self.forked_from} was deleted; run its suite anew")
            _check_continued(self.forked_from, journal)
        signals = hooks.get("on_signal")
        opened = open_cells(
            *(self.task, self.settings, journal, pool, switch, signals),
            CellServices(self.evaluate, self.examiner),
        )
        service = await exits.enter_async_context(opened)

        def started(run: str) -> None:
            until_started.close()
            service.run = run
            if on_started:
                on_started(run)

        hooks["on_started"] = started
        return service


@door()
def lab(
    suite: str | Path, model: str | Model | None = None, **options: Unpack[LabOptions]
) -> PreparedLab:
    r"""Run a suite: its tasks by its arms, each cell once, and report on what it asks.

    Args:
        suite: A YAML file; see `docs/laboratory.md`.
        model: Plays every role for which the suite names no model.
        options: Such as `repeats`, `parallel`, `workers`, `budget` and `named_models`.
            `print(lab.options())` lists all of them.

    Returns:
        Its `report` has a table and a sentence for every comparison. A run that paused has none yet:
        `report` then raises the `Interruption`, and `resume` goes on. `lab.prepare(...).plan()` says beforehand
        what a suite would take, and what it could show.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import lab
        >>> _ = Path("suite.yaml").write_text(
        ...     "name: tides\ntasks: {tides: Explain tides.}\nrepeats: 2\n"
        ...     "arms: {single: {strategy: single}, revised: {strategy: critique_revise, passes: 1}}\n"
        ...     "measures: [words]\n"
        ... )
        >>> lab.prepare("suite.yaml", "echo/echo").plan().cells
        6
        >>> lab("suite.yaml", "echo/echo", seed=1).report.cells
        6
    """
    # Programs are solved without a file of a suite.
    from autoreason.studies.lab_file import read_suite

    choice = ModelChoice()
    models = {
        name: choice.address(each) for name, each in (options.get("named_models") or {}).items()
    }
    if model is not None:
        models[""] = choice.address(model)
    asked: dict[str, Any] = {name: options[name] for name in _ASKED if name in options}
    file = read_suite(Path(suite), models=models, repeats=options.get("repeats"), **asked)
    # Another process reads its problems.
    tasks, evaluators = compute(lambda: _read_tasks(file))
    found = replace(file.suite, tasks=tasks)
    for arm, task, settings in arm_runs(found):
        with file.document.at("arms", arm):
            check_settings(task, settings)
            check_call_limit(task, settings)
    if found.panel:
        with file.document.at("panel"):
            check_settings(Task(brief="a", entries=_SAMPLES), found.panel.settings)
    seed = options.get("seed", file.seed)
    # The more cells are under way, the fewer batches there are, each of which may take hours.
    usual = {"parallel": MAX_PARALLEL} if options.get("batch") else {}
    settings = Settings(
        models=_all_models(found),
        seed=secrets.randbits(32) if seed is None else seed,
        job=job_in(Lab, usual | options),
        budget=change_budget(file.budget, options.get("budget")),
        **asked,
    )
    check_settings(_suite_task(found), settings)
    return PreparedLab(
        task=_suite_task(found),
        settings=settings,
        models=choice.objects,
        hooks=hooks_in(options),
        evaluators=evaluators,
        anyway=options.get("anyway", False),
    )


async def _read_tasks(file: SuiteFile) -> tuple[dict[str, SuiteTask], tuple[PreparedResearch, ...]]:
    """The tasks of a suite with those that its file only names, and the evaluators that are saved when it starts."""
    read: dict[str, SuiteTask] = {}
    evaluators: list[PreparedResearch] = []
    for name, task in file.suite.tasks.items():
        source = file.sources.get(name)
        with file.document.at("tasks", name):
            if source is None:
                read[name] = task
            elif source.job == "solve":
                read |= await _read_problems(name, source)
            else:
                from autoreason.run.research import research

                evaluators.append(research.prepare(source.path, DEFAULT_MODEL))
                read[name] = SuiteTask(task=evaluators[-1].task, job=source.job)
    return read, tuple(evaluators)


async def _read_problems(name: str, source: TaskSource) -> dict[str, SuiteTask]:
    """Every problem of a set that can be judged, as a task; the examiner keeps the set under its digest."""
    from autoreason.programs.examiner.process import ExaminerClient

    only = tuple(map(str, source.options.get("ids") or ()))
    client = await ExaminerClient.open(source.path, only=only)
    try:
        options = {name: source.options.get(name) for name in ("difficulty", "limit")}
        chosen = choose_problems(client.reply.assignments, options)
        terms = {"set": client.reply.digest}
        return {
            f"{name}/{each.id}": SuiteTask(
                task=Task(brief=f"Solve {each.title or each.id}", work=Assignments((each,))),
                job="solve",
                terms=terms,
            )
            for each in chosen
            if not each.remark
        }
    finally:
        await client.close()


def prepare_suite(
    suite: Suite,
    base: PreparedRun[Any],
    notes: Sequence[str] = (),
    parallel: int = MAX_PARALLEL,
    **own: Any,
) -> PreparedLab:
    """A suite that was made without a file; `base` has the settings of its cells, its models and its hooks."""
    given = base.settings
    settings = Settings(
        models=_all_models(suite),
        seed=given.seed,
        job=Lab(parallel=parallel),
        budget=given.budget,
        **{name: getattr(given, name) for name in _ASKED},
    )
    for _, task, arm in arm_runs(suite):
        check_settings(task, arm)
    return PreparedLab(
        task=replace(_suite_task(suite), knowledge=base.task.knowledge),
        settings=settings,
        models=base.models,
        hooks=base.hooks,
        anyway=True,
        notes=tuple(filter(None, notes)),
        **own,
    )


@checked
def prepare_add(run: RecordedRun, **options: Unpack[LabOptions]) -> PreparedLab:
    """A suite with more repeats where its rule asks for them; the cells it has are not run again."""
    # Reports are read by few of those that run cells.
    from autoreason.studies.lab_comparisons import add_repeats, repeats_to_add
    from autoreason.studies.lab_report import lab_report

    name, place = name_and_journal(run, options.get("journal"))
    with use_journal(place) as journal:
        row = journal.find(name)
        story = journal.story(row.id)
        _check_continued(row.id, journal)
    task, settings = task_and_settings(row.id, story)
    suite = suite_of(task)
    if suite is None:
        raise InvalidInput(f"run {row.id} is not a suite; name one, see `autoreason runs`")
    if story.status not in FINISHED:
        raise InvalidInput(f"{row.id} is not finished; go on with `autoreason resume {row.id}`")
    if suite.add is None:
        raise InvalidInput(f"{suite.name} has no rule for more repeats; run it anew with `add`")
    report = lab_report(story)
    more = repeats_to_add(suite.add, report.pairs)
    if not more:
        raise NothingToAdd(f"{row.id} has all repeats that its rule asks for")
    _check_results(report, more)
    settings = replace(
        settings,
        job=job_in(Lab, asdict(settings.job_as(Lab)) | options, base=row.id),
        budget=change_budget(settings.budget, options.get("budget")),
    )
    choice = ModelChoice()
    for each in (options.get("named_models") or {}).values():
        choice.address(each)
    return PreparedLab(
        task=_suite_task(add_repeats(suite, more)),
        settings=settings,
        models=choice.objects,
        hooks={**hooks_in(options), "journal": place},
        forked_from=row.id,
        anyway=True,
    )


def _check_continued(run: str, journal: Journal) -> None:
    """Refuse to add to a suite a second time, which would pay for the same cells again."""
    if later := journal.continuation(run):
        raise InvalidInput(f"{run} was continued as {later}; resume that one, or add to it")


def _check_results(report: LabReport, more: Collection[str]) -> None:
    """Refuse repeats of an arm that fails every time, which would only be paid for."""
    wanted = {
        arm for each in report.pairs if each.comparison in more for arm in (each.first, each.second)
    }
    for each in report.arms:
        if each.arm in wanted and not each.finished:
            raise InvalidInput(f"no cell of {each.arm} has a result; see `autoreason lab report`")


def _suite_task(suite: Suite) -> Task:
    first = next(iter(suite.tasks.values())).task
    brief, more = first.brief, len(suite.tasks) - 1
    if suite.form == "problems":
        brief = f"{first.title} and {more} more" if more else first.title
    elif suite.form not in ("strategies", "rules"):
        brief = f"{SUITE_TITLE}{suite.name}"
    return Task(brief=brief, work=SuiteWork(suite))


def _all_models(suite: Suite) -> Models:
    settings = [arm.settings for arm in suite.arms.values()]
    settings += [suite.panel.settings] if suite.panel else []
    return Models.judging(*dict.fromkeys(a for each in settings for a in each.models.all()))
