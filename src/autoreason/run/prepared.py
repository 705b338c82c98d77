"""A run with everything decided: its models and prompts are chosen, it is estimated, driven and reported on."""

from __future__ import annotations

import dataclasses
import os
import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from autoreason.errors import InvalidInput
from autoreason.events import FINISHED
from autoreason.exchange import Model, Service
from autoreason.fields import AnyStruct, make_struct
from autoreason.files import certificates_folder
from autoreason.job_types import Advise, Certify, JobType, KnowledgeTest, Lab, Refine, Rejudge
from autoreason.jobs.job import check_job, user_code_errors
from autoreason.journal import Journal, RunRow
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool, require_batches
from autoreason.models.providers import rates
from autoreason.prompts import PromptSet, load
from autoreason.report.numbers import without_folder
from autoreason.report.report import Report
from autoreason.run.driver import start
from autoreason.run.estimate import RunEstimate, estimate_run, text_tokens, unseen_tokens
from autoreason.run.record import first_requests, use_journal
from autoreason.run.result import Result, StopSwitch, StudyResult
from autoreason.run.verbs import RunHooks, check_arguments, compute, wait_for
from autoreason.settings import (
    DEFAULT_MODEL,
    Budget,
    Models,
    Settings,
    make_settings,
    providers_of,
    read_budget,
)
from autoreason.strategies import job_class
from autoreason.task import Task
from autoreason.tournament.statements import outside

if TYPE_CHECKING:
    from autoreason.story import Story
    from autoreason.studies.certificate import Certificate
    from autoreason.studies.lab_report import LabReport


def reported_result(result: Result, journal: Journal) -> Result:
    story, of_problems = result.story, result.story.writes == "programs"
    if story.writes == "text":
        return result
    if story.writes == "files":
        from autoreason.run.research_result import ResearchResult

        return ResearchResult(**vars(result))
    if isinstance(story.job, Lab):
        from autoreason.studies.lab_suite import suite_of

        # Its calls are those of its cells, which are runs of their own.
        result = dataclasses.replace(result, spent=journal.cells_spent(result.run))
        suite = suite_of(story.task)
        of_problems = suite is not None and suite.form == "problems"
    report: Any = _report_of(result, journal) if result.finished and not story.writes else None
    if of_problems:
        from autoreason.run.solution import Solution

        return Solution(**vars(result), _make_report=report)
    return StudyResult(**vars(result), _make_report=report)


