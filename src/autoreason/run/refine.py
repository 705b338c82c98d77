"""The front door of the library: a brief in, the refined text out."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.exchange import Model, OnSignal
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.plugins import absolute
from autoreason.programs.examination import Examiner
from autoreason.run.driver import start
from autoreason.run.kinds import job_class
from autoreason.run.preflight import check
from autoreason.run.prompt_choice import choose_prompts
from autoreason.run.recall import OnEvent
from autoreason.run.result import Result
from autoreason.settings import DEFAULT_MODEL, Budget, Models, Protocol, make_settings
from autoreason.task import Task, check_task, make_contract

T = TypeVar("T")


def refine(brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Any) -> Result:
    """Refine a text and wait for it; takes what `refine_async` takes."""
    return wait_for(lambda: refine_async(brief, model, **options), "refine")


def wait_for(start_call: Callable[[], Coroutine[Any, Any, T]], name: str) -> T:
    """Run a coroutine to its result, for callers without an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start_call())
    raise InvalidInput(
        f"{name}() cannot wait inside a running event loop; write `await {name}_async(...)`"
    )


async def refine_async(
    brief: str | Task,
    model: str | Model = DEFAULT_MODEL,
    *,
    draft: str | None = None,
    facts: str | None = None,
    contract: Contract | Mapping[str, Any] | None = None,
    author_model: str | Model | None = None,
    critic_model: str | Model | None = None,
    synthesizer_model: str | Model | None = None,
    judge_models: Sequence[str | Model] = (),
    protocol: Protocol = "robust",
    seed: int | None = None,
    budget: Budget | None = None,
    prompts: str | Path | None = None,
    journal: Journal | str | Path | None = None,
    pool: ModelPool | None = None,
    on_event: OnEvent | None = None,
    on_signal: OnSignal | None = None,
    examiner: Examiner | None = None,
    **settings: Any,
) -> Result:
    """Refine a text.

    `brief` is what you want, in words; a `Task` says more. `model` plays every role that is not given its
    own; each is a `provider/model` address or a model object. `journal` is where the record goes.
    `on_event` follows the run step by step, `on_signal` sees calls and streaming text. Runs that share a
    `pool` share connections and limits. An `examiner` runs programs, where programs are the task. Everything
    else is a field of `Settings`: `k`, `passes`, `judges`.
    """
    addresses = _ModelAddresses()
    models = Models(
        author=addresses.address(model if author_model is None else author_model),
        critic=addresses.address(model if critic_model is None else critic_model),
        synthesizer=addresses.address(model if synthesizer_model is None else synthesizer_model),
        judges=tuple(addresses.address(judge) for judge in judge_models)
        or (addresses.address(model),),
    )
    task = as_task(brief, draft, facts, contract)
    if "strategy" in settings:
        settings["strategy"] = absolute(settings["strategy"])
    chosen_seed = secrets.randbits(32) if seed is None else seed
    run_settings = make_settings(models, chosen_seed, protocol, budget=budget, **settings)
    code = job_class(run_settings).writes == "programs"
    prompt_set = choose_prompts(run_settings, Path(prompts) if prompts else None, code=code)
    async with AsyncExitStack() as exits:
        if pool is not None and (run_settings.base_url or run_settings.allow_http):
            raise InvalidInput("a pool has its own servers; give base_url and allow_http to it")
        if pool is None:
            pool = ModelPool.of(run_settings)
            exits.push_async_callback(pool.close)
        pool.add(addresses.objects)
        await check(task, run_settings, pool, prompt_set)
        if not isinstance(journal, Journal):
            journal = exits.enter_context(
                Journal.open(str(journal) if journal else None, create=True)
            )
        return await start(
            task,
            run_settings,
            journal=journal,
            prompts=prompt_set,
            pool=pool,
            on_event=on_event,
            on_signal=on_signal,
            examiner=examiner,
        )


class _ModelAddresses:
    """The addresses of models given as strings or as objects."""

    def __init__(self) -> None:
        self.objects: dict[str, Model] = {}

    def address(self, model: str | Model) -> str:
        if isinstance(model, str):
            if not model.strip():
                raise InvalidInput("the model's address is empty; give provider/model")
            return model
        address: object = getattr(model, "address", None)
        if not isinstance(address, str):
            raise InvalidInput(
                f"a model is given as {type(model).__name__}; give provider/model or a model object"
            )
        self.objects[address] = model
        return address


def as_task(
    brief: str | Task,
    draft: str | None = None,
    facts: str | None = None,
    contract: Contract | Mapping[str, Any] | None = None,
) -> Task:
    """A task from its parts, or the task itself where it is one already."""
    if isinstance(brief, Task):
        for name, given in (("draft", draft), ("facts", facts), ("contract", contract)):
            if given is not None:
                raise InvalidInput(f"a Task has its own {name}; set it there")
        return check_task(brief)
    if isinstance(brief, str):
        brief = brief.replace("\r\n", "\n").strip()
    return check_task(Task(brief=brief, draft=draft, facts=facts, contract=_contract(contract)))


def _contract(given: Contract | Mapping[str, Any] | None) -> Contract:
    if isinstance(given, Contract):
        return given
    if not isinstance(given, Mapping | None):
        raise InvalidInput(f"the contract is a {type(given).__name__}; give a Contract or a dict")
    return make_contract(dict(given or {}), "contract")
