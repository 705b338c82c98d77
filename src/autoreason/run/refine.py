"""The front door of the library: a brief in, the refined text out."""

from __future__ import annotations

from typing import Any, Unpack

from msgspec.structs import asdict, replace

from autoreason.contract import Contract
from autoreason.errors import InvalidInput
from autoreason.exchange import Model
from autoreason.job_types import Refine
from autoreason.plugins import absolute
from autoreason.run.prepared import ModelChoice, PreparedRun, prepare
from autoreason.run.result import Result
from autoreason.run.verbs import RefineOptions, TaskOptions, door
from autoreason.settings import DEFAULT_MODEL
from autoreason.strategies import find_strategy
from autoreason.task import Task, check_task, is_to_be_read, make_contract, read_criteria

_GO_WITH = {
    "metric": ("metric_better", "metric_role"),
    "knowledge": ("knowledge_group", "judge_outcomes", "predictor_seat"),
}
"""Options that mean nothing without another."""


@door()
def refine(
    brief: str | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[RefineOptions]
) -> PreparedRun[Result]:
    """Write a text, or begin from a draft of yours, and refine it while judges see a gain.

    Args:
        brief: What you want, in words; a `Task` says more.
        model: Plays every role that is given no model of its own; `provider/model` or a model object.
        options: The task: `draft`, `facts`, `contract={"max_words": 200}`. Who judges: `judge_models`, `judges`.
            When it ends: `passes`, `min_reviews`, `budget={"cost": 3}`. What else is known: `knowledge`, `metric`.
            Where it is recorded and who follows it: `journal`, `on_event`. `print(refine.options())` lists all of
            them.

    Returns:
        The text, how it came about and what it took. A run that paused says why in `status` and
        `reason`; `resume` goes on with it. `refine.prepare(...).estimate()` says beforehand what it may take.

    Example:
        >>> from autoreason import Budget, refine
        >>> prepared = refine.prepare("Explain tides.", "echo/echo", passes=2)
        >>> prepared.estimate().calls
        Span(low=5, likely=21, high=120)
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
    choice = ModelChoice.writing(model, options)
    strategy, own = options.get("strategy") or "autoreason", options.get("strategy_options") or {}
    if several := options.get("alternatives"):
        if own or options.get("strategy"):
            raise InvalidInput("`alternatives` is a strategy of its own; leave out `strategy`")
        strategy, own = "alternatives", {"n": several}
    job = Refine(strategy=strategy_name(strategy), strategy_options=own)
    task = task_in(brief, options)
    for name, extras in _GO_WITH.items():
        extra = next((each for each in extras if each in options), "")
        if extra and not options.get(name):
            raise InvalidInput(f"`{extra}` goes with `{name}`; name the {name}, or leave it out")
    prepared = prepare(task, choice, options, job)
    if options.get("knowledge"):
        from autoreason.run.knowledge_choice import add_knowledge

        task, fit = add_knowledge(task, prepared.settings, options, choice.objects)
        prepared = replace(prepared, task=task, _fit=fit)
    if not options.get("metric"):
        return prepared
    from autoreason.artifacts.research_task import read_metric
    from autoreason.run.research import PreparedMeasuring

    better, role = options.get("metric_better", "higher"), options.get("metric_role", "guard")
    metric, source = read_metric(options["metric"], better, role)
    prepared = replace(prepared, task=replace(task, work=metric))
    return PreparedMeasuring(**asdict(prepared), _source=source)


def strategy_name(name: str) -> str:
    """A strategy that writes one text, by a name that means the same in any folder."""
    find_strategy(name)
    return absolute(name)


def task_in(brief: str | Task, options: TaskOptions) -> Task:
    if isinstance(brief, Task):
        for name in ("draft", "facts", "contract", "criteria"):
            if options.get(name) is not None:
                raise InvalidInput(f"a Task has its own {name}; set it there")
        return check_task(brief)
    if isinstance(brief, str):
        brief = brief.replace("\r\n", "\n").strip()
        if is_to_be_read(brief):
            raise InvalidInput(
                "give the words of the brief; only `read_task` reads files and front matter"
            )
    contract = options.get("contract")
    if not isinstance(contract, Contract):
        contract = make_contract(dict(contract or {}), "contract")
    criteria = read_criteria(options.get("criteria") or ())
    texts: dict[str, Any] = {name: options.get(name) for name in ("draft", "facts")}
    task = Task(brief=brief, contract=contract, criteria=criteria, **texts)
    return check_task(task, limits_from_brief=options.get("limits_from_brief") is not False)
