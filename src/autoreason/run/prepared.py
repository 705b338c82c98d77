"""A run with everything decided: it can be estimated, and driven to its end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Generic, TypeVar, Unpack, cast

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.exchange import Model, Service
from autoreason.fields import AnyStruct, make_struct
from autoreason.job_types import JobType, Refine
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.prompts import PromptSet
from autoreason.run.choices import ModelChoice, choose_prompts
from autoreason.run.door import check_arguments, compute, wait_for
from autoreason.run.driver import start
from autoreason.run.estimate import (
    RunEstimate,
    check,
    check_call_limit,
    check_models,
    check_settings,
    estimate_run,
)
from autoreason.run.parameters import RunHooks
from autoreason.run.record import use_journal
from autoreason.run.reports import reported_result, store_verdict
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings, make_settings, read_budget
from autoreason.task import Task

R_co = TypeVar("R_co", covariant=True)


class PreparedRun(Struct, Generic[R_co], frozen=True, kw_only=True):
    """A run with everything decided. Nothing is written and nothing is asked before it runs."""

    task: Task
    settings: Settings
    prompts: PromptSet
    models: Mapping[str, Model] = {}
    """Models that were given as objects, by address."""
    hooks: RunHooks = {}
    forked_from: str | None = None
    service: Service | None = None
    """Runs programs or measures artifacts, where these are the task."""
    _fit: bytes = b""
    """A predictor with a seat, saved when the run starts."""

    def estimate(self) -> RunEstimate:
        """Calls, tokens and cost of the run, without calling anything."""
        check_settings(self.task, self.settings)
        return compute(lambda: estimate_run(self.task, self.settings, self.prompts))

    def check_models(self) -> None:
        """Raise `InvalidInput` where models or limits could not run it, as far as is known without reaching any."""
        compute(self._check_models)

    async def _check_models(self) -> None:
        async with AsyncExitStack() as exits:
            pool = use_pool(self.hooks.get("pool"), self.settings, self.models, exits)
            await check_models(self.task, self.settings, pool, self.prompts)
        check_call_limit(self.task, self.settings)

    def run(self, **hooks: Unpack[RunHooks]) -> R_co:
        """Check everything, then run until the end or a pause; hooks given here come first."""
        return wait_for(lambda: self.run_async(**hooks), "run()", "run_async(...)")

    async def run_async(self, **hooks: Unpack[RunHooks]) -> R_co:
        """Like `run`, in an event loop."""
        check_arguments(PreparedRun.run, hooks)
        hooks = {**self.hooks, **hooks}
        async with AsyncExitStack() as exits:
            pool = use_pool(hooks.get("pool"), self.settings, self.models, exits)
            await self._check(pool)
            if on_ready := hooks.get("on_ready"):
                on_ready()
            if self._fit:
                from autoreason.knowledge.predictor import save_ridge

                save_ridge(self._fit)
            journal = exits.enter_context(use_journal(hooks.get("journal"), create=True))
            hooks["stop_switch"] = hooks.get("stop_switch") or StopSwitch()
            service = await self._open_service(journal, pool, hooks, exits)
            result = await start(
                self.task,
                self.settings,
                journal=journal,
                prompts=self.prompts,
                pool=pool,
                on_event=hooks.get("on_event"),
                on_signal=hooks.get("on_signal"),
                switch=hooks["stop_switch"],
                forked_from=self.forked_from,
                on_started=hooks.get("on_started"),
                service=service,
            )
            store_verdict(result, hooks.get("on_warning"))
            return cast(R_co, reported_result(result, journal))

    async def _check(self, pool: ModelPool) -> None:
        """Raise `InvalidInput` for what would only fail later; spends nothing."""
        await check(self.task, self.settings, pool, self.prompts)
        check_call_limit(self.task, self.settings)

    async def _open_service(
        self,
        journal: Journal,  # noqa: ARG002
        pool: ModelPool,  # noqa: ARG002
        hooks: RunHooks,  # noqa: ARG002
        exits: AsyncExitStack,  # noqa: ARG002
    ) -> Service | None:
        """What answers the queries of the run; closed with `exits`."""
        return self.service


def prepare(
    task: Task,
    choice: ModelChoice,
    options: Mapping[str, Any],
    job: JobType | None = None,
    **own: Any,
) -> PreparedRun[Any]:
    """A run of `task` under the settings among `options`; `own` are those that the caller decides."""
    fields = set(Settings.__struct_fields__) - {"seed", "protocol"}
    changes = {name: value for name, value in options.items() if name in fields} | own
    if (limits := options.get("budget")) is not None:
        changes["budget"] = read_budget(limits)
    seed = options.get("seed")
    settings = make_settings(
        choice.models,
        secrets.randbits(32) if seed is None else seed,
        options.get("protocol") or "robust",
        job=job or Refine(),
        **changes,
    )
    return prepare_with(task, settings, choice, options)


def prepare_with(
    task: Task, settings: Settings, choice: ModelChoice, options: Mapping[str, Any]
) -> PreparedRun[Any]:
    """The same under complete settings."""
    folder = options.get("prompts")
    writes = settings.job.writes or settings.job.steps_write
    if task.knowledge:
        from autoreason.run.knowledge_choice import withhold_private

        task = withhold_private(task, settings, choice.objects, options.get("pool"))
    return PreparedRun(
        task=task,
        settings=settings,
        prompts=choose_prompts(settings, Path(folder) if folder else None, writes=writes),
        models=choice.objects,
        hooks=hooks_in(options),
    )


def job_in(kind: type[AnyStruct], options: Mapping[str, Any], **own: Any) -> AnyStruct:
    """A job with the fields among the options of a function, and those that the caller decides."""
    given = {name: options.get(name) for name in kind.__struct_fields__} | own
    return make_struct(kind, {name: value for name, value in given.items() if value is not None})


def hooks_in(options: Mapping[str, Any]) -> RunHooks:
    """The hooks among the options of a function."""
    hooks = {name: value for name, value in options.items() if name in RunHooks.__annotations__}
    return cast(RunHooks, hooks)


def use_pool(
    pool: ModelPool | None,
    settings: Settings,
    models: Mapping[str, Model],
    exits: AsyncExitStack,
) -> ModelPool:
    """The caller's pool, or one of the run's own that is closed at its end."""
    if pool is None:
        pool = ModelPool.of(settings)
        exits.push_async_callback(pool.close)
    if pool.batch is not settings.batch:
        raise InvalidInput("run and pool ask in batches, or neither does; give both `batch`")
    pool.add(models)
    return pool
