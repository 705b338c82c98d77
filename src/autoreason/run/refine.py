"""The front door of the library: a brief in, the refined text out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from msgspec.structs import asdict, replace

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.plugins import absolute
from autoreason.run.estimate import RunEstimate
from autoreason.run.model_choice import ModelChoice
from autoreason.run.parameters import RefineOptions, TaskOptions, check_arguments
from autoreason.run.prepared import PreparedRun, prepare
from autoreason.run.result import Result
from autoreason.run.sync import wait_for
from autoreason.settings import DEFAULT_MODEL
from autoreason.strategies.registry import find_strategy
from autoreason.task import Task, check_task, has_front_matter, is_text_file, make_contract

_GO_WITH = {
    "metric": ("metric_better", "metric_role"),
    "knowledge": ("knowledge_group", "judge_outcomes", "predictor_seat"),
}
"""Options that mean nothing without another."""


def refine(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> Result:
    """Write a text and refine it until it is kept, or from a draft of yours.

    Args:
        brief: What you want, in words; a `Task` says more.
        model: Plays every role that has none of its own; `provider/model` or a model object.
        options: See `RefineOptions`: the task, the settings, the journal and who follows the run.

    Returns:
        The text, how it came about and what it took. A run that paused says why in `status` and
        `reason`; `resume` goes on with it.

    Raises:
        InvalidInput: Something cannot be used; nothing was written and nothing was asked.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import Budget, refine
        >>> result = refine(
        ...     "Explain tides to a ten-year-old.",
        ...     "echo/echo",
        ...     contract={"max_words": 200},
        ...     passes=2,
        ...     budget=Budget(calls=50),
        ...     seed=1,
        ... )
        >>> result.status
        'capped'
    """
    return wait_for(lambda: refine_async(brief, model, **options), "refine")


async def refine_async(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> Result:
    """Like `refine`, in an event loop."""
    return await prepare_refine(brief, model, **options).run_async()


def estimate(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> RunEstimate:
    """What `refine` with the same arguments may take, without calling anything.

    Args:
        brief: What you want, in words; a `Task` says more.
        model: Plays every role that has none of its own.
        options: See `RefineOptions`.

    Returns:
        Calls, tokens and cost, from the least to the most, and the first request. Whether its models
        can be used here is not looked at; `prepare_refine(...).check_models()` does. Other runs are
        estimated by the `estimate` method of what `prepare_judge` and its siblings return.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import estimate
        >>> estimate("Explain tides.", "echo/echo", passes=2).calls
        Span(low=5, likely=27, high=200)
    """
    return wait_for(lambda: estimate_async(brief, model, **options), "estimate")


async def estimate_async(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> RunEstimate:
    """Like `estimate`, in an event loop."""
    return await prepare_refine(brief, model, **options).estimate_async()


def prepare_refine(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> PreparedRun:
    """The run that `refine` with the same arguments would drive.

    Args:
        brief: What you want, in words; a `Task` says more.
        model: Plays every role that has none of its own.
        options: See `RefineOptions`.

    Returns:
        The run, to be looked at, estimated and run.

    Raises:
        InvalidInput: Something cannot be used.

    Example:
        >>> from autoreason import prepare_refine
        >>> prepared = prepare_refine("Explain tides.", "echo/echo", k=1)
        >>> prepared.settings.k, prepared.run().status
        (1, 'converged')
    """
    check_arguments(prepare_refine, options, brief=brief, model=model)
    choice = ModelChoice.writing(model, options)
    own = {"strategy": strategy_name(options["strategy"])} if options.get("strategy") else {}
    task = task_in(brief, options)
    for name, extras in _GO_WITH.items():
        if not options.get(name) and (
            extra := next((each for each in extras if each in options), "")
        ):
            raise InvalidInput(f"`{extra}` goes with `{name}`; name the {name}, or leave it out")
    fit = b""
    if options.get("knowledge"):
        from autoreason.run.knowledge_choice import add_knowledge, seat_predictor

        task = add_knowledge(
            task,
            options["knowledge"],
            choice.models,
            judge_outcomes=options.get("judge_outcomes", "tested"),
            group=options.get("knowledge_group", ""),
            base_url=options.get("base_url"),
            own=choice.objects,
            pool=options.get("pool"),
        )
        task, fit = seat_predictor(
            task,
            options["knowledge"],
            options.get("predictor_seat", "tested"),
            group=options.get("knowledge_group", ""),
            **own,
        )
    if not options.get("metric"):
        return replace(prepare(task, choice, options, **own), _fit=fit)
    from autoreason.artifacts.text_metric import read_metric
    from autoreason.run.research import PreparedMeasuring

    metric, source = read_metric(
        options["metric"],
        options.get("metric_better", "higher"),
        options.get("metric_role", "guard"),
    )
    prepared = prepare(replace(task, work=metric), choice, options, **own)
    return PreparedMeasuring(**asdict(replace(prepared, _fit=fit)), _source=source)


def strategy_name(name: str) -> str:
    """A strategy that writes one text, by a name that means the same in any folder."""
    find_strategy(name)
    return absolute(name)


def task_in(brief: str | Task, options: TaskOptions) -> Task:
    """A task from its parts, or the task itself where it is one already."""
    parts = {name: options.get(name) for name in ("draft", "facts", "contract")}
    if isinstance(brief, Task):
        for name, value in parts.items():
            if value is not None:
                raise InvalidInput(f"a Task has its own {name}; set it there")
        return check_task(brief)
    if isinstance(brief, str):
        brief = brief.replace("\r\n", "\n").strip()
        if is_text_file(brief):
            raise InvalidInput(
                f"the brief {brief} is a file; give `read_task({brief!r})`, or what it says"
            )
        if has_front_matter(brief):
            raise InvalidInput(
                "the brief begins with front matter, which only `read_task` reads; "
                "give its result, or the limits as `contract`"
            )
    contract = _contract(options.get("contract"))
    return check_task(
        Task(brief=brief, draft=options.get("draft"), facts=options.get("facts"), contract=contract)
    )


def _contract(contract: Contract | Mapping[str, Any] | None) -> Contract:
    if isinstance(contract, Contract):
        return contract
    return make_contract(dict(contract or {}), "contract")