def suite_report(row: RunRow, story: Story, journal: Journal) -> Callable[[], LabReport]:
    """Makes the report of a suite, from what is read now."""
    from autoreason.studies.lab_report import lab_report
    from autoreason.studies.lab_suite import CellQuery, suite_of

    settings = story.settings
    assert settings is not None
    origin = {
        "Run": row.id,
        "Models": ", ".join(map(without_folder, settings.models.all())),
        "Seed": str(settings.seed),
        **outside(settings.models),
        "Started": f"{row.created.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    suite = suite_of(story.task)
    # Programs are recorded with what came of them.
    of_problems = suite is not None and suite.form == "problems"
    texts = {
        each.question["cell"]["part"]: each.answer["text"]
        for each in ({} if of_problems else journal.answers(row.id)).values()
        if each.kind == CellQuery.kind and each.answer.get("text")
    }
    return partial(lab_report, story, origin, texts)


def _report_of(result: Result, journal: Journal) -> Callable[[], Report]:
    """Makes the report of a finished job, which takes a while: not before somebody reads it."""
    story = result.story
    match story.job:
        case Rejudge():
            from autoreason.studies.panel_jobs import rejudge_report, rejudged_run

            return partial(rejudge_report, story, journal.story(rejudged_run(story)))
        case Advise():
            from autoreason.studies.advice_job import advice_report, spent_by_role

            return partial(advice_report, result.run, story, spent_by_role(journal, result.run))
        case Lab():
            return suite_report(journal.row(result.run), story, journal)
        case JobType(report=place):
            module, _, name = place.partition(":")
            return partial(getattr(import_module(module), name), story)
    raise AssertionError


def store_verdict(
    result: Result, on_warning: Callable[[str], None] | None = None, *, if_missing: bool = False
) -> None:
    """Store what a run ended with, if that is a verdict; `if_missing`, only where there is none."""
    settings = result.story.settings
    if settings is None or result.status not in FINISHED:
        return
    try:
        if isinstance(settings.job, Certify):
            from autoreason.studies.certificate import keep_certificate

            keep_certificate(result.story, result.run, if_missing=if_missing)
        elif isinstance(settings.job, KnowledgeTest) and not if_missing:
            from autoreason.studies.knowledge_test import keep_verdicts

            keep_verdicts(result.story, result.run)
    except OSError as error:
        what = "certificate" if isinstance(settings.job, Certify) else "verdict"
        message = f"the {what} cannot be kept ({error.strerror}); the run has it"
        (on_warning or warnings.warn)(f"{message}: `autoreason show {result.run}`")


class ModelChoice:
    """Models given as addresses or as objects: the addresses by role, and the objects by address."""

    models: Models

    def __init__(self) -> None:
        self.objects: dict[str, Model] = {}

    @classmethod
    def writing(cls, model: str | Model, options: Mapping[str, Any]) -> Self:
        """`model` for every role, except where an option names another."""
        choice = cls()
        choice.models = choice.change(Models.everywhere(choice.address(model)), options)
        return choice

    @classmethod
    def judging(cls, model: str | Model, options: Mapping[str, Any]) -> Self:
        choice = cls()
        judges = choice._several("judge", options) or (choice.address(model),)
        choice.models = Models.judging(*judges)
        return choice

    def change(self, before: Models, options: Mapping[str, Any]) -> Models:
        revisers = before.revisers
        if options.get("model") is not None:
            # A job in which only judges are asked stays one.
            every = Models.everywhere if before.author else Models.judging
            address = self.address(options["model"])
            # As many as before: a resumed run has the same candidates.
            before, revisers = every(address), (address,) * len(revisers)
        roles = {role: options.get(f"{role}_model") for role in ("author", "critic", "synthesizer")}
        return Models(
            **{
                role: getattr(before, role) if model is None else self.address(model)
                for role, model in roles.items()
            },
            judges=self._several("judge", options) or before.judges,
            hosts=before.hosts,
            revisers=self._several("reviser", options) or revisers,
        )

    def _several(self, role: str, options: Mapping[str, Any]) -> tuple[str, ...]:
        models: Any = options.get(f"{role}_models") or ()
        one = isinstance(models, str) or not isinstance(models, Sequence)
        return tuple(map(self.address, [models] if one else models))

    def address(self, model: str | Model) -> str:
        """The address of a model; an object is remembered under it."""
        if isinstance(model, str):
            if not model.strip():
                raise InvalidInput("the model's address is empty; give provider/model")
            return model
        self.objects[model.address] = model
        return model.address


def change_servers(before: Settings, models: Models, options: Mapping[str, Any]) -> dict[str, Any]:
    """The servers of a run that goes on with other models; consent for one server is not for another."""
    given, recorded, used = options.get("base_url"), before.base_url, providers_of(models.all())
    if given is None and isinstance(recorded, str) and len(used) > 1:
        # It is not known whose it is, and the pool will ask for that before anything is sent.
        given = recorded
    if not isinstance(given, str):
        kept = recorded.items() if isinstance(recorded, dict) else ()
        given = {name: url for name, url in kept if name in used} | (given or {})
    same = (given or None, models) == (recorded, before.models)
    return {
        "base_url": given or None,
        "allow_http": bool(options.get("allow_http")) or (same and before.allow_http),
    }


def change_budget(before: Budget, budget: Budget | Mapping[str, Any] | None) -> Budget:
    """Limits that are not set stay as they were."""
    limits = asdict(read_budget(budget)) if budget else {}
    return replace(before, **{name: value for name, value in limits.items() if value is not None})


async def check(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Raise `InvalidInput` for what would only fail later; spends nothing."""
    check_settings(task, settings)
    if task.knowledge or isinstance(settings.job, KnowledgeTest):
        from autoreason.run.knowledge_choice import check_destinations

        check_destinations(task, settings, pool)
    await check_models(task, settings, pool, prompts)
    for address in settings.models.all():
        result = await pool.check(address)
        if False in (result.reachable, result.key_accepted, result.model_known):
            raise InvalidInput(result.problem)


def check_settings(task: Task, settings: Settings) -> None:
    check_job(task, settings, job_class(settings.job))
    if settings.batch:
        for address in settings.models.all():
            require_batches(address)


def check_call_limit(task: Task, settings: Settings) -> None:
    """Refuse a limit of calls that would be spent without coming to anything."""
    kind = job_class(settings.job)
    limit = settings.budget.calls
    with user_code_errors(kind, settings.job.name):
        least = kind.min_calls(task, settings)
    if limit is not None and limit < least:
        raise InvalidInput(
            f"`budget.calls` is {limit}, and this run needs at least {least}; "
            f"give so many{kind.fewer_calls and f', or {kind.fewer_calls}'}"
        )


async def check_models(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Refuse what these models cannot do, as far as that is known without reaching any of them."""
    if task.criteria and "criteria" not in prompts.sources.get("task", "criteria"):
        where = "in the prompt `task` of this run, which is to show them"
        raise InvalidInput(f"there are no `criteria` {where}; add them, or leave those out")
    require_prices(settings.budget, {address: rates(address) for address in settings.models.all()})
    largest = "text to be judged" if task.entries else "draft" if task.draft else "brief"
    if settings.job.writes == "programs":
        largest = "problem"
    requests = await first_requests(task, settings, prompts)
    sizes = [sum(text_tokens(part.text) for part in each.messages) for each in requests]
    needed = max(sizes, default=0) + unseen_tokens(task, requests, settings.job)
    # The first request contains a given draft once; a synthesizer reads two texts and writes a third.
    needed += 2 * text_tokens(task.draft or "")
    for address in settings.models.all():
        # All are opened before the first is asked: a key may be missing, or not meant for its server.
        pool.check_here(address)
    for address in settings.models.all():
        room = pool.window(address)
        if room is not None and needed > room:
            raise InvalidInput(
                f"the {largest} needs about {needed:,} tokens and {address} has room for {room:,}; "
                "shorten it or choose a model with a larger window"
            )


def choose_prompts(settings: Settings, folder: Path | None = None) -> PromptSet:
    """The user's prompts, and the built-in ones for the rest: the short ones where the author is known to need them.

    Where that is not known beforehand, the run finds out (`Strategy.begin_pass`). What a judge failed in says nothing
    about authors: a failed certificate changes the judges' prompt alone.
    """
    author = settings.models.author or settings.models.judges[0]
    writes = settings.job.writes or settings.job.steps_write
    prompts = load(folder, small=author == DEFAULT_MODEL, writes=writes)
    return prompts.with_short_judge() if _fails_as_judge(settings) else prompts


def _fails_as_judge(settings: Settings) -> bool:
    """Whether a judge of the panel failed its certificate in something that depends on how it is asked."""
    if not (found := certificates_of(settings)):
        return False
    from autoreason.studies.certificate import BALLOTS, DEFECTS

    failed = {name for each in found for name in each.failed}
    # Other failures, such as a preference for the first position, say nothing about prompts.
    return not failed.isdisjoint((BALLOTS.name, DEFECTS.name))


def _fit_ballots(settings: Settings) -> Settings:
    """Reviews in two stages where a judge failed to rank as many texts as a review has."""
    if not (isinstance(settings.job, Refine) and settings.reviewers):
        return settings
    used = job_class(settings.job).used_settings
    found = [each.nine_texts for each in certificates_of(settings) if each.nine_texts]
    if "failed" in {x.verdict for x in found} and (used is None or "ballot_texts" in used):
        # Two stages of five have room for nine.
        return replace(settings, ballot_texts=min(settings.ballot_texts, 5))
    return settings


def certificates_of(settings: Settings) -> list[Certificate]:
    """Those of the judges that have one."""
    if not os.access(certificates_folder(), os.X_OK):
        return []
    # Certificates need imports that few commands use.
    from autoreason.studies.certificate import find_certificate

    judges = dict.fromkeys(settings.models.judges)
    stored = [find_certificate(judge, settings.server_of(judge)) for judge in judges]
    return [each.certificate for each in stored if each]


R_co = TypeVar("R_co", covariant=True)


class PreparedRun(Struct, Generic[R_co], frozen=True, kw_only=True):
    """A run with everything decided. Nothing is written and nothing is asked before it runs."""

    task: Task
    settings: Settings
    prompts: PromptSet
    models: Mapping[str, Model] = {}
    """Models that were given as objects, by address."""
    hooks: RunHooks = {}
    name: str | None = None
    """Of the run, in place of one that is drawn."""
    forked_from: str | None = None
    service: Service | None = None
    """Runs programs or measures artifacts, where these are the task."""
    _fit: bytes = b""
    """A predictor with a seat, saved when the run starts."""

    def in_one_context(self) -> Self:
        """The same run where a single context answers, which it says; refused where that has nothing but judges."""
        models = self.settings.models
        if models.outside() and not models.author:
            raise InvalidInput("one context is not a panel; name `judge_models` of a provider")
        models = replace(models, hosts=dict.fromkeys(models.outside(), "one context"))
        return replace(self, settings=replace(self.settings, models=models))

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
            self._save()
            journal = exits.enter_context(use_journal(hooks.get("journal"), create=True))
            hooks["pool"] = pool
            hooks["stop_switch"] = hooks.get("stop_switch") or StopSwitch()
            settings = self.settings
            if settings.models.outside():
                from autoreason.studies.host_check import with_checks

                settings = replace(settings, models=with_checks(settings.models, journal))
            checked = replace(self, settings=settings)
            service = await checked._open_service(journal, pool, hooks, exits)
            result = await start(
                *(self.task, settings, journal, hooks),
                prompts=self.prompts,
                forked_from=self.forked_from,
                service=service,
                name=self.name,
            )
            store_verdict(result, hooks.get("on_warning"))
            return cast(R_co, reported_result(result, journal))

    async def _check(self, pool: ModelPool) -> None:
        await check(self.task, self.settings, pool, self.prompts)
        check_call_limit(self.task, self.settings)

    def _save(self) -> None:
        """Save what the run needs beside its record."""
        if self._fit:
            from autoreason.knowledge.predictor import save_ridge

            save_ridge(self._fit)

    async def _open_service(self, *_: Any, **__: Any) -> Service | None:
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
    changes["job"], seed = job or Refine(), options.get("seed")
    seed = secrets.randbits(32) if seed is None else seed
    settings = make_settings(choice.models, seed, options.get("protocol") or "robust", **changes)
    return prepare_with(task, settings, choice, options)


def prepare_with(
    task: Task, settings: Settings, choice: ModelChoice, options: Mapping[str, Any]
) -> PreparedRun[Any]:
    """The same under complete settings."""
    folder = options.get("prompts")
    if options.get("ballot_texts") is None:
        settings = _fit_ballots(settings)
    if task.knowledge:
        from autoreason.run.knowledge_choice import withhold_private

        task = withhold_private(task, settings, choice.objects, options.get("pool"))
    prompts, hooks = choose_prompts(settings, Path(folder) if folder else None), hooks_in(options)
    return PreparedRun(
        task=task, settings=settings, prompts=prompts, models=choice.objects, hooks=hooks
    )


def job_in(kind: type[AnyStruct], options: Mapping[str, Any], **own: Any) -> AnyStruct:
    """A job with the fields among the options of a function, and those that the caller decides."""
    given = {name: options.get(name) for name in kind.__struct_fields__} | own
    return make_struct(kind, {name: value for name, value in given.items() if value is not None})


def hooks_in(options: Mapping[str, Any]) -> RunHooks:
    hooks = {name: value for name, value in options.items() if name in RunHooks.__annotations__}
    return cast(RunHooks, hooks)


def use_pool(
    pool: ModelPool | None, settings: Settings, models: Mapping[str, Model], exits: AsyncExitStack
) -> ModelPool:
    """The caller's pool, or one of the run's own that is closed at its end."""
    if pool is None:
        pool = ModelPool.of(settings)
        exits.push_async_callback(pool.close)
    if pool.batch is not settings.batch:
        raise InvalidInput("run and pool ask in batches, or neither does; give both `batch`")
    pool.add(models)
    return pool
